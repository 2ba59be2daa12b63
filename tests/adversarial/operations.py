"""What an operation of the crash campaign is: a state to start from, one mutation, and what doing it again gives."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

from slipway_lite import clock, ids

ANOTHER = "another"
"""The request has no identity: the same again is one more."""
SAME = "same"
"""The same again is answered, and the file stays as it is."""
REPLAYED = "replayed"
"""The same again is answered with the same reply, and the file stays as it is."""

PREPARING, PERFORMING, REPEATING = 1, 2, 3
"""Whose ids they are: see :func:`steady`."""
EPOCH = 1_767_225_600
"""2026-01-01, in seconds."""


class Place(NamedTuple):
    """Where an operation works: a Git worktree, a database file, and how long its texts are (characters)."""

    root: str
    database: str
    size: int = 0

    def text(self, start: str) -> str:
        """``start``, drawn out to the size of this place."""
        return start + " é" * (self.size // 2)


Acknowledge = Callable[[Any], None]


class Operation(NamedTuple):
    """``prepare(place)`` gives the request that ``perform(place, request, acknowledge)`` sends, with its reply.

    ``again`` is what a repetition after success gives: :data:`ANOTHER`, :data:`SAME`, :data:`REPLAYED`, or the code of
    its refusal.
    ``later`` is how many seconds pass between preparing and performing.
    """

    prepare: Callable[[Place], Any]
    perform: Callable[[Place, Any, Acknowledge], None]
    again: str
    later: int = 10


def steady(run: int, seconds: int) -> None:
    """From here on time starts at ``seconds`` and takes steps of a millisecond, and ids are numbered: whoever does
    the same gets the same bytes. ``run`` keeps the ids of one process apart from those of another.

    What lies below the only source of time and the only source of randomness is replaced, so that nothing gets past.
    """
    steps = itertools.count(1)
    numbers = itertools.count(1)
    now = {"time_ns": lambda: (EPOCH + seconds) * 1_000_000_000 + next(steps) * 1_000_000}
    clock.time = SimpleNamespace(**(vars(time) | now))
    ids.os = SimpleNamespace(urandom=lambda length: run.to_bytes(4, "big") + next(numbers).to_bytes(length - 4, "big"))
