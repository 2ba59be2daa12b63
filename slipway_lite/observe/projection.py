"""Observations as the audit events give them: the rows that triggers write, made again from the views behind them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from slipway_lite.store.projections import RowRefused
from slipway_lite.store.tables import PROJECTIONS

if TYPE_CHECKING:
    from slipway_lite.store.connection import Store
    from slipway_lite.store.projections import Projector, Sink

VIEWS = {
    "gate_observations": "_gates_of_audit",
    "evidence_observations": "_evidence_of_audit",
    "reflections": "_reflections_of_retrospectives",
}
"""Each projection table and the view that says what an audit event or a retrospective means (control-plane §6.3)."""
STEP = 5000


def projectors() -> list[Projector]:
    """One of every kind, in the order in which they replay: all that a whole file needs."""
    from slipway_lite.control.projections import TaskProjector
    from slipway_lite.protocol.replay import RunProjector

    return [RunProjector(), TaskProjector(), ObservationProjector()]


class ObservationProjector:
    """Replays ``audit_events`` and ``retrospectives`` into the observation tables."""

    tables = PROJECTIONS["audit"]

    def project(self, store: Store, sink: Sink) -> None:
        """Fill ``sink`` in ledger order. Nothing here can fail to replay: a view answers for every row."""
        total = sum(store.rows(f"select count(*) from {table}")[0][0] for table in ("audit_events", "retrospectives"))
        done = 0
        for table, view in VIEWS.items():
            names = [row[0] for row in store.rows("select name from pragma_table_info(?)", (table,))]
            rows = store.connection.execute(f"select {', '.join(names)} from {view} order by seq")
            for row in rows:
                # No trigger can have given a row that the table does not take: its event is none of ours.
                with suppress(RowRefused):
                    sink.row(table, row)
                done += 1
                if done % STEP == 0:
                    sink.advance(done, total)
        sink.advance(total, total)
