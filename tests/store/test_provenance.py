"""Whatever is done to the provenance of a merged file, ``verify`` names it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.store import sqlite
from slipway_lite.store.connection import Store
from slipway_lite.store.journal import ledger_sha256, payload_sha256
from slipway_lite.store.migrations import protect
from slipway_lite.store.tables import FACTS, MERGED_ROWS
from tests.adversarial.scale import scaled
from tests.store.files import plain
from tests.store.machines import machine, merged, newest, problems
from tests.store.tampering import Statement, bench, named_after, named_rows, recompute, tampered

LINK = ("seq", "at", "kind", "stream", "stream_sequence", "payload_sha256", "prev_sha256", "sha256")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two small files in one. Not to be written to."""
    place = tmp_path_factory.mktemp("provenance")
    one = machine(
        place / "one.db",
        (1, ("journal_events", "note:a", "1")),
        (2, ("documents", "document:a", "x")),
        (3, ("materials", "material:m", "m")),
    )
    other = machine(place / "other.db", (1, ("journal_events", "note:b", "2")), (2, ("documents", "document:a", "y")))
    merged(place / "whole.db", one, other)
    return place / "whole.db"


@pytest.fixture
def path(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(whole, tmp_path / "slipway.db"))


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    """A copy to be tampered with: the rules of its tables are away."""
    with bench(path) as opened:
        assert named_rows(opened) == set()
        yield opened


def flips(value: Any, stride: int) -> Iterator[Any]:
    """A change of one byte in every so many, and one byte more."""
    if value is None or isinstance(value, int):
        yield from (1, 99) if value is None else (value + 1, value - 1)
        return
    raw = value.encode()
    for position in range(0, len(raw), stride):
        yield raw[:position] + bytes([raw[position] ^ 1]) + raw[position + 1 :]
    yield raw + b"x"


@pytest.mark.parametrize("stride", [23, pytest.param(scaled(3, 1), marks=pytest.mark.adversarial)])
def test_every_flipped_byte_of_every_merged_row_is_named(store: Store, stride: int) -> None:
    names = [name for (name,) in store.rows("select name from pragma_table_info(?)", (MERGED_ROWS,))]
    count = 0
    for row in store.rows("select * from merged_rows"):
        for name, value in zip(names, row, strict=True):
            for changed in flips(value, stride):
                as_text = "cast(? as text)" if isinstance(changed, bytes) else "?"
                update = f"update merged_rows set {name} = {as_text} where file_seq = ? and seq = ?"
                try:
                    named = named_after(store, (update, (changed, *row[:2])))
                except sqlite.IntegrityError:
                    continue  # the key of another row: a rule that no owner can take away
                assert any(table in (MERGED_ROWS, "merged_files") for table, _ in named), (row, name, changed)
                count += 1
    assert count > 1000 // stride


def rows_of(store: Store) -> list[tuple[int, int]]:
    return [(row[0], row[1]) for row in store.rows("select file_seq, seq from merged_rows")]


def test_a_deleted_row_is_named(store: Store) -> None:
    for row in rows_of(store):
        assert named_after(store, ("delete from merged_rows where file_seq = ? and seq = ?", row)) != set()


def test_a_row_without_a_place_in_the_file_is_named(store: Store) -> None:
    for file_seq, seq in rows_of(store):
        update = "update merged_rows set merged_seq = null where file_seq = ? and seq = ?"
        assert named_after(store, (update, (file_seq, seq))) == {(MERGED_ROWS, f"{file_seq}/{seq}")}


def test_a_row_with_the_place_of_another_is_named(store: Store) -> None:
    for file_seq, seq in rows_of(store):
        for (other,) in store.rows(
            "select seq from ledger where seq <>"
            " (select merged_seq from merged_rows where file_seq = ? and seq = ?)", (file_seq, seq)
        ):  # fmt: skip
            update = "update merged_rows set merged_seq = ? where file_seq = ? and seq = ?"
            assert named_after(store, (update, (other, file_seq, seq))) == {(MERGED_ROWS, f"{file_seq}/{seq}")}


def test_a_chain_that_is_gone_is_named(store: Store) -> None:
    for (file_seq,) in store.rows("select seq from merged_files"):
        assert named_after(store, ("delete from merged_rows where file_seq = ?", (file_seq,))) == {
            ("merged_files", str(file_seq))
        }


def test_an_added_row_is_named(store: Store) -> None:
    ((file_seq, *link),) = store.rows(f"select file_seq, {', '.join(LINK)} from merged_rows order by 1, 2 desc limit 1")
    seq, at, kind, stream, sequence, payload, _, digest = link
    more = (seq + 1, at, kind, stream, sequence, payload, digest)
    insert = (
        "insert into merged_rows values (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
        (file_seq, *more, ledger_sha256(*more)),
    )
    assert ("merged_files", str(file_seq)) in named_after(store, insert)
    astray = ("insert into merged_rows values (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)", (99, *link))
    assert (MERGED_ROWS, "99/1") in named_after(store, astray)


def test_a_row_changed_with_its_whole_chain_ends_at_another_head(store: Store) -> None:
    statements: list[Statement] = []
    ((file_seq,),) = store.rows("select seq from merged_files order by seq limit 1")
    previous = ""
    for row in store.rows(f"select {', '.join(LINK)} from merged_rows where file_seq = ? order by seq", (file_seq,)):
        seq, _, kind, stream, sequence, payload, prev, _ = row
        link = (seq, "2019", kind, stream, sequence, payload, previous or prev)
        previous = ledger_sha256(*link)
        update = "update merged_rows set at = '2019', prev_sha256 = ?, sha256 = ? where file_seq = ? and seq = ?"
        statements.append((update, (link[-1], previous, file_seq, seq)))
    assert ("merged_files", str(file_seq)) in named_after(store, *statements)


def test_a_fact_changed_with_the_chain_of_the_merged_file_contradicts_its_source(path: Path) -> None:
    tampered(path, "update journal_events set data = '{}' where stream = 'note:a'")
    recompute(path)
    assert {problem["table"] for problem in problems(path)} == {MERGED_ROWS}


def test_an_owner_who_recomputes_everything_is_found_with_a_head_of_the_source(path: Path, whole: Path) -> None:
    noted = newest(whole.with_name("one.db"))
    assert problems(path, noted) == []
    with bench(path) as store:
        ((file_seq,),) = store.rows("select seq from merged_files where name = 'one.db'")
        forged = store.rows(f"select {', '.join(LINK)} from merged_rows where file_seq = ? order by seq", (file_seq,))
        store.connection.execute("update journal_events set data = '{}' where stream = 'note:a'")
        previous = forged[0][6]
        for seq, at, kind, stream, sequence, payload, *_ in forged:
            if kind == "journal_events":
                payload = payload_sha256(kind, stream, sequence, at, ("noted", "{}"))
            link = (seq, at, kind, stream, sequence, payload, previous)
            previous = ledger_sha256(*link)
            store.connection.execute(
                "update merged_rows set payload_sha256 = ?, prev_sha256 = ?, sha256 = ? where file_seq = ? and seq = ?",
                (payload, link[-1], previous, file_seq, seq),
            )
        store.connection.execute("update merged_files set head_sha256 = ? where seq = ?", (previous, file_seq))
        store.connection.execute("commit")
        store.connection.execute("begin")
    assert noted[1] != previous
    recompute_without_rules(path)
    assert [problem for problem in problems(path) if problem["problem"] != "no longer refuses changes"] == []
    assert ("ledger", str(noted[0])) in {(found["table"], found["row"]) for found in problems(path, noted)}


def recompute_without_rules(path: Path) -> None:
    connection = plain(path)
    for table in FACTS:
        protect(connection, table)
    connection.close()
    recompute(path)
