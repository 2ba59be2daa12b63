"""`status` is a pure read: no file appears and none changes (architecture §1, machine-protocol §6.7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipway_lite.store.connection import open_store
from tests.machine_host import Host, database, git, invoke, process, whole_run
from tests.store.files import directory_state, event

ZERO = "00000000-0000-4000-8000-000000000000"
READS = [["status"], ["status", "--json"], ["status", ZERO], ["status", ZERO, "--section", "goal"],
         ["protocol", "material", "--run", ZERO, "--action", ZERO, "--section", "goal"]]  # fmt: skip


def everything(root: Path) -> dict[str, tuple[int, int]]:
    """Every file and directory of the repository, its own directory included, by size and mtime."""
    return {
        str(path.relative_to(root)): (path.stat().st_size, path.stat().st_mtime_ns) for path in [root, *root.rglob("*")]
    }


@pytest.mark.parametrize("argv", READS)
def test_a_repository_without_runs_stays_without(root: Path, argv: list[str]) -> None:
    before = everything(root)
    invoke(*argv, "--root", str(root))
    process(*argv, cwd=root)
    assert everything(root) == before
    assert not database(root).parent.exists()


@pytest.mark.parametrize("argv", READS)
def test_a_resting_database_stays_as_it_was(root: Path, argv: list[str]) -> None:
    host = whole_run(root)
    before, names = directory_state(database(root).parent), everything(root)
    for _ in range(2):
        process(*[host.run_id if word == ZERO else word for word in argv], cwd=root)
    assert directory_state(database(root).parent) == before
    assert everything(root) == names
    assert list(before) == [".", "slipway.db"]


def test_the_index_is_not_refreshed(root: Path) -> None:
    """Git would rewrite the index of a touched file, and that is a write."""
    (root / "README.md").touch()
    before = everything(root)
    Host(root)
    after = everything(root)
    assert after[".git/index"] == before[".git/index"]


def test_a_live_writer_is_seen_and_not_disturbed(root: Path) -> None:
    host = Host(root)
    with open_store(str(database(root))) as store:
        with store.immediate() as tx:
            event(tx, "note:a", 1)
        assert host.status()["state"] == "active"
        with store.immediate() as tx:
            event(tx, "note:a", 2)


def test_runs_are_listed_by_creation_those_of_siblings_as_stubs(root: Path, tmp_path: Path) -> None:
    first = Host(root, "First")
    sibling = tmp_path / "sibling"
    git(root, "worktree", "add", "--quiet", "--detach", str(sibling))
    second, third = Host(sibling, "Second"), Host(root, "Third")
    here = invoke("status", "--json", "--root", str(root)).document["runs"]
    there = invoke("status", "--json", "--root", str(sibling)).document["runs"]
    assert [run["id"] for run in here] == [run["id"] for run in there] == [first.run_id, second.run_id, third.run_id]
    assert ["workspace_foreign" in run for run in here] == [False, True, False]
    assert ["workspace_foreign" in run for run in there] == [True, False, True]


def test_a_shared_file_shows_the_runs_of_this_repository_only(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.machine_host import repository

    monkeypatch.setenv("SLIPWAY_DB", str(tmp_path / "shared" / "slipway.db"))
    other = repository(tmp_path / "other")
    mine, theirs = Host(root, "Mine"), Host(other, "Theirs")
    assert not database(root).exists()
    listed = invoke("status", "--json", "--root", str(root)).document["runs"]
    assert [run["id"] for run in listed] == [mine.run_id]
    for argv, code in ((["status"], "run_not_found"), (["stop"], "runtime_error")):
        assert invoke(*argv, theirs.run_id, "--root", str(root)).code == code
    assert invoke("stop", "--root", str(root)).status == 0
    assert theirs.status()["state"] == "active"


def test_status_in_a_directory_below_the_root_is_the_same(root: Path) -> None:
    host = Host(root)
    (root / "below").mkdir()
    assert process("status", host.run_id, "--json", cwd=root / "below").document == host.status()


def test_stop_without_an_id_stops_the_only_run(root: Path) -> None:
    host = Host(root)
    assert invoke("stop", "--root", str(root), "--json").document["run_id"] == host.run_id
    assert invoke("stop", "--root", str(root)).code == "run_id_required"
    Host(root)
    Host(root)
    assert invoke("stop", "--root", str(root)).code == "run_id_required"
