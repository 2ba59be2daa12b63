"""A file whose schema would act in our name is neither read nor written, and ``verify`` names what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipway_lite.errors import SlipwayError
from slipway_lite.store import schema
from slipway_lite.store.connection import Store, open_store
from slipway_lite.store.reading import read_store
from tests.store.files import event, plain
from tests.store.tampering import problems

ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select * from n"

STRANGERS = [
    # An answer "it is on record" for a row that was never written.
    ("create trigger t before insert on journal_events begin select raise(ignore); end", "t"),
    ("create trigger t after update on runs begin update runs set goal = 'mine' where run_id = new.run_id; end", "t"),
    ("create trigger t after insert on journal_events begin insert into turns (seq) " + ENDLESS + "; end", "t"),
    ("create view elsewhere as select 1 as a; create trigger t instead of insert on elsewhere begin select 1; end",
     "t"),
]  # fmt: skip
REPLACED = [
    ("drop view shown_runs; create view shown_runs as " + ENDLESS, "shown_runs"),
    ("drop view _gates_of_audit; create view _gates_of_audit as select 1 as seq", "_gates_of_audit"),
    ("drop table _leases; create view _leases as " + ENDLESS, "_leases"),
    ("drop table _leases; create view _LEASES as " + ENDLESS, "_leases"),
    ("drop table _leases; create virtual table _leases using fts5(resource_key)", "_leases"),
    ("alter table _leases add column a text generated always as (hex(zeroblob(1000000000)))", "_leases"),
    ("drop table _leases; create table _leases (a text check (length(hex(randomblob(100000000))) > 0))", "_leases"),
    ("drop trigger turns_refuses_delete; create trigger turns_refuses_delete delete on turns begin select 1; end",
     "turns no longer refuses changes"),
]  # fmt: skip


def spoil(path: Path, statements: str) -> None:
    connection = plain(path)
    connection.executescript(statements)
    connection.close()


def test_the_digest_is_that_of_what_the_scripts_make() -> None:
    assert schema.digest(schema.made()) == schema.PRISTINE_SHA256


def test_a_file_of_ours_is_ours(store: Store) -> None:
    assert schema.differences(store.connection) == ([], True)
    schema.check(store.connection)


@pytest.mark.parametrize(("statements", "name"), [*STRANGERS, *REPLACED])
def test_a_schema_that_would_act_in_our_name_is_refused_untouched(small: Path, statements: str, name: str) -> None:
    spoil(small, statements)
    before = small.read_bytes()
    for attempt in (lambda: open_store(str(small)).close(), lambda: read_store(str(small), lambda store: None)):
        with pytest.raises(SlipwayError) as refused:
            attempt()
        assert refused.value.code == "database_altered"
    assert any(name in f"{problem['table']} {problem['problem']}" for problem in problems(small))
    assert small.read_bytes() == before


@pytest.mark.parametrize("name", ["_sqlite_migrations", "runs", "ledger_refuses_update "])
def test_no_name_makes_a_trigger_ours(small: Path, name: str) -> None:
    spoil(small, f'create trigger "{name}" after insert on journal_events begin select 1; end')
    with pytest.raises(SlipwayError) as refused:
        open_store(str(small))
    assert refused.value.code == "database_altered"


def test_what_a_writer_meets_while_it_upgrades_is_undone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        older.setattr("slipway_lite.store.migrations.STEPS", ("001_ledger",))
        older.setattr("slipway_lite.store.migrations.HEAD", 1)
        open_store(str(path)).close()
    spoil(path, "create trigger t after insert on journal_events begin select raise(ignore); end")
    with pytest.raises(SlipwayError) as refused:
        open_store(str(path))
    assert refused.value.code == "database_altered"
    connection = plain(path)
    assert connection.execute("pragma user_version").fetchone() == (1,)
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "create table novel (a)",
        "create view novel as select goal from runs",
        "create index novel on runs (goal)",
        "create virtual table novel using fts5(a)",
    ],
)
def test_what_the_owner_adds_beside_it_is_left_alone(small: Path, statement: str) -> None:
    spoil(small, statement)
    with open_store(str(small)) as store, store.immediate() as tx:
        event(tx, "note:a", 3)
    assert problems(small) == []


def test_a_row_of_the_schema_cannot_pretend_to_be_something_else(small: Path) -> None:
    spoil(
        small,
        "pragma writable_schema = on; insert into sqlite_schema (type, name, tbl_name, rootpage, sql) values"
        " ('index', 'harmless', 'runs', 0, 'CREATE TRIGGER t AFTER INSERT ON journal_events BEGIN SELECT 1; END')",
    )
    for attempt in (lambda: open_store(str(small)).close(), lambda: read_store(str(small), lambda store: None)):
        with pytest.raises(SlipwayError) as refused:
            attempt()
        assert refused.value.code == "database_unreadable"


@pytest.mark.parametrize("sql", ["null", "x''", "x'ff00ff'", "''", "1", "'CREATE VIEW shown_runs AS SELECT 1'"])
@pytest.mark.parametrize("name", ["shown_runs", "turns_refuses_update", "_leases"])
def test_a_schema_of_no_text_is_refused(small: Path, name: str, sql: str) -> None:
    spoil(small, f"pragma writable_schema = on; update sqlite_schema set sql = {sql} where name = '{name}'")
    for attempt in (lambda: open_store(str(small)).close(), lambda: read_store(str(small), lambda store: None)):
        with pytest.raises(SlipwayError) as refused:
            attempt()
        assert refused.value.code in ("database_altered", "database_unreadable")


def test_extensions_and_other_files_are_out_of_reach(small: Path) -> None:
    """What a hostile view could call: SQLite loads no extension for us, and ATTACH is no expression."""

    def work(store: Store) -> None:
        for function in ("load_extension('x')", "readfile('/etc/hosts')", "writefile('x', 'y')", "edit('x')"):
            with pytest.raises(SlipwayError) as refused:
                store.rows(f"select {function}")
            assert refused.value.code == "database_failed"

    read_store(str(small), work)
