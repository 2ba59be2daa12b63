from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from slipway_lite.observe.rich_demo import write_rich_demo
from slipway_lite.store.connection import Store, open_store
from tests.machine_host import Host, database, repository, suggest, whole_run
from tests.store.files import AT, filled


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a database may be made: a directory that is not there yet."""
    return tmp_path / "place" / "slipway.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with open_store(str(path)) as opened:
        yield opened


@pytest.fixture
def small(path: Path) -> Path:
    """Three events of two streams and one material."""
    filled(path).close()
    return path


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a repository in which two Runs went on."""
    root = repository(tmp_path_factory.mktemp("verify") / "repo")
    whole_run(root)
    Host(root, "Second").submit(suggested_actions=suggest("clarify"))
    with open_store(str(database(root))) as store, store.immediate() as tx:
        tx.append("materials", "material:m", 1, AT, "m", 5, "hello")
    return database(root)


@pytest.fixture
def real(pristine: Path, tmp_path: Path) -> Path:
    """A copy of it to be spoiled."""
    return Path(shutil.copy(pristine, tmp_path / "slipway.db"))


@pytest.fixture(scope="session")
def demos(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two machines with Runs and tasks of their own. Not to be written to."""
    directory = tmp_path_factory.mktemp("machines")
    paths = [directory / "laptop.db", directory / "server.db"]
    for path in paths:
        write_rich_demo(str(path), 4, 3, path.name)
    return paths


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "merged.db"
