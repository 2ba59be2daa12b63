from __future__ import annotations

from pathlib import Path

import pytest

from tests.machine_host import repository


@pytest.fixture(autouse=True)
def no_database_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLIPWAY_DB", raising=False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository of its own."""
    return repository(tmp_path / "repo")


@pytest.fixture(scope="session")
def bare_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that no test starts a Run in."""
    return repository(tmp_path_factory.mktemp("bare") / "repo")
