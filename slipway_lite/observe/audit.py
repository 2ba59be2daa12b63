"""The audit trail of the whole file, for its owner: lists with filters, paged by key, and one event in full."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slipway_lite.errors import SlipwayError, UsageError
from slipway_lite.observe.observations import Window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slipway_lite.store.connection import Store

DEFAULT_LIMIT = 50
MAX_LIMIT = 500
LISTED = ("seq", "event_id", "event_type", "task_id", "run_id", "job_id", "actor_type", "actor_id", "occurred_at")
SHOWN = (*LISTED, "payload", "provenance")


@dataclass(frozen=True, slots=True)
class Filter:
    """Which events are wanted; ``None`` is no restriction. The window is inclusive at both ends."""

    task_id: str | None = None
    run_id: str | None = None
    event_type: str | None = None
    since: str | None = None
    until: str | None = None


def events(store: Store, wanted: Filter, cursor: int | None = None, limit: int = DEFAULT_LIMIT) -> dict[str, Any]:
    """``{"items", "next_cursor"?}``, newest first, without payloads.

    ``cursor`` is the ``next_cursor`` of the page before. Raises ``invalid_limit`` (1 to 500) and ``invalid_window``.
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise UsageError("invalid_limit", f"limit is 1 to {MAX_LIMIT}.")
    first, last = Window.of(wanted.since, wanted.until).bounds()
    clauses, values = ["occurred_at between ? and ?"], [first, last]
    # The stream is what is indexed: every task and every Run has one of its own.
    for clause, value in (
        ("stream = 'task:' || ?", wanted.task_id),
        ("stream = 'run:' || ?", wanted.run_id),
        ("event_type = ?", wanted.event_type),
    ):
        if value is not None:
            clauses.append(clause)
            values.append(value)
    if cursor is not None:
        clauses.append("seq < cast(? as integer)")
        values.append(str(cursor))
    rows = store.rows(
        f"select {', '.join(LISTED)} from audit_events where {' and '.join(clauses)} order by seq desc limit ?",
        (*values, limit + 1),
    )
    page: dict[str, Any] = {"items": [_document(LISTED, row) for row in rows[:limit]]}
    if len(rows) > limit:
        page["next_cursor"] = rows[limit - 1][0]
    return page


def event(store: Store, event_id: str) -> dict[str, Any]:
    """One event with its payload. Raises ``audit_event_not_found``."""
    rows = store.rows(f"select {', '.join(SHOWN)} from audit_events where event_id = ?", (event_id,))
    if not rows:
        raise SlipwayError("audit_event_not_found", "There is no such audit event; it may have been pruned.")
    document = _document(SHOWN, rows[0])
    return document | {"payload": json.loads(document["payload"])}


def _document(names: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    return {name: value for name, value in zip(names, row, strict=True) if value is not None}
