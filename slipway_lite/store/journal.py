"""Append-only rows and the ledger that chains them: one hash chain over the whole file, in commit order.

A payload row's digest is ``framed("slipway-lite/row/v1", table, stream, sequence, at, columns…)``, each column as ``s``
and its text, ``i`` and its decimal digits, or ``n`` for null. A ledger row's digest is
``framed("slipway-lite/ledger/v1", seq, at, kind, stream, stream_sequence, payload digest, previous digest)``. Every
kind of row thus has its own domain, and nothing can be moved between tables or places.
"""

from __future__ import annotations

from slipway_lite.canon import framed
from slipway_lite.store.tables import APPEND_ONLY, GENESIS_SHA256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from slipway_lite.store.sqlite import Connection

    # seq, sequence, at, type, data, and of its ledger row: payload_sha256, prev_sha256, sha256
    EventRow = tuple[int, int, str, str, str, str, str, str]

_EVENT_TYPES = (int, int, str, str, str, str, str, str)
EVENT_COLUMNS = "e.seq, e.sequence, e.at, e.type, e.data, l.payload_sha256, l.prev_sha256, l.sha256"
_INSERT_LEDGER = (
    "insert into ledger (seq, at, kind, stream, stream_sequence, payload_sha256, prev_sha256, sha256)"
    " values (?, ?, ?, ?, ?, ?, ?, ?)"
)
_INSERT_PAYLOAD = {
    table: f"insert into {table} (seq, stream, sequence, at, {', '.join(columns)})"
    f" values (?, ?, ?, ?{', ?' * len(columns)})"
    for table, columns in APPEND_ONLY.items()
}


def payload_sha256(table: str, stream: str, sequence: int, at: str, values: tuple[Any, ...]) -> str:
    """The digest of one append-only row; ``values`` are the columns after ``at``, in the order of the table."""
    return framed("slipway-lite/row/v1", table, stream, str(sequence), at, *map(_tagged, values))


def _tagged(value: str | int | None) -> str:
    """A column with its type, so that no text can pass for a number or for nothing."""
    if value is None:
        return "n"
    return f"s{value}" if isinstance(value, str) else f"i{value}"


def ledger_sha256(seq: int, at: str, kind: str, stream: str, sequence: int, payload: str, previous: str) -> str:
    """The digest of one ledger row, which the next row carries as ``prev_sha256``."""
    return framed("slipway-lite/ledger/v1", str(seq), at, kind, stream, str(sequence), payload, previous)


def head(connection: Connection) -> tuple[int, str]:
    """``(seq, sha256)`` of the newest ledger row; ``(0, genesis)`` for an empty file."""
    row = connection.execute("select seq, sha256 from ledger order by seq desc limit 1").fetchone()
    return (row[0], row[1]) if row else (0, GENESIS_SHA256)


class Transaction:
    """An open write transaction, handed out by ``store.immediate()`` and valid inside its ``with`` block."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._head: tuple[int, str] | None = None

    def execute(self, sql: str, parameters: Any = ()) -> Any:
        """Run one statement and return its cursor."""
        return self.connection.execute(sql, parameters)

    def append(self, table: str, stream: str, sequence: int, at: str, *values: Any) -> int:
        """Append one row to an append-only table and chain it; returns its ledger ``seq``.

        ``values`` are the columns of :data:`APPEND_ONLY` in order (text, integer or ``None``). A ``sequence`` that
        is taken already raises ``IntegrityError``: the primary key is the concurrency control.
        """
        seq, previous = self.head()
        seq += 1
        payload = payload_sha256(table, stream, sequence, at, values)
        digest = ledger_sha256(seq, at, table, stream, sequence, payload, previous)
        self.connection.execute(_INSERT_LEDGER, (seq, at, table, stream, sequence, payload, previous, digest))
        self.connection.execute(_INSERT_PAYLOAD[table], (seq, stream, sequence, at, *values))
        self._head = (seq, digest)
        return seq

    def head(self) -> tuple[int, str]:
        """``(seq, sha256)`` of the newest ledger row, rows of this transaction included."""
        if self._head is None:
            self._head = head(self.connection)
        return self._head

    def next_sequence(self, table: str, stream: str) -> int:
        """The sequence the next row of ``stream`` in ``table`` takes."""
        row = self.connection.execute(f"select max(sequence) from {table} where stream = ?", (stream,)).fetchone()
        return (row[0] or 0) + 1

    def savepoint(self) -> Savepoint:
        """``with tx.savepoint():`` undoes only its own block when an exception leaves it."""
        return Savepoint(self)


class Savepoint:
    """One unit of work inside a shared transaction (several requests, one commit)."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def __enter__(self) -> Transaction:
        self._head = self._transaction._head
        self._transaction.execute("savepoint unit")
        return self._transaction

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if kind is not None:
            self._transaction.execute("rollback to unit")
            self._transaction._head = self._head
        self._transaction.execute("release unit")


def first_unsound(stream: str, rows: list[EventRow], first: int = 1) -> int | None:
    """The first position at which ``rows`` are not ``first``, ``first`` + 1 … with a sound ledger row each.

    ``None`` when all are.
    """
    for position, row in enumerate(rows, first):
        seq, sequence, at, kind, data, payload, previous, digest = row
        if (
            tuple(map(type, row)) != _EVENT_TYPES
            or sequence != position
            or payload != payload_sha256("journal_events", stream, sequence, at, (kind, data))
            or digest != ledger_sha256(seq, at, "journal_events", stream, sequence, payload, previous)
        ):
            return position
    return None
