from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from slipway_lite.store.connection import Store
from tests.adversarial import everything as whole
from tests.adversarial.workers import Crew
from tests.machine_host import git, repository
from tests.store.tampering import bench, named_rows


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository of its own."""
    return repository(tmp_path / "repo")


@pytest.fixture(scope="session")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with rows in every table of facts and every projection. Not to be written to."""
    return whole.everything(tmp_path_factory.mktemp("everything"))


@pytest.fixture
def store(everything: Path, tmp_path: Path) -> Iterator[Store]:
    """A copy of that file to be tampered with: the rules of its tables are away."""
    with bench(Path(shutil.copy(everything, tmp_path / "slipway.db"))) as opened:
        assert named_rows(opened) == set()
        yield opened


@pytest.fixture
def memory() -> Iterator[Path]:
    """A directory in memory where there is such a place: what a file system did not sync is not what is tested."""
    place = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="slipway-", dir=place if place.is_dir() else None) as made:
        yield Path(made)


@pytest.fixture(scope="session")
def crew() -> Iterator[Crew]:
    """Processes for as long as the session lasts."""
    crew = Crew()
    yield crew
    crew.close()


@pytest.fixture(scope="session")
def worktrees(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two repositories, and a second worktree of the first."""
    place = tmp_path_factory.mktemp("worktrees")
    found = {"a": repository(place / "a"), "b": repository(place / "b"), "a-sibling": place / "a-sibling"}
    git(found["a"], "worktree", "add", "--quiet", str(found["a-sibling"]))
    return found
