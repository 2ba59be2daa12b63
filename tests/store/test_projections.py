"""Projections are what replaying the journals gives: any other row is named, and rebuilding gives the same rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipway_lite.protocol.replay import RunProjector
from slipway_lite.store.connection import open_store
from slipway_lite.store.projections import columns, rebuild
from slipway_lite.store.tables import PROJECTIONS
from slipway_lite.store.verify import verify
from tests.store.files import dump, plain
from tests.store.tampering import named, recompute, run_id, tampered

EVERY = PROJECTIONS["run"]


@pytest.mark.parametrize("table", EVERY)
@pytest.mark.parametrize("change", ["edit", "delete", "insert"])
def test_projections_that_are_not_their_replay_are_named(real: Path, table: str, change: str) -> None:
    connection = plain(real)
    names = columns(connection, table)
    key = [name for name in ("run_id", "ordinal") if name in names]
    first = connection.execute(f"select {', '.join(key)} from {table} order by {', '.join(key)}").fetchone()
    row = "/".join(map(str, first))
    time = next(name for name in names if name in ("at", "created_at", "issued_at"))
    if change == "edit":
        connection.execute(f"update {table} set {time} = 'x' where {key[0]} = ?", first[:1])
    elif change == "delete":
        connection.execute(f"delete from {table} where {key[0]} = ?", first[:1])
    else:
        values = ["'ghost'" if name in (key[0], "action_id") else name for name in names]
        connection.execute(f"insert into {table} select {', '.join(values)} from {table} limit 1")
        row = "/".join(["ghost", *map(str, first[1:])])
    connection.close()
    assert (table, row) in named(real)


@pytest.mark.parametrize("table", EVERY)
def test_every_edited_column_of_a_projection_is_named(real: Path, table: str) -> None:
    with open_store(str(real)) as store:
        connection = store.connection
        connection.execute("pragma ignore_check_constraints = on")
        connection.execute("pragma foreign_keys = off")
        keys = ("run_id", "ordinal")
        for name, kind in connection.execute("select name, type from pragma_table_info(?)", (table,)).fetchall():
            if name not in keys:
                row = connection.execute(f"select * from {table} limit 1").fetchone()
                key = dict(zip(columns(connection, table), row, strict=True))
                where = " and ".join(f"{part} = '{key[part]}'" for part in keys if part in key)
                connection.execute("begin")
                connection.execute(f"update {table} set {name} = ? where {where}", (77 if kind == "INTEGER" else "x",))
                found = verify(store, [RunProjector()])["problems"]
                assert [problem["table"] for problem in found] == [table], (table, name)
                connection.execute("rollback")


def test_a_journal_that_does_not_follow_is_named(real: Path) -> None:
    """A recomputed chain hides an edit from the digests, not from the replay."""
    stream = f"run:{run_id(real)}"
    tampered(real, f"update journal_events set type = 'no_such_kind' where stream = '{stream}' and sequence = 2")
    recompute(real)
    assert ("journal_events", f"{stream}/2") in named(real)


# -- rebuild


def test_rebuild_gives_identical_rows(real: Path) -> None:
    with open_store(str(real)) as store:
        before = dump(store.connection)
        assert all(before[table] for table in EVERY)
        assert rebuild(store, [RunProjector()]) == []
        assert dump(store.connection) == before


@pytest.mark.parametrize("spoil", ["delete from {table}", "update {table} set run_id = 'ghost' || run_id"])
@pytest.mark.parametrize("table", EVERY)
def test_rebuild_mends_what_was_spoiled(real: Path, table: str, spoil: str) -> None:
    with open_store(str(real)) as store:
        before = dump(store.connection)
        store.connection.execute(spoil.format(table=table))
        assert rebuild(store, [RunProjector()]) == []
        assert dump(store.connection) == before


def test_rebuild_reports_a_journal_that_does_not_replay_and_keeps_the_others(real: Path) -> None:
    broken, whole = run_id(real), run_id(real, "Second")
    tampered(real, f"update journal_events set data = '{{}}' where stream = 'run:{broken}' and sequence = 4")
    with open_store(str(real)) as store:
        before = dump(store.connection)
        assert rebuild(store, [RunProjector()]) == [(f"run:{broken}", 4)]
        after = dump(store.connection)
        for table in EVERY:
            assert [row for row in after[table] if row[0] == whole] == [row for row in before[table] if row[0] == whole]
        assert store.rows("select event_count from runs where run_id = ?", (broken,)) == [(3,)]


def test_rebuild_tells_how_far_it_is(real: Path) -> None:
    steps: list[tuple[int, int]] = []
    with open_store(str(real)) as store:
        rebuild(store, [RunProjector()], lambda done, total: steps.append((done, total)))
    assert steps == [(1, 2), (2, 2)]


def test_a_rebuild_that_fails_leaves_the_rows(real: Path) -> None:
    class Failing(RunProjector):
        def project(self, store: object, sink: object) -> None:
            raise KeyError("a defect")

    with open_store(str(real)) as store:
        before = dump(store.connection)
        with pytest.raises(KeyError):
            rebuild(store, [Failing()])
        assert dump(store.connection) == before
