"""self-improvement/v1 out of the file: pages in constant time, and everything in one pass (control-plane §6.1, §6.2).

Gate observations, evidence observations and reflections form one sequence, ordered by (occurred_at, observation_id) as
bytes. Documents are built field by field from the projection tables, so that nothing else can get into them.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from slipway_lite import clock
from slipway_lite.control.instants import from_micros, parse, render
from slipway_lite.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from slipway_lite.store.connection import Store

    Document = dict[str, Any]

SCHEMA_VERSION = "self-improvement/v1"
DEFAULT_LIMIT = 100
MAX_LIMIT = 500
HARD_SAFETY = "hard-safety:"
RUN_SYSTEM = ("run-system", "shipyard-cp", "1.0")
"""The gate that is always in the catalogue: gate_id, owner, policy_revision."""
BATCH = 1000

GATE = (
    "observation_id", "task_id", "occurred_at", "gate_id", "owner", "policy_revision", "decision", "effective_action",
    "transition_changed", "risk", "override", "source_event_id",
)  # fmt: skip
EVIDENCE = (
    "observation_id", "task_id", "evidence_id", "evidence_type", "occurred_at", "disposition", "reviewed_by", "purpose",
    "source_event_id",
)  # fmt: skip
REFLECTION = (
    "observation_id", "task_id", "retrospective_id", "occurred_at", "job_count", "job_success_count",
    "job_failure_count", "job_blocked_count", "retry_count", "checkpoint_count", "risk_level",
)  # fmt: skip
_CHANGED: dict[str, bool | str] = {"true": True, "false": False, "unknown": "unknown"}


def gate_document(row: Sequence[Any]) -> Document:
    """GateObservation. On the wire the run of a task has the task's id (control-plane §0)."""
    values = dict(zip(GATE, row, strict=True))
    return {
        "observation_id": values["observation_id"],
        "task_id": values["task_id"],
        "run_id": values["task_id"],
        "occurred_at": values["occurred_at"],
        "gate_id": values["gate_id"],
        "owner": values["owner"],
        "policy_revision": values["policy_revision"],
        "decision": values["decision"],
        "effective_action": values["effective_action"],
        "transition_changed": _CHANGED[values["transition_changed"]],
        "risk": values["risk"],
        "override": values["override"],
        "source_event_id": values["source_event_id"],
    }


def evidence_document(row: Sequence[Any]) -> Document:
    """EvidenceConsumptionObservation; who reviewed and what for are there only when somebody did."""
    return {name: value for name, value in zip(EVIDENCE, row, strict=True) if value is not None}


def reflection_document(row: Sequence[Any]) -> Document:
    """ReflectionSummary of a retrospective: its numbers, never its narrative (control-plane §6.2)."""
    values = dict(zip(REFLECTION, row, strict=True))
    jobs = "{job_count} total, {job_success_count} successful, {job_failure_count} failed, {job_blocked_count} blocked"
    process = "Risk level {risk_level}, {retry_count} retries, {checkpoint_count} checkpoints"
    return {
        "session_id": f"shipyard-retrospective:{values['retrospective_id']}",
        "task_id": values["task_id"],
        "objective": f"Runtime retrospective for task {values['task_id']}",
        "changes": [{"summary": f"Jobs: {jobs.format(**values)}."}],
        "lessons": [{"observation": f"{process.format(**values)}.", "category": "process", "actionable": True}],
        "open_questions": [],
        "next_actions": [],
        "sources": [{"type": "task", "ref": values["task_id"]}],
        "created_at": values["occurred_at"],
        "schema_version": SCHEMA_VERSION,
    }


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of item: its table, its cursor's prefix, its list in the bundle, and how a row becomes a document."""

    prefix: str
    table: str
    columns: tuple[str, ...]
    member: str
    schema: str
    document: Callable[[Sequence[Any]], Document]


KINDS = (
    Kind("gate", "gate_observations", GATE, "gate_observations", "gate-observation", gate_document),
    Kind(
        "evidence", "evidence_observations", EVIDENCE, "evidence_consumption_observations",
        "evidence-consumption-observation", evidence_document,
    ),
    Kind("reflection", "reflections", REFLECTION, "reflection_summaries", "reflection-summary", reflection_document),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Window:
    """A checked window: both ends inclusive, as instants; ``since`` and ``until`` as they were given."""

    since: str | None = None
    until: str | None = None

    @classmethod
    def of(cls, since: str | None, until: str | None) -> Window:
        """Raises ``invalid_window`` for a time that cannot be read, or a window that ends before it starts."""
        window = cls(since, until)
        try:
            window.bounds()
            ends = [parse(end) for end in (since, until) if end is not None]
        except (ValueError, OverflowError):
            raise UsageError("invalid_window", "since and until are RFC 3339 times with an offset.") from None
        if ends != sorted(ends):
            raise UsageError("invalid_window", "The window ends before it starts.")
        return window

    def bounds(self) -> tuple[str, str]:
        """The first and the last time, in the wire form, that lie in the window."""
        first, last = "", "\U0010ffff"
        if self.since is not None:
            # Times on the wire have milliseconds: the first one not before the given instant.
            first = render(parse(self.since) + timedelta(microseconds=999))
        if self.until is not None:
            last = render(parse(self.until))
        return first, last


@dataclass(frozen=True, slots=True)
class Item:
    """One row of the sequence, not yet a document."""

    occurred_at: str
    observation_id: str
    kind: Kind
    row: tuple[Any, ...]

    def document(self) -> Document:
        return self.kind.document(self.row)


def page(
    store: Store,
    since: str | None = None,
    until: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Document:
    """The ImprovementObservationBundle of one page, the same cost wherever it lies.

    ``cursor`` is the ``next_cursor`` of the page before and starts after it. Raises ``invalid_window``,
    ``invalid_limit`` (1 to 500), ``invalid_cursor`` (not an item of the window).
    """
    window, items, following = select(store, since, until, cursor, limit)
    gates = {(item.row[3], item.row[4], item.row[5]) for item in items if item.kind is KINDS[0]}
    bundle = _head(store, window, gates)
    for kind in KINDS:
        bundle[kind.member] = [item.document() for item in items if item.kind is kind]
    if following is not None:
        bundle["next_cursor"] = following
    return bundle


def select(
    store: Store, since: str | None, until: str | None, cursor: str | None, limit: int | None
) -> tuple[Window, list[Item], str | None]:
    """The window, the items of one page, and the cursor of the next if there is one. Raises as :func:`page` does."""
    window = Window.of(since, until)
    limit = DEFAULT_LIMIT if limit is None else limit
    if not 1 <= limit <= MAX_LIMIT:
        raise UsageError("invalid_limit", f"limit is 1 to {MAX_LIMIT}.")
    found = list(islice(sequence(store, window, cursor, limit + 1), limit + 1))
    items = found[:limit]
    return window, items, items[-1].observation_id if len(found) > limit else None


def sequence(
    store: Store, window: Window, cursor: str | None = None, limit: int = -1, kinds: Sequence[Kind] = KINDS
) -> Iterator[Item]:
    """The items of ``kinds`` in the window in order, after ``cursor``; at most ``limit`` of each kind.

    Raises ``invalid_cursor``.
    """
    first, last = window.bounds()
    after = (first, "") if cursor is None else _place(store, cursor, first, last)
    streams = [_rows(store, kind, after, last, limit) for kind in kinds]
    return heapq.merge(*streams, key=lambda item: (item.occurred_at, item.observation_id))


def _place(store: Store, cursor: str, first: str, last: str) -> tuple[str, str]:
    for kind in KINDS:
        if cursor.startswith(f"{kind.prefix}:"):
            rows = store.rows(f"select occurred_at from {kind.table} where observation_id = ?", (cursor,))
            if rows and first <= rows[0][0] <= last:
                return rows[0][0], cursor
    raise UsageError("invalid_cursor", "The cursor is no item of this window; start again without it.")


def _rows(store: Store, kind: Kind, after: tuple[str, str], last: str, limit: int) -> Iterator[Item]:
    rows = store.connection.execute(
        f"select {', '.join(kind.columns)} from {kind.table}"
        " where (occurred_at, observation_id) > (?, ?) and occurred_at <= ?"
        " order by occurred_at, observation_id limit ?",
        (*after, last, limit),
    )
    at = kind.columns.index("occurred_at")
    while batch := rows.fetchmany(BATCH):
        for row in batch:
            yield Item(row[at], row[0], kind, tuple(row))


def _head(store: Store, window: Window, gates: Iterable[tuple[str, str, str]]) -> Document:
    bundle: Document = {
        "schema_version": SCHEMA_VERSION,
        "generated_at": from_micros(clock.timestamp()),
        "task_count": store.rows("select count(*) from tasks")[0][0],
    }
    bundle |= {name: value for name, value in (("since", window.since), ("until", window.until)) if value is not None}
    bundle["gate_catalog"] = catalog(gates)
    return bundle


def catalog(gates: Iterable[tuple[str, str, str]]) -> list[Document]:
    """The gates (gate_id, owner, policy_revision) and the one that is always there, each once, sorted."""
    return [
        {
            "gate_id": gate_id,
            "owner": owner,
            "policy_revision": revision,
            "hard_safety": gate_id.startswith(HARD_SAFETY),
        }
        for gate_id, owner, revision in sorted({*gates, RUN_SYSTEM})
    ]


def whole_head(store: Store, window: Window) -> Document:
    """Everything of a merged bundle but its items: the catalogue is that of the whole window."""
    first, last = window.bounds()
    gates = store.rows(
        "select distinct gate_id, owner, policy_revision from gate_observations where occurred_at between ? and ?",
        (first, last),
    )
    return _head(store, window, gates)


def merged(store: Store, since: str | None = None, until: str | None = None) -> Document:
    """Every page of the window as one ImprovementObservationBundle. Raises ``invalid_window``."""
    window = Window.of(since, until)
    bundle = whole_head(store, window)
    for kind in KINDS:
        bundle[kind.member] = []
    for item in sequence(store, window):
        bundle[item.kind.member].append(item.document())
    return bundle
