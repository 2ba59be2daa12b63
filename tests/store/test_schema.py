"""Whatever is done to the schema is named, and rows in other tables than ours are not believed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from slipway_lite.errors import SlipwayError
from slipway_lite.store import migrations
from slipway_lite.store.connection import open_store
from slipway_lite.store.migrations import HEAD, STEPS, refusals
from slipway_lite.store.reading import read_store
from slipway_lite.store.schema import made
from slipway_lite.store.tables import LEDGER
from tests.store.files import TABLES, dump, filled, plain
from tests.store.tampering import named, problems, rewritten_schema

WITH_SQL = [name for name, (_, sql) in made().items() if sql is not None]
ENDLESS = "with recursive n(x) as (select 1 union all select x + 1 from n)"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("schema") / "slipway.db"
    filled(path).close()
    return path


@pytest.fixture
def file(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(template, tmp_path / "slipway.db"))


def executed(path: Path, *statements: str) -> Path:
    connection = plain(path)
    for statement in statements:
        connection.execute(statement)
    connection.close()
    return path


def told(path: Path) -> list[tuple[str, str]]:
    """Table and problem of everything that is named, all of it without a row."""
    found = problems(path)
    assert all(problem["row"] == "-" for problem in found)
    return [(problem["table"], problem["problem"]) for problem in found]


def test_every_table_of_ours_is_made_by_the_migrations() -> None:
    assert {name for kind, name in made() if kind == "table"} >= set(TABLES)


@pytest.mark.parametrize("older", range(1, HEAD))
def test_a_file_that_came_step_by_step_has_the_same_schema(
    path: Path, monkeypatch: pytest.MonkeyPatch, older: int
) -> None:
    for head in range(older, HEAD):
        with monkeypatch.context() as earlier:
            earlier.setattr(migrations, "STEPS", STEPS[:head])
            earlier.setattr(migrations, "HEAD", head)
            open_store(str(path)).close()
    open_store(str(path)).close()
    assert problems(path) == []


@pytest.mark.parametrize(("kind", "name"), WITH_SQL)
def test_every_object_of_other_sql_is_named(file: Path, kind: str, name: str) -> None:
    rewritten_schema(file, f"update sqlite_schema set sql = sql || ' ' where type = '{kind}' and name = '{name}'")
    table, _ = made()[kind, name]
    refuses = kind == "trigger" and name in refusals(table)
    problem = (
        "is not what the migrations make" if kind in ("table", "view")
        else "no longer refuses changes" if refuses
        else f"has no {kind} {name} as the migrations make it"
    )  # fmt: skip
    assert told(file) == [(table, problem)]


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, name in WITH_SQL if kind in ("index", "trigger", "view")]
)
def test_every_dropped_object_is_named(file: Path, kind: str, name: str) -> None:
    executed(file, f"drop {kind} {name}")
    assert [table for table, _ in told(file)] == [made()[kind, name][0]]


@pytest.mark.parametrize(
    ("wanted", "instead"),
    [
        ("check (seq >= 1)", ""),
        (") strict", ")"),
        ("kind text not null", "kind text"),
        ("kind text not null", "kind text not null collate nocase"),
        ("kind text not null", "kind text not null default 'turns'"),
        ("kind text not null", "kind text not null as ('turns')"),
        ("unique (kind, stream, stream_sequence)", "unique (kind, stream, stream_sequence) on conflict replace"),
        ("strict", "strict, without rowid"),
    ],
)
def test_rules_that_are_taken_from_a_table_are_named(file: Path, wanted: str, instead: str) -> None:
    quoted = instead.replace("'", "''")
    rewritten_schema(
        file, f"update sqlite_schema set sql = replace(sql, '{wanted}', '{quoted}') where name = '{LEDGER}'"
    )
    assert told(file) == [(LEDGER, "is not what the migrations make")]


@pytest.mark.parametrize("name", [*TABLES, "_gates_of_audit"])
def test_an_endless_view_in_the_place_of_a_table_is_named_and_never_read(file: Path, name: str) -> None:
    kind = "view" if name.startswith("_") else "table"
    executed(
        file,
        "pragma foreign_keys = off",
        f"drop {kind} {name}",
        f"create view {name} as {ENDLESS} select x as seq from n",
    )
    assert (name, "is missing" if kind == "table" else "is not what the migrations make") in told(file)
    assert {table for table, _ in named(file)} == {name}


def test_a_trigger_that_no_migration_makes_is_named(file: Path) -> None:
    executed(file, "create trigger extra after insert on turns begin delete from runs; end")
    assert told(file) == [("turns", "has an extra trigger: extra")]


def test_a_trigger_that_rewrites_what_is_written_is_named(file: Path) -> None:
    name = "audit_events_give_gate_observations"
    (body,) = [sql for (_, found), (_, sql) in made().items() if found == name]
    assert body is not None
    executed(file, f"drop trigger {name}", body.replace("gate_id, owner", "owner, gate_id"))
    assert told(file) == [("audit_events", f"has no trigger {name} as the migrations make it")]


@pytest.mark.parametrize(
    "sql",
    [
        "delete from sqlite_schema where name = 'turns'",
        "update sqlite_schema set name = 'x' where name = 'turns'",
        "update sqlite_schema set sql = 'nonsense' where name = 'turns'",
        "update sqlite_schema set sql = cast(x'63ff' as text) where name = 'turns'",
        "update sqlite_schema set rootpage = 1 where name = 'turns'",
        "update sqlite_schema set rootpage = 99999 where name = 'turns'",
    ],
)
def test_a_schema_that_is_none_is_named_or_refused(file: Path, sql: str) -> None:
    rewritten_schema(file, sql)
    try:
        assert named(file)
    except SlipwayError as error:
        assert error.code == "database_unreadable"


@pytest.mark.parametrize(
    ("one", "other"), [("materials", "documents"), ("ledger", "journal_events"), ("tasks", "runs")]
)
def test_tables_that_changed_their_contents_are_named(file: Path, one: str, other: str) -> None:
    connection = plain(file)
    pages = dict(connection.execute("select name, rootpage from sqlite_schema").fetchall())
    connection.close()
    rewritten_schema(
        file,
        f"update sqlite_schema set rootpage = {pages[other]} where name = '{one}'",
        f"update sqlite_schema set rootpage = {pages[one]} where name = '{other}'",
    )
    try:
        assert named(file)
    except SlipwayError as error:
        assert error.code == "database_unreadable"


def test_statistics_for_the_planner_are_no_problem(file: Path) -> None:
    executed(file, "analyze")
    assert problems(file) == []


def test_a_name_that_is_no_text_is_shown_as_text(file: Path) -> None:
    name = b"e\xff".hex()
    sql = b"CREATE TRIGGER e\xff AFTER INSERT ON turns BEGIN SELECT 1; END".hex()
    rewritten_schema(
        file,
        f"insert into sqlite_schema values ('trigger', cast(x'{name}' as text), 'turns', 0, cast(x'{sql}' as text))",
    )
    assert told(file) == [("turns", "has an extra trigger: e?")]


@pytest.mark.parametrize("claimed", range(HEAD))
def test_a_file_that_says_it_is_older_is_refused_until_a_write_and_loses_nothing(file: Path, claimed: int) -> None:
    wanted = read_store(str(file), lambda store: dump(store.connection))
    executed(file, f"pragma user_version = {claimed}")
    with pytest.raises(SlipwayError) as refused:
        problems(file)
    assert refused.value.code == ("database_outdated" if claimed else "database_blank")
    open_store(str(file)).close()
    assert problems(file) == []
    assert read_store(str(file), lambda store: dump(store.connection)) == wanted


def test_a_file_that_forgot_its_migrations_as_well_is_left_as_it_is(file: Path) -> None:
    executed(file, "pragma user_version = 1", "delete from _sqlite_migrations")
    before = file.read_bytes()
    with pytest.raises(SlipwayError) as refused:
        open_store(str(file))
    assert refused.value.code == "database_failed"
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("pragma", "code"), [("application_id = 7", "database_foreign"), (f"user_version = {HEAD + 1}", "database_too_new")]
)
def test_a_file_that_says_it_is_of_others_is_refused(file: Path, pragma: str, code: str) -> None:
    executed(file, f"pragma {pragma}")
    with pytest.raises(SlipwayError) as refused:
        problems(file)
    assert refused.value.code == code
