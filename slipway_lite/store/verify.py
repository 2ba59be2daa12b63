"""Prove that a file is what was written: ledger, journals, materials, and projections equal to their replay.

What this cannot tell alone: a tail that was cut off cleanly, or a chain that its owner recomputed. With a head that
``slipway db head`` printed earlier both are found.
"""

from __future__ import annotations

from slipway_lite.store import provenance, prune, schema
from slipway_lite.store.journal import ledger_sha256, payload_sha256
from slipway_lite.store.projections import differences
from slipway_lite.store.sqlite import DatabaseError
from slipway_lite.store.tables import APPEND_ONLY, GENESIS_SHA256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from slipway_lite.store.connection import Store
    from slipway_lite.store.projections import Progress, Projector

    Problem = dict[str, Any]

LEDGER_TYPES = (int, str, str, str, int, str, str, str)
PLACE_TYPES = (str, int, str)
"""Of a ledger row, and of the ``stream``, ``sequence`` and ``at`` of the others: a digest knows the bytes only."""


def _problem(table: object, row: object, problem: str) -> Problem:
    return {"table": _shown(table), "row": _shown(row), "problem": _shown(problem)}


def _shown(found: object) -> str:
    """``found`` as text that can be printed, whatever a damaged row holds."""
    return str(found).encode("utf-8", "replace").decode()


def verify(
    store: Store,
    projectors: Iterable[Projector],
    head: tuple[int, str] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """``{"ledger_rows", "head", "problems"}``; the file is sound when ``problems`` is empty.

    Each problem names a table, a row in it, and what is wrong. ``head`` is a ``(seq, sha256)`` noted earlier, which
    must still be in the chain. Where a table is not the one that the migrations make, its rows prove nothing, so the
    schema is all that is looked at.
    """
    problems: list[Problem] = []
    rows, last = 0, (0, GENESIS_SHA256)
    connection = store.connection
    # Text that is no UTF-8 any more must be named by its row, so it is read as what cannot be encoded.
    connection.text_factory = _any_text
    try:
        unlike, readable = schema.differences(connection)
        problems += [_problem(table, "-", problem) for table, problem in unlike]
        if not readable:
            return _report(rows, last, problems)
        rows, last, doubtful = _ledger(store, problems)
        for table in APPEND_ONLY:
            problems += _payloads(store, table, doubtful)
        problems += [_problem(*row) for row in provenance.faults(store)]
        if head is not None:
            problems += _earlier_head(store, head)
        connection.text_factory = _readable_text
        for projector in projectors:
            rows_off, unreplayable = differences(store, projector, progress)
            problems += [_problem(*row) for row in rows_off]
            problems += [
                _problem("journal_events", f"{stream}/{sequence}", "does not follow from the events before it")
                for stream, sequence in unreplayable
            ]
        problems += [
            _problem("(file)", "-", str(row[0]))
            for row in connection.execute("pragma integrity_check(20)")
            if row[0] != "ok"
        ]
    except DatabaseError as error:
        problems.append(_problem("(file)", "-", f"cannot be read any further: {error}"))
    finally:
        connection.text_factory = str
    return _report(rows, last, problems)


def _report(rows: int, head: tuple[int, str], problems: list[Problem]) -> dict[str, Any]:
    return {"ledger_rows": rows, "head": {"seq": head[0], "sha256": _shown(head[1])}, "problems": problems}


def _any_text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _readable_text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _digest(recipe: Callable[..., str], *fields: Any) -> str | None:
    """The digest of a row; ``None`` for one that never was a row of ours, because it has no UTF-8."""
    try:
        return recipe(*fields)
    except UnicodeEncodeError:
        return None


def _ledger(store: Store, problems: list[Problem]) -> tuple[int, tuple[int, str], set[int]]:
    """The last number, the head, and the numbers of all rows with a problem."""
    count, previous = 0, GENESIS_SHA256
    doubtful: set[int] = set()

    def wrong(problem: str) -> None:
        problems.append(_problem("ledger", seq, problem))
        doubtful.add(seq)

    for row in store.connection.execute(
        "select seq, at, kind, stream, stream_sequence, payload_sha256, prev_sha256, sha256 from ledger order by seq"
    ):
        seq, at, kind, stream, sequence, payload, prev, digest = row
        if seq < 1:
            wrong("stands before the first row")
            continue
        count += 1
        if seq != count:
            problems.append(_gap(count, seq - 1))
            count = seq
        elif prev != previous:
            wrong("does not continue the row before it")
        if tuple(map(type, row)) != LEDGER_TYPES or digest != _digest(
            ledger_sha256, seq, at, kind, stream, sequence, payload, prev
        ):
            wrong("was changed")
        if kind not in APPEND_ONLY:
            wrong("is of a kind that does not exist")
        previous = digest
    return count, (count, previous), doubtful


def _gap(first: int, last: int) -> Problem:
    if first == last:
        return _problem("ledger", first, "is missing")
    return _problem("ledger", f"{first} to {last}", "are missing")


def _payloads(store: Store, table: str, doubtful: set[int]) -> Iterator[Problem]:
    # Only pruning may have taken rows away, here or in a file before it was merged into this one.
    pruned = prune.pruned(store, doubtful) if table == prune.TABLE else set()
    names = ", ".join(f"p.{name}" for name in APPEND_ONLY[table])
    for (
        seq,
        stream,
        sequence,
        at,
        found_at,
        kind,
        found_stream,
        found_sequence,
        payload,
        *values,
    ) in store.connection.execute(
        "select p.seq, p.stream, p.sequence, p.at, l.at, l.kind, l.stream, l.stream_sequence, l.payload_sha256,"
        f" {names} from {table} p left join ledger l on l.seq = p.seq order by p.seq"
    ):
        if (kind, found_stream, found_sequence, found_at) != (table, stream, sequence, at):
            yield _problem(table, seq, "is not the row that the ledger has there")
        elif tuple(map(type, (stream, sequence, at))) != PLACE_TYPES or payload != _digest(
            payload_sha256, table, stream, sequence, at, tuple(values)
        ):
            yield _problem(table, seq, "was changed")
        elif seq in pruned:
            yield _problem(table, seq, "was pruned and is there again")
    for (seq,) in store.connection.execute(
        f"select seq from ledger where kind = ? and seq not in (select seq from {table}) order by seq", (table,)
    ):
        if seq not in pruned:
            yield _problem(table, seq, "is missing")
    if table == prune.TABLE and prune.pruned_of_merged(store):
        return  # The streams of a merged file lack what one of the files had forgotten.
    # Asked of the ledger, which has the rows that pruning took away as well.
    for stream, least, most, found in store.connection.execute(
        "select stream, min(stream_sequence), max(stream_sequence), count(*) from ledger where kind = ? group by stream"
        " having min(stream_sequence) <> 1 or max(stream_sequence) <> count(*) order by stream",
        (table,),
    ):
        yield _problem(table, stream, f"has {found} rows numbered {least} to {most}")


def _earlier_head(store: Store, head: tuple[int, str]) -> Iterator[Problem]:
    seq, digest = head
    if seq == 0 and digest == GENESIS_SHA256:
        return
    row = store.connection.execute("select sha256 from ledger where seq = ?", (seq,)).fetchone()
    if provenance.has_link(store, seq, digest):
        return
    if row is None:
        yield _problem("ledger", seq, "was there when the head was noted, and is gone")
    elif row[0] != digest:
        yield _problem("ledger", seq, "is not the row that it was when the head was noted")
