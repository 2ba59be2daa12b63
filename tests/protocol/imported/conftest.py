from __future__ import annotations

from pathlib import Path

import pytest

from tests.protocol.conftest import Repository
from tests.protocol.stored import Stored


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """The file that the published Runs come from."""
    return tmp_path / "elsewhere.db"


@pytest.fixture
def here(repository: Repository) -> Stored:
    """The repository's own file, which is not there yet."""
    return Stored(repository)
