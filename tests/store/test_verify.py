"""Whatever is done to a file behind our back is found, and the row that is wrong is named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slipway_lite import canon
from slipway_lite.protocol.replay import RunProjector
from slipway_lite.store import sqlite
from slipway_lite.store.connection import Store, open_store
from slipway_lite.store.journal import head
from slipway_lite.store.reading import read_store
from slipway_lite.store.tables import GENESIS_SHA256, LEDGER
from slipway_lite.store.verify import verify
from tests.store.files import AT, TABLES, filled_everywhere, plain
from tests.store.tampering import FACTS, loosened, named, problems, recompute, run_id, tampered, unprotected


def test_a_sound_file_has_no_problems(real: Path) -> None:
    report = read_store(str(real), lambda store: verify(store, [RunProjector()]))
    assert report["problems"] == []
    assert report["ledger_rows"] == report["head"]["seq"] == 28


def test_a_blank_file_is_sound(path: Path) -> None:
    open_store(str(path)).close()
    report = read_store(str(path), lambda store: verify(store, [RunProjector()], (0, GENESIS_SHA256)))
    assert report == {"ledger_rows": 0, "head": {"seq": 0, "sha256": GENESIS_SHA256}, "problems": []}


# -- one row, changed


def flips(value: Any) -> Iterator[Any]:
    """``value`` with one of its bytes changed, each of them once; an integer moved by one, and ``null`` filled."""
    if isinstance(value, int):
        yield from (value + 1, value - 1)
    elif isinstance(value, str):
        raw = value.encode()
        for position in range(len(raw)):
            yield raw[:position] + bytes([raw[position] ^ 1]) + raw[position + 1 :]
        yield raw + b"x"


@pytest.mark.parametrize("table", FACTS)
def test_every_flipped_byte_of_every_fact_is_named(path: Path, table: str) -> None:
    with filled_everywhere(path) as store:
        connection = store.connection
        connection.execute("begin")
        unprotected(connection)
        names = [name for (name,) in connection.execute("select name from pragma_table_info(?)", (table,))]
        count = 0
        for row in connection.execute(f"select * from {table}").fetchall():
            for name, value in zip(names, row, strict=True):
                for changed in flips(value):
                    as_text = "cast(? as text)" if isinstance(changed, bytes) else "?"
                    connection.execute("savepoint one")
                    try:
                        connection.execute(f"update {table} set {name} = {as_text} where seq = ?", (changed, row[0]))
                    except sqlite.IntegrityError:
                        pass  # the key of another row: a rule that no owner can take away
                    else:
                        found = {(p["table"], p["row"]) for p in _row_problems(store)}
                        moved = changed if name == "seq" else row[0]
                        payload_or_ledger = {(part, str(seq)) for part in FACTS for seq in (row[0], moved)}
                        assert found & payload_or_ledger, (table, row[0], name, changed)
                        count += 1
                    connection.execute("rollback to one")
                    connection.execute("release one")
        connection.execute("rollback")
    assert count > 50


def _row_problems(store: Store) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = verify(store, [])["problems"]
    return [problem for problem in found if problem["problem"] != "no longer refuses changes"]


@pytest.mark.parametrize("table", ["journal_events", "materials"])
def test_text_of_other_bytes_is_named(small: Path, table: str) -> None:
    column = "data" if table == "journal_events" else "content"
    tampered(small, f"update {table} set {column} = cast(x'ff' as text) where sequence = 1")
    assert {name for name, _ in named(small)} == {table}


def test_text_that_is_no_utf8_is_named_by_its_row(real: Path) -> None:
    stream = f"run:{run_id(real)}"
    tampered(
        real, f"update journal_events set data = cast(x'7b7dff' as text) where stream = '{stream}' and sequence = 3"
    )
    assert ("journal_events", _third_event(real)) in named(real)
    assert ("journal_events", f"{stream}/3") in named(real)


def _third_event(path: Path) -> str:
    """The ledger row of the third event of the Run."""
    sql = "select seq from ledger where kind = 'journal_events' and stream_sequence = 3"
    found = read_store(str(path), lambda store: store.rows(sql))
    return str(found[0][0])


# -- whole rows


def test_a_deleted_event_is_named(real: Path) -> None:
    seq = _third_event(real)
    tampered(real, f"delete from journal_events where seq = {seq}")
    assert ("journal_events", seq) in named(real)


def test_a_deleted_material_is_named(small: Path) -> None:
    tampered(small, "delete from materials")
    assert named(small) == {("materials", "3")}


@pytest.mark.parametrize("seq", [1, 2, 3])
def test_a_deleted_ledger_row_is_named(small: Path, seq: int) -> None:
    tampered(small, f"delete from ledger where seq = {seq}")
    assert (LEDGER, str(seq)) in named(small)


def test_a_fact_deleted_with_its_ledger_row_is_named(small: Path) -> None:
    tampered(small, "delete from journal_events where seq = 2", "delete from ledger where seq = 2")
    assert (LEDGER, "2") in named(small)


def test_facts_that_changed_places_are_named(small: Path) -> None:
    tampered(
        small,
        "update journal_events set seq = 99 where seq = 1",
        "update journal_events set seq = 1 where seq = 2",
        "update journal_events set seq = 2 where seq = 99",
    )
    assert {("journal_events", "1"), ("journal_events", "2")} <= named(small)


def test_ledger_rows_that_changed_places_are_named(small: Path) -> None:
    tampered(
        small,
        "update ledger set seq = 99 where seq = 1",
        "update ledger set seq = 1 where seq = 2",
        "update ledger set seq = 2 where seq = 99",
    )
    assert {(LEDGER, "1"), (LEDGER, "2")} <= named(small)


def test_events_of_one_stream_that_changed_places_are_named(small: Path) -> None:
    tampered(
        small,
        "update journal_events set sequence = 99 where seq = 1",
        "update journal_events set sequence = 1 where seq = 4",
        "update journal_events set sequence = 2 where seq = 1",
    )
    assert {("journal_events", "1"), ("journal_events", "4")} <= named(small)


def test_an_inserted_event_without_a_ledger_row_is_named(small: Path) -> None:
    tampered(small, f"insert into journal_events values (5, 'note:c', 1, '{AT}', 'noted', '{{}}')")
    assert named(small) == {("journal_events", "5")}


def test_an_inserted_ledger_row_without_a_fact_is_named(small: Path) -> None:
    zeros = GENESIS_SHA256
    tampered(
        small, f"insert into ledger values (5, '{AT}', 'materials', 'material:n', 1, '{zeros}', '{zeros}', '{zeros}')"
    )
    assert {(LEDGER, "5"), ("materials", "5")} <= named(small)


def test_an_unknown_kind_in_the_ledger_is_named(small: Path) -> None:
    tampered(small, "update ledger set kind = 'runs' where seq = 3")
    assert {(LEDGER, "3"), ("materials", "3")} <= named(small)


def test_a_gap_in_a_stream_is_named(path: Path) -> None:
    with open_store(str(path)) as store, store.immediate() as tx:
        tx.append("journal_events", "note:a", 1, AT, "noted", "{}")
        tx.append("journal_events", "note:a", 3, AT, "noted", "{}")
    assert named(path) == {("journal_events", "note:a")}


def test_a_gap_in_the_ledger_is_named_as_a_whole(small: Path) -> None:
    tampered(small, "delete from journal_events where seq in (1, 2)", "delete from ledger where seq in (1, 2)")
    assert {"table": "ledger", "row": "1 to 2", "problem": "are missing"} in problems(small)


def test_a_ledger_row_before_the_first_is_named(small: Path) -> None:
    tampered(small, "insert into ledger select -4, at, kind, 'x', 1, payload_sha256, prev_sha256, sha256 from ledger"
                    " where seq = 1")  # fmt: skip
    assert (LEDGER, "-4") in named(small)
    assert (LEDGER, "1") not in named(small)


# -- values that no table of ours takes, and that are there


@pytest.mark.parametrize(
    ("column", "value"),
    [("at", "cast(at as blob)"), ("stream", "cast(stream as blob)"), ("sequence", "sequence + 0.5"),
     ("data", "cast(data as blob)"), ("data", "null"), ("type", "7"), ("at", "null")],
)  # fmt: skip
def test_values_of_another_type_are_named(small: Path, column: str, value: str) -> None:
    link = {"sequence": "stream_sequence"}.get(column, column)
    with loosened(small, "journal_events"), loosened(small, LEDGER):
        also = (f"update ledger set {link} = {value.replace(column, link)} where seq = 2",)
        tampered(
            small,
            f"update journal_events set {column} = {value} where seq = 2",
            *(also if column in ("at", "stream", "sequence") else ()),
        )
    assert ("journal_events", "2") in named(small)


def test_a_key_that_is_no_utf8_is_shown_and_the_rest_is_looked_at(real: Path) -> None:
    tampered(
        real, "update runs set run_id = cast(x'ff' as text) where goal = 'Second'", "delete from materials",
        f"update journal_events set stream = cast(x'ff' as text) where stream = 'run:{run_id(real)}' and sequence = 2",
    )  # fmt: skip
    found = named(real)
    assert ("runs", "\ufffd") in found
    assert any(table == "materials" for table, _ in found)
    assert canon.encode(problems(real)).encode()


def test_a_newest_digest_that_is_no_utf8_can_be_shown(small: Path) -> None:
    tampered(small, "update ledger set sha256 = cast(x'ff' as text) where seq = 4")
    report = read_store(str(small), lambda store: verify(store, []))
    assert canon.encode(report).encode()
    assert named(small) == {(LEDGER, "4")}


@pytest.mark.parametrize(
    "data",
    [
        '{"goal":[]}', "[]", "null", "7", '{"run_id":{}}', "[" * 50_000 + "]" * 50_000, '{"goal":1' + "0" * 40 + "}",
        '{"goal":"\\ud800"}',
    ],
)  # fmt: skip
def test_an_event_that_no_replay_can_take_is_named_and_the_rest_is_looked_at(real: Path, data: str) -> None:
    stream = f"run:{run_id(real)}"
    tampered(
        real,
        f"update journal_events set data = '{data}' where stream = '{stream}' and sequence = 1",
        "update runs set goal = 'Other' where goal = 'Second'",
    )
    found = named(real)
    assert {("journal_events", "1"), ("journal_events", f"{stream}/1")} <= found
    assert ("runs", run_id(real, "Other")) in found


def test_an_event_with_a_row_that_the_table_refuses_is_named(real: Path) -> None:
    """Also where the chain was recomputed around it."""
    stream = f"run:{run_id(real)}"
    tampered(
        real,
        "update journal_events set data = json_set(data, '$.budget', 7777, '$.initial_budget', 7777)"
        f" where stream = '{stream}' and sequence = 1",
    )
    recompute(real)
    assert ("journal_events", f"{stream}/1") in named(real)


def test_a_verification_leaves_no_table_behind(real: Path) -> None:
    def twice(store: Store) -> list[Any]:
        verify(store, [Broken()])
        return store.rows("select name from temp.sqlite_schema")

    assert read_store(str(real), twice) == []


class Broken:
    """A projector that stumbles over the file."""

    tables = RunProjector.tables

    def project(self, store: Store, sink: Any) -> None:
        store.connection.execute("select * from no_table")


# -- the schema


@pytest.mark.parametrize("table", TABLES)
def test_a_missing_table_is_named(real: Path, table: str) -> None:
    connection = plain(real)
    connection.execute("pragma foreign_keys = off")
    connection.execute(f"drop table {table}")
    connection.close()
    assert named(real) == {(table, "-")}


@pytest.mark.parametrize("table", FACTS)
@pytest.mark.parametrize("verb", ["update", "delete"])
def test_a_missing_rule_is_named(real: Path, table: str, verb: str) -> None:
    connection = plain(real)
    connection.execute(f"drop trigger {table}_refuses_{verb}")
    connection.close()
    assert problems(real) == [{"table": table, "row": "-", "problem": "no longer refuses changes"}]


# -- what only a head that was noted earlier can tell


def noted(path: Path) -> tuple[int, str]:
    return read_store(str(path), lambda store: head(store.connection))


def test_a_cut_tail_is_found_with_the_head_only(small: Path) -> None:
    before = noted(small)
    tampered(small, "delete from journal_events where seq = 4", "delete from ledger where seq = 4")
    assert named(small) == set()
    assert named(small, before) == {(LEDGER, "4")}


def test_a_recomputed_chain_is_found_with_the_head_only(small: Path) -> None:
    before = noted(small)
    tampered(small, """update journal_events set data = '{"text":"nine"}' where seq = 1""")
    recompute(small)
    assert named(small) == set()
    assert named(small, before) == {(LEDGER, "4")}


def test_a_head_stays_good_while_the_file_grows(small: Path) -> None:
    before = noted(small)
    with open_store(str(small)) as store, store.immediate() as tx:
        tx.append("journal_events", "note:a", 3, AT, "noted", "{}")
    assert named(small, before) == set()
    assert named(small, (0, GENESIS_SHA256)) == set()


@pytest.mark.parametrize("wrong", [(4, GENESIS_SHA256), (5, GENESIS_SHA256), (10**18, GENESIS_SHA256)])
def test_a_head_of_another_file_is_not_there(small: Path, wrong: tuple[int, str]) -> None:
    assert named(small, wrong) == {(LEDGER, str(wrong[0]))}


def test_a_rule_that_no_longer_refuses_is_named(real: Path) -> None:
    connection = plain(real)
    connection.execute("drop trigger ledger_refuses_delete")
    connection.execute("create trigger ledger_refuses_delete before delete on ledger begin select 1; end")
    connection.close()
    assert {"table": "ledger", "row": "-", "problem": "no longer refuses changes"} in problems(real)
