"""Append to the audit trail: one table that tells what happened to Runs, turns, tasks and the file itself."""

from __future__ import annotations

from slipway_lite import ids
from slipway_lite.canon import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from slipway_lite.store.journal import Transaction

    # event type, actor type, actor id, payload
    Event = tuple[str, str, str, dict[str, Any]]


def append_audits(
    tx: Transaction,
    stream: str,
    at: str,
    events: Iterable[Event],
    *,
    task_id: str | None = None,
    run_id: str | None = None,
    job_id: str | None = None,
    provenance: str | None = None,
    occurred_at: str | None = None,
    new_id: Callable[[], str] = ids.uuid4,
) -> None:
    """Append ``events`` to the audit trail of ``stream``, all at ``at`` (a timestamp of :mod:`clock`).

    Those that come from elsewhere name their ``provenance`` and the time ``occurred_at`` at which they happened there,
    RFC 3339 with ``Z``. It is kept in the form of the wire, which has milliseconds (control-plane, head).
    """
    seconds, _, fraction = (occurred_at or at).removesuffix("Z").partition(".")
    occurred_at = f"{seconds}.{fraction[:3]:0<3}Z"
    for sequence, (event_type, actor_type, actor_id, payload) in enumerate(
        events, tx.next_sequence("audit_events", stream)
    ):
        tx.append(
            "audit_events", stream, sequence, at, "audit_" + new_id().replace("-", ""), event_type, task_id, run_id,
            job_id, actor_type, actor_id, occurred_at, encode(payload), provenance,
        )  # fmt: skip
