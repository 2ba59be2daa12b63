"""Keep immutable reads and writers of one process apart.

An immutable connection takes no locks, and closing its descriptor would drop those that a writer in this process holds
on the same file. So the gate is held while one reads, and a writer ends it before it opens. The last immutable
connection stays open for the next read of the same unchanged file, which then need not parse the schema again.
"""

from __future__ import annotations

from _thread import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slipway_lite.store.sqlite import Connection

    # inode, size, modification time in nanoseconds
    Fingerprint = tuple[int, int, int]

lock = RLock()
writers: dict[str, int] = {}
kept: list[tuple[str, Fingerprint, Connection]] = []


def forget() -> None:
    """Close the connection that is kept. The caller holds the lock."""
    while kept:
        kept.pop()[2].close()


def enter_writer(path: str) -> None:
    """A writer is about to open ``path``: no immutable connection of this process stays or starts."""
    with lock:
        forget()
        writers[path] = writers.get(path, 0) + 1


def leave_writer(path: str) -> None:
    """A writer has closed ``path``."""
    with lock:
        writers[path] -= 1
        if not writers[path]:
            del writers[path]
