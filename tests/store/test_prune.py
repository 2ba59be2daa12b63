"""Pruning: only old audit events go, the chain stays whole, and what may be missing is known."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from slipway_lite import clock
from slipway_lite.errors import UsageError
from slipway_lite.observe.projection import ObservationProjector
from slipway_lite.store import prune
from slipway_lite.store.connection import Store, open_store
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
    assert {"table": "audit_events", "row": "task:a", "problem": "has 3 rows numbered 2 to 4"} in found
