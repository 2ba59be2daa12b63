"""Make one event of a Run part of the record: journal, audit events and read tables, in one transaction."""

from __future__ import annotations

from slipway_lite import ids
from slipway_lite.canon import encode
from slipway_lite.protocol import audit, replay
from slipway_lite.protocol.projection import write_touched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
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
    append_audits(tx, run.run_id, at, audit.events(run, kind, data), new_id)
    write_touched(tx, run)


def append_audits(
    tx: Transaction, run_id: str, at: str, events: Iterable[audit.Audit], new_id: Callable[[], str] = ids.uuid4
) -> None:
    """Append audit events of a Run; their time on the wire has milliseconds (control-plane, head)."""
    stream = replay.stream(run_id)
    for sequence, (event_type, actor_type, actor_id, payload) in enumerate(
        events, tx.next_sequence("audit_events", stream)
    ):
        event_id = "audit_" + new_id().replace("-", "")
        tx.append(
            "audit_events",
            stream,
            sequence,
            at,
            event_id,
            event_type,
            None,
            run_id,
            None,
            actor_type,
            actor_id,
            at[:23] + "Z",
            encode(payload),
            None,
        )
