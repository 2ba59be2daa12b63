"""Reads on a real repository and store: one Run, all Runs, the sections of a source (machine-protocol §2.3-2.6)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.canon import encode
from slipway_lite.errors import SlipwayError
from slipway_lite.protocol import documents
from slipway_lite.protocol.documents import run_status
from slipway_lite.protocol.resume import Mode
from slipway_lite.protocol.run import Run
from slipway_lite.protocol.source.classify import classify
from slipway_lite.protocol.source.envelope import decode_envelope
from slipway_lite.store.connection import open_store
from tests.protocol.conftest import Repository, create
from tests.protocol.outcomes import decision, environment
from tests.protocol.source.change import SECTIONS, Change
from tests.protocol.stored import Stored, refused, variant
from tests.protocol.valid_next import check as check_next
from tests.store.tampering import tampered


@pytest.fixture
def stored(repository: Repository) -> Stored:
    return Stored(repository)


def classified(change: Change) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    return classify(decode_envelope(change.raw()))


def list_runs(stored: Stored, error: SlipwayError) -> None:
    assert error.details is None
    assert variant(error) == ("list-runs", ["slipway", "status", "--root", stored.workspace.worktree_root])


# -- nothing there


def test_a_repository_that_never_had_a_run_has_none_and_gets_no_file(stored: Stored) -> None:
    before = sorted(os.listdir(stored.repository.root / ".git"))
    assert stored.reading.status_list() == ([], [], [])
    for attempt in (
        lambda: stored.reading.run("run-9"),
        lambda: stored.reading.action_material("run-9", "act-1", "reqs"),
        lambda: stored.reading.pinned_material("run-9", "reqs"),
    ):
        list_runs(stored, refused(attempt, "run_not_found"))
    assert sorted(os.listdir(stored.repository.root / ".git")) == before


def test_a_run_that_is_not_there_is_not_found(stored: Stored) -> None:
    stored.start()
    list_runs(stored, refused(lambda: stored.reading.run("run-9"), "run_not_found"))


def test_reads_leave_a_resting_file_as_it_was(stored: Stored) -> None:
    run = stored.start(source=classified(Change()))
    assert run.current is not None
    directory = Path(stored.path).parent

    def everything() -> list[tuple[str, int, int]]:
        return sorted((file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in directory.iterdir())

    before = everything()
    assert [name for name, *_ in before] == [Path(stored.path).name]
    stored.reading.run(run.run_id)
    stored.reading.status_list()
    stored.reading.action_material(run.run_id, run.current.action_id, "reqs")
    stored.reading.pinned_material(run.run_id, "reqs")
    assert everything() == before


# -- whose Runs these are


def test_a_run_of_a_sibling_worktree_is_a_stub_and_not_readable_from_here(stored: Stored, tmp_path: Path) -> None:
    stored.repository.git("worktree", "add", "-q", str(tmp_path / "linked"))
    linked = Stored(Repository((tmp_path / "linked").resolve()))
    assert linked.path == stored.path
    mine, theirs = stored.start("mine"), linked.start("theirs")
    linked.stop(theirs)
    local, stubs, unavailable = stored.reading.status_list()
    assert [run.run_id for run in local] == [mine.run_id]
    assert unavailable == []
    (stub,) = stubs
    assert stub == {
        "contract_version": 2,
        "created_at": theirs.created_at,
        "goal": "theirs",
        "id": theirs.run_id,
        "next": stub["next"],
        "state": "active",  # of its first record, and not the live one
        "workspace": linked.workspace.worktree_root,
        "workspace_foreign": True,
        "workspace_identity": linked.workspace.document(),
    }
    assert list(stub) == sorted(stub)
    check_next(stub["next"], linked.workspace.id)
    (only,) = stub["next"]["variants"]
    assert only["id"] == "inspect-run-in-its-workspace"
    assert only["base_argv"] == ["slipway", "status", theirs.run_id, "--root", linked.workspace.worktree_root]
    error = refused(lambda: stored.reading.run(theirs.run_id), "workspace_identity_mismatch")
    assert error.details == {
        "expected_workspace_identity": linked.workspace.id,
        "observed_workspace_identity": stored.workspace.id,
    }
    assert variant(error)[1] == ["slipway", "status", "--root", linked.workspace.worktree_root]


def test_a_moved_git_directory_makes_every_run_foreign(stored: Stored, tmp_path: Path) -> None:
    run = stored.start()
    moved = (tmp_path / "moved.git").resolve()
    (stored.repository.root / ".git").rename(moved)
    (stored.repository.root / ".git").write_text(f"gitdir: {moved}\n")
    after = Stored(stored.repository)
    refused(lambda: after.reading.run(run.run_id), "workspace_identity_mismatch")
    local, stubs, _ = after.reading.status_list()
    assert (local, [stub["id"] for stub in stubs]) == ([], [run.run_id])


def test_a_file_of_several_repositories_shows_each_its_own(stored: Stored, tmp_path: Path) -> None:
    db = str(tmp_path / "shared.db")
    other = create((tmp_path / "other").resolve())
    other.commit("a")
    mine, theirs = Stored(stored.repository, db), Stored(other, db)
    one, two = mine.start("one"), theirs.start("two")
    for reader, own, foreign in ((mine, one, two), (theirs, two, one)):
        local, stubs, unavailable = reader.reading.status_list()
        assert ([run.run_id for run in local], stubs, unavailable) == ([own.run_id], [], [])
        list_runs(reader, refused(lambda r=reader, f=foreign: r.reading.run(f.run_id), "run_not_found"))  # type: ignore[misc]
    assert not os.path.exists(stored.path)


def test_the_place_of_the_file_may_come_from_the_environment(
    stored: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLIPWAY_DB", str(tmp_path / "env.db"))
    run = stored.start()
    assert stored.path == str(tmp_path / "env.db")
    assert stored.reading.run(run.run_id).run_id == run.run_id


def test_lists_are_sorted_by_creation_and_then_by_id(stored: Stored) -> None:
    runs = [stored.start() for _ in range(4)]
    local, _, _ = stored.reading.status_list()
    listed = documents.status_list([run_status(run) for run in reversed(local)], [{"id": "b"}, {"id": "a"}])
    assert [run["id"] for run in listed["runs"]] == [run.run_id for run in runs]
    assert listed["unavailable_runs"] == [{"id": "a"}, {"id": "b"}]
    assert {run["created_at"] for run in listed["runs"]} == {run.created_at for run in runs}
    assert documents.status_list([], []) == {"contract_version": 2, "runs": [], "unavailable_runs": []}


def test_a_run_in_a_list_is_the_run_by_itself(stored: Stored) -> None:
    run = stored.submit(stored.start(), "needs_input", pause=decision())
    (listed,), _, _ = stored.reading.status_list()
    assert encode(run_status(listed)) == encode(run_status(stored.reading.run(run.run_id)))


def test_reads_go_on_while_somebody_writes(stored: Stored) -> None:
    run = stored.start()
    with open_store(stored.path) as store, store.immediate() as tx:
        tx.execute("update runs set goal = 'half written'")
        assert stored.reading.run(run.run_id).goal == "Ship it"
        local, _, _ = stored.reading.status_list()
        assert [listed.goal for listed in local] == ["Ship it"]
        tx.execute("update runs set goal = 'Ship it'")


# -- a journal that cannot be trusted

DAMAGE = {
    "changed": "update journal_events set data = json_set(data, '$.outcome.summary', 'forged') where sequence = 2",
    "first changed": "update journal_events set data = json_set(data, '$.goal', 'forged') where sequence = 1",
    "retyped": "update journal_events set type = 'run_stopped' where sequence = 2",
    "moved in time": "update journal_events set at = '2020-01-01T00:00:00.000000Z' where sequence = 2",
    "renumbered": "update journal_events set sequence = 9 where sequence = 3",
    "first missing": "delete from journal_events where sequence = 1",
    "middle missing": "delete from journal_events where sequence = 2",
    "last missing": "delete from journal_events where sequence = 3",
    "all missing": "delete from journal_events",
    "ledger changed": "update ledger set sha256 = 'x' where stream_sequence = 2",
    "ledger unlinked": "update ledger set prev_sha256 = 'x' where stream_sequence = 3",
    "ledger missing": "delete from ledger where stream_sequence = 2",
    "count changed": "update runs set event_count = 2",
    "head changed": "update runs set head_seq = 1",
    "projection missing": "delete from runs",
}


def damaged(stored: Stored, statement: str) -> Run:
    run = stored.submit(stored.submit(stored.start(), known_issues=["known"]))
    stored.sql("pragma foreign_keys = off", statement)
    return run


@pytest.mark.parametrize("name", DAMAGE)
def test_a_journal_that_was_tampered_with_is_invalid(stored: Stored, name: str) -> None:
    run = damaged(stored, DAMAGE[name])
    for attempt in (
        lambda: stored.reading.run(run.run_id),
        lambda: stored.reading.pinned_material(run.run_id, "reqs"),
    ):
        list_runs(stored, refused(attempt, "run_journal_invalid"))
    error = refused(lambda: stored.reading.action_material(run.run_id, "act-1", "reqs"), "runtime_error")
    assert variant(error)[0] == "inspect-run"
    assert stored.problems() != []


# The list verifies the end of each journal, and replays all of it: a change in the middle that still replays is for
# `status ID` and `db verify` to find.
LISTED_ANYWAY = {"changed", "first changed", "moved in time", "ledger changed", "ledger missing"}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_list_goes_on_and_names_what_it_could_not_read(stored: Stored, name: str) -> None:
    run = damaged(stored, DAMAGE[name])
    other = stored.start("sound")
    local, stubs, unavailable = stored.reading.status_list()
    assert stubs == []
    assert other.run_id in [listed.run_id for listed in local]
    if name in LISTED_ANYWAY:
        assert unavailable == []
        return
    assert [(item["id"], item["code"]) for item in unavailable] == [(run.run_id, "run_journal_invalid")]
    assert list(unavailable[0]) == ["id", "code", "detail"]
    assert [listed.run_id for listed in local] == [other.run_id]


def test_an_event_that_is_chained_soundly_and_makes_no_sense_is_invalid(stored: Stored) -> None:
    run = stored.start()
    with open_store(stored.path) as store, store.immediate() as tx:
        at = "2026-07-12T09:00:00.000000Z"
        seq = tx.append("journal_events", f"run:{run.run_id}", 2, at, "run_renamed", '{"name":"x"}')
        tx.execute("update runs set event_count = 2, head_seq = ?", (seq,))
    list_runs(stored, refused(lambda: stored.reading.run(run.run_id), "run_journal_invalid"))
    _, _, unavailable = stored.reading.status_list()
    assert unavailable[0]["detail"] == "event 2 of the journal is missing or was changed."


# -- sections of a source


def bound(stored: Stored) -> Run:
    return stored.start(source=classified(Change()))


def material(stored: Stored, run: Run, key: str = "reqs", action_id: str | None = None) -> dict[str, Any]:
    if action_id is None:
        assert run.current is not None
        action_id = run.current.action_id
    return stored.reading.action_material(run.run_id, action_id, key)


@pytest.mark.parametrize(("key", "role", "title", "markdown"), SECTIONS)
def test_each_section_is_read_as_it_was_accepted(
    stored: Stored, key: str, role: str, title: str, markdown: str
) -> None:
    run = bound(stored)
    assert run.pinned_source is not None
    revision = {section["key"]: section["section_revision"] for section in run.pinned_source["sections"]}[key]
    section = {"key": key, "role": role, "title": title, "section_revision": revision, "markdown": markdown}
    document = material(stored, run, key)
    assert list(document) == [
        "contract_version", "message_type", "run_id", "action_id", "requirements_revision", "section",
    ]  # fmt: skip
    assert document["message_type"] == "action_material"
    assert document["section"] == section
    pinned = stored.reading.pinned_material(run.run_id, key)
    assert list(pinned) == [
        "contract_version", "message_type", "run_id", "run_state", "source_revision", "requirements_revision",
        "section",
    ]  # fmt: skip
    assert (pinned["message_type"], pinned["run_state"], pinned["section"]) == ("pinned_material", "active", section)


def inspects(run: Run, error: SlipwayError) -> None:
    assert error.details is None
    assert variant(error)[0] == "inspect-run"
    assert variant(error)[1][2] == run.run_id


def test_an_action_that_is_not_of_the_run_has_no_sections(stored: Stored) -> None:
    run = bound(stored)
    inspects(run, refused(lambda: material(stored, run, action_id="act-9"), "material_action_not_found"))


def test_a_section_that_is_not_in_the_catalog_is_not_found(stored: Stored) -> None:
    run = bound(stored)
    inspects(run, refused(lambda: material(stored, run, "nope"), "material_section_not_found"))
    inspects(run, refused(lambda: stored.reading.pinned_material(run.run_id, "nope"), "material_section_not_found"))


def test_an_ad_hoc_run_has_no_sections(stored: Stored) -> None:
    run = stored.start()
    inspects(run, refused(lambda: material(stored, run), "material_unavailable"))
    inspects(run, refused(lambda: stored.reading.pinned_material(run.run_id, "reqs"), "material_unavailable"))


STEPS: dict[str, Callable[[Stored, Run], Run]] = {
    "reported": lambda stored, run: stored.submit(run),
    "skipped": lambda stored, run: stored.skip(run),
    "stopped": lambda stored, run: stored.stop(run),
    "voided": lambda stored, run: stored.resume(stored.stop(run), 0, Mode(pinned=True)),
    "ended": lambda stored, run: stored.submit(stored.submit(run)),
}


@pytest.mark.parametrize("step", STEPS)
def test_sections_are_for_the_current_action_only_and_stay_readable_for_people(stored: Stored, step: str) -> None:
    run = bound(stored)
    assert run.current is not None
    action_id = run.current.action_id
    after = STEPS[step](stored, run)
    error = refused(lambda: material(stored, after, action_id=action_id), "material_action_stale")
    assert error.details is None
    assert error.next == run_status(after)["next"]
    assert stored.reading.pinned_material(run.run_id, "reqs")["run_state"] == after.state
    if after.current is not None:
        assert material(stored, after)["action_id"] == after.current.action_id


@pytest.mark.parametrize("waits", [decision(), environment()])
def test_a_paused_action_may_still_read(stored: Stored, waits: dict[str, Any]) -> None:
    run = stored.submit(bound(stored), "needs_input", pause=waits)
    assert material(stored, run)["section"]["key"] == "reqs"


@pytest.mark.parametrize(
    "damage",
    [
        "delete from materials where content = 'Must build.' || char(10)",
        "update materials set content = 'Must not build.' || char(10) where content like 'Must build.%'",
        "update materials set material_sha256 = 'x' where content like 'Must build.%'",
    ],
)
def test_a_text_that_is_missing_or_was_changed_is_unavailable(stored: Stored, damage: str) -> None:
    run = bound(stored)
    stored.sql(damage)
    inspects(run, refused(lambda: material(stored, run), "material_unavailable"))
    inspects(run, refused(lambda: stored.reading.pinned_material(run.run_id, "reqs"), "material_unavailable"))
    assert material(stored, run, "limits")["section"]["markdown"] == "No network.\n"
    assert stored.problems() != []


@pytest.mark.parametrize(("name", "value"), [("bytes", 13), ("section_revision", "sha256:" + "0" * 64), ("title", "x")])
def test_a_catalog_that_disagrees_with_the_text_is_corrupt(stored: Stored, name: str, value: Any) -> None:
    classification, materials = classified(Change())
    classification["snapshot"]["sections"][1][name] = value  # no valid envelope gives this
    run = stored.start(source=(classification, materials))
    inspects(run, refused(lambda: material(stored, run), "material_corrupt"))
    inspects(run, refused(lambda: stored.reading.pinned_material(run.run_id, "reqs"), "material_corrupt"))


def test_reading_sections_one_after_the_other_notices_a_new_event(stored: Stored) -> None:
    run = bound(stored)
    assert run.current is not None
    reading = stored.reading
    for key, *_ in SECTIONS:
        reading.action_material(run.run_id, run.current.action_id, key)
    stored.stop(run)
    refused(lambda: reading.action_material(run.run_id, run.current.action_id, "reqs"), "material_action_stale")  # type: ignore[union-attr]


def test_sections_of_an_adopted_source_replace_the_old_ones(stored: Stored) -> None:
    run = stored.stop(bound(stored))
    classification, materials = classified(Change().amend(2, "Must fly.\n", run.requirements_revision or ""))
    run = stored.resume(run, 0, Mode(classification=classification), materials)
    assert run.source_candidate is not None
    assert stored.reading.pinned_material(run.run_id, "reqs")["section"]["markdown"] == "Must build.\n"
    run = stored.resume(run, 0, Mode(choice="adopt", candidate=run.source_candidate["candidate_id"]))
    assert material(stored, run)["section"]["markdown"] == "Must fly.\n"
    assert material(stored, run)["requirements_revision"] == run.requirements_revision


def test_a_run_that_cannot_be_shown_is_unavailable_and_hides_no_other(stored: Stored) -> None:
    """A list verifies heads only, so an event before one may hold anything."""
    changed = stored.start(source=classified(Change()))
    stored.stop(changed)
    other = stored.start("Other")
    rename = "update journal_events set data = replace(data, 'material_sha256', 'natural_sha256')"
    tampered(Path(stored.path), f"{rename} where sequence = 1")
    document = stored.reading.status_document()
    assert [run["id"] for run in document["runs"]] == [other.run_id]
    assert [(run["id"], run["code"]) for run in document["unavailable_runs"]] == [
        (changed.run_id, "run_journal_invalid")
    ]
