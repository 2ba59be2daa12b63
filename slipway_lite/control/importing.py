"""Audit events from elsewhere: the JSON lines of a shipyard-cp store, whole or not at all (control-plane §13.18).

An imported event keeps its id, time and payload; ``provenance`` names the file by its digest. What old events lack
is not made up here: exports call it unknown.
"""

from __future__ import annotations

import hashlib
import io
from typing import TYPE_CHECKING, Any, Literal

from slipway_lite import clock
from slipway_lite.canon import encode
from slipway_lite.control import projections
from slipway_lite.control.bodies import BODY_LIMIT, decode_body
from slipway_lite.control.instants import normalised
from slipway_lite.control.messages_base import DateTime, OpenMessage, Text, validate
from slipway_lite.control.refusals import Refused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slipway_lite.store.connection import Store
    from slipway_lite.store.journal import Transaction

KNOWN_ID = "select 1 from audit_events where event_id = ?"


class ImportedAuditEvent(OpenMessage):
    """A line of an import; members beyond these are left behind."""

    event_id: Text
    event_type: Text
    task_id: Text
    run_id: str | None = None
    job_id: str | None = None
    actor_type: Literal["control_plane", "worker", "human", "policy_engine", "system"] | None = None
    actor_id: Text | None = None
    payload: dict[str, Any] | None = None
    occurred_at: DateTime


def import_audit(store: Store, raw: bytes) -> dict[str, Any]:
    """Append every event of ``raw`` (JSON lines) in one transaction; how many, and their provenance.

    Raises INVALID_REQUEST for a line that is no audit event and DUPLICATE_EVENT for an id that is there already; the
    details name the line, and nothing is kept.
    """
    provenance = f"import:{hashlib.sha256(raw).hexdigest()}"
    count = 0
    with store.immediate() as tx:
        for number, line in _lines(raw):
            _append(tx, _event(number, line), number, provenance)
            count += 1
    return {"imported": count, "provenance": provenance}


def _lines(raw: bytes) -> Iterable[tuple[int, bytes]]:
    return ((number, line.removesuffix(b"\n")) for number, line in enumerate(io.BytesIO(raw), 1) if line.strip())


def _event(number: int, line: bytes) -> dict[str, Any]:
    try:
        if len(line) > BODY_LIMIT:
            raise Refused("INVALID_REQUEST", "The line is too long.")
        return validate(ImportedAuditEvent, decode_body(line))
    except Refused as refused:
        details = {"line": number, **(refused.details or {})}
        raise Refused("INVALID_REQUEST", f"Line {number}: {refused.message}", details=details) from None


def _append(tx: Transaction, event: dict[str, Any], number: int, provenance: str) -> None:
    if tx.execute(KNOWN_ID, (event["event_id"],)).fetchone():
        raise Refused("DUPLICATE_EVENT", f"Line {number}: the event is there already.", details={"line": number})
    stream = projections.stream(event["task_id"])
    tx.append(
        "audit_events",
        stream,
        tx.next_sequence("audit_events", stream),
        clock.timestamp(),
        event["event_id"],
        event["event_type"],
        event["task_id"],
        None,
        event.get("job_id"),
        event.get("actor_type", "control_plane"),
        event.get("actor_id", "control_plane"),
        normalised(event["occurred_at"]),
        encode(event.get("payload", {})),
        provenance,
    )
