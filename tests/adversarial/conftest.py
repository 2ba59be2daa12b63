from __future__ import annotations

from pathlib import Path

import pytest

from tests.machine_host import repository


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository of its own."""
    return repository(tmp_path / "repo")
