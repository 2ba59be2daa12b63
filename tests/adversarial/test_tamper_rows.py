"""Rows deleted, moved and added: each alone is found, and named by its number."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from slipway_lite.store import sqlite
from slipway_lite.store.connection import Store
from slipway_lite.store.journal import ledger_sha256, payload_sha256
from slipway_lite.store.tables import APPEND_ONLY, LEDGER
from tests.adversarial.rows import EVERY, PROJECTED, columns, seqs
from tests.store.tampering import Named, Statement, covers, named_after, numbered, tampering

# -- deleted


@pytest.mark.adversarial
@pytest.mark.parametrize("table", APPEND_ONLY)
def test_every_deleted_fact_is_named(store: Store, table: str) -> None:
    for seq in seqs(store, table):
        named = named_after(store, (f"delete from {table} where seq = ?", (seq,)))
        assert numbered(named) == {(table, str(seq))}


@pytest.mark.adversarial
def test_every_deleted_ledger_row_is_named(store: Store) -> None:
    last = max(seqs(store, LEDGER))
    for seq in seqs(store, LEDGER):
        ((kind,),) = store.rows("select kind from ledger where seq = ?", (seq,))
        named = numbered(named_after(store, ("delete from ledger where seq = ?", (seq,))))
        # Nothing follows the last row, so only its fact tells.
        assert named == {(kind, str(seq)), *([(LEDGER, str(seq))] if seq < last else [])}


@pytest.mark.adversarial
@pytest.mark.parametrize("count", [1, 2, 7])
def test_facts_deleted_with_their_ledger_rows_are_named(store: Store, count: int) -> None:
    chosen = seqs(store, LEDGER)
    for first in chosen[: -count - 1]:
        gone = range(first, first + count)
        named = numbered(named_after(store, *deletions(store, gone)))
        assert named == {(LEDGER, str(first) if count == 1 else f"{first} to {gone[-1]}")}


@pytest.mark.adversarial
def test_many_rows_deleted_at_once_are_each_named(store: Store) -> None:
    last = max(seqs(store, LEDGER))
    for step in (2, 3, 5):
        gone = range(1, last, step)
        named = numbered(named_after(store, *deletions(store, gone)))
        assert named == {(LEDGER, str(seq)) for seq in gone}


def deletions(store: Store, gone: Any) -> list[Statement]:
    """Statements that take rows away, with their rows in the ledger."""
    kinds = dict(store.rows("select seq, kind from ledger"))
    return [(f"delete from {table} where seq = ?", (seq,)) for seq in gone for table in (kinds[seq], LEDGER)]


@pytest.mark.adversarial
@pytest.mark.parametrize("with_projections", [False, True])
@pytest.mark.parametrize("with_ledger", [False, True])
@pytest.mark.parametrize("family", ["run:", "task:", "worktree:", "material:"])
def test_whole_runs_and_tasks_removed_are_named(
    store: Store, family: str, with_ledger: bool, with_projections: bool
) -> None:
    streams = sorted({s for (s,) in store.rows("select stream from ledger where stream like ?", (family + "%",))})
    last = max(seqs(store, LEDGER))
    assert streams
    for stream in streams:
        rows = store.rows("select seq, kind from ledger where stream = ? and seq < ?", (stream, last))
        statements: list[Statement] = [(f"delete from {kind} where seq = ?", (seq,)) for seq, kind in rows]
        if with_ledger:
            statements += [("delete from ledger where seq = ?", (seq,)) for seq, _ in rows]
        if with_projections:
            statements += list(forgotten(store, stream.partition(":")[2]))
        named = named_after(store, *statements)
        for seq, kind in rows:
            assert in_a_gap(named, seq) if with_ledger else (kind, str(seq)) in named, (stream, seq)


def in_a_gap(named: Named, seq: int) -> bool:
    return any(table == LEDGER and covers(label, seq) for table, label in numbered(named))


def forgotten(store: Store, subject: str) -> Iterator[Statement]:
    for table in PROJECTED:
        for column in {"run_id", "task_id"} & set(columns(store, table)):
            yield f"delete from {table} where {column} = ?", (subject,)


# -- moved


def swaps(table: str, column: str, one: int, other: int) -> list[Statement]:
    """Statements that exchange a unique number of two rows, by way of one that is free."""
    update = f"update {table} set {column} = ? where {column} = ? and seq in (?, ?, ?)"
    return [(update, (*pair, one, other, 99999)) for pair in ((99999, one), (one, other), (other, 99999))]


@pytest.mark.adversarial
@pytest.mark.parametrize("table", [LEDGER, *APPEND_ONLY])
def test_rows_that_changed_places_are_named(store: Store, table: str) -> None:
    found = seqs(store, table)
    for one, other in itertools.pairwise(found):
        named = named_after(store, *swaps(table, "seq", one, other))
        assert {(table, str(one)), (table, str(other))} <= named
        assert {label for _, label in numbered(named)} <= {str(s) for n in (one, other) for s in (n, n + 1)}


@pytest.mark.adversarial
@pytest.mark.parametrize("table", APPEND_ONLY)
def test_rows_that_changed_contents_are_named(store: Store, table: str) -> None:
    unique = {"event_id", "turn_id", "material_sha256", "retrospective_id"}
    names = [name for name in APPEND_ONLY[table] if name not in unique]
    found = seqs(store, table)
    for one, other in itertools.pairwise(found):
        before = [
            store.rows(f"select {', '.join(names)} from {table} where seq = ?", (seq,))[0] for seq in (one, other)
        ]
        if before[0] == before[1]:
            continue
        update = f"update {table} set {', '.join(f'{name} = ?' for name in names)} where seq = ?"
        named = named_after(store, (update, (*before[1], one)), (update, (*before[0], other)))
        assert numbered(named) == {(table, str(one)), (table, str(other))}


@pytest.mark.adversarial
def test_events_of_one_stream_that_changed_their_order_are_named(store: Store) -> None:
    pairs = store.rows(
        "select a.kind, a.seq, b.seq, a.stream_sequence, b.stream_sequence from ledger a join ledger b"
        " on b.kind = a.kind and b.stream = a.stream and b.stream_sequence = a.stream_sequence + 1"
    )
    for table, one, other, first, second in pairs[::EVERY]:
        update = f"update {table} set sequence = ? where seq = ?"
        named = named_after(store, (update, (99999, one)), (update, (first, other)), (update, (second, one)))
        assert numbered(named) == {(table, str(one)), (table, str(other))}


@pytest.mark.adversarial
@pytest.mark.parametrize("table", APPEND_ONLY)
def test_rows_moved_to_another_stream_are_named(store: Store, table: str) -> None:
    for seq in seqs(store, table):
        move = f"update {table} set stream = 'elsewhere', sequence = 1 where seq = ?"
        assert numbered(named_after(store, (move, (seq,)))) == {(table, str(seq))}
        along = "update ledger set stream = 'elsewhere', stream_sequence = 1 where seq = ?"
        named = numbered(named_after(store, (move, (seq,)), (along, (seq,))))
        assert named == {(table, str(seq)), (LEDGER, str(seq))}


@pytest.mark.adversarial
@pytest.mark.parametrize("table", [table for table in APPEND_ONLY if table != "journal_events"])
def test_rows_moved_to_another_table_are_named(store: Store, table: str) -> None:
    for seq in seqs(store, table):
        move = [
            ((f"insert into journal_events select seq, stream, sequence + 900, at, 'x', '{{}}' from {table}"
             " where seq = ?"), (seq,)),
            (f"delete from {table} where seq = ?", (seq,)),
        ]  # fmt: skip
        assert numbered(named_after(store, *move)) == {(table, str(seq)), ("journal_events", str(seq))}
        along = "update ledger set kind = 'journal_events', stream_sequence = stream_sequence + 900 where seq = ?"
        assert {(LEDGER, str(seq)), ("journal_events", str(seq))} == numbered(
            named_after(store, *move, (along, (seq,)))
        )


# -- added


@pytest.mark.adversarial
@pytest.mark.parametrize("table", APPEND_ONLY)
def test_added_rows_without_a_link_are_named(store: Store, table: str) -> None:
    top = max(seqs(store, LEDGER)) + 1
    names = ("seq", "stream", "sequence", "at", *APPEND_ONLY[table])
    for seq in seqs(store, table):
        (found,) = store.rows(f"select {', '.join(names)} from {table} where seq = ?", (seq,))
        row = dict(zip(names, found, strict=True)) | {"seq": top, "sequence": 1, "stream": "added"}
        for name in ("event_id", "turn_id", "material_sha256", "retrospective_id"):
            if name in row:
                row[name] += "x"
        insert = (f"insert into {table} values ({', '.join('?' * len(names))})", tuple(row.values()))
        assert numbered(named_after(store, insert)) == {(table, str(top))}
        assert numbered(named_after(store, insert, wrongly_linked(table, row))) == {(LEDGER, str(top))}


def wrongly_linked(table: str, row: dict[str, Any]) -> Statement:
    """A ledger row that is right by itself, and follows nothing."""
    payload = payload_sha256(table, row["stream"], 1, row["at"], tuple(row[name] for name in APPEND_ONLY[table]))
    link = (row["seq"], row["at"], table, row["stream"], 1, payload, payload)
    return f"insert into ledger values ({', '.join('?' * 8)})", (*link, ledger_sha256(*link))


@pytest.mark.adversarial
def test_added_ledger_rows_without_a_fact_are_named(store: Store) -> None:
    top = max(seqs(store, LEDGER)) + 1
    for table in APPEND_ONLY:
        ((at, before),) = store.rows("select at, sha256 from ledger where seq = ?", (top - 1,))
        link = (top, at, table, "added", 1, before, before)
        insert = (f"insert into ledger values ({', '.join('?' * 8)})", (*link, ledger_sha256(*link)))
        assert numbered(named_after(store, insert)) == {(table, str(top))}


def test_no_owner_can_keep_two_rows_with_one_key(store: Store) -> None:
    with pytest.raises(sqlite.IntegrityError), tampering(store, ("update ledger set seq = 2 where seq = 1", ())):
        pass
