"""Importing: what is in the file afterwards, how it goes on there, and that nothing half is ever left."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.canon import encode, sha256
from slipway_lite.protocol.documents import run_status
from slipway_lite.protocol.imported.directories import Place
from slipway_lite.protocol.imported.service import import_journals, settled
from slipway_lite.protocol.imported.survey import surveyed
from slipway_lite.protocol.replay import RunProjector
from slipway_lite.protocol.resume import Mode
from slipway_lite.store.connection import open_store
from slipway_lite.store.projections import rebuild
from tests.protocol.conftest import Repository, create
from tests.protocol.imported.published_run import PublishedRun, bound, facts, imported, story, tables
from tests.protocol.outcomes import decision, suggestion
from tests.protocol.stored import Stored, refused


def test_an_imported_run_says_what_it_said_elsewhere(repository: Repository, elsewhere: Path, here: Stored) -> None:
    story(repository, elsewhere)
    PublishedRun(repository, elsewhere, "Another one", review=False).submit().publish()
    report = imported(here)
    assert [run["result"] for run in report["runs"]] == ["imported", "imported"]
    there = Stored(repository, str(elsewhere)).reading.status_list()
    assert [encode(run_status(run)) for run in here.reading.status_list()[0]] == [
        encode(run_status(run)) for run in there[0]
    ]
    assert tables(here) == tables(Stored(repository, str(elsewhere)))
    assert here.problems() == []


def test_every_record_is_kept_as_it_is_written(repository: Repository, elsewhere: Path, here: Stored) -> None:
    run = story(repository, elsewhere)
    spaced = b"".join(
        json.dumps(json.loads(line), indent=None, separators=(" , ", ": ")).encode() + b"\r\n\n"
        for line in run.published.lines
    )
    (run.directory / "journal.jsonl").write_bytes(spaced)
    report = imported(here)
    rows = here.rows("select sequence, at, type, data from journal_events order by sequence")
    for line, (sequence, at, kind, data) in zip(spaced.split(b"\r\n\n"), rows, strict=False):
        record = json.loads(line)
        assert (sequence, at, kind) == (record["sequence"], record["at"], record["type"])
        assert f'"data": {data}}}'.encode() in line
    assert report["runs"][0]["journal_sha256"] == sha256(spaced)
    assert here.problems() == []


def test_an_import_is_marked_in_the_audit_and_in_every_row(
    repository: Repository, elsewhere: Path, here: Stored
) -> None:
    run = story(repository, elsewhere)
    count = len(run.published.documents)
    digest = sha256(run.published.journal)
    imported(here)
    audited = "select event_type, payload, actor_type, actor_id, occurred_at from audit_events order by seq"
    *told, (kind, payload, *who, _) = here.rows(audited)
    assert told == Stored(repository, str(elsewhere)).rows(audited), "the story is the one that was audited there"
    assert (kind, who) == ("run.imported", ["human", "operator"])
    assert json.loads(payload) == {
        "journal_sha256": digest, "events": count, "imported_events": count, "materials": 0,
    }  # fmt: skip
    assert here.rows("select distinct stream, run_id, provenance from audit_events") == [
        (f"run:{run.run.run_id}", run.run.run_id, "import:" + digest.removeprefix("sha256:"))
    ]
    marked = "select count(*) from journal_events where json_extract(data, '$.event_version') = 2"
    assert here.rows(marked) == [(count,)]
    assert here.reading.run(run.run.run_id).imported_count == count


def test_rebuilding_gives_the_same_tables(repository: Repository, elsewhere: Path, here: Stored) -> None:
    story(repository, elsewhere)
    imported(here)
    before = tables(here)
    with open_store(here.path) as store:
        assert rebuild(store, [RunProjector()]) == []
    assert tables(here) == before
    assert here.problems() == []


@pytest.mark.parametrize(
    "change", ["data = replace(data, 'needs', 'leads')", "at = replace(at, 'Z', '1Z')", "type = 'run_stopped'"]
)
def test_a_changed_byte_in_an_imported_row_is_found(
    repository: Repository, elsewhere: Path, here: Stored, change: str
) -> None:
    run = PublishedRun(repository, elsewhere).submit("needs_input", pause=decision()).publish()
    imported(here)
    here.sql(f"update journal_events set {change} where sequence = 2")
    assert {problem["table"] for problem in here.problems()} >= {"journal_events"}
    refused(lambda: here.reading.run(run.run.run_id), "run_journal_invalid")


def test_the_place_is_left_as_it_is(repository: Repository, elsewhere: Path, here: Stored) -> None:
    run = story(repository, elsewhere)

    def state() -> list[Any]:
        found = sorted(run.runs.parent.rglob("*"))
        return [(str(path), path.stat().st_mtime_ns, path.stat().st_mode) for path in found]

    before = state()
    imported(here, check=True)
    imported(here)
    imported(here)
    assert state() == before


# -- going on


def test_an_active_run_goes_on_here(repository: Repository, elsewhere: Path, here: Stored) -> None:
    run = PublishedRun(repository, elsewhere).submit("needs_input", pause=decision()).publish()
    imported(here)
    found = here.reading.run(run.run.run_id)
    found = here.answer(found, "stable")
    found = here.submit(found, suggested_actions=[suggestion()])
    expected = run.answer("stable").submit(suggested_actions=[suggestion()]).run
    shown, other = run_status(found), run_status(expected)
    assert [record["action"]["brief"] for record in shown["actions"]] == [
        record["action"]["brief"] for record in other["actions"]
    ]
    assert shown["next"]["operation"] == "action"
    texts = [record["action"]["context"] for record in shown["actions"]]
    drawn = zip((r["action"] for r in shown["actions"]), (r["action"] for r in other["actions"]), strict=True)
    for ours, theirs in drawn:
        texts = [text.replace(ours["action_id"], theirs["action_id"]) for text in texts]
    assert texts == [record["action"]["context"] for record in other["actions"]]
    here.stop(here.submit(found, "error"))
    found = here.resume(found)
    assert (found.imported_count, found.event_count) == (2, 7)
    assert here.events(found)[:2] == ["run_started", "outcome_submitted"]
    assert here.problems() == []
    with open_store(here.path) as store:
        assert rebuild(store, [RunProjector()]) == []
    assert here.problems() == []


def test_a_replayed_submit_of_an_imported_outcome_succeeds(
    repository: Repository, elsewhere: Path, here: Stored
) -> None:
    run = PublishedRun(repository, elsewhere).submit().publish()
    first = run.run.records[0]
    imported(here)
    assert first.outcome is not None and first.outcome_payload_sha256 is not None
    again = here.service.submit(run.run.run_id, first.action_id, first.outcome, first.outcome_payload_sha256)
    assert again.event_count == 2
    refused(
        lambda: here.service.submit(run.run.run_id, first.action_id, first.outcome or {}, "sha256:" + "0" * 64),
        "outcome_conflict",
    )


def test_a_bound_run_comes_with_its_materials(repository: Repository, elsewhere: Path, here: Stored) -> None:
    run = bound(repository, elsewhere).publish()
    report = imported(here)
    assert report["runs"][0]["materials"] == 5
    assert run.run.current is not None
    document = here.reading.action_material(run.run.run_id, run.run.current.action_id, "reqs")
    assert document["section"]["markdown"] == "Must build.\n"
    found = here.submit(here.reading.run(run.run.run_id))
    here.stop(found)
    assert here.resume(found, 0, Mode(pinned=True)).state == "active"
    assert here.problems() == []


def test_a_run_of_another_worktree_is_foreign_here(repository: Repository, elsewhere: Path, tmp_path: Path) -> None:
    run = PublishedRun(repository, elsewhere).submit().publish()
    other = create((tmp_path / "other").resolve())
    other.commit("README.md")
    there = Stored(other)
    import_journals(str(run.runs), there.path)
    local, (stub,), unavailable = there.reading.status_list()
    assert (local, unavailable) == ([], [])
    assert (stub["id"], stub["goal"], stub["created_at"]) == (run.run.run_id, "Ship it", run.run.created_at)
    assert stub["workspace"] == str(repository.root)
    refused(lambda: there.reading.run(run.run.run_id), "workspace_identity_mismatch")


# -- whole or not at all


def test_every_unreadable_run_is_listed_and_nothing_is_imported(
    repository: Repository, elsewhere: Path, here: Stored
) -> None:
    good = story(repository, elsewhere)
    broken, empty = (PublishedRun(repository, elsewhere, name).submit().publish() for name in ("broken", "empty"))
    lines = broken.published.lines
    (broken.directory / "journal.jsonl").write_bytes(b"\n" + lines[0] + lines[0])
    (empty.directory / "journal.jsonl").write_bytes(b"\n{")
    for check in (True, False):
        error = refused(lambda check=check: imported(here, check=check), "journal_import_refused")  # type: ignore[misc]
        assert error.details == {
            "problems": sorted(
                [
                    {"run_id": broken.run.run_id, "line": 3, "problem": "the sequence is not 2"},
                    {"run_id": empty.run.run_id, "problem": "its journal holds no record"},
                ],
                key=lambda problem: str(problem["run_id"]),
            )
        }
        assert "as they are: 2. The first is" in error.message
        assert not os.path.exists(here.path)
    assert import_journals(str(good.directory), here.path)["imported_runs"] == 1


def test_checking_writes_nothing(repository: Repository, elsewhere: Path, here: Stored) -> None:
    story(repository, elsewhere)
    report = imported(here, check=True)
    assert not os.path.exists(here.path)
    assert report | {"check": False} == imported(here)
    run = PublishedRun(repository, elsewhere, "Another one").publish()
    before = Path(here.path).read_bytes()
    report = imported(here, check=True)
    assert {found["run_id"]: found["result"] for found in report["runs"]}[run.run.run_id] == "imported"
    assert Path(here.path).read_bytes() == before


def test_a_file_that_holds_nothing_yet_is_checked_like_none(
    repository: Repository, elsewhere: Path, here: Stored
) -> None:
    PublishedRun(repository, elsewhere).publish()
    os.makedirs(os.path.dirname(here.path))
    Path(here.path).touch()
    assert imported(here, check=True)["imported_runs"] == 1
    assert Path(here.path).read_bytes() == b""


def test_a_run_that_changes_while_it_is_imported_is_refused(
    repository: Repository, elsewhere: Path, here: Stored
) -> None:
    first = story(repository, elsewhere)
    run = PublishedRun(repository, elsewhere, "Another one").publish()
    with Place(str(first.runs)) as place, open_store(here.path) as store:
        surveys = surveyed(place, None)
        run.submit().publish()

        def settle() -> None:
            with store.immediate() as tx:
                settled(place, surveys, lambda name: [], tx)

        error = refused(settle, "journal_import_refused")
    assert error.details == {
        "problems": [
            {"run_id": run.run.run_id, "problem": "its journal changed while it was imported; do it again"}
        ]
    }  # fmt: skip
    assert facts(here) == [[], [], []]


def test_a_torn_tail_is_left_out_and_the_run_goes_on(repository: Repository, elsewhere: Path, here: Stored) -> None:
    run = PublishedRun(repository, elsewhere).submit().publish()
    torn = run.published.journal + b'{"sequence":3,"type":"run_stop'
    (run.directory / "journal.jsonl").write_bytes(torn)
    imported(here)
    assert (run.directory / "journal.jsonl").read_bytes() == torn
    assert here.stop(here.reading.run(run.run.run_id)).event_count == 3
    assert here.problems() == []


# -- materials


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda path: path.unlink(), "cannot be read: No such file or directory"),
        (lambda path: path.write_bytes(b"Must burn.\n"), "a material is not what its name says"),
        (lambda path: path.write_bytes(b"\xff"), "a material is not UTF-8"),
        (lambda path: path.write_bytes(b"x" * 262_145), "is no regular file of at most 262144 bytes"),
        (lambda path: (path.unlink(), path.symlink_to("/etc/hostname")), "cannot be read: Too many levels"),
        (lambda path: (path.unlink(), os.mkfifo(path)), "is no regular file"),
        (lambda path: (path.unlink(), path.mkdir()), "is no regular file"),
    ],
)
def test_a_material_that_is_not_there_as_it_was_refuses_its_run(
    repository: Repository, elsewhere: Path, here: Stored, damage: Any, problem: str
) -> None:
    run = bound(repository, elsewhere).publish()
    section = run.run.accepted_sections[1]
    damage(run.directory / "materials" / section["material_sha256"].removeprefix("sha256:"))
    error = refused(lambda: imported(here), "journal_import_refused")
    assert error.details is not None
    ((found),) = error.details["problems"]
    assert found["run_id"] == run.run.run_id
    assert problem in found["problem"]
    assert not os.path.exists(here.path)
