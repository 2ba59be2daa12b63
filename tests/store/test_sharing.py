"""One file in one process: threads that share a store or have their own, links to the file, and forks."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slipway_lite import clock
from slipway_lite.errors import SlipwayError
from slipway_lite.store import connection as connection_module
from slipway_lite.store.connection import Store, open_store
from slipway_lite.store.location import locate
from slipway_lite.store.reading import read_store
from slipway_lite.store.verify import verify

THREADS, WRITES = 4, 25
WITH_THREADS = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
"""Newer Pythons warn of any fork beside threads, of which a test runner has some."""


@pytest.fixture
def path(tmp_path: Path) -> str:
    place = str(tmp_path / "slipway.db")
    open_store(place).close()
    return place


def append(store: Store, stream: str) -> None:
    with store.immediate() as tx:
        tx.append("journal_events", stream, tx.next_sequence("journal_events", stream), "t", "k", "{}")


def count(store: Store) -> int:
    return int(store.rows("select count(*) from journal_events")[0][0])


def in_threads(work: Callable[[int], None], threads: int = THREADS) -> None:
    """Run ``work`` in several threads at once and raise what the first of them raised."""
    raised: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            raised.append(error)

    running = [threading.Thread(target=guarded, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    for error in raised:
        raise error


@pytest.mark.parametrize("is_shared", [True, False])
def test_threads_write_beside_each_other(path: str, is_shared: bool) -> None:
    def write(store: Store, number: int) -> None:
        for _ in range(WRITES):
            append(store, f"turn:{number if number % 2 else 'all'}")

    def alone(number: int) -> None:
        with open_store(path) as store:
            write(store, number)

    with open_store(path) as store:
        in_threads((lambda number: write(store, number)) if is_shared else alone)
        assert count(store) == THREADS * WRITES
        assert verify(store, [])["problems"] == []


def test_a_thread_that_fails_undoes_nothing_of_another(path: str) -> None:
    def work(number: int) -> None:
        for _ in range(WRITES):
            if number % 2:
                append(store, f"turn:{number}")
                continue
            with pytest.raises(ZeroDivisionError), store.immediate() as tx:
                tx.append("journal_events", "turn:gone", 1, "t", "k", "{}")
                raise ZeroDivisionError

    with open_store(path) as store:
        in_threads(work)
        assert count(store) == THREADS // 2 * WRITES


def test_a_read_sees_nothing_of_a_transaction_of_another_thread(path: str) -> None:
    seen: list[int] = []
    with open_store(path) as store:
        with store.immediate() as tx:
            tx.append("journal_events", "turn:s", 1, "t", "k", "{}")
            reader = threading.Thread(target=lambda: seen.append(count(store)))
            reader.start()
            reader.join(0.05)
            assert reader.is_alive(), "it waits for its turn"
        reader.join()
    assert seen == [1]


def test_a_thread_waits_for_its_turn_no_longer_than_for_a_lock(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "BUSY_SECONDS", 0.05)
    codes: list[str] = []

    def wait() -> None:
        with pytest.raises(SlipwayError) as caught:
            append(store, "turn:s")
        codes.append(caught.value.code)

    with open_store(path) as store, store.immediate():
        waiting = threading.Thread(target=wait)
        waiting.start()
        waiting.join()
    assert codes == ["database_busy"]


def test_a_thread_that_waits_for_another_process_keeps_no_thread_from_reading(path: str) -> None:
    with open_store(path) as store, open_store(path) as other:
        with other.immediate():
            waiting = threading.Thread(target=append, args=(store, "turn:s"))
            waiting.start()
            for _ in range(20):
                began = clock.monotonic()
                assert count(store) == 0
                assert clock.monotonic() - began < connection_module.BUSY_SECONDS / 4
            assert waiting.is_alive()
        waiting.join()
        assert count(store) == 1


def test_a_transaction_that_cannot_begin_gives_its_turn_back(path: str) -> None:
    with open_store(path) as store:
        with store.immediate(), pytest.raises(SlipwayError) as caught:
            append(store, "turn:s")
        assert caught.value.code == "database_failed"
        in_threads(lambda _: append(store, "turn:s"), threads=1)


def test_the_reads_of_a_snapshot_are_of_one_moment(path: str) -> None:
    with open_store(path) as store, open_store(path) as other:
        with store.snapshot():
            before = count(store)
            append(other, "turn:s")
            assert count(store) == before
        assert count(store) == before + 1


def test_a_snapshot_inside_a_transaction_is_that_transaction(path: str) -> None:
    with open_store(path) as store:
        with store.immediate() as tx:
            tx.append("journal_events", "turn:s", 1, "t", "k", "{}")
            with store.snapshot():
                assert count(store) == 1
        assert count(store) == 1


# -- links


def test_a_reader_finds_by_way_of_a_link_what_a_writer_just_wrote(path: str, tmp_path: Path) -> None:
    """The log lies beside the file, not beside the link."""
    link = str(tmp_path / "link.db")
    os.symlink(path, link)
    with open_store(path) as writing:
        append(writing, "turn:s")
        assert read_store(link, count) == 1
    with open_store(link) as writing:
        append(writing, "turn:s")
        assert read_store(path, count) == 2
        assert writing.path == os.path.realpath(path)


def test_the_place_of_a_file_is_where_a_link_leads(path: str, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(path)
    found = os.path.realpath(path)
    assert locate({}, None, str(link)) == (found, "option")
    assert locate({"SLIPWAY_DB": str(link)}, None) == (found, "environment")


# -- a file that was written a moment ago


def test_a_file_is_read_once_a_later_write_could_not_leave_it_with_the_same_time(path: str) -> None:
    """Where the clock of the file system is coarse, two writes can leave the same size and time."""
    for _ in range(5):
        with open_store(path) as store:
            append(store, "turn:s")
        written = os.stat(path).st_mtime_ns
        assert read_store(path, lambda _: clock.file_time()) > written


def test_a_file_with_a_time_in_the_future_is_read_at_once(path: str) -> None:
    os.utime(path, (4_000_000_000, 4_000_000_000))
    assert read_store(path, count) == 0


# -- forks


def forked(work: Callable[[], Any]) -> str:
    """What ``work`` gives in a forked child: its repr, or the code of its refusal."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = repr(work())
        except SlipwayError as error:
            said = error.code
        except BaseException as error:
            said = repr(error)
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as said_by_child:
        return said_by_child.read()


def open_and_append(path: str) -> int:
    with open_store(path) as store:
        append(store, "turn:s")
        return count(store)


@WITH_THREADS
def test_a_child_of_a_process_that_has_the_file_open_is_refused(path: str) -> None:
    """SQLite would take its parent's locks for its own: what it commits could be lost by the next one out."""
    with open_store(path) as store:
        assert forked(lambda: open_and_append(path)) == "database_forked"
        assert forked(lambda: append(store, "turn:s")) == "database_forked"
        assert forked(lambda: count(store)) == "database_forked"
        assert forked(lambda: read_store(path, count)) == "database_forked"
        assert forked(store.close) == "None"
        append(store, "turn:s")
    assert read_store(path, count) == 1


@WITH_THREADS
def test_a_child_of_a_process_that_has_closed_the_file_uses_it_freely(path: str) -> None:
    open_and_append(path)
    assert read_store(path, count) == 1
    assert forked(lambda: read_store(path, count)) == "1"
    assert forked(lambda: open_and_append(path)) == "2"
    assert read_store(path, count) == 2


@WITH_THREADS
def test_a_child_that_was_forked_while_another_thread_read_reads_too(path: str) -> None:
    open_and_append(path)
    reading, forking = threading.Event(), threading.Event()

    def read_slowly(store: Store) -> int:
        reading.set()
        assert forking.wait(20)
        return count(store)

    thread = threading.Thread(target=lambda: read_store(path, read_slowly))
    thread.start()
    assert reading.wait(20)
    child = os.fork()
    if child == 0:
        os._exit(read_store(path, count))
    forking.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


# -- patience


def test_a_writer_gets_its_turn_beside_one_that_never_rests(path: str) -> None:
    """However busy the file is: whoever waits for short writes gets on long before its patience ends."""
    busy, done = threading.Event(), threading.Event()

    def work(number: int) -> None:
        with open_store(path) as store:
            if number:
                while not done.is_set():
                    with store.immediate():
                        busy.set()
                        clock.pause(0.002)
                return
            assert busy.wait(20)
            try:
                for _ in range(8):
                    began = clock.monotonic()
                    append(store, "turn:s")
                    assert clock.monotonic() - began < connection_module.BUSY_SECONDS / 2
            finally:
                done.set()

    in_threads(work, threads=2)


def test_closing_waits_for_a_thread_that_reads(path: str) -> None:
    store = open_store(path)
    reads = threading.Event()
    found: list[object] = []

    def read() -> None:
        store.connection.create_function("reads", 0, reads.set)
        endless = (
            "with recursive c(n) as (select reads() union all select 1 from c limit 1000000) select count(*) from c"
        )
        found.extend(store.rows(endless))

    thread = threading.Thread(target=read)
    thread.start()
    reads.wait(5)
    store.close()
    thread.join()
    assert found == [(1_000_000,)]


class Interrupted:
    """A connection on which an interrupt comes when ``statement`` is done, or in front of it."""

    def __init__(self, real: Any, statement: str, is_done: bool) -> None:
        self._real = real
        self._statement = statement
        self._is_done = is_done

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def execute(self, sql: str) -> Any:
        if sql == self._statement and not self._is_done:
            raise KeyboardInterrupt
        found = self._real.execute(sql)
        if sql == self._statement:
            raise KeyboardInterrupt
        return found


@pytest.mark.parametrize("is_done", [True, False])
@pytest.mark.parametrize("statement", ["begin immediate", "commit"])
def test_an_interrupted_transaction_holds_no_lock(path: str, statement: str, is_done: bool) -> None:
    with open_store(path) as store, open_store(path) as other:
        real = store.connection
        store.connection = Interrupted(real, statement, is_done)  # type: ignore[assignment]
        with pytest.raises(KeyboardInterrupt), store.immediate():
            pass
        store.connection = real
        assert not real.in_transaction
        in_threads(lambda _: append(store, "one"), 1)
        append(other, "other")
        assert count(store) == 2
