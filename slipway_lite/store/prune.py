"""Forget old audit events, the one thing that may be deleted (control-plane §5.1).

Their payloads go, their ledger rows stay, so that the chain stays whole; the pruning is itself an audit event, which
says to ``verify`` what may be missing. The newest event of each stream stays, so that its numbering goes on.
"""

from __future__ import annotations

from slipway_lite import clock
from slipway_lite.errors import UsageError
from slipway_lite.store.audit import append_audits
from slipway_lite.store.migrations import protect
from slipway_lite.store.projections import rebuild_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from slipway_lite.store.connection import Store
    from slipway_lite.store.projections import Projector

TABLE = "audit_events"
RETENTION_DAYS = 365
"""The floor of the contract: nothing younger is ever deleted."""
EVENT_TYPE = "audit.pruned"
_STREAM = "audit:pruning"
_OLD = (
    "from audit_events as a where a.at < ?"
    " and a.sequence < (select max(n.sequence) from audit_events n where n.stream = a.stream)"
)


def pruned_before(store: Store) -> str:
    """The time before which audit events may be missing; empty when none were ever pruned."""
    rows = store.rows(
        "select max(json_extract(payload, '$.before')) from audit_events where event_type = ? and stream = ?",
        (EVENT_TYPE, _STREAM),
    )
    return rows[0][0] or ""


def floor() -> str:
    """The newest time that may be given as ``before``: now, a year ago."""
    from datetime import datetime, timedelta

    found = datetime.fromisoformat(clock.timestamp()) - timedelta(days=RETENTION_DAYS)
    return f"{found:%Y-%m-%dT%H:%M:%S.%f}Z"


def count_prunable(store: Store, before: str) -> dict[str, Any]:
    """What :func:`prune` with this ``before`` would delete. Raises ``retention_floor``."""
    _check(before)
    count, first, last = store.rows(f"select count(*), min(seq), max(seq) {_OLD}", (before,))[0]
    return {"before": before, "count": count, "first_seq": first, "last_seq": last}


def prune(store: Store, before: str, projectors: Iterable[Projector]) -> dict[str, Any]:
    """Delete the audit events recorded before ``before`` (a timestamp of :mod:`clock`), and say so in the audit.

    ``projectors`` replay what was projected from them. Returns what was deleted; where that is nothing, nothing is
    written. Raises ``retention_floor`` for a time younger than :data:`RETENTION_DAYS`.
    """
    _check(before)
    with store.immediate() as tx:
        done = count_prunable(store, before)
        if not done["count"]:
            return done
        tx.execute(f"drop trigger {TABLE}_refuses_delete")
        tx.execute(f"drop trigger {TABLE}_refuses_update")
        tx.execute(f"delete {_OLD}", (before,))
        protect(tx.connection, TABLE)
        append_audits(tx, _STREAM, clock.timestamp(), [(EVENT_TYPE, "human", "operator", done)])
        rebuild_in(tx, store, projectors)
    return done


def _check(before: str) -> None:
    if before > floor():
        raise UsageError(
            "retention_floor", f"Audit events are kept for {RETENTION_DAYS} days. Give a time before {floor()[:10]}."
        )
