"""Read the file and leave size, times and directory as they were (architecture §1).

A plain read-only open of a resting WAL file creates ``-wal`` and ``-shm``; ``immutable`` on a live one shows stale
rows. So: sidecars present means somebody is writing, open normally; none means open immutable, and if that turns out to
have raced with a writer, read again. The first page of a file is written with a rollback journal; one whose writer died
over it has to be rolled back, which only the next writer may do.

Within this process ``gate`` keeps immutable reads and writers apart.
"""

from __future__ import annotations

import os

from slipway_lite import clock
from slipway_lite.errors import SlipwayError
from slipway_lite.store import gate, migrations, schema, sqlite
from slipway_lite.store.connection import Store, connect, failure, unsound
from slipway_lite.store.location import resolved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from slipway_lite.store.gate import Fingerprint
    from slipway_lite.store.sqlite import Connection

    T = TypeVar("T")

_ATTEMPTS = 20
_TICK_NANOSECONDS = 20_000_000
"""More than the clock with which the kernel stamps files goes on by at once."""
_LOOKS = 100
"""How often, a millisecond apart, a file is looked at until its time is old enough."""


def read_store(path: str, work: Callable[[Store], T], *, oldest: int | None = None, as_it_is: bool = False) -> T:
    """``work(store)`` over one consistent snapshot of ``path``; it may run more than once, and never beside a writer.

    ``oldest`` is the oldest schema that ``work`` understands; the newest, unless it is given. ``as_it_is`` is for who
    looks into a file whose schema may not be ours. Raises :class:`SlipwayError` ``database_unreadable``,
    ``database_altered``, ``database_outdated`` … as told in ``connection``.
    """
    path = resolved(path)
    gate.refuse_inherited(path)
    checked = work if as_it_is else _checked(work)
    for _ in range(_ATTEMPTS):
        with gate.lock:
            before = _settled(path)
            if before is None:
                break
            try:
                result = checked(Store(_immutable(path, before, oldest), path))
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
    return _read_live(path, checked, oldest)


def _checked(work: Callable[[Store], T]) -> Callable[[Store], T]:
    def run(store: Store) -> T:
        schema.check(store.connection)
        return work(store)

    return run


def _read_live(path: str, work: Callable[[Store], T], oldest: int | None) -> T:
    connection = connect(path, "mode=ro")
    try:
        connection.execute("begin")
        _check_version(connection, oldest)
        return work(Store(connection, path))
    except sqlite.DatabaseError as error:
        if sqlite.is_interrupted(error):
            raise SlipwayError(
                "database_interrupted", "A write of the database was cut short; the next write clears that away."
            ) from error
        raise failure(error, "read") from error
    except UnicodeDecodeError as error:
        raise unsound() from error
    finally:
        connection.close()


def _check_version(connection: Connection, oldest: int | None) -> None:
    found = migrations.version(connection)
    if not found:
        raise SlipwayError("database_blank", "The database holds nothing yet; the first write begins it.")
    if found < (migrations.HEAD if oldest is None else oldest):
        raise SlipwayError(
            "database_outdated",
            "The database has an older schema. The next write brings it up to date, and so does `slipway db rebuild`.",
        )


def _settled(path: str) -> Fingerprint | None:
    """:func:`_resting`, once a later write could not leave the file with the same time.

    Where the clock does not go on, that is given up.
    """
    found = _resting(path)
    for _ in range(_LOOKS):
        if found is None or not 0 <= found[2] - clock.file_time() < _TICK_NANOSECONDS:
            break
        clock.pause(0.001)
        found = _resting(path)
    return found


def _resting(path: str) -> Fingerprint | None:
    """What tells whether a file that nobody writes has changed; ``None`` where somebody writes, or nothing is."""
    if path in gate.writers:
        return None
    try:
        found = os.stat(path)
    except OSError:
        return None
    if os.path.exists(path + "-wal") or os.path.exists(path + "-journal"):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _immutable(path: str, fingerprint: Fingerprint, oldest: int | None) -> Connection:
    if not (gate.kept and gate.kept[0][:2] == (path, fingerprint)):
        gate.forget()
        gate.kept.append((path, fingerprint, connect(path, "immutable=1")))
    connection = gate.kept[0][2]
    try:
        _check_version(connection, oldest)
    except BaseException:
        gate.forget()
        raise
    return connection
