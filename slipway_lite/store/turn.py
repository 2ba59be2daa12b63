"""Whose turn it is to write: a queue before SQLite's write lock, among threads and among processes.

SQLite lets whoever looks at the right moment have the lock, so a writer that comes back at once, such as a busy server,
could keep everybody else out until their patience ends. Here a writer first holds the turn, waits for the lock with it,
and passes it on once it has the lock: the next one is then in front of whoever comes back.

The turn is an advisory lock on the directory of the file. Where there are none, writers are just less fair. Threads
that share an open file share that lock as well, so they queue for a lock of their own first.
"""

from __future__ import annotations

import fcntl
import os
from _thread import RLock, allocate_lock, get_ident

from slipway_lite import clock

TURN_SECONDS = 1.0
"""How long a writer waits for its turn. It is fairness alone: a writer of another file in the directory, or whoever
holds the directory for no good reason, keeps nobody out for longer."""
_PAUSE_SECONDS = 0.001


class Turn:
    """The turns of one open file. ``alone`` is held by the thread that uses its connection."""

    def __init__(self, path: str) -> None:
        self.alone = RLock()
        self._place = os.path.dirname(path) or "."
        self._directory: int | None = None
        self._first = allocate_lock()
        self._holder: int | None = None

    def take(self, deadline: float) -> None:
        """Wait for the turn, at most :data:`TURN_SECONDS` and until ``deadline``; after that go on without."""
        deadline = min(deadline, clock.monotonic() + TURN_SECONDS)
        if not self._first.acquire(timeout=max(0.0, deadline - clock.monotonic())):
            return
        self._holder = get_ident()
        try:
            if self._directory is None:
                self._directory = os.open(self._place, os.O_RDONLY | os.O_CLOEXEC)
            while True:
                try:
                    fcntl.flock(self._directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return
                except BlockingIOError:
                    if clock.monotonic() >= deadline:
                        return
                    clock.pause(_PAUSE_SECONDS)
        except OSError:
            return

    def give(self) -> None:
        """Let the next one have the turn."""
        if self._holder != get_ident():
            return
        self._holder = None
        try:
            if self._directory is not None:
                fcntl.flock(self._directory, fcntl.LOCK_UN)
        finally:
            self._first.release()

    def close(self) -> None:
        """Give up the turn and what it is taken with, after whoever waits for it now."""
        self.give()
        with self._first:
            if self._directory is not None:
                os.close(self._directory)
                self._directory = None
