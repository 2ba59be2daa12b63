"""Projections: tables that replaying the journals gives back, row for row.

A contract hands in a :class:`Projector` for its journal streams. :func:`rebuild` drops the tables and fills them from
it; :func:`differences` fills temporary twins and says where the tables disagree.
"""

from __future__ import annotations

from slipway_lite.store import sqlite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, Protocol

    from slipway_lite.store.connection import Store
    from slipway_lite.store.journal import Transaction
    from slipway_lite.store.sqlite import Connection

    Progress = Callable[[int, int], None]

    class Projector(Protocol):
        """Replays one family of journal streams."""

        tables: tuple[str, ...]

        def project(self, store: Store, sink: Sink) -> None:
            """Replay every stream: ``sink.row`` for each row an event writes, ``sink.broken`` where replay fails."""


DOES_NOT_FIT = (
    ValueError, KeyError, TypeError, IndexError, AttributeError, AssertionError, RecursionError,
)  # fmt: skip
"""What decoding and folding an event raise when it is not one that was written here; :class:`RowRefused` as well."""


class RowRefused(ValueError):
    """A table does not take a row, so the event that gives it is not one that was written here."""


class Sink:
    """Takes the rows of a replay; a later row replaces an earlier one with the same key."""

    def __init__(self, connection: Connection, schema: str, progress: Progress | None = None) -> None:
        self.unreplayable: list[tuple[str, int]] = []
        self._connection = connection
        self._schema = schema
        self._inserts: dict[str, str] = {}
        self._progress = progress

    def row(self, table: str, row: Sequence[Any]) -> None:
        """Keep ``row``. Raises :class:`RowRefused` when it breaks a rule of ``table``."""
        insert = self._inserts.get(table)
        if insert is None:
            marks = ", ".join("?" * len(row))
            insert = self._inserts[table] = f"insert or replace into {self._schema}.{table} values ({marks})"
        try:
            self._connection.execute(insert, row)
        except sqlite.REFUSED_ROW as error:
            raise RowRefused(f"{table} does not take the row") from error

    def broken(self, stream: str, sequence: int) -> None:
        """The journal of ``stream`` does not replay past the event before ``sequence``."""
        self.unreplayable.append((stream, sequence))

    def advance(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(done, total)


def rebuild(store: Store, projectors: Iterable[Projector], progress: Progress | None = None) -> list[tuple[str, int]]:
    """Drop every projection row and replay the journals, in one transaction.

    Returns the streams that did not replay, as ``(stream, sequence)``; their rows are those up to there.
    """
    with store.immediate() as tx:
        return rebuild_in(tx, store, projectors, progress)


def rebuild_in(
    tx: Transaction, store: Store, projectors: Iterable[Projector], progress: Progress | None = None
) -> list[tuple[str, int]]:
    """:func:`rebuild` inside a transaction that is open."""
    unreplayable = []
    for projector in projectors:
        sink = Sink(tx.connection, "main", progress)
        for table in reversed(projector.tables):
            tx.execute(f"delete from {table}")
        projector.project(store, sink)
        unreplayable += sink.unreplayable
    return unreplayable


def columns(connection: Connection, table: str) -> list[str]:
    """The columns of a table, in order."""
    return [row[0] for row in connection.execute("select name from pragma_table_info(?)", (table,))]


def differences(
    store: Store, projector: Projector, progress: Progress | None = None
) -> tuple[list[tuple[str, str, str]], list[tuple[str, int]]]:
    """Where the projection tables are not what the journals give.

    Returns ``(table, key, problem)`` rows and the streams that do not replay; ``key`` is the row's primary key.
    Writes temporary tables only, so that a read-only connection does.
    """
    connection = store.connection
    found = []
    sink = Sink(connection, "temp", progress)
    try:
        for table in projector.tables:
            (sql,) = connection.execute("select sql from main.sqlite_schema where name = ?", (table,)).fetchone()
            head, _, body = sql.partition("(")
            connection.execute(f"create temp table {head.split()[-1]} ({body}")
        projector.project(store, sink)
        for table in projector.tables:
            names = columns(connection, table)
            keys = ["/".join(map(str, row)) for row in connection.execute(_key_query(connection, table, names))]
            found += [(table, key, "is not what its journal gives") for key in sorted(set(keys))]
    finally:
        # The connection may be kept for the next read, to which a twin would look like the table.
        for table in projector.tables:
            connection.execute(f"drop table if exists temp.{table}")
    return found, sink.unreplayable


def _key_query(connection: Connection, table: str, names: list[str]) -> str:
    """The keys of rows that only one of table and twin has."""
    key = ", ".join(
        row[0] for row in connection.execute("select name from pragma_table_info(?) where pk > 0 order by pk", (table,))
    )
    every = ", ".join(names)
    return (
        f"select {key} from (select {every} from main.{table} except select {every} from temp.{table})"
        f" union all select {key} from (select {every} from temp.{table} except select {every} from main.{table})"
    )
