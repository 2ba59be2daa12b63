"""A file of any earlier schema goes on: upgraded by the first write, with every row, the same chain and its replay."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.control.service import ControlPlane
from slipway_lite.errors import SlipwayError
from slipway_lite.observe.projection import projectors
from slipway_lite.store import migrations
from slipway_lite.store.connection import open_store
from slipway_lite.store.journal import head
from slipway_lite.store.migrations import HEAD, STEPS, version
from slipway_lite.store.reading import read_store
from slipway_lite.store.verify import verify
from tests.adversarial.scale import scaled
from tests.machine_host import invoke
from tests.store.files import directory_state, dump, event, plain
from tests.store.older import FIXTURES, VERSIONS, facts, older
from tests.store.writers import killed

KINDS = {
    1: {"journal_events", "materials"},
    2: {"journal_events"},
    3: {"journal_events", "turns"},
    4: {
        "journal_events", "turns", "workflow_snapshots", "audit_events", "state_transition_events", "documents",
        "retrospectives",
    },
    5: {
        "journal_events", "turns", "workflow_snapshots", "audit_events", "state_transition_events", "documents",
        "retrospectives",
    },
}  # fmt: skip
READS = (["head"], ["verify"])

each_version = pytest.mark.parametrize("number", VERSIONS)


def schema(path: Path) -> dict[str, Any]:
    connection = plain(path)
    found = dict(connection.execute("select name, sql from sqlite_schema where name not like '_sqlite%'"))
    connection.close()
    return found


def problems(path: Path, noted: tuple[int, str]) -> list[Any]:
    found: list[Any] = read_store(str(path), lambda store: verify(store, projectors(), noted))["problems"]
    return found


def noted_head(path: Path) -> tuple[int, str]:
    connection = plain(path)
    found = head(connection)
    connection.close()
    return found


def test_there_is_a_file_of_every_earlier_schema() -> None:
    assert sorted(path.name for path in FIXTURES.iterdir()) == [f"schema_{number}.sql" for number in VERSIONS]
    assert KINDS.keys() == set(VERSIONS)


@each_version
def test_a_fixture_is_of_its_schema_and_has_rows_of_every_kind_of_those_days(path: Path, number: int) -> None:
    found = facts(older(path, number))
    assert found.keys() - {"ledger"} == KINDS[number]
    connection = plain(path)
    assert version(connection) == number
    connection.close()


@each_version
def test_a_fixture_names_no_place_but_a_neutral_one(number: int) -> None:
    text = (FIXTURES / f"schema_{number}.sql").read_text("utf-8")
    assert not [place for place in ("/root", "/home", "/tmp", "/usr", "/Users", "/work") if f"{place}/" in text]


@each_version
def test_the_first_write_upgrades_and_every_row_stays(path: Path, number: int) -> None:
    before, noted = facts(older(path, number)), noted_head(path)
    with open_store(str(path)) as store:
        assert version(store.connection) == HEAD
        assert store.rows("select name from _sqlite_migrations order by id") == [(step,) for step in STEPS]
    assert facts(path) == before
    assert noted_head(path) == noted
    assert problems(path, noted) == []


@each_version
def test_an_upgraded_file_has_the_schema_of_a_new_one(path: Path, tmp_path: Path, number: int) -> None:
    open_store(str(older(path, number))).close()
    open_store(str(tmp_path / "new.db")).close()
    assert schema(path) == schema(tmp_path / "new.db")


@each_version
def test_rebuild_upgrades_and_gives_the_rows_that_the_upgrade_gave(path: Path, tmp_path: Path, number: int) -> None:
    before, noted = facts(older(path, number)), noted_head(path)
    reply = invoke("db", "rebuild", "--db", str(path), "--json")
    assert reply.document == {"unreplayable": []}
    assert facts(path) == before
    assert problems(path, noted) == []
    upgraded = older(tmp_path / "upgraded.db", number)
    open_store(str(upgraded)).close()
    one, other = plain(path), plain(upgraded)
    assert dump(one) == dump(other)
    one.close()
    other.close()


@each_version
def test_an_upgraded_file_is_written_on(path: Path, number: int) -> None:
    noted = noted_head(older(path, number))
    with open_store(str(path)) as store, store.immediate() as tx:
        assert event(tx, "note:new", 1) == noted[0] + 1
    with ControlPlane.open(str(path)) as plane:
        body = {
            "title": "T", "objective": "O", "typed_ref": "agent-taskstate:task:local:new",
            "repo_ref": {"provider": "github", "owner": "octo", "name": "hub", "default_branch": "main"},
        }  # fmt: skip
        plane.create_task(body)
    assert problems(path, noted) == []


@each_version
@pytest.mark.parametrize("words", READS)
def test_reading_says_that_the_file_is_outdated_and_leaves_it(path: Path, number: int, words: list[str]) -> None:
    older(path, number)
    before = directory_state(path.parent)
    reply = invoke("db", *words, "--db", str(path), "--json")
    assert (reply.status, reply.code) == (3, "database_outdated")
    assert directory_state(path.parent) == before


@each_version
def test_a_file_of_a_later_program_is_too_new(path: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    older(path, number)
    monkeypatch.setattr(migrations, "HEAD", number - 1)
    before = path.read_bytes()
    for open_it in (lambda: open_store(str(path)), lambda: read_store(str(path), lambda store: 1)):
        with pytest.raises(SlipwayError) as refused:
            open_it()
        assert refused.value.code == "database_too_new"
        assert path.read_bytes() == before


def old_or_new(path: Path, number: int) -> int:
    connection = plain(path)
    found = version(connection)
    tables = {row[0] for row in connection.execute("select name from sqlite_schema where type = 'table'")}
    connection.close()
    assert found in (number, HEAD)
    assert ("merged_files" in tables) == (found == HEAD)
    return found


@pytest.mark.adversarial
@each_version
def test_killed_in_the_middle_of_an_upgrade_the_file_is_the_old_or_the_new(tmp_path: Path, number: int) -> None:
    draw = random.Random(number)
    seen = set()
    for trial in range(scaled(3, 100)):
        path = older(tmp_path / f"{trial}.db", number)
        before, noted = facts(path), noted_head(path)
        is_done = killed("open_store(sys.argv[1]).close()", draw.uniform(0.0, 0.06), str(path))
        seen.add(old_or_new(path, number))
        assert not is_done or old_or_new(path, number) == HEAD
        assert facts(path) == before
        open_store(str(path)).close()
        assert facts(path) == before
        assert problems(path, noted) == []
    assert seen <= {number, HEAD}
