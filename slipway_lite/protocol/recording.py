"""Make one event of a Run part of the record: journal, audit events and read tables, in one transaction."""

from __future__ import annotations

from slipway_lite import ids
from slipway_lite.protocol import audit, replay
from slipway_lite.protocol.projection import write_touched
from slipway_lite.store.audit import append_audits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from slipway_lite.protocol.run import Run
    from slipway_lite.store.journal import Transaction


def append_event(
    tx: Transaction,
    run: Run,
    kind: str,
    at: str,
    data: dict[str, Any],
    encoded: str,
    new_id: Callable[[], str] = ids.uuid4,
) -> None:
    """Append the event that was just folded into ``run``; ``encoded`` is its ``data`` as JSON."""
    run.head_seq = tx.append("journal_events", replay.stream(run.run_id), run.event_count + 1, at, kind, encoded)
    run.event_count += 1
    append_audits(tx, replay.stream(run.run_id), at, audit.events(run, kind, data), run_id=run.run_id, new_id=new_id)
    write_touched(tx, run)


def append_refusal(tx: Transaction, run: Run, at: str, operation: str, action_id: str | None, code: str) -> None:
    """Append the audit event of a request that was refused."""
    events = [audit.refused(run, operation, action_id, code)]
    append_audits(tx, replay.stream(run.run_id), at, events, run_id=run.run_id)
