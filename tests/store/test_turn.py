from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from slipway_lite import clock
from slipway_lite.store.turn import Turn


@pytest.fixture
def turns(tmp_path: Path) -> Iterator[tuple[Turn, Turn]]:
    one, other = Turn(str(tmp_path / "x.db")), Turn(str(tmp_path / "x.db"))
    yield one, other
    one.close()
    other.close()


def seconds_to_take(turn: Turn, patience: float) -> float:
    began = clock.monotonic()
    turn.take(began + patience)
    return clock.monotonic() - began


def test_a_turn_is_waited_for_until_the_deadline_and_then_done_without(turns: tuple[Turn, Turn]) -> None:
    one, other = turns
    assert seconds_to_take(one, 5) < 1
    assert 0.1 <= seconds_to_take(other, 0.1) < 1
    other.give()
    assert 0.1 <= seconds_to_take(other, 0.1) < 1, "it gave nothing that it did not have"


def test_a_turn_that_was_given_or_closed_is_the_next_ones(turns: tuple[Turn, Turn]) -> None:
    one, other = turns
    one.take(clock.monotonic())
    one.give()
    assert seconds_to_take(other, 5) < 1
    other.close()
    assert seconds_to_take(one, 5) < 1


def test_where_there_are_no_turns_nobody_waits(tmp_path: Path) -> None:
    assert seconds_to_take(Turn(str(tmp_path / "missing" / "x.db")), 5) < 1


def test_the_threads_of_one_open_file_queue_too(turns: tuple[Turn, Turn]) -> None:
    one, _ = turns
    given, waited = Event(), list[float]()

    def hold() -> None:
        waited.append(seconds_to_take(one, 5))
        given.wait(5)
        one.give()

    thread = Thread(target=hold)
    thread.start()
    while not waited:
        clock.pause(0.001)
    assert 0.1 <= seconds_to_take(one, 0.1) < 1
    one.give()
    assert 0.1 <= seconds_to_take(one, 0.1) < 1, "it gave nothing that another thread has"
    given.set()
    thread.join()
    assert seconds_to_take(one, 5) < 1


def test_threads_that_write_at_once_for_the_first_time_share_one_lock(
    turns: tuple[Turn, Turn], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = turns
    real, opened = os.open, list[int]()

    def slow(path: str, flags: int) -> int:
        clock.pause(0.05)
        opened.append(real(path, flags))
        return opened[-1]

    def write() -> None:
        one.take(clock.monotonic() + 5)
        one.give()

    monkeypatch.setattr(os, "open", slow)
    threads = [Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 1, "a second one would be held for ever"
    assert seconds_to_take(other, 5) < 1
