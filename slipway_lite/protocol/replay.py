"""Read Runs back from their journals: rows to a verified, folded Run."""

from __future__ import annotations

import json

from slipway_lite.protocol import fold
from slipway_lite.protocol.event_shapes import check_event
from slipway_lite.protocol.projection import touched_rows
from slipway_lite.store.journal import EVENT_COLUMNS, first_unsound
from slipway_lite.store.projections import DOES_NOT_FIT
from slipway_lite.store.tables import PROJECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from slipway_lite.protocol.imported.fold import Imported
    from slipway_lite.protocol.run import Run
    from slipway_lite.store.connection import Store
    from slipway_lite.store.journal import EventRow
    from slipway_lite.store.projections import Sink

    Head = tuple[int, int, str]

STREAM_PREFIX = "run:"
IMPORTED_VERSION = 2
"""The ``event_version`` of events that another implementation wrote; ours have 1, or none after the first."""
# The events of a Run and where the read tables have its journal end: one statement, so that no writer gets in between.
_JOURNAL = (
    f"select {EVENT_COLUMNS}, r.event_count, r.head_seq from journal_events e left join ledger l on l.seq = e.seq"
    " left join runs r on r.run_id = ? where e.stream = ? order by e.sequence"
)


class Unreplayable(Exception):
    """The journal of a Run is not what was written. ``sequence`` is the first event that cannot be trusted."""

    def __init__(self, sequence: int, reason: str = "") -> None:
        super().__init__(reason or f"event {sequence} of the journal is missing or was changed")
        self.sequence = sequence


def stream(run_id: str) -> str:
    return STREAM_PREFIX + run_id


def steps(run_id: str, rows: Iterable[EventRow]) -> Iterator[Run]:
    """The one Run after each of its events. Raises :class:`Unreplayable` at the first that does not fit."""
    run: Run | None = None
    imported: Imported | None = None
    for expected, (seq, sequence, at, kind, raw, *_) in enumerate(rows, 1):
        try:
            data = json.loads(raw)
            if sequence != expected or (run is None) != (kind == "run_started"):
                raise Unreplayable(expected)
            if data.get("event_version") == IMPORTED_VERSION:
                imported = imported or _imported(run_id, run)
                run = imported.fold(kind, at, raw)
            else:
                imported = None
                check_event(kind, data, raw)
                run = _folded(run_id, run, kind, at, data)
        except DOES_NOT_FIT as error:
            raise Unreplayable(expected) from error
        run.event_count, run.head_seq = sequence, seq
        yield run
    if run is None:
        raise Unreplayable(1)


def _folded(run_id: str, run: Run | None, kind: str, at: str, data: dict[str, Any]) -> Run:
    if run is not None:
        fold.apply(run, kind, at, data)
        return run
    if data["run_id"] != run_id:
        raise ValueError("the journal of another Run")
    return fold.start(run_id, at, data)


def _imported(run_id: str, run: Run | None) -> Imported:
    """What folds imported events, which stand before all others."""
    if run is not None:
        raise ValueError("an imported event after one of ours")
    from slipway_lite.protocol.imported.fold import Imported

    return Imported(run_id)


def replay(run_id: str, rows: Iterable[EventRow]) -> Run:
    """The Run after all of its events. Raises :class:`Unreplayable`."""
    for run in steps(run_id, rows):  # noqa: B007  # the last one is what we want
        pass
    return run


def head(store: Store, run_id: str) -> Head | None:
    """Where the journal of a Run ends: how many events, and the link of the chain that the last of them is."""
    rows = store.rows(
        "select r.event_count, r.head_seq, l.sha256 from runs r join ledger l on l.seq = r.head_seq where r.run_id = ?",
        (run_id,),
    )
    return rows[0] if rows else None


def load(store: Store, run_id: str) -> Run | None:
    """The Run, each of its events verified against the ledger; ``None`` when the file has no such Run.

    Raises :class:`Unreplayable` when an event is missing, was changed, or does not follow from those before.
    """
    found = store.rows(_JOURNAL, (run_id, stream(run_id)))
    if not found:
        if store.rows("select 1 from runs where run_id = ?", (run_id,)):
            raise Unreplayable(1)
        return None
    rows, known = [row[:-2] for row in found], found[0][-2:]
    unsound = first_unsound(stream(run_id), rows)
    if unsound is not None:
        raise Unreplayable(unsound)
    if known != (len(rows), rows[-1][0]):
        raise Unreplayable(len(rows) + 1, DISAGREES)
    return replay(run_id, rows)


DISAGREES = (
    "the journal ends elsewhere than the table of Runs says; if `slipway db verify` finds nothing else, "
    "`slipway db rebuild` mends that"
)


class RunProjector:
    """Replays every ``run:`` stream into the read tables of Runs."""

    tables = PROJECTIONS["run"]

    def project(self, store: Store, sink: Sink) -> None:
        streams = store.rows(
            "select stream from journal_events where sequence = 1 and stream > 'run:' and stream < 'run;'"
        )
        for done, (name,) in enumerate(streams, 1):
            count = 0
            try:
                for run in steps(name.removeprefix(STREAM_PREFIX), store.events(name)):
                    count = run.event_count
                    for table, row in touched_rows(run):
                        sink.row(table, row)
            except Unreplayable as error:
                sink.broken(name, error.sequence)
            except DOES_NOT_FIT:
                sink.broken(name, count)
            sink.advance(done, len(streams))
