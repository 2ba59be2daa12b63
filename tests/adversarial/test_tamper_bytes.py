"""Every byte of every append-only row and of every material, changed alone: the row is named, and no other."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.store import sqlite
from slipway_lite.store.connection import Store
from slipway_lite.store.tables import LEDGER, MERGED_ROWS
from tests.adversarial.rows import PROJECTED
from tests.adversarial.scale import scaled
from tests.store.tampering import FACTS, PROJECTORS, Named, bench, covers, named_rows, tampering

STRIDE = scaled(151, 1)
"""Of the bytes of a value a run changes one in so many, from another one on in each value."""
PARTS = 8
PARTS_RUN = scaled(2, PARTS)
"""A bounded run looks at some of the rows only."""
REPLAYED = {"run": PROJECTORS[:1], "task": PROJECTORS[1:2], "audit": PROJECTORS[2:]}
"""Which projector reads the rows of a journal, or of the tables that observations come from."""
BITS = (0, 1, 7, 8, 31, 32, 62)


def changed(value: Any, start: int, stride: int) -> Iterator[Any]:
    """``value`` with one byte, or one bit of an integer, changed, or nothing instead. Text is given as bytes."""
    if isinstance(value, int):
        yield from (value ^ 1 << bit for bit in BITS)
        yield -value
    elif value is None:
        yield b""
        yield b"null"
    else:
        raw = value.encode()
        yield None
        for position in range(start % stride, len(raw), stride):
            # The lowest bit makes other text; each eighth byte another bit, the highest makes bytes that are no UTF-8.
            bit = 0 if position % 8 else position // 8 % 8
            yield raw[:position] + bytes([raw[position] ^ 1 << bit]) + raw[position + 1 :]


def projectors(table: str, row: dict[str, Any]) -> tuple[Any, ...]:
    """Those that read ``row``: the others are shown the same as before."""
    if table == "journal_events":
        return REPLAYED[row["stream"].partition(":")[0]]
    return REPLAYED["audit"] if table in ("audit_events", "retrospectives") else ()


def expected(table: str, row: dict[str, Any], kinds: dict[int, str], column: str, value: Any) -> Named:
    """Which rows have to be named, and no other of the append-only tables."""
    seq = row["seq"]
    if table != LEDGER:
        wanted = {(table, str(seq))}
        if column == "seq":
            wanted.add((table, str(value)))
        if column in ("stream", "sequence"):
            wanted |= {(table, row["stream"]), (table, _text(value))}
        return wanted
    wanted = {(LEDGER, str(seq))}
    if column in ("at", "kind", "stream", "stream_sequence", "payload_sha256"):
        wanted.add((kinds[seq], str(seq)))
    if column in ("kind", "stream", "stream_sequence"):
        # The stream that lost the number, and the one that got it, if it is one.
        wanted |= {(kinds[seq], row["stream"]), (kinds[seq], _text(value)), (_text(value), row["stream"])}
    if column == "sha256":
        wanted.add((LEDGER, str(seq + 1)))
    return wanted


def _text(value: Any) -> str:
    """``value`` as a report shows it."""
    raw = value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)
    return raw.encode("utf-8", "replace").decode()


def flipped(store: Store, table: str, part: int, parts: int, stride: int) -> int:
    """Change the bytes of the rows of one part of ``table``; returns how many changes were looked at.

    With a ``stride`` of 1 that is every byte of every text, but for those that make the key of another row.
    """
    connection = store.connection
    names = [name for (name,) in connection.execute("select name from pragma_table_info(?)", (table,))]
    kinds = dict(connection.execute("select seq, kind from ledger"))
    count = refused = size = 0
    for number, values in enumerate(connection.execute(f"select * from {table} order by seq").fetchall()):
        if number % parts != part:
            continue
        row = dict(zip(names, values, strict=True))
        for place, (column, found) in enumerate(row.items()):
            size += len(found.encode()) if isinstance(found, str) else 0
            for value in changed(found, number + 7 * place, stride):
                update = f"update {table} set {column} = {'cast(? as text)' if isinstance(value, bytes) else '?'}"
                try:
                    with tampering(store, (f"{update} where seq = ?", (value, row["seq"]))):
                        named = named_rows(store, projectors(table, row))
                except sqlite.IntegrityError:
                    refused += 1  # the key of another row: a rule that no owner can take away
                    continue
                where = (table, row["seq"], column, value)
                if table == LEDGER and column == "seq":
                    assert moved(named, kinds, row["seq"], value), (where, named)
                else:
                    wanted = expected(table, row, kinds, column, value)
                    assert (table, str(row["seq"])) in named, (where, named)
                    others = {name for name in named - wanted if not follows(name, {row["stream"], _text(value)})}
                    assert not others, (where, others)
                count += 1
    assert stride > 1 or count + refused >= size
    return count


def follows(name: tuple[str, str], streams: set[str]) -> bool:
    """Whether a problem is one of replaying the row: what its journal gives, or a rule of its table."""
    table, label = name
    return (
        table in PROJECTED
        or table in (MERGED_ROWS, "(file)")
        or (table == "journal_events" and label.rpartition("/")[0] in streams)
    )


def moved(named: Named, kinds: dict[int, str], seq: int, value: int) -> bool:
    """A ledger row with another number: its old place is empty, its payload has no row, the new place is wrong."""
    gap = any(table == LEDGER and covers(label, seq) for table, label in named)
    return (gap or seq == max(kinds)) and {(kinds[seq], str(seq)), (LEDGER, str(value))} <= named


@pytest.mark.adversarial
@pytest.mark.parametrize("part", range(PARTS_RUN))
@pytest.mark.parametrize("table", FACTS)
def test_every_changed_byte_of_every_fact_is_named(everything: Path, tmp_path: Path, table: str, part: int) -> None:
    path = Path(shutil.copy(everything, tmp_path / "slipway.db"))
    with bench(path) as store:
        count = flipped(store, table, part, PARTS, STRIDE)
    print(f"{table}, part {part}: {count} changed values, all named")


def test_changed_bytes_of_every_kind_of_fact_are_named(everything: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(everything, tmp_path / "slipway.db"))
    with bench(path) as store:
        counts = {table: flipped(store, table, 0, 200, 499) for table in FACTS}
    assert min(counts.values()) >= 5, counts
