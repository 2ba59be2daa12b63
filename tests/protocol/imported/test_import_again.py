"""Importing the same Runs again: nothing new, more of them, or something else than before."""

from __future__ import annotations

import os
from pathlib import Path

from slipway_lite.protocol.documents import run_status
from tests.protocol.conftest import Repository
from tests.protocol.imported.published_run import PublishedRun, facts, imported, story, tables
from tests.protocol.outcomes import suggestion
from tests.protocol.stored import Stored, refused


def test_an_identical_journal_writes_nothing(repository: Repository, elsewhere: Path, here: Stored) -> None:
    run = story(repository, elsewhere)
    imported(here)
    before = facts(here)
    report = imported(here)
    assert (report["imported_runs"], report["imported_events"]) == (0, 0)
    assert [found["result"] for found in report["runs"]] == ["unchanged"]
    assert facts(here) == before
    (run.directory / "journal.jsonl").write_bytes(run.published.journal + b"\n" + b'{"sequence":')
    assert imported(here)["runs"][0]["result"] == "unchanged", "blank lines and a torn tail are no records"
    assert facts(here) == before


def test_an_older_copy_writes_nothing(repository: Repository, elsewhere: Path, here: Stored) -> None:
    run = story(repository, elsewhere)
    imported(here)
    before = facts(here)
    (run.directory / "journal.jsonl").write_bytes(b"".join(run.published.lines[:3]))
    assert imported(here)["runs"][0]["result"] == "unchanged"
    assert facts(here) == before


def test_a_longer_journal_is_continued(repository: Repository, elsewhere: Path, here: Stored) -> None:
    run = PublishedRun(repository, elsewhere).submit(suggested_actions=[suggestion()]).publish()
    imported(here)
    run.submit().stop().publish()
    report = imported(here)
    assert report["runs"][0] | {"journal_sha256": ""} == {
        "run_id": run.run.run_id, "result": "continued", "events": 4, "imported_events": 2, "materials": 0,
        "journal_sha256": "",
    }  # fmt: skip
    assert run_status(here.reading.run(run.run.run_id)) == run_status(run.run)
    assert tables(here) == tables(Stored(repository, str(elsewhere)))
    assert here.rows("select count(*) from audit_events where event_type = 'run.imported'") == [(2,)]
    assert here.problems() == []


def conflicts(here: Stored) -> list[tuple[str, int]]:
    before = facts(here)
    for check in (True, False):
        error = refused(lambda check=check: imported(here, check=check), "import_conflict")  # type: ignore[misc]
        assert error.details is not None
        assert facts(here) == before
    return [(found["run_id"], found["sequence"]) for found in error.details["conflicts"]]


def test_a_run_that_went_on_here_and_there_is_a_conflict(repository: Repository, elsewhere: Path, here: Stored) -> None:
    run = PublishedRun(repository, elsewhere).submit().publish()
    imported(here)
    here.stop(here.reading.run(run.run.run_id))
    assert imported(here)["runs"][0]["result"] == "unchanged", "what is there already does not disturb"
    run.submit().publish()
    other = PublishedRun(repository, elsewhere, "Another one").publish()
    assert conflicts(here) == [(run.run.run_id, 3)]
    refused(lambda: here.reading.run(other.run.run_id), "run_not_found")


def test_another_run_of_the_same_id_is_a_conflict(repository: Repository, elsewhere: Path, here: Stored) -> None:
    ours = here.start()
    run = PublishedRun(repository, elsewhere).publish()
    theirs = run.published.journal.replace(run.run.run_id.encode(), ours.run_id.encode())
    os.rename(run.directory, run.runs / ours.run_id)
    (run.runs / ours.run_id / "journal.jsonl").write_bytes(theirs)
    assert conflicts(here) == [(ours.run_id, 1)]


def test_a_record_that_was_rewritten_is_a_conflict(repository: Repository, elsewhere: Path, here: Stored) -> None:
    run = story(repository, elsewhere)
    imported(here)
    lines = run.published.lines
    lines[3] = lines[3].replace(b'"sequence":4,', b'"sequence":4 ,').replace(b'"data":{', b'"data":{ ')
    (run.directory / "journal.jsonl").write_bytes(b"".join(lines))
    assert conflicts(here) == [(run.run.run_id, 4)]
