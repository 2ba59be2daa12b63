"""The journal over the store: append-only, in the ledger, read back as a hypothesis."""

from __future__ import annotations

import json
from typing import Any

import pytest

from slipway_lite.errors import SlipwayError
from slipway_lite.store.connection import Store, open_store
from slipway_lite.store.verify import verify
from slipway_lite.turns.driver import drive_turn
from slipway_lite.turns.service import TurnJournal
from slipway_lite.turns.snapshot import snapshot_sha256
from tests.turns.documents import fenced, outcome, snapshot
from tests.turns.test_driver import GOOD, PROSE, Agent


@pytest.fixture
def store(tmp_path: Any) -> Any:
    with open_store(str(tmp_path / "slipway.db")) as opened:
        yield opened


def add_run(store: Store, run_id: str, action_id: str) -> None:
    """One Run with one Action, as the machine protocol projects them."""
    with store.immediate() as tx:
        seq = tx.append("journal_events", f"run:{run_id}", 1, "2026-01-01T00:00:00.000000Z", "run_started", "{}")
        tx.execute(
            "insert into runs (run_id, git_common_dir, worktree_root, git_dir, workspace_identity, goal, state,"
            " review_enabled, review_pending, initial_budget, remaining_budget, action_count, changed_since_start,"
            " final_git_observed, created_at, updated_at, event_count, head_seq)"
            " values (?, '/r/.git', '', '', '', '', 'active', 0, 0, 1, 1, 1, 0, 0, '', '', 1, ?)",
            (run_id, seq),
        )
        tx.execute(
            "insert into run_actions (run_id, ordinal, action_id, kind, issued_at, remaining_budget, voided, skipped)"
            " values (?, 1, ?, 'implement', '', 1, 0, 0)",
            (run_id, action_id),
        )


@pytest.mark.parametrize(
    ("run", "action", "code"), [("run-2", None, "run_not_found"), ("run-1", "action-2", "action_not_found")]
)
def test_a_link_that_leads_nowhere_is_refused(store: Store, run: str, action: str | None, code: str) -> None:
    add_run(store, "run-1", "action-1")
    with pytest.raises(SlipwayError) as caught:
        TurnJournal(store, "/r", run_id=run, action_id=action, git_common_dir="/r/.git")
    assert caught.value.code == code


@pytest.mark.parametrize("repository", ["/other/.git", None])
def test_a_run_of_another_repository_in_a_shared_file_is_no_run_of_this_one(
    store: Store, repository: str | None
) -> None:
    add_run(store, "run-1", "action-1")
    with pytest.raises(SlipwayError) as caught:
        TurnJournal(store, "/r", run_id="run-1", git_common_dir=repository)
    assert caught.value.code == "run_not_found"


def test_a_turn_is_one_row_and_its_text_is_nowhere_in_the_file(store: Store) -> None:
    add_run(store, "run-1", "action-1")
    journal = TurnJournal(store, "/r", run_id="run-1", action_id="action-1", git_common_dir="/r/.git")
    drive_turn("execute-phase", Agent(PROSE, GOOD), journal=journal)
    (row,) = store.rows(
        "select stream, sequence, skill, verdict, source, repair, run_id, action_id, outcome, diagnostics, errors,"
        " text_bytes, attempts, evidence, decision from turns"
    )
    assert row[:8] == (
        "worktree:/r", 1, "execute-phase", "validated", "skill-outcome-v1", "same-session", "run-1", "action-1",
    )  # fmt: skip
    assert json.loads(row[8]) == outcome() and row[9:12] == ("[]", "[]", len(GOOD.encode()))
    assert len(json.loads(row[12])) == 2 and row[13:] == ("[]", None)
    store.connection.execute("pragma wal_checkpoint(truncate)")
    with open(store.path, "rb") as file:
        assert b"SECRET-PROSE" not in file.read()


def test_the_name_of_an_unknown_key_is_text_of_the_reply_and_nowhere_in_the_file(store: Store) -> None:
    named = outcome(**{"SECRETKEY": 1, "SECRET KEY['a']": 2})
    nested = outcome(next={"intent": "none", "targets": [], "SECRETKEY": 3})
    turn = drive_turn("execute-phase", Agent(fenced(named), fenced(nested)), journal=TurnJournal(store, "/r"))
    (row,) = store.rows("select errors, attempts from turns")
    paths = [[error["path"] for error in attempt["errors"]] for attempt in json.loads(row[1])]
    assert paths == [["$[unknown]", "$[unknown]"], ["$.next[unknown]"]]
    assert [error["path"] for error in json.loads(row[0])] == ["$.next[unknown]"]
    assert [error["path"] for error in turn.as_document()["errors"]] == ["$.next.SECRETKEY"]
    store.connection.execute("pragma wal_checkpoint(truncate)")
    with open(store.path, "rb") as file:
        assert b"SECRET" not in file.read()


def test_a_failed_turn_is_kept(store: Store) -> None:
    drive_turn("execute-phase", Agent(PROSE, PROSE), journal=TurnJournal(store, "/r"))
    assert store.rows("select verdict, source, outcome from turns") == [("failed", None, None)]
    assert TurnJournal(store, "/r").last_outcome() is None


def test_every_row_is_in_the_ledger_and_verifies(store: Store) -> None:
    journal = TurnJournal(store, "/r")
    journal.append_snapshot({"snapshot": snapshot(), "readings": []})
    drive_turn("execute-phase", Agent(GOOD), journal=journal)
    assert [row[0] for row in store.rows("select kind from ledger order by seq")] == [
        "workflow_snapshots", "turns", "audit_events",
    ]  # fmt: skip
    assert verify(store, [], None, None)["problems"] == []


@pytest.mark.parametrize(
    "statement", ["update turns set skill = 'x'", "delete from turns", "delete from workflow_snapshots"]
)
def test_rows_refuse_to_be_changed(store: Store, statement: str) -> None:
    journal = TurnJournal(store, "/r")
    drive_turn("execute-phase", Agent(GOOD), journal=journal)
    journal.append_snapshot({"snapshot": snapshot(), "readings": []})
    with pytest.raises(SlipwayError, match="append-only"), store.immediate() as tx:
        tx.execute(statement)


def test_a_snapshot_is_kept_with_its_digest_and_key_facts(store: Store) -> None:
    reading = {"field": "repositoryState", "source": "x", "line": 1, "form": "table"}
    journal = TurnJournal(store, "/r")
    journal.append_snapshot({"snapshot": snapshot(), "readings": [reading]})
    journal.append_snapshot({"snapshot": snapshot(unit=None), "readings": []})
    rows = store.rows(
        "select snapshot_sha256, source_revision, repository_state, unit_id, readings from workflow_snapshots"
    )
    assert rows[0][:4] == (snapshot_sha256(snapshot()), "rev1", "frozen", "12-csv")
    assert json.loads(rows[0][4]) == [reading] and rows[1][3] is None


def test_the_digest_of_a_snapshot_does_not_depend_on_key_order() -> None:
    reverse = dict(reversed(snapshot().items()))
    assert snapshot_sha256(snapshot()) == snapshot_sha256(reverse)
    assert snapshot_sha256(snapshot()) != snapshot_sha256(snapshot(sourceRevision="r2"))


def test_the_last_outcome_is_the_newest_validated_one_of_this_tree(store: Store) -> None:
    journal, other = TurnJournal(store, "/r"), TurnJournal(store, "/s")
    assert journal.last_outcome() is None
    for skill, revision in (("plan-fix", "r1"), ("execute-phase", "r2")):
        turn = drive_turn(skill, Agent(fenced(outcome(skill))))
        journal.append_turn({**turn.as_record(), "source_revision": revision})
    drive_turn("audit-pr", Agent(PROSE, PROSE), journal=journal)
    drive_turn("audit-pr", Agent(fenced(outcome("audit-pr"))), journal=other)
    last, planned = journal.last_outcome(), journal.last_outcome("plan-fix")
    assert last is not None and (last.outcome["skill"], last.source_revision) == ("execute-phase", "r2")
    assert planned is not None and planned.source_revision == "r1" and planned.turn_id != last.turn_id
    assert journal.last_outcome("audit-pr") is None


def test_a_lone_surrogate_of_a_reply_survives_the_journal(store: Store) -> None:
    journal = TurnJournal(store, "/r\udce9")
    strange = outcome(summary="\ud800\x00")
    drive_turn("execute-phase", Agent(fenced(strange)), journal=journal)
    last = journal.last_outcome()
    assert last is not None and last.outcome == strange
    journal.append_snapshot({"snapshot": snapshot(unknowns=[{"field": "\ud800", "reason": ""}]), "readings": []})
    assert verify(store, [], None, None)["problems"] == []


@pytest.mark.parametrize(("replies", "event_type"), [((GOOD,), "turn.parsed"), ((PROSE, PROSE), "turn.failed")])
def test_a_turn_is_audited_without_its_text(store: Store, replies: tuple[str, ...], event_type: str) -> None:
    add_run(store, "run-1", "action-1")
    journal = TurnJournal(store, "/r", run_id="run-1", action_id="action-1", git_common_dir="/r/.git")
    drive_turn("execute-phase", Agent(*replies), journal=journal)
    ((stream, found, run_id, payload),) = store.rows("select stream, event_type, run_id, payload from audit_events")
    assert (stream, found, run_id) == ("run:run-1", event_type, "run-1")
    assert json.loads(payload).keys() == {"turn_id", "skill", "verdict", "source", "repair", "action_id"}
