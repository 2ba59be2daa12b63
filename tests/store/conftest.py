from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from slipway_lite.store.connection import Store, open_store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a database may be made: a directory that is not there yet."""
    return tmp_path / "place" / "slipway.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with open_store(str(path)) as opened:
        yield opened
