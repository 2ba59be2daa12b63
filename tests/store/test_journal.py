"""The chain: which bytes are hashed, what a row promises, and what a savepoint gives back."""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.store import sqlite
from slipway_lite.store.connection import Store, open_store
from slipway_lite.store.journal import first_unsound, head, ledger_sha256, payload_sha256
from slipway_lite.store.tables import GENESIS_SHA256
from slipway_lite.store.verify import verify
from tests.store.files import AT, event, filled

PAYLOAD_EVENT = "sha256:9e04e69682cbf69bf392dcccceec6bceef4e77acc62d6f080b86417fe657ba0a"
PAYLOAD_MATERIAL = "sha256:4f2d9cb786537952e9f185af0185c1f663dea7dc565426231b21cb901c127e64"
PAYLOAD_NON_ASCII = "sha256:b382233cb45ae2c602dd3f6937372b217ed1a810621f29ffdc2028ae4b86af7a"
LEDGER_FIRST = "sha256:a68b6093a7540bf0a90e96ce4b02f740912ce99751694e756d8087974b5a79a1"
LEDGER_SECOND = "sha256:774c11dc4d03d35db95227e176dafa7ccfd77c8f6433f42ffbef55d2f9c7e729"
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
COLUMN = st.none() | st.integers(-2, 12) | st.sampled_from(["", "n", "s", "i1", "1", "12", "s1"])


def by_hand(*fields: str) -> str:
    """The framed digest, written a second time from its definition."""
    digest = hashlib.sha256()
    for field in fields:
        raw = field.encode()
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return "sha256:" + digest.hexdigest()


def test_pinned_payload_digests() -> None:
    assert payload_sha256("journal_events", "run:r", 1, AT, ("run_started", "{}")) == PAYLOAD_EVENT
    assert payload_sha256("materials", "material:m", 1, AT, ("m", 5, "hello")) == PAYLOAD_MATERIAL
    assert payload_sha256("journal_events", "run:ü", 2, AT, ("noted", '{"a":null}')) == PAYLOAD_NON_ASCII


def test_pinned_ledger_digests() -> None:
    first = ledger_sha256(1, AT, "journal_events", "run:r", 1, PAYLOAD_EVENT, GENESIS_SHA256)
    assert first == LEDGER_FIRST
    assert ledger_sha256(2, AT, "materials", "material:m", 1, PAYLOAD_MATERIAL, first) == LEDGER_SECOND


def test_a_payload_digest_covers_table_stream_sequence_time_and_typed_columns() -> None:
    wanted = by_hand("slipway-lite/row/v1", "materials", "material:m", "1", AT, "sm", "i5", "n")
    assert payload_sha256("materials", "material:m", 1, AT, ("m", 5, None)) == wanted


@settings(deadline=None)
@given(st.lists(st.tuples(COLUMN, COLUMN), min_size=2, max_size=2, unique=True))
def test_different_columns_have_different_digests(rows: list[tuple[Any, Any]]) -> None:
    one, other = (payload_sha256("materials", "material:m", 1, AT, row) for row in rows)
    assert one != other


def test_a_ledger_digest_covers_every_column() -> None:
    row: list[Any] = [7, AT, "materials", "material:m", 1, PAYLOAD_MATERIAL, GENESIS_SHA256]
    assert ledger_sha256(*row) == by_hand("slipway-lite/ledger/v1", *map(str, row))
    for position, value in enumerate(row):
        changed = [*row]
        changed[position] = value + 1 if isinstance(value, int) else value + "x"
        assert ledger_sha256(*changed) != ledger_sha256(*row)


def test_an_empty_file_starts_at_genesis(store: Store) -> None:
    assert head(store.connection) == (0, GENESIS_SHA256) == (0, "sha256:" + "0" * 64)


def test_append_chains_across_tables_in_commit_order(path: Path) -> None:
    with filled(path) as store:
        rows = store.rows("select seq, kind, stream, stream_sequence, prev_sha256, sha256 from ledger order by seq")
        assert [row[:4] for row in rows] == [
            (1, "journal_events", "note:a", 1),
            (2, "journal_events", "note:b", 1),
            (3, "materials", "material:m", 1),
            (4, "journal_events", "note:a", 2),
        ]
        assert [row[4] for row in rows] == [GENESIS_SHA256, *(row[5] for row in rows[:-1])]
        assert head(store.connection) == (4, rows[-1][5])


def test_append_returns_the_ledger_seq(store: Store) -> None:
    with store.immediate() as tx:
        assert [event(tx, "note:a", number) for number in (1, 2, 3)] == [1, 2, 3]
        assert tx.next_sequence("journal_events", "note:a") == 4
        assert tx.next_sequence("journal_events", "note:b") == 1


def test_a_sequence_that_is_taken_is_refused(store: Store) -> None:
    with store.immediate() as tx:
        event(tx, "note:a", 1)
    with pytest.raises(Exception) as refused, store.immediate() as tx:
        event(tx, "note:a", 1)
    assert getattr(refused.value, "code", "") == "database_failed"
    assert isinstance(refused.value.__cause__, sqlite.IntegrityError)
    assert head(store.connection)[0] == 1


def test_a_failed_transaction_leaves_nothing(store: Store) -> None:
    with pytest.raises(KeyError), store.immediate() as tx:
        event(tx, "note:a", 1)
        raise KeyError("a defect")
    assert head(store.connection) == (0, GENESIS_SHA256)
    assert not store.connection.in_transaction


def test_a_savepoint_gives_the_head_back(store: Store) -> None:
    with store.immediate() as tx:
        event(tx, "note:a", 1)
        before = tx.head()
        with pytest.raises(KeyError), tx.savepoint():
            event(tx, "note:a", 2)
            assert tx.head() != before
            raise KeyError("one request of several")
        assert tx.head() == before
        with tx.savepoint():
            event(tx, "note:a", 2)
    assert head(store.connection)[0] == 2
    assert verify(store, [])["problems"] == []


def test_a_savepoint_before_the_first_look_at_the_head(store: Store) -> None:
    with store.immediate() as tx:
        with pytest.raises(KeyError), tx.savepoint():
            event(tx, "note:a", 1)
            raise KeyError("one request of several")
        assert event(tx, "note:a", 1) == 1
    assert verify(store, [])["problems"] == []


def test_savepoints_nest(store: Store) -> None:
    with store.immediate() as tx, tx.savepoint():
        event(tx, "note:a", 1)
        with pytest.raises(KeyError), tx.savepoint():
            event(tx, "note:a", 2)
            raise KeyError("the inner one")
        event(tx, "note:a", 2)
    assert head(store.connection)[0] == 2
    assert verify(store, [])["problems"] == []


def test_first_unsound_names_the_first_position(path: Path) -> None:
    with filled(path) as store:
        rows = store.events("note:a")
        assert first_unsound("note:a", rows) is None
        assert first_unsound("note:a", rows[1:], 2) is None
        assert first_unsound("note:a", rows[1:]) == 1
        assert first_unsound("note:b", rows) == 1
        for position, row in enumerate(rows):
            for column in range(len(row)):
                if column == 0:
                    continue  # the ledger row is found by it, so it cannot differ alone
                changed = [*map(list, rows)]
                changed[position][column] = 99 if isinstance(row[column], int) else "other"
                found = first_unsound("note:a", [tuple(item) for item in changed])  # type: ignore[misc]  # built from rows
                assert found == position + 1, (position, column)


def test_events_without_a_ledger_row_are_unsound(path: Path) -> None:
    with filled(path) as store:
        store.connection.execute("pragma foreign_keys = off")
        store.connection.execute("insert into journal_events values (99, 'note:c', 1, ?, 'noted', '{}')", (AT,))
        assert first_unsound("note:c", store.events("note:c")) == 1


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), TEXT, st.dictionaries(TEXT, TEXT | st.integers() | st.none(), max_size=3)),
        max_size=12,
    ),
    st.integers(1, 4),
)
def test_any_rows_chain_and_verify(rows: list[tuple[str, str, dict[str, Any]]], batch: int) -> None:
    with tempfile.TemporaryDirectory() as directory, open_store(f"{directory}/slipway.db") as store:
        previous = GENESIS_SHA256
        for start in range(0, len(rows), batch):
            with store.immediate() as tx:
                for stream, kind, data in rows[start : start + batch]:
                    sequence = tx.next_sequence("journal_events", stream)
                    tx.append("journal_events", stream, sequence, AT, kind, json.dumps(data))
        written = store.rows(
            "select l.seq, l.at, l.kind, l.stream, l.stream_sequence, e.type, e.data, l.prev_sha256, l.sha256"
            " from ledger l join journal_events e using (seq) order by l.seq"
        )
        assert len(written) == len(rows)
        for seq, at, table, stream, sequence, kind, data, prev, digest in written:
            payload = by_hand("slipway-lite/row/v1", table, stream, str(sequence), at, f"s{kind}", f"s{data}")
            assert prev == previous
            fields = (seq, at, table, stream, sequence, payload, prev)
            assert digest == by_hand("slipway-lite/ledger/v1", *map(str, fields))
            previous = digest
        assert verify(store, [])["problems"] == []


def test_an_event_of_another_type_is_unsound(store: Store) -> None:
    """A damaged page can give a number or nothing where there was text."""
    with store.immediate() as tx:
        event(tx, "note:a", 1)
    (row,) = store.events("note:a")
    assert first_unsound("note:a", [row]) is None
    for place, value in enumerate(row):
        for odd in (None, b"x", 7.5, str(value) if isinstance(value, int) else 7):
            assert first_unsound("note:a", [(*row[:place], odd, *row[place + 1 :])]) == 1
