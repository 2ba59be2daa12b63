"""Reading leaves a resting file as it was, sees what a live writer committed, and never answers from a torn read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from slipway_lite.errors import SlipwayError
from slipway_lite.store import reading, sqlite
from slipway_lite.store.connection import Store, open_store
from slipway_lite.store.journal import head
from slipway_lite.store.reading import read_store
from tests.store.files import directory_state, event, filled


def seq(store: Store) -> int:
    return head(store.connection)[0]


def test_a_resting_file_stays_as_it_was(path: Path) -> None:
    filled(path).close()
    before = directory_state(path.parent)
    assert read_store(str(path), seq) == 4
    assert directory_state(path.parent) == before


def test_a_refused_read_leaves_it_as_it_was_too(path: Path) -> None:
    filled(path).close()
    before = directory_state(path.parent)
    with pytest.raises(SlipwayError, match="no such table"):
        read_store(str(path), lambda store: store.rows("select * from no_table"))
    assert directory_state(path.parent) == before


def test_rows_of_a_live_writer_are_seen_at_once(path: Path) -> None:
    with filled(path) as store:
        for sequence in range(2, 6):
            with store.immediate() as tx:
                event(tx, "note:b", sequence)
            assert read_store(str(path), seq) == seq(store) == sequence + 3


def test_rows_that_a_killed_writer_left_in_the_wal_are_seen(path: Path) -> None:
    if (child := os.fork()) == 0:
        kept = filled(path)
        os._exit(kept is None)  # no close: the WAL stays
    os.waitpid(child, 0)
    assert (path.parent / "slipway.db-wal").stat().st_size > 0
    assert read_store(str(path), seq) == 4


def test_a_read_that_raced_with_a_writer_is_read_again(path: Path) -> None:
    filled(path).close()
    seen = []

    def work(store: Store) -> int:
        seen.append(seq(store))
        if len(seen) < 3:
            with open_store(str(path)) as other, other.immediate() as tx:
                event(tx, "note:b", len(seen) + 1)
            os.utime(path, ns=(len(seen), len(seen)))  # a clock too coarse must not hide the change here
        return seen[-1]

    assert read_store(str(path), work) == 6
    assert seen == [4, 5, 6]


def test_a_refusal_from_a_read_that_raced_does_not_count(path: Path) -> None:
    filled(path).close()
    tries = []

    def work(store: Store) -> int:
        tries.append(1)
        if len(tries) == 1:
            with open_store(str(path)) as other, other.immediate() as tx:
                event(tx, "note:b", 2)
            os.utime(path, ns=(1, 1))
            raise SlipwayError("run_not_found", "What was read is not what is there now.")
        return seq(store)

    assert read_store(str(path), work) == 5


def test_a_writer_that_comes_and_stays_is_read_as_a_live_one(path: Path) -> None:
    filled(path).close()
    writers: list[Store] = []

    def work(store: Store) -> int:
        if not writers:
            writers.append(open_store(str(path)))
            with writers[0].immediate() as tx:
                event(tx, "note:b", 2)
        return seq(store)

    assert read_store(str(path), work) == 5
    writers[0].close()


def test_a_file_that_never_rests_is_read_as_a_live_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_ATTEMPTS", 3)
    filled(path).close()
    tries = []

    def work(store: Store) -> int:
        tries.append(1)
        os.utime(path, ns=(len(tries), len(tries)))
        return seq(store)

    assert read_store(str(path), work) == 4
    assert len(tries) == 4


def test_one_read_is_one_snapshot(path: Path) -> None:
    with filled(path) as writer:

        def work(store: Store) -> tuple[int, int]:
            first = seq(store)
            with writer.immediate() as tx:
                event(tx, "note:b", 2)
            return first, seq(store)

        assert read_store(str(path), work) == (4, 4)


def test_a_reader_cannot_write(path: Path) -> None:
    filled(path).close()
    for live in (False, True):
        writer = open_store(str(path)) if live else None
        with pytest.raises(SlipwayError) as refused:
            read_store(str(path), lambda store: store.connection.execute("delete from runs"))
        assert isinstance(refused.value.__cause__, sqlite.OperationalError)
        if writer is not None:
            writer.close()


def test_a_missing_file_is_unavailable_and_stays_missing(path: Path) -> None:
    with pytest.raises(SlipwayError) as refused:
        read_store(str(path), seq)
    assert refused.value.code == "database_unavailable"
    assert not path.parent.exists()


def test_a_file_that_is_no_database_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Not a database. " * 100)
    with pytest.raises(SlipwayError) as refused:
        read_store(str(path), seq)
    assert refused.value.code == "database_unreadable"


def test_a_file_that_a_first_write_has_only_begun_is_blank(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.touch()
    with pytest.raises(SlipwayError) as caught:
        read_store(str(path), seq)
    assert caught.value.code == "database_blank"
    assert directory_state(path.parent).keys() == {".", path.name}


def test_a_write_that_its_writer_died_over_is_left_to_the_next_writer(path: Path) -> None:
    """The first page is written with a rollback journal: what a dead writer leaves of it is no database of its own."""
    path.parent.mkdir()
    elsewhere = path.with_name("elsewhere.db")
    writer = sqlite.connect(f"file:{elsewhere}", 1.0)
    writer.execute("pragma cache_size = 1")
    writer.execute("begin")
    writer.execute("create table big (x)")
    for _ in range(40):
        writer.execute("insert into big values (zeroblob(3000))")
    for suffix in ("", "-journal"):
        path.with_name(path.name + suffix).write_bytes(elsewhere.with_name(elsewhere.name + suffix).read_bytes())
    writer.close()
    with pytest.raises(SlipwayError) as caught:
        read_store(str(path), seq)
    assert caught.value.code == "database_interrupted"
    open_store(str(path)).close()
    assert read_store(str(path), seq) == 0
