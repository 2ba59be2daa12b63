"""Prove that a file is what was written: ledger, journals, materials, and projections equal to their replay.

What this cannot tell alone: a tail that was cut off cleanly, or a chain that its owner recomputed. With a head that
``slipway db head`` printed earlier both are found.
"""

from __future__ import annotations

from slipway_lite.store import prune
from slipway_lite.store.journal import ledger_sha256, payload_sha256
from slipway_lite.store.migrations import refusals
from slipway_lite.store.projections import differences
from slipway_lite.store.sqlite import DatabaseError
from slipway_lite.store.tables import APPEND_ONLY, GENESIS_SHA256, LEDGER, PROJECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from slipway_lite.store.connection import Store
    from slipway_lite.store.projections import Progress, Projector

    Problem = dict[str, Any]


def _problem(table: str, row: str, problem: str) -> Problem:
    return {"table": table, "row": row, "problem": problem}


def verify(
    store: Store,
    projectors: Iterable[Projector],
    head: tuple[int, str] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """``{"ledger_rows", "head", "problems"}``; the file is sound when ``problems`` is empty.

    Each problem names a table, a row in it, and what is wrong. ``head`` is a ``(seq, sha256)`` noted earlier, which
    must still be in the chain.
    """
    problems: list[Problem] = []
    rows, last = 0, (0, GENESIS_SHA256)
    try:
        problems += _schema(store)
        if any(problem["problem"] == "is missing" for problem in problems):
            return _report(rows, last, problems)
        # Text that is no UTF-8 any more must be named by its row, so it is read as what cannot be encoded.
        store.connection.text_factory = _any_text
        rows, last = _ledger(store, problems)
        for table in APPEND_ONLY:
            problems += _payloads(store, table)
        if head is not None:
            problems += _earlier_head(store, head)
        store.connection.text_factory = str
        for projector in projectors:
            rows_off, unreplayable = differences(store, projector, progress)
            problems += [_problem(*row) for row in rows_off]
            problems += [
                _problem("journal_events", f"{stream}/{sequence}", "does not follow from the events before it")
                for stream, sequence in unreplayable
            ]
        problems += [
            _problem("(file)", "-", str(row[0]))
            for row in store.connection.execute("pragma quick_check(20)")
            if row[0] != "ok"
        ]
    except DatabaseError as error:
        problems.append(_problem("(file)", "-", f"cannot be read any further: {error}"))
    finally:
        store.connection.text_factory = str
    return _report(rows, last, problems)


def _report(rows: int, head: tuple[int, str], problems: list[Problem]) -> dict[str, Any]:
    return {"ledger_rows": rows, "head": {"seq": head[0], "sha256": head[1]}, "problems": problems}


def _any_text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _schema(store: Store) -> Iterator[Problem]:
    """Tables that are gone, and append-only tables that would no longer refuse a change."""
    found = dict(store.connection.execute("select name, sql from main.sqlite_schema"))
    for table in (LEDGER, *APPEND_ONLY, *(table for tables in PROJECTIONS.values() for table in tables)):
        if table not in found:
            yield _problem(table, "-", "is missing")
    for table in (LEDGER, *APPEND_ONLY):
        intact = {name: f"CREATE TRIGGER {name} {body}" for name, body in refusals(table).items()}
        if table in found and not intact.items() <= found.items():
            yield _problem(table, "-", "no longer refuses changes")


def _digest(recipe: Callable[..., str], *fields: Any) -> str | None:
    """The digest of a row; ``None`` for one that never was a row of ours, because it has no UTF-8."""
    try:
        return recipe(*fields)
    except UnicodeEncodeError:
        return None


def _ledger(store: Store, problems: list[Problem]) -> tuple[int, tuple[int, str]]:
    count, previous = 0, GENESIS_SHA256
    seq = 0
    for seq, at, kind, stream, sequence, payload, prev, digest in store.connection.execute(
        "select seq, at, kind, stream, stream_sequence, payload_sha256, prev_sha256, sha256 from ledger order by seq"
    ):
        count += 1
        if seq != count:
            problems.append(_problem("ledger", str(count), "is missing"))
            count = seq
        elif prev != previous:
            problems.append(_problem("ledger", str(seq), "does not continue the row before it"))
        if digest != _digest(ledger_sha256, seq, at, kind, stream, sequence, payload, prev):
            problems.append(_problem("ledger", str(seq), "was changed"))
        if kind not in APPEND_ONLY:
            problems.append(_problem("ledger", str(seq), "is of a kind that does not exist"))
        previous = digest
    return count, (seq, previous)


def _payloads(store: Store, table: str) -> Iterator[Problem]:
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
            yield _problem(table, str(seq), "is not the row that the ledger has there")
        elif payload != _digest(payload_sha256, table, stream, sequence, at, tuple(values)):
            yield _problem(table, str(seq), "was changed")
    # Only pruning may have taken rows away: the oldest of a stream, and none younger than it says itself.
    pruned_before = prune.pruned_before(store) if table == prune.TABLE else ""
    for (seq,) in store.connection.execute(
        "select l.seq from ledger l where l.kind = ? and l.at >= ?"
        f" and l.seq not in (select seq from {table}) order by l.seq",
        (table, pruned_before),
    ):
        yield _problem(table, str(seq), "is missing")
    for stream, least, most, found in store.connection.execute(
        f"select stream, min(sequence), max(sequence), count(*) from {table} group by stream"
        " having (min(sequence) <> 1 and not ?) or max(sequence) - min(sequence) + 1 <> count(*) order by stream",
        (pruned_before != "",),
    ):
        yield _problem(table, stream, f"has {found} rows numbered {least} to {most}")


def _earlier_head(store: Store, head: tuple[int, str]) -> Iterator[Problem]:
    seq, digest = head
    if seq == 0 and digest == GENESIS_SHA256:
        return
    row = store.connection.execute("select sha256 from ledger where seq = ?", (seq,)).fetchone()
    if row is None:
        yield _problem("ledger", str(seq), "was there when the head was noted, and is gone")
    elif row[0] != digest:
        yield _problem("ledger", str(seq), "is not the row that it was when the head was noted")
