"""Open the file for writing, and the one kind of write transaction. Reading is in :mod:`slipway_lite.store.reading`.

WAL, ``synchronous=FULL`` (acknowledged means durable), every write inside ``with store.immediate() as tx``.

Errors, all :class:`SlipwayError`: ``database_unavailable`` (cannot be opened), ``database_unreadable`` (no SQLite
database, or a damaged one), ``database_foreign``, ``database_altered`` (its schema would act in our name),
``database_too_new``, ``database_outdated`` and ``database_blank`` (a read-only open of an older schema, or of a file
that a first write has only begun), ``database_interrupted`` (a read-only open of one whose first write was cut short),
``database_busy`` (another writer held the lock for :data:`BUSY_SECONDS`), ``database_forked`` (see :mod:`gate`), and
``database_failed`` / ``database_ambiguous`` for a write that failed / that may or may not be durable.
"""

from __future__ import annotations

import os

from slipway_lite import clock
from slipway_lite.errors import SlipwayError
from slipway_lite.store import gate, migrations, schema, sqlite
from slipway_lite.store.journal import EVENT_COLUMNS, Transaction
from slipway_lite.store.location import resolved
from slipway_lite.store.turn import Turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from slipway_lite.store.journal import EventRow
    from slipway_lite.store.sqlite import Connection

BUSY_SECONDS = 5.0
_PATIENCE_MILLISECONDS = 10
_PAUSE_SECONDS = 0.001
_IOERR = 10


class Store:
    """An open file. ``connection`` is for reads; writes go through :meth:`immediate`.

    Threads may share one: each transaction, snapshot and read has the connection to itself for as long as it lasts.
    """

    def __init__(self, connection: Connection, path: str, turn: Turn | None = None) -> None:
        self.connection = connection
        self.path = path
        self._writes = turn is not None
        self._turn = turn or Turn(path)

    def rows(self, sql: str, parameters: Any = ()) -> list[Any]:
        """Every row of one SELECT, as tuples.

        Text that is no UTF-8 any more comes back with U+FFFD: then a digest refuses its row, and not a read the file.
        """
        gate.refuse_inherited(self.path)
        with self._turn.alone:
            try:
                try:
                    return self.connection.execute(sql, parameters).fetchall()
                except sqlite.OperationalError as error:
                    if not sqlite.is_undecodable(error):
                        raise
                self.connection.text_factory = _replacing
                try:
                    return self.connection.execute(sql, parameters).fetchall()
                finally:
                    self.connection.text_factory = str
            except sqlite.DatabaseError as error:
                raise failure(error, "read") from error

    def events(self, stream: str) -> list[EventRow]:
        """The journal of one stream, oldest first, each event with the digests of its ledger row."""
        return self.rows(
            f"select {EVENT_COLUMNS} from journal_events e left join ledger l on l.seq = e.seq"
            " where e.stream = ? order by e.sequence",
            (stream,),
        )

    def immediate(self) -> Immediate:
        """A write transaction: ``with store.immediate() as tx: tx.append(...)``; commits on a clean exit."""
        gate.refuse_inherited(self.path)
        return Immediate(self.connection, self._turn)

    def snapshot(self) -> Snapshot:
        """``with store.snapshot():`` every read in the block sees the file as it was at the first one."""
        gate.refuse_inherited(self.path)
        return Snapshot(self.connection, self._turn)

    def close(self) -> None:
        """Close, so that the last one out folds the WAL into a whole resting file. Waits for a thread that uses it."""
        if self.path in gate.inherited:
            return
        with self._turn.alone:
            self.connection.close()
        self._turn.close()
        if self._writes:
            self._writes = False
            gate.leave_writer(self.path)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Immediate:
    """``BEGIN IMMEDIATE`` … ``COMMIT``: takes the write lock at once, so that no read turns into a late conflict."""

    def __init__(self, connection: Connection, turn: Turn) -> None:
        self._connection = connection
        self._turn = turn

    def __enter__(self) -> Transaction:
        deadline = clock.monotonic() + BUSY_SECONDS
        try:
            self._turn.take(deadline)
            while not self._has_begun(deadline):
                # Between two attempts another thread may read.
                clock.pause(_PAUSE_SECONDS)
        finally:
            self._turn.give()
        return Transaction(self._connection)

    def _has_begun(self, deadline: float) -> bool:
        """Whether the write lock is ours now, and the connection with it. Raises when ``deadline`` is past."""
        if not self._turn.alone.acquire(timeout=max(0.0, deadline - clock.monotonic())):
            raise busy()
        try:
            self._connection.execute("begin immediate")
        except sqlite.DatabaseError as error:
            self._turn.alone.release()
            if sqlite.is_busy(error) and clock.monotonic() < deadline:
                return False
            raise failure(error, "begin") from error
        except BaseException:
            # An interrupt, which may come when the transaction has just begun.
            self._leave()
            raise
        return True

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        phase = "write"
        try:
            if kind is None:
                phase = "commit"
                self._connection.execute("commit")
        except sqlite.DatabaseError as commit_error:
            error = commit_error
        finally:
            self._leave()
        if isinstance(error, sqlite.DatabaseError):
            raise failure(error, phase) from error

    def _leave(self) -> None:
        """Let others have the connection, without what was not committed."""
        try:
            # A failed write may have rolled everything back by itself (disk full, I/O error).
            if self._connection.in_transaction:
                self._connection.execute("rollback")
        finally:
            self._turn.alone.release()


class Snapshot:
    """Reads of one moment. Inside a transaction of the same thread it is that transaction."""

    def __init__(self, connection: Connection, turn: Turn) -> None:
        self._connection = connection
        self._turn = turn
        self._is_ours = False

    def __enter__(self) -> None:
        self._turn.alone.acquire()
        try:
            if not self._connection.in_transaction:
                self._connection.execute("begin")
                self._is_ours = True
        except BaseException:
            self._turn.alone.release()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            if self._is_ours and self._connection.in_transaction:
                self._connection.execute("rollback")
        finally:
            self._turn.alone.release()


def _replacing(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def failure(error: sqlite.DatabaseError, phase: str) -> SlipwayError:
    """``error`` as one of ours. ``phase`` is open, begin, read, write or commit."""
    if sqlite.is_busy(error):
        return busy()
    if not isinstance(error, sqlite.OperationalError | sqlite.IntegrityError) and phase in (
        "open",
        "read",
        "begin",
    ):
        return unsound()
    if phase == "open":
        return SlipwayError("database_unavailable", f"The database cannot be opened: {error}.")
    if phase == "commit" and getattr(error, "sqlite_errorcode", 0) & 0xFF == _IOERR:
        return SlipwayError("database_ambiguous", "The disk failed during a commit; the write may be durable or not.")
    return SlipwayError("database_failed", f"The database refused a {phase}: {error}.")


def busy() -> SlipwayError:
    """What a write says that has waited for :data:`BUSY_SECONDS`."""
    return SlipwayError("database_busy", f"Another writer held the database for {BUSY_SECONDS:g} seconds. Try again.")


def unsound() -> SlipwayError:
    """Also for a damaged schema of which SQLite's own message quotes bytes that are no text."""
    return SlipwayError("database_unreadable", "The file is not a sound SQLite database.")


def open_store(path: str) -> Store:
    """Open ``path`` for writing; create it (0600, its directory 0700) and bring it to the newest schema if needed."""
    # The log lies beside the file itself, not beside a link to it, and everybody has to look for it there.
    path = resolved(path)
    try:
        _create_privately(path)
    except OSError as error:
        raise SlipwayError("database_unavailable", f"The database cannot be created: {error.strerror}.") from error
    gate.enter_writer(path)
    turn = Turn(path)
    try:
        return Store(_prepared(path, turn), path, turn)
    except BaseException:
        turn.close()
        gate.leave_writer(path)
        raise


def _prepared(path: str, turn: Turn) -> Connection:
    connection = connect(path, "mode=rw")
    try:
        # Asked before anything is set, so that the database of another program stays as it is.
        found = migrations.version(connection)
        if found == migrations.HEAD:
            schema.check(connection)
        _prepare(connection)
        if found < migrations.HEAD:
            steps = migrations.load()
            with Immediate(connection, turn) as tx:
                if migrations.version(tx.connection) < migrations.HEAD:
                    migrations.upgrade(tx.connection, steps)
                schema.check(tx.connection)
    except sqlite.DatabaseError as error:
        connection.close()
        raise failure(error, "open") from error
    except UnicodeDecodeError as error:
        connection.close()
        raise unsound() from error
    except BaseException:
        connection.close()
        raise
    return connection


def connect(path: str, mode: str) -> Connection:
    if sqlite.library_version() < sqlite.MINIMUM_VERSION:
        needed = ".".join(map(str, sqlite.MINIMUM_VERSION))
        raise SlipwayError("database_unavailable", f"SQLite {needed} or newer is needed; install pysqlite3.")
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    try:
        return sqlite.connect(f"file:{quoted}?{mode}", BUSY_SECONDS)
    except sqlite.DatabaseError as error:
        raise failure(error, "open") from error


def _prepare(connection: Connection) -> None:
    # Switching to WAL needs the file alone and does not wait by itself; once switched it costs nothing.
    deadline = clock.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("pragma journal_mode = wal")
            break
        except sqlite.OperationalError as error:
            if not sqlite.is_busy(error) or clock.monotonic() > deadline:
                raise
            clock.pause(0.01)
    connection.execute("pragma synchronous = full")
    connection.execute("pragma foreign_keys = on")
    # Without this an INSERT OR REPLACE would delete an append-only row past its trigger.
    connection.execute("pragma recursive_triggers = on")
    # A server folds the same few pages into the file again and again: every 16 MiB of log instead of every 4.
    connection.execute("pragma wal_autocheckpoint = 4000")
    # SQLite by itself would soon look for the lock only ten times a second; :class:`Immediate` waits better.
    connection.execute(f"pragma busy_timeout = {_PATIENCE_MILLISECONDS}")


def _create_privately(path: str) -> None:
    if os.path.exists(path):
        return
    directory = os.path.dirname(path)
    parents = []
    while directory and not os.path.isdir(directory):
        directory = os.path.dirname(directory)
        parents.append(directory)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    # SQLite syncs the directory of the file; that the directory is there has to be durable as well.
    for parent in parents:
        _sync(parent)
    try:
        # Closing a file that another thread has made and opened meanwhile would drop the locks of that thread.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return


def _sync(directory: str) -> None:
    try:
        descriptor = os.open(directory, os.O_RDONLY)
    except PermissionError:
        return  # Nobody can sync a directory that may not be read.
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
