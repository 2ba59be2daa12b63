"""Read Runs back from their journals: rows to a verified, folded Run."""

from __future__ import annotations

import json

from slipway_lite.protocol import fold
from slipway_lite.protocol.projection import touched_rows
from slipway_lite.store.journal import EVENT_COLUMNS, first_unsound
from slipway_lite.store.tables import PROJECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slipway_lite.protocol.run import Run
    from slipway_lite.store.connection import Store
    from slipway_lite.store.journal import EventRow
    from slipway_lite.store.projections import Sink

    Head = tuple[int, int, str]

STREAM_PREFIX = "run:"
# The events of a Run and where the read tables have its journal end: one statement, so that no writer gets in between.
_JOURNAL = (
    f"select {EVENT_COLUMNS}, r.event_count, r.head_seq from journal_events e left join ledger l on l.seq = e.seq"
    " left join runs r on r.run_id = ? where e.stream = ? order by e.sequence"
)


# What decoding and folding an event raise when it is not one that was written here.
DOES_NOT_FIT = (
    ValueError, KeyError, TypeError, IndexError, AttributeError, AssertionError, RecursionError,
)  # fmt: skip


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
    for expected, (seq, sequence, at, kind, raw, *_) in enumerate(rows, 1):
        try:
            data = json.loads(raw)
            if sequence != expected or (run is None) != (kind == "run_started"):
                raise Unreplayable(expected)
            if run is None:
                if data["run_id"] != run_id:
                    raise Unreplayable(1)
                run = fold.start(run_id, at, data)
            else:
                fold.apply(run, kind, at, data)
        except DOES_NOT_FIT as error:
            raise Unreplayable(expected) from error
        run.event_count, run.head_seq = sequence, seq
        yield run
    if run is None:
        raise Unreplayable(1)


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
            try:
                for run in steps(name.removeprefix(STREAM_PREFIX), store.events(name)):
                    for table, row in touched_rows(run):
                        sink.row(table, row)
            except Unreplayable as error:
                sink.broken(name, error.sequence)
            sink.advance(done, len(streams))
