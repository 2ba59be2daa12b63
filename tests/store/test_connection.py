"""Opening for writing: what is made, what is refused, and how a failed write is told."""

from __future__ import annotations

import os
import stat
import threading
import time
from pathlib import Path

import pytest

from slipway_lite.errors import SlipwayError
from slipway_lite.store import connection, sqlite
from slipway_lite.store.connection import Store, failure, open_store
from slipway_lite.store.journal import head
from slipway_lite.store.reading import read_store
from tests.store.files import AT, directory_state, event, filled, plain


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_directory_is_0700_and_every_file_0600(path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with filled(path):
            assert mode(path.parent) == 0o700
            assert {item.name: mode(item) for item in path.parent.iterdir()} == {
                "slipway.db": 0o600,
                "slipway.db-shm": 0o600,
                "slipway.db-wal": 0o600,
            }
    finally:
        os.umask(before)


def test_a_directory_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    open_store(str(tmp_path / "slipway.db")).close()
    assert mode(tmp_path) == 0o750 and mode(tmp_path / "slipway.db") == 0o600


def test_the_last_one_out_leaves_one_whole_file(path: Path) -> None:
    filled(path).close()
    assert [item.name for item in path.parent.iterdir()] == ["slipway.db"]


def test_a_write_is_durable_and_checked(store: Store) -> None:
    pragmas = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "recursive_triggers": 1}
    assert {name: store.rows(f"pragma {name}")[0][0] for name in pragmas} == pragmas


@pytest.mark.parametrize("name", ["with space.db", "100%.db", "what?.db", "a#b.db", "ünïcode.db", "a%20b.db"])
def test_any_file_name_is_taken_literally(tmp_path: Path, name: str) -> None:
    with filled(tmp_path / name):
        pass
    assert [item.name for item in tmp_path.iterdir()] == [name]
    assert read_store(str(tmp_path / name), lambda store: head(store.connection))[0] == 4


def test_a_file_that_is_no_database_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Not a database. " * 100)
    before = directory_state(tmp_path)
    with pytest.raises(SlipwayError) as refused:
        open_store(str(path))
    assert refused.value.code == "database_unreadable"
    assert directory_state(tmp_path) == before


def test_a_schema_that_is_no_text_is_refused(path: Path) -> None:
    filled(path).close()
    raw = path.read_bytes()
    assert b"CREATE TABLE runs " in raw
    path.write_bytes(raw.replace(b"CREATE TABLE runs ", b"CREATE T\xf3BLE runs "))
    for open_it in (open_store, lambda place: read_store(place, lambda store: 1)):
        with pytest.raises(SlipwayError) as refused:
            open_it(str(path))
        assert refused.value.code == "database_unreadable"


def test_a_place_below_a_file_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SlipwayError) as refused:
        open_store(str(tmp_path / "file" / "slipway.db"))
    assert refused.value.code == "database_unavailable"


def test_a_directory_in_its_place_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(SlipwayError) as refused:
        open_store(str(tmp_path))
    assert refused.value.code == "database_unavailable"


def test_a_store_is_closed_by_its_block(path: Path) -> None:
    with open_store(str(path)) as store:
        pass
    with pytest.raises(Exception, match="closed database"):
        store.connection.execute("select 1")


def test_rows_of_a_bad_select_are_a_failed_read(store: Store) -> None:
    with pytest.raises(SlipwayError) as refused:
        store.rows("select * from no_table")
    assert refused.value.code == "database_failed"


def test_a_second_writer_waits_and_then_gives_up(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.2)
    with open_store(str(path)) as first, open_store(str(path)) as second, first.immediate():
        started = time.monotonic()
        with pytest.raises(SlipwayError) as refused, second.immediate():
            pass
        assert 0.15 < time.monotonic() - started < 2
    assert refused.value.code == "database_busy"


def test_a_second_writer_gets_its_turn(path: Path) -> None:
    with open_store(str(path)) as first, open_store(str(path)) as second:
        entered = threading.Event()

        def hold() -> None:
            with first.immediate() as tx:
                event(tx, "note:a", 1)
                entered.set()
                time.sleep(0.2)

        holder = threading.Thread(target=hold)
        holder.start()
        entered.wait()
        with second.immediate() as tx:
            assert tx.next_sequence("journal_events", "note:a") == 2
            event(tx, "note:a", 2)
        holder.join()


def test_readers_do_not_wait_for_a_writer(path: Path) -> None:
    with filled(path) as store, store.immediate() as tx:
        event(tx, "note:b", 2)
        assert read_store(str(path), lambda other: head(other.connection))[0] == 4


def test_opening_waits_for_a_lock_and_gives_up_as_busy(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path).close()
    stranger = plain(path)
    stranger.execute("pragma journal_mode = delete")
    stranger.execute("begin exclusive")
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.2)
    with pytest.raises(SlipwayError) as refused:
        open_store(str(path))
    assert refused.value.code == "database_busy"
    stranger.close()


def test_a_full_file_refuses_the_write_and_keeps_the_rest(path: Path) -> None:
    with filled(path) as store:
        (pages,) = store.rows("pragma page_count")[0]
        store.connection.execute(f"pragma max_page_count = {pages}")
        with pytest.raises(SlipwayError) as refused, store.immediate() as tx:
            event(tx, "note:b", 2, '"' + "x" * 100_000 + '"')
        assert refused.value.code == "database_failed"
        assert not store.connection.in_transaction
        store.connection.execute("pragma max_page_count = 100000")
        with store.immediate() as tx:
            assert event(tx, "note:b", 2) == 5


def test_a_commit_that_breaks_a_rule_is_rolled_back(path: Path) -> None:
    with filled(path) as store:
        with pytest.raises(SlipwayError) as refused, store.immediate() as tx:
            tx.execute("pragma defer_foreign_keys = on")
            tx.execute("insert into journal_events values (99, 'note:c', 1, ?, 'noted', '{}')", (AT,))
        assert (refused.value.code, "commit" in refused.value.message) == ("database_failed", True)
        assert not store.connection.in_transaction
        assert store.events("note:c") == []


SQLITE_BUSY, SQLITE_FULL, SQLITE_CONSTRAINT = 5, 13, 19
SQLITE_IOERR, SQLITE_IOERR_FSYNC, SQLITE_BUSY_SNAPSHOT = 10, 10 | 4 << 8, 5 | 2 << 8


@pytest.mark.parametrize(
    ("kind", "errorcode", "phase", "code"),
    [
        (sqlite.OperationalError, SQLITE_BUSY, "begin", "database_busy"),
        (sqlite.OperationalError, SQLITE_BUSY_SNAPSHOT, "write", "database_busy"),
        (sqlite.OperationalError, SQLITE_BUSY, "commit", "database_busy"),
        (sqlite.OperationalError, SQLITE_BUSY, "open", "database_busy"),
        (sqlite.OperationalError, SQLITE_IOERR, "open", "database_unavailable"),
        (sqlite.DatabaseError, 26, "open", "database_unreadable"),
        (sqlite.DatabaseError, 11, "read", "database_unreadable"),
        (sqlite.DatabaseError, 11, "begin", "database_unreadable"),
        (sqlite.OperationalError, SQLITE_IOERR, "read", "database_failed"),
        (sqlite.OperationalError, SQLITE_IOERR, "write", "database_failed"),
        (sqlite.OperationalError, SQLITE_FULL, "write", "database_failed"),
        (sqlite.OperationalError, SQLITE_FULL, "commit", "database_failed"),
        (sqlite.IntegrityError, SQLITE_CONSTRAINT, "commit", "database_failed"),
        (sqlite.OperationalError, SQLITE_IOERR, "commit", "database_ambiguous"),
        (sqlite.OperationalError, SQLITE_IOERR_FSYNC, "commit", "database_ambiguous"),
    ],
)
def test_failures_are_told_by_error_and_phase(
    kind: type[sqlite.DatabaseError], errorcode: int, phase: str, code: str
) -> None:
    error = kind("reason")
    error.sqlite_errorcode = errorcode
    assert failure(error, phase).code == code


def test_directories_that_are_made_are_durable_before_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []
    monkeypatch.setattr(connection, "_sync", synced.append)
    path = tmp_path / "one" / "two" / "slipway.db"
    open_store(str(path)).close()
    assert synced == [str(tmp_path / "one"), str(tmp_path)]
    open_store(str(path)).close()
    open_store(str(path.with_name("other.db"))).close()
    assert len(synced) == 2


def test_a_name_without_a_directory_is_one_of_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store("slipway.db") as store:
        assert store.path == str(tmp_path / "slipway.db")


def test_a_file_that_another_thread_makes_meanwhile_is_not_opened_beside_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing the second descriptor would drop the locks of SQLite in the first thread."""
    path.parent.mkdir()
    path.touch()
    descriptors: list[int] = []
    real_open, real_exists = os.open, os.path.exists

    def noting(*arguments: int) -> int:
        descriptors.append(real_open(*arguments))
        return descriptors[-1]

    monkeypatch.setattr(os.path, "exists", lambda place: place != str(path) and real_exists(place))
    monkeypatch.setattr(os, "open", noting)
    connection._create_privately(str(path))
    assert descriptors == []
