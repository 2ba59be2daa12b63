"""The one import point for SQLite.

``pysqlite3`` carries a newer SQLite, past the WAL-reset corruption bug that every SQLite before 3.51.3 has. Two
SQLite libraries in one process on one file break POSIX locks, so nothing else in the package imports either.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from typing import Any
else:
    try:
        from pysqlite3 import dbapi2 as sqlite3
    except ImportError:
        import sqlite3

Connection = sqlite3.Connection
DatabaseError = sqlite3.DatabaseError
IntegrityError = sqlite3.IntegrityError
OperationalError = sqlite3.OperationalError

REFUSED_ROW = (sqlite3.IntegrityError, sqlite3.InterfaceError, sqlite3.ProgrammingError, OverflowError, ValueError)
"""What a value raises that its column does not take: a broken rule, another type, a number or a text that is none."""

MINIMUM_VERSION = (3, 37, 0)
WAL_RESET_FIXED_VERSION = (3, 51, 3)
_READONLY, _READONLY_ROLLBACK = 8, 776


def connect(uri: str, timeout: float) -> Connection:
    """An autocommit connection to a ``file:`` URI that waits ``timeout`` seconds for a lock."""
    connection = sqlite3.connect(
        uri,
        uri=True,
        timeout=timeout,
        isolation_level=None,
        check_same_thread=False,
        # The default of pysqlite3 is less than one request of the control plane uses: each would be parsed anew.
        cached_statements=512,
    )
    # A file may come from anybody: what a page says of itself is checked before it is believed.
    connection.execute("pragma cell_size_check = on")
    give_functions(connection)
    return connection


def give_functions(connection: Any) -> None:
    """Give ``connection``, which may be another program's, the functions that our views and triggers call."""
    connection.create_function("redact", 1, _redact, deterministic=True)


def _redact(value: object) -> str | None:
    from slipway_lite.redact import redact

    return None if value is None else redact(str(value))


def library_version() -> tuple[int, ...]:
    return tuple(map(int, sqlite3.sqlite_version.split(".")))


def is_busy(error: Exception) -> bool:
    """Whether SQLite gave up waiting for another connection's lock (SQLITE_BUSY and its extended codes)."""
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF == 5 if code is not None else "locked" in str(error)


def is_full(error: Exception) -> bool:
    """Whether the disk had no room left (SQLITE_FULL)."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == 13 or "disk is full" in str(error)


def is_write_failure(error: Exception) -> bool:
    """Whether the file system refused a write (SQLITE_IOERR_WRITE, _FSYNC, _TRUNCATE), and not a read."""
    return getattr(error, "sqlite_errorcode", 0) in (778, 1034, 1546)


def is_interrupted(error: Exception) -> bool:
    """Whether a reader met a write that somebody died over and that only a writer may roll back."""
    return getattr(error, "sqlite_errorcode", None) in (_READONLY, _READONLY_ROLLBACK)


def is_undecodable(error: Exception) -> bool:
    """Whether a text column held bytes that are no UTF-8; that error is the module's own and has no code."""
    return "Could not decode to UTF-8" in str(error)
