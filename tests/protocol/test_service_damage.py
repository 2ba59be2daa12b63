"""A file that is damaged, foreign or redirected: nothing is built upon it, and every error has a code (§1.6.2)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.protocol.conftest import Repository
from tests.protocol.stored import MUTATIONS, Stored, mutation, refused, variant


@pytest.fixture
def stored(repository: Repository) -> Stored:
    return Stored(repository)


# -- a file that is not sound


def test_a_journal_that_was_changed_is_not_built_upon(stored: Stored) -> None:
    run = stored.submit(stored.start())
    stored.sql("update journal_events set data = json_set(data, '$.outcome.summary', 'forged') where sequence = 2")
    for command in MUTATIONS.values():
        error = refused(lambda command=command: command(stored.service, run.run_id), "mutation_not_committed")  # type: ignore[misc]
        assert error.details == mutation("replay")
        assert error.next == {"operation": "none", "workspace_identity": stored.workspace.id, "variants": []}
    assert len(stored.events(run)) == 2


@pytest.mark.parametrize(
    "damage",
    [
        "update journal_events set data = '{}' where sequence = 1",
        "update journal_events set type = 'run_stopped' where sequence = 1",
        "update journal_events set at = '2020-01-01T00:00:00.000000Z' where sequence = 1",
        "delete from journal_events where sequence = 1",
        "delete from journal_events",
        "update ledger set prev_sha256 = 'x' where seq = 1",
    ],
)
def test_a_first_record_that_was_changed_is_a_runtime_error_of_a_mutation(stored: Stored, damage: str) -> None:
    run = stored.submit(stored.start())
    stored.sql(damage)
    error = refused(lambda: stored.stop(run), "runtime_error")
    assert variant(error)[0] == "inspect-run"
    assert error.details is None


def test_a_file_that_is_no_database_is_unavailable(stored: Stored) -> None:
    run = stored.start()
    os.truncate(stored.path, 0)
    Path(stored.path).write_bytes(b"not a database " * 1000)
    for attempt in (lambda: stored.stop(run), stored.start, lambda: stored.reading.run(run.run_id)):
        error = refused(attempt, "runstore_unavailable")
        root = stored.workspace.worktree_root
        assert variant(error) == ("run-doctor", ["slipway", "doctor", "--root", root])
        assert error.details is None


def damaged_pages(stored: Stored) -> None:
    """Overwrite the journal's pages and leave the header and the schema sound."""
    ((page_size,),) = stored.rows("pragma page_size")
    pages = [page for (page,) in stored.rows("select rootpage from sqlite_schema where tbl_name = 'journal_events'")]
    with open(stored.path, "r+b") as file:
        for page in pages:
            if page:
                file.seek((page - 1) * page_size)
                file.write(b"\xff" * page_size)


def test_a_damaged_page_is_unavailable_and_never_an_error_without_a_next(stored: Stored) -> None:
    run = stored.start()
    damaged_pages(stored)
    for attempt in (
        lambda: stored.stop(run),
        lambda: stored.submit(run),
        lambda: stored.reading.run(run.run_id),
        stored.reading.status_list,
    ):
        error = refused(attempt, "runstore_unavailable")
        assert variant(error)[0] == "run-doctor"


@pytest.mark.parametrize("link", ["directory", "file"])
def test_a_redirected_store_is_unavailable(stored: Stored, tmp_path: Path, link: str) -> None:
    directory = Path(stored.path).parent
    (tmp_path / "elsewhere").mkdir()
    if link == "directory":
        directory.symlink_to(tmp_path / "elsewhere")
    else:
        directory.mkdir()
        Path(stored.path).symlink_to(tmp_path / "elsewhere/slipway.db")
    for attempt in (stored.start, lambda: stored.reading.run("run-9"), stored.reading.status_list):
        error = refused(attempt, "runstore_unavailable")
        assert variant(error)[0] == "run-doctor"
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_record_that_was_moved_away_and_linked_to_is_not_read(stored: Stored, tmp_path: Path) -> None:
    run = stored.start()
    (tmp_path / "moved.db").write_bytes(Path(stored.path).read_bytes())
    Path(stored.path).unlink()
    Path(stored.path).symlink_to(tmp_path / "moved.db")
    refused(lambda: stored.reading.run(run.run_id), "runstore_unavailable")
    # Where the owner of the file says so, a link is as good as any path.
    elsewhere = Stored(stored.repository, stored.path)
    assert elsewhere.reading.run(run.run_id).run_id == run.run_id


def test_a_store_that_cannot_be_created_is_unavailable(stored: Stored) -> None:
    Path(stored.path).parent.write_text("a file in its place")
    refused(stored.start, "runstore_unavailable")


def test_a_store_of_a_newer_version_or_of_another_program_is_unavailable(stored: Stored, tmp_path: Path) -> None:
    stored.start()
    stored.sql("pragma user_version = 99")
    refused(stored.start, "runstore_unavailable")
    refused(stored.reading.status_list, "runstore_unavailable")
    db = str(tmp_path / "other.db")
    other = Stored(stored.repository, db)
    Path(db).touch()
    with other.connection() as connection:
        connection.execute("create table t (a)")
    refused(other.start, "runstore_unavailable")


def test_a_write_that_the_database_refuses_is_not_committed(stored: Stored) -> None:
    run = stored.start()
    with stored.connection() as connection:
        connection.execute("create index full on runs (json(iif(state = 'stopped', 'no JSON', '0')))")
    error = refused(lambda: stored.stop(run), "mutation_not_committed")
    assert error.details == mutation("write")
    assert error.next is not None
    assert error.next["operation"] == "none"
    with stored.connection() as connection:
        connection.execute("drop index full")
    assert stored.events(run) == ["run_started"]
    assert stored.problems() == []
    assert stored.stop(run).state == "stopped"
