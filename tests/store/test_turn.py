from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

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
