"""The audit trail: who, what, when, and where an event of another store comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipway_lite.store.audit import append_audits
from slipway_lite.store.connection import open_store
from tests.store.files import AT

EVENT = ("run.stopped", "human", "operator", {"remaining_budget": 1})


def test_an_event_of_ours_happened_when_it_is_recorded_and_has_no_provenance(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "file.db")) as store:
        with store.immediate() as tx:
            append_audits(tx, "run:a", AT, [EVENT, EVENT], run_id="a")
        found = store.rows("select sequence, at, occurred_at, payload, provenance from audit_events order by seq")
    told = (AT, "2026-01-02T03:04:05.000Z", '{"remaining_budget":1}', None)
    assert found == [(1, *told), (2, *told)]


@pytest.mark.parametrize(
    ("occurred_at", "shown"),
    [
        ("2026-07-12T09:00:00Z", "2026-07-12T09:00:00.000Z"),
        ("2026-07-12T09:00:00.5Z", "2026-07-12T09:00:00.500Z"),
        ("2026-07-12T09:00:00.123456789Z", "2026-07-12T09:00:00.123Z"),
    ],
)
def test_an_event_from_elsewhere_keeps_its_time_in_milliseconds(tmp_path: Path, occurred_at: str, shown: str) -> None:
    with open_store(str(tmp_path / "file.db")) as store:
        with store.immediate() as tx:
            append_audits(tx, "run:a", AT, [EVENT], provenance="import:x", occurred_at=occurred_at)
        assert store.rows("select at, occurred_at, provenance from audit_events") == [(AT, shown, "import:x")]
