"""Pruning: only old audit events go, the chain stays whole, and what may be missing is known."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from slipway_lite import clock
from slipway_lite.errors import UsageError
from slipway_lite.observe.projection import ObservationProjector, projectors
from slipway_lite.store import prune
from slipway_lite.store.connection import Store, open_store
from slipway_lite.store.merge import merge
from slipway_lite.store.migrations import protect
from slipway_lite.store.projections import rebuild_in
from slipway_lite.store.verify import verify

OLD, MIDDLE = "2020-01-01T00:00:00.000000Z", "2021-01-01T00:00:00.000000Z"


def audit(store: Store, stream: str, at: str, event_type: str = "evidence.acknowledged") -> None:
    with store.immediate() as tx:
        sequence = tx.next_sequence("audit_events", stream)
        payload = '{"evidence_id":"e","reviewed_by":"r","evidence_type":"log"}'
        tx.append(
            "audit_events", stream, sequence, at, f"{stream}/{sequence}", event_type, stream[5:], None, None, "human",
            "r", at[:23] + "Z", payload, None,
        )  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "file.db")) as opened:
        for at in (OLD, OLD, MIDDLE, clock.timestamp()):
            audit(opened, "task:a", at)
        audit(opened, "task:b", OLD, "evidence.generated")
        audit(opened, "task:b", OLD)
        yield opened


def problems(store: Store) -> list[object]:
    found: list[object] = verify(store, [ObservationProjector()])["problems"]
    return found


def remaining(store: Store) -> list[str]:
    return [
        row[0] for row in store.rows("select event_id from audit_events where stream <> 'audit:pruning' order by seq")
    ]


def test_old_events_go_and_the_newest_of_each_stream_stays(store: Store) -> None:
    done = prune.prune(store, MIDDLE, [ObservationProjector()])
    assert done == {"before": MIDDLE, "count": 3, "first_seq": 1, "last_seq": 5}
    assert remaining(store) == ["task:a/3", "task:a/4", "task:b/2"]
    assert problems(store) == []


def test_their_observations_go_too(store: Store) -> None:
    prune.prune(store, MIDDLE, [ObservationProjector()])
    rows = store.rows("select source_event_id from evidence_observations order by 1")
    assert [row[0] for row in rows] == ["task:a/3", "task:a/4", "task:b/2"]


def test_the_pruning_is_an_audit_event(store: Store) -> None:
    done = prune.prune(store, MIDDLE, [ObservationProjector()])
    ((payload,),) = store.rows("select payload from audit_events where event_type = 'audit.pruned'")
    assert json.loads(payload) == done


def test_the_ledger_keeps_every_row(store: Store) -> None:
    before = store.rows("select seq, sha256 from ledger")
    prune.prune(store, MIDDLE, [ObservationProjector()])
    assert store.rows("select seq, sha256 from ledger")[: len(before)] == before


def test_streams_go_on_after_a_pruning(store: Store) -> None:
    prune.prune(store, MIDDLE, [ObservationProjector()])
    for stream in ("task:a", "task:b"):
        audit(store, stream, clock.timestamp())
    assert problems(store) == []


def test_pruning_again_is_allowed_and_nothing_to_prune_writes_nothing(store: Store) -> None:
    prune.prune(store, MIDDLE, [ObservationProjector()])
    count = store.rows("select count(*) from ledger")
    assert prune.prune(store, MIDDLE, [ObservationProjector()])["count"] == 0
    assert store.rows("select count(*) from ledger") == count
    assert prune.prune(store, "2022-01-01T00:00:00.000000Z", [ObservationProjector()])["count"] == 1
    assert problems(store) == []


def test_a_dry_run_counts_and_deletes_nothing(store: Store) -> None:
    assert prune.count_prunable(store, MIDDLE)["count"] == 3
    assert len(remaining(store)) == 6


@pytest.mark.parametrize("dry_run", [True, False])
def test_nothing_younger_than_a_year_is_pruned(store: Store, dry_run: bool) -> None:
    with pytest.raises(UsageError) as refused:
        if dry_run:
            prune.count_prunable(store, clock.timestamp())
        else:
            prune.prune(store, clock.timestamp(), [])
    assert refused.value.code == "retention_floor"
    assert len(remaining(store)) == 6


def test_the_floor_is_365_days_ago(store: Store) -> None:
    assert prune.floor() < clock.timestamp()
    assert prune.count_prunable(store, prune.floor())["count"] == 4


def test_the_table_refuses_to_forget_before_and_after(store: Store) -> None:
    prune.prune(store, MIDDLE, [ObservationProjector()])
    for statement in ("delete from audit_events", "update audit_events set at = 'x'"):
        with pytest.raises(Exception, match="append-only"):
            store.connection.execute(statement)


def test_a_missing_event_that_no_pruning_accounts_for_is_found(store: Store) -> None:
    prune.prune(store, MIDDLE, [ObservationProjector()])
    store.connection.execute("drop trigger audit_events_refuses_delete")
    store.connection.execute("delete from audit_events where event_id = 'task:a/3'")
    assert {"table": "audit_events", "row": "3", "problem": "is missing"} in problems(store)


def test_without_a_pruning_every_missing_event_is_found(store: Store) -> None:
    store.connection.execute("drop trigger audit_events_refuses_delete")
    store.connection.execute("delete from audit_events where event_id = 'task:a/1'")
    found = problems(store)
    assert {"table": "audit_events", "row": "1", "problem": "is missing"} in found


# -- what somebody may claim who has the file


def named(store: Store) -> set[tuple[str, str, str]]:
    found = verify(store, [ObservationProjector()])["problems"]
    return {(problem["table"], problem["row"], problem["problem"]) for problem in found}


def gone(*seqs: int) -> set[tuple[str, str, str]]:
    return {("audit_events", str(seq), "is missing") for seq in seqs}


def forget(store: Store, condition: str) -> None:
    """Delete audit events behind the table's back, with what was projected from them."""
    with store.immediate() as tx:
        tx.execute("drop trigger audit_events_refuses_delete")
        tx.execute("drop trigger audit_events_refuses_update")
        tx.execute(f"delete from audit_events where {condition}")
        protect(tx.connection, "audit_events")
        rebuild_in(tx, store, [ObservationProjector()])


def claim(store: Store, before: str, at: str = "") -> int:
    """Append the event of a pruning that never was, rightly chained."""
    payload = json.dumps({"before": before, "count": 1, "first_seq": 1, "last_seq": 4})
    with store.immediate() as tx:
        sequence = tx.next_sequence("audit_events", "audit:pruning")
        return tx.append(
            "audit_events", "audit:pruning", sequence, at or clock.timestamp(), f"claim/{sequence}", "audit.pruned",
            None, None, None, "human", "operator", "2026-01-01T00:00:00.000Z", payload, None,
        )  # fmt: skip


@pytest.mark.parametrize("at", ["", "2999-01-01T00:00:00.000000Z"])
def test_no_pruning_accounts_for_an_event_younger_than_a_year(store: Store, at: str) -> None:
    audit(store, "task:a", clock.timestamp())
    claim(store, "2998-01-01T00:00:00.000000Z", at)
    forget(store, "seq = 4")
    assert gone(4) <= named(store)


def test_no_pruning_accounts_for_the_newest_event_of_a_stream(store: Store) -> None:
    prune.prune(store, MIDDLE, [ObservationProjector()])
    forget(store, "seq = 6")
    assert named(store) == gone(6)


def test_no_pruning_accounts_for_what_was_the_newest_event_then(store: Store) -> None:
    prune.prune(store, MIDDLE, [ObservationProjector()])
    audit(store, "task:b", clock.timestamp())
    forget(store, "seq = 6")
    assert named(store) == gone(6)


@pytest.mark.parametrize("undo", ["delete from ledger", "update ledger set prev_sha256 = payload_sha256"])
def test_a_pruning_that_is_not_in_the_chain_accounts_for_nothing(store: Store, undo: str) -> None:
    seq = claim(store, MIDDLE)
    forget(store, "seq in (1, 2, 5)")
    assert named(store) == set()
    store.connection.execute("pragma foreign_keys = off")
    for verb in ("update", "delete"):
        store.connection.execute(f"drop trigger ledger_refuses_{verb}")
    store.connection.execute(f"{undo} where seq = ?", (seq,))
    assert gone(1, 2, 5) <= named(store)


def test_a_pruning_that_was_changed_accounts_for_nothing(store: Store) -> None:
    done = prune.prune(store, MIDDLE, [ObservationProjector()])
    ((seq,),) = store.rows("select seq from audit_events where event_type = 'audit.pruned'")
    store.connection.execute("drop trigger audit_events_refuses_update")
    for payload in (json.dumps(done | {"count": 9}), "[]", "{", json.dumps({"before": 7})):
        store.connection.execute("pragma ignore_check_constraints = on")
        store.connection.execute("update audit_events set payload = ? where seq = ?", (payload, seq))
        assert gone(1, 2, 5) <= named(store)
        assert ("audit_events", str(seq), "was changed") in named(store)


def test_the_event_of_a_pruning_is_never_pruned(store: Store) -> None:
    audit(store, "audit:pruning", OLD, "audit.pruned")
    audit(store, "audit:pruning", OLD, "audit.pruned")
    assert prune.prune(store, MIDDLE, [ObservationProjector()])["count"] == 3
    assert problems(store) == []


def test_a_deleted_pruning_and_what_it_took_are_named(store: Store) -> None:
    prune.prune(store, MIDDLE, [ObservationProjector()])
    forget(store, "event_type = 'audit.pruned'")
    assert gone(1, 2, 5, 7) <= named(store)


def test_a_pruning_that_is_told_twice_accounts_for_the_same_events(store: Store) -> None:
    prune.prune(store, MIDDLE, [ObservationProjector()])
    claim(store, MIDDLE)
    assert named(store) == set()
    forget(store, "seq = 3")
    assert named(store) == gone(3)


def test_a_claim_without_a_deletion_is_named_by_what_is_still_there(store: Store) -> None:
    claim(store, MIDDLE)
    assert named(store) == {("audit_events", str(seq), "was pruned and is there again") for seq in (1, 2, 5)}


def test_a_pruned_file_is_sound_although_a_clock_went_back(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "back.db")) as store:
        for at in (MIDDLE, OLD, MIDDLE, OLD, clock.timestamp()):
            audit(store, "task:c", at)
        prune.prune(store, MIDDLE, [ObservationProjector()])
        assert remaining(store) == ["task:c/1", "task:c/3", "task:c/5"]
        assert problems(store) == []


def test_a_merged_file_is_sound_although_a_clock_had_gone_back(tmp_path: Path) -> None:
    one, other = tmp_path / "one.db", tmp_path / "other.db"
    for path in (one, other):
        with open_store(str(path)) as store:
            for at in (MIDDLE, OLD, clock.timestamp()):
                audit(store, f"task:{path.stem}", at)
            prune.prune(store, MIDDLE, [ObservationProjector()])
    assert merge([str(one), str(other)], str(tmp_path / "both.db"), projectors())["ledger_rows"] == 8
