"""Forget old audit events, the one thing that may be deleted (control-plane §5.1).

Their payloads go, their ledger rows stay, so that the chain stays whole; the pruning is itself an audit event, which
stays and says to ``verify`` what is gone. The newest event of each stream stays, so that its numbering goes on.
"""

from __future__ import annotations

import json

from slipway_lite import clock
from slipway_lite.errors import UsageError
from slipway_lite.store.audit import append_audits
from slipway_lite.store.journal import payload_sha256
from slipway_lite.store.migrations import protect
from slipway_lite.store.projections import rebuild_in
from slipway_lite.store.tables import APPEND_ONLY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator
    from typing import Any

    from slipway_lite.store.connection import Store
    from slipway_lite.store.projections import Projector

TABLE = "audit_events"
RETENTION_DAYS = 365
"""The floor of the contract: nothing younger is ever deleted."""
EVENT_TYPE = "audit.pruned"
_STREAM = "audit:pruning"
_OLD = (
    f"from {TABLE} as a where a.at < ? and a.stream <> '{_STREAM}'"
    f" and a.sequence < (select max(n.sequence) from {TABLE} n where n.stream = a.stream)"
)
# The same of a chain, which forgets nothing, at the time of an earlier pruning.
_GONE = (
    "select {columns} from {chain} l join (select stream, max(stream_sequence) as newest from {chain}"
    f" where kind = '{TABLE}' and seq < :seq group by stream) n on n.stream = l.stream"
    f" where l.kind = '{TABLE}' and l.seq < :seq and l.at < :before and l.stream <> '{_STREAM}'"
    " and l.stream_sequence < n.newest"
)
_VALUES = ", ".join(f"p.{name}" for name in APPEND_ONLY[TABLE])
_OWN = (
    f"select l.seq, l.at, l.stream_sequence, l.payload_sha256, {_VALUES} from {TABLE} p join ledger l on l.seq = p.seq"
    f" where p.event_type = '{EVENT_TYPE}' and p.stream = '{_STREAM}'"
    " and p.seq not in (select merged_seq from merged_rows where merged_seq is not null) order by p.seq"
)
_MERGED = (
    f"select m.seq, m.at, m.stream_sequence, m.payload_sha256, {_VALUES} from {TABLE} p"
    " join merged_rows m on m.merged_seq = p.seq"
    f" where p.event_type = '{EVENT_TYPE}' and p.stream = '{_STREAM}' and m.file_seq = ? order by m.seq"
)


def pruned(store: Store, doubtful: Container[int]) -> set[int]:
    """The ``seq`` of every audit event that a pruning took away, found without trusting what is left.

    A pruning counts only for what was a year old at the time of it, and only where its row is what the ledger says
    and its link is none of the ``doubtful``. One that was done in a file before it was merged into this one took
    nothing away here.
    """
    gone: set[int] = set()
    sql = _GONE.format(columns="l.seq", chain="ledger")
    for seq, before in _prunings(store.rows(_OWN)):
        if seq not in doubtful:
            gone.update(row[0] for row in store.rows(sql, {"seq": seq, "before": before}))
    return gone


def pruned_of_merged(store: Store) -> set[tuple[str, str]]:
    """Stream and time of every audit event that a pruning took away from a file before it was merged into this.

    Not its digest: in a file that was itself merged it had another number than in the file before that.
    """
    gone: set[tuple[str, str]] = set()
    for (file_seq,) in store.rows("select distinct file_seq from merged_rows"):
        sql = _GONE.format(columns="l.stream, l.at", chain=f"(select * from merged_rows where file_seq = {file_seq})")
        for seq, before in _prunings(store.rows(_MERGED, (file_seq,))):
            gone.update(store.rows(sql, {"seq": seq, "before": before}))
    return gone


def _prunings(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[int, str]]:
    where_payload_is = APPEND_ONLY[TABLE].index("payload")
    for seq, at, sequence, digest, *values in rows:
        try:
            if digest == payload_sha256(TABLE, _STREAM, sequence, at, tuple(values)):
                before = json.loads(values[where_payload_is])["before"]
                if before <= min(floor(at), floor()):
                    yield seq, before
        except (ValueError, KeyError, TypeError):
            continue  # never a row of ours, and named by its digest or by the noted head


def floor(at: str = "") -> str:
    """The newest time that may be given as ``before`` at the time ``at``, or now: a year earlier."""
    from datetime import datetime, timedelta

    found = datetime.fromisoformat(at or clock.timestamp()) - timedelta(days=RETENTION_DAYS)
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
