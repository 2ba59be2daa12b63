"""Keep immutable reads and writers of one process apart.

An immutable connection takes no locks, and closing its descriptor would drop those that a writer in this process holds
on the same file. So the gate is held while one reads, and a writer ends it before it opens. The last immutable
connection stays open for the next read of the same unchanged file, which then need not parse the schema again.

A fork copies what SQLite knows about its locks and not the locks: a child that wrote to a file which its parent had
open would write beside others, and lose what it was told is durable. So it is refused there.
"""

from __future__ import annotations

import os
from _thread import RLock

from slipway_lite.errors import SlipwayError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slipway_lite.store.sqlite import Connection

    # inode, size, modification time in nanoseconds
    Fingerprint = tuple[int, int, int]

lock = RLock()
writers: dict[str, int] = {}
kept: list[tuple[str, Fingerprint, Connection]] = []
inherited: set[str] = set()
"""The files that the process we were forked from had open for writing at that moment."""
_abandoned: list[object] = []


def forget() -> None:
    """Close the connection that is kept. The caller holds the lock."""
    while kept:
        kept.pop()[2].close()


def enter_writer(path: str) -> None:
    """A writer is about to open ``path``: no immutable connection of this process stays or starts.

    Raises :class:`SlipwayError` ``database_forked``.
    """
    refuse_inherited(path)
    with lock:
        forget()
        writers[path] = writers.get(path, 0) + 1


def leave_writer(path: str) -> None:
    """A writer has closed ``path``."""
    with lock:
        writers[path] -= 1
        if not writers[path]:
            del writers[path]


def refuse_inherited(path: str) -> None:
    """Raise ``database_forked`` where ``path`` was open for writing when this process was forked."""
    if path in inherited:
        raise SlipwayError(
            "database_forked",
            "This process was forked from one that had the database open. Close it before the fork, or spawn.",
        )


def _start_over() -> None:
    """What holds in a child: another thread of the parent may have held the lock or used the kept connection."""
    global lock
    lock = RLock()
    inherited.update(writers)
    writers.clear()
    _abandoned.extend(kept)
    kept.clear()


os.register_at_fork(after_in_child=_start_over)
