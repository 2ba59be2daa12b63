"""The table of tables against the schema that the migrations make, and the rule that facts never change."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipway_lite.store import sqlite
from slipway_lite.store.connection import Store
from slipway_lite.store.projections import columns
from slipway_lite.store.tables import APPEND_ONLY, FACTS, PROJECTIONS
from tests.store.files import TABLES, dump, filled_everywhere, plain


def test_every_table_of_ours_is_in_the_table_of_tables(store: Store) -> None:
    found = {row[0] for row in store.rows("select name from sqlite_schema where type = 'table'")}
    assert {name for name in found if not name.startswith(("_", "sqlite_"))} == set(TABLES)


def test_every_table_is_strict(store: Store) -> None:
    strict = dict(store.rows("select name, strict from pragma_table_list where schema = 'main'"))
    assert {table: strict[table] for table in TABLES} == dict.fromkeys(TABLES, 1)


@pytest.mark.parametrize("table", APPEND_ONLY)
def test_append_only_columns_stand_in_the_listed_order(store: Store, table: str) -> None:
    assert columns(store.connection, table) == ["seq", "stream", "sequence", "at", *APPEND_ONLY[table]]


def test_projections_of_one_prefix_are_listed_once() -> None:
    listed = [table for tables in PROJECTIONS.values() for table in tables]
    assert len(set(listed)) == len(listed)


@pytest.mark.parametrize("table", FACTS)
@pytest.mark.parametrize(
    "statement",
    [
        "update {table} set at = 'x'",
        "update {table} set seq = seq + 100",
        "update or ignore {table} set at = 'x'",
        "delete from {table}",
        "insert or replace into {table} select * from {table}",
        "replace into {table} select * from {table}",
        "insert into {table} select * from {table} where true on conflict do update set at = 'x'",
    ],
)
def test_facts_refuse_to_change(path: Path, table: str, statement: str) -> None:
    with filled_everywhere(path) as store:
        before = dump(store.connection)
        assert before[table]
        with pytest.raises(sqlite.IntegrityError, match=f"{table} is append-only"):
            store.connection.execute(statement.format(table=table))
        assert dump(store.connection) == before


@pytest.mark.parametrize("table", FACTS)
@pytest.mark.parametrize("statement", ["update {table} set at = 'x'", "delete from {table}"])
def test_facts_refuse_strangers_too(path: Path, table: str, statement: str) -> None:
    filled_everywhere(path).close()
    connection = plain(path)
    with pytest.raises(sqlite.IntegrityError, match="append-only"):
        connection.execute(statement.format(table=table))
    connection.close()
