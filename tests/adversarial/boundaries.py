"""Count what a process says to SQLite, and let it die at the n-th word."""

from __future__ import annotations

import os
import signal
from functools import partial
from typing import Any

from slipway_lite.store import sqlite

NEVER = 0


class Boundaries:
    """Every statement, commit and close of every connection from now on; the process dies before the ``at``-th.

    With ``commit`` it dies right after the ``commit``-th commit instead. SQLite has one import point in the package
    (`slipway_lite.store.sqlite`), so nothing gets past this.
    """

    def __init__(self, at: int = NEVER, commit: int = NEVER) -> None:
        self.count = self.commits = 0
        boundaries = self

        class Counting(sqlite.Connection):
            def execute(self, sql: str, *parameters: Any) -> Any:
                boundaries.reach(at)
                done = super().execute(sql, *parameters)
                if sql == "commit":
                    boundaries.commits += 1
                    if boundaries.commits == commit:
                        die()
                return done

            def close(self) -> None:
                boundaries.reach(at)
                super().close()

        sqlite.sqlite3.connect = partial(sqlite.sqlite3.connect, factory=Counting)

    def reach(self, at: int) -> None:
        self.count += 1
        if self.count == at:
            die()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
