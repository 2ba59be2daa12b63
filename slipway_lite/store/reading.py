"""Read the file and leave size, times and directory as they were (architecture §1).

A plain read-only open of a resting WAL file creates ``-wal`` and ``-shm``; ``immutable`` on a live one shows stale
rows. So: sidecars present means somebody is writing, open normally; none means open immutable, and if that turns out to
have raced with a writer, read again.

Within this process ``gate`` keeps immutable reads and writers apart.
"""

from __future__ import annotations

import os

from slipway_lite.errors import SlipwayError
from slipway_lite.store import gate, migrations, sqlite
from slipway_lite.store.connection import Store, connect, failure, unsound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from slipway_lite.store.gate import Fingerprint
    from slipway_lite.store.sqlite import Connection

    T = TypeVar("T")

_ATTEMPTS = 20


def read_store(path: str, work: Callable[[Store], T]) -> T:
    """``work(store)`` over one consistent snapshot of ``path``; it may run more than once, and never beside a writer.

    Raises :class:`SlipwayError` ``database_unreadable``, ``database_outdated`` … as told in ``connection``.
    """
    for _ in range(_ATTEMPTS):
        with gate.lock:
            before = _resting(path)
            if before is None:
                break
            try:
                result = work(Store(_immutable(path, before), path))
            except Exception as error:
                gate.forget()
                # What was found in a file that changed under the reader says nothing about it.
                if _resting(path) != before:
                    continue
                if isinstance(error, sqlite.DatabaseError):
                    raise failure(error, "read") from error
                if isinstance(error, UnicodeDecodeError):
                    raise unsound() from error
                raise
            if _resting(path) == before:
                return result
            gate.forget()
    return _read_live(path, work)


def _read_live(path: str, work: Callable[[Store], T]) -> T:
    connection = connect(path, "mode=ro")
    try:
        connection.execute("begin")
        _check_version(connection)
        return work(Store(connection, path))
    except sqlite.DatabaseError as error:
        raise failure(error, "read") from error
    except UnicodeDecodeError as error:
        raise unsound() from error
    finally:
        connection.close()


def _check_version(connection: Connection) -> None:
    found = migrations.version(connection)
    if not found:
        raise SlipwayError("database_blank", "The database holds nothing yet; the first write begins it.")
    if found < migrations.HEAD:
        raise SlipwayError(
            "database_outdated",
            "The database has an older schema. The next write brings it up to date, and so does `slipway db rebuild`.",
        )


def _resting(path: str) -> Fingerprint | None:
    """What tells whether a file that nobody writes has changed; ``None`` where somebody writes, or nothing is."""
    if path in gate.writers:
        return None
    try:
        found = os.stat(path)
    except OSError:
        return None
    return None if os.path.exists(path + "-wal") else (found.st_ino, found.st_size, found.st_mtime_ns)


def _immutable(path: str, fingerprint: Fingerprint) -> Connection:
    if gate.kept and gate.kept[0][:2] == (path, fingerprint):
        return gate.kept[0][2]
    gate.forget()
    connection = connect(path, "immutable=1")
    try:
        _check_version(connection)
    except BaseException:
        connection.close()
        raise
    gate.kept.append((path, fingerprint, connection))
    return connection
