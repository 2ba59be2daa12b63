"""From a blank file to the newest schema: all or nothing, once, and only in a file of ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from slipway_lite import clock
from slipway_lite.errors import SlipwayError
from slipway_lite.store import migrations
from slipway_lite.store.connection import open_store
from slipway_lite.store.migrations import APPLICATION_ID, HEAD, STEPS, statements, version
from slipway_lite.store.reading import read_store
from tests.machine_host import environment
from tests.store.files import directory_state, filled, plain


def test_a_blank_file_is_brought_to_the_head(path: Path) -> None:
    with open_store(str(path)) as store:
        assert version(store.connection) == HEAD == len(STEPS)
        assert store.rows("pragma application_id") == [(APPLICATION_ID,)]
        assert store.rows("pragma user_version") == [(HEAD,)]
        assert store.rows("select name from _sqlite_migrations order by id") == [(step,) for step in STEPS]
        assert store.rows("pragma quick_check") == [("ok",)]


def test_the_header_names_the_program(path: Path) -> None:
    open_store(str(path)).close()
    assert path.read_bytes()[68:72] == b"SLPW"


def test_a_file_of_no_bytes_is_blank(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    open_store(str(path)).close()
    assert read_store(str(path), lambda store: version(store.connection)) == HEAD


def test_opening_again_changes_nothing(path: Path) -> None:
    filled(path).close()
    before = path.read_bytes()
    open_store(str(path)).close()
    assert path.read_bytes() == before


def test_the_numbered_scripts_are_the_steps() -> None:
    folder = Path(migrations.__file__).parent / "sql"
    assert sorted(script.stem for script in folder.glob("*.sql")) == list(STEPS)
    assert [int(step[:3]) for step in STEPS] == list(range(1, HEAD + 1))


@pytest.mark.parametrize("step", STEPS)
def test_every_statement_of_a_script_is_whole(step: str) -> None:
    for statement in statements(step):
        assert statement.count("(") == statement.count(")"), statement


def test_an_older_file_is_brought_up_to_date_with_its_rows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        older.setattr(migrations, "STEPS", STEPS[:1])
        older.setattr(migrations, "HEAD", 1)
        filled(path).close()
    with pytest.raises(SlipwayError) as refused:
        read_store(str(path), lambda store: 1)
    assert refused.value.code == "database_outdated"
    with open_store(str(path)) as store:
        assert version(store.connection) == HEAD
        assert store.rows("select count(*) from ledger") == [(4,)]
        assert store.rows("select count(*) from runs") == [(0,)]


START_AT_ONCE = """
import sys
import sqlite_utils
from slipway_lite import clock
from slipway_lite.store.connection import open_store
from tests.store.files import event

print("ready", flush=True)
start = float(sys.stdin.readline())
for number, place in enumerate(sys.argv[1:]):
    clock.pause(max(0.0, start + 0.1 * number - clock.monotonic()))
    with open_store(place) as store, store.immediate() as tx:
        event(tx, "note:a", tx.next_sequence("journal_events", "note:a"))
"""


def test_four_processes_starting_at_once_make_one_file(tmp_path: Path) -> None:
    places = [str(tmp_path / str(number) / "place" / "slipway.db") for number in range(8)]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", START_AT_ONCE, *places],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in running:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    answers = []
    start = f"{clock.monotonic() + 0.1}\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write(start)
        process.stdin.flush()
    for process in running:
        _, err = process.communicate(timeout=60)
        answers.append((process.returncode, err))
    assert answers == [(0, "")] * 4
    for place in places:
        assert read_store(place, lambda store: store.rows("select max(seq) from ledger")) == [(4,)]


@pytest.mark.parametrize(
    "script",
    [
        "create table t (x)",
        "pragma user_version = 2",
        "pragma application_id = 7",
        "create table t (x); pragma user_version = 2",
        "pragma application_id = 7; pragma user_version = 99",
    ],
)
@pytest.mark.parametrize("journal_mode", ["delete", "wal"])
def test_a_database_of_another_program_is_refused_untouched(tmp_path: Path, script: str, journal_mode: str) -> None:
    path = tmp_path / "other.db"
    other = plain(path)
    other.execute(f"pragma journal_mode = {journal_mode}")
    other.executescript(script)
    other.close()
    before = {name: found for name, found in directory_state(tmp_path).items() if name != "."}
    for open_it in (lambda: open_store(str(path)), lambda: read_store(str(path), lambda store: 1)):
        with pytest.raises(SlipwayError) as refused:
            open_it()
        assert refused.value.code == "database_foreign"
        assert {name: found for name, found in directory_state(tmp_path).items() if name != "."} == before


def test_a_newer_file_is_refused_untouched(path: Path) -> None:
    filled(path).close()
    newer = plain(path)
    newer.execute(f"pragma user_version = {HEAD + 1}")
    newer.close()
    before = path.read_bytes()
    for open_it in (lambda: open_store(str(path)), lambda: read_store(str(path), lambda store: 1)):
        with pytest.raises(SlipwayError) as refused:
            open_it()
        assert refused.value.code == "database_too_new"
        assert path.read_bytes() == before


@pytest.mark.parametrize("broken", [0, len(STEPS) - 1])
def test_a_step_that_fails_leaves_nothing_of_any_step(path: Path, monkeypatch: pytest.MonkeyPatch, broken: int) -> None:
    def failing(step: str) -> list[str]:
        script = statements(step)
        return [*script, "insert into no_table values (1)"] if step == STEPS[broken] else script

    with monkeypatch.context() as patched:
        patched.setattr(migrations, "statements", failing)
        with pytest.raises(SlipwayError) as refused:
            open_store(str(path))
        assert refused.value.code == "database_failed"
    connection = plain(path)
    assert connection.execute("select count(*) from sqlite_schema").fetchone() == (0,)
    assert version(connection) == 0
    connection.close()
    open_store(str(path)).close()
    assert read_store(str(path), lambda store: version(store.connection)) == HEAD
