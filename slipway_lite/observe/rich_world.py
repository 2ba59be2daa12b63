"""A simulated half-year: chance without randomness, time without a clock, and many stories told side by side."""

from __future__ import annotations

import hashlib
import heapq
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Story = Iterator[float]
    T = TypeVar("T")

START = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
DAYS = 180


class Draw:
    """Numbers that look random and are the same on every machine: a digest of the seed and a counter."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._count = 0

    def below(self, bound: int) -> int:
        """A whole number from 0 to ``bound`` - 1."""
        self._count += 1
        digest = hashlib.sha256(f"{self._seed}/{self._count}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % bound

    def chance(self, percent: int) -> bool:
        return self.below(100) < percent

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]

    def between(self, least: int, most: int) -> int:
        return least + self.below(most - least + 1)

    def uuid(self) -> str:
        """A UUID, version 4, RFC variant."""
        raw = bytearray(hashlib.sha256(f"{self._seed}/id/{self.below(2**63)}".encode()).digest()[:16])
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        text = raw.hex()
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def digest(self) -> str:
        return "sha256:" + hashlib.sha256(f"{self._seed}/digest/{self.below(2**63)}".encode()).hexdigest()


class Clock:
    """The simulated time, in the form of :func:`slipway_lite.clock.timestamp`."""

    def __init__(self) -> None:
        self.now = START

    def timestamp(self) -> str:
        return f"{self.now:%Y-%m-%dT%H:%M:%S.%f}Z"


def play(clock: Clock, stories: Sequence[tuple[datetime, Story]]) -> None:
    """Tell all ``stories`` at once, each step at its time.

    A story starts at its datetime and yields how many seconds pass before it goes on.
    """
    queue = [(start, number, story) for number, (start, story) in enumerate(stories)]
    heapq.heapify(queue)
    while queue:
        clock.now, number, story = heapq.heappop(queue)
        pause = next(story, None)
        if pause is not None:
            # A microsecond more for each story keeps two steps from sharing an instant.
            later = clock.now + timedelta(seconds=pause, microseconds=number + 1)
            heapq.heappush(queue, (later, number, story))


def moment(draw: Draw) -> datetime:
    """A moment of a working day within the half-year."""
    day = draw.below(DAYS)
    return START + timedelta(days=day - (day % 7 > 4) * 2, seconds=draw.below(9 * 3600))
