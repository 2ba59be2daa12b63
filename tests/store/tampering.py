"""What anybody can do to a file who owns it, and what ``verify`` then says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from slipway_lite.control.projections import TaskProjector
from slipway_lite.observe.projection import ObservationProjector
from slipway_lite.protocol.replay import RunProjector
from slipway_lite.store import sqlite
from slipway_lite.store.connection import Store
from slipway_lite.store.journal import ledger_sha256, payload_sha256
from slipway_lite.store.reading import read_store
from slipway_lite.store.tables import APPEND_ONLY, GENESIS_SHA256, LEDGER
from slipway_lite.store.tables import FACTS as REFUSING
from slipway_lite.store.verify import verify
from tests.store.files import plain

FACTS = (LEDGER, *APPEND_ONLY)
PROJECTORS = (RunProjector(), TaskProjector(), ObservationProjector())
Named = set[tuple[str, str]]
Statement = tuple[str, tuple[Any, ...]]


def problems(path: Path, head: tuple[int, str] | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read_store(str(path), lambda store: verify(store, PROJECTORS, head), as_it_is=True)[
        "problems"
    ]
    return found


_RULES = "select sql from sqlite_schema where type = 'trigger' and name like '%refuses%'"


def named(path: Path, head: tuple[int, str] | None = None) -> Named:
    return {(problem["table"], problem["row"]) for problem in problems(path, head)}


def unprotected(connection: sqlite.Connection) -> None:
    """What anybody can do who owns the file: take the rules away."""
    connection.execute("pragma ignore_check_constraints = on")
    connection.execute("pragma foreign_keys = off")
    for table in REFUSING:
        for verb in ("update", "delete"):
            connection.execute(f"drop trigger {table}_refuses_{verb}")


def tampered(path: Path, *statements: str) -> None:
    """Change facts and put the rules back, so that only the rows can tell."""
    connection = plain(path)
    triggers = connection.execute(_RULES).fetchall()
    unprotected(connection)
    for statement in statements:
        connection.execute(statement)
    for (sql,) in triggers:
        connection.execute(sql)
    connection.close()


@contextmanager
def bench(path: Path) -> Iterator[Store]:
    """``path`` with its rules away, for many tamperings one after the other: each in a :func:`tampering`."""
    connection = plain(path)
    connection.execute("pragma ignore_check_constraints = on")
    connection.execute("pragma foreign_keys = off")
    connection.execute("begin")
    unprotected(connection)
    try:
        yield Store(connection, str(path))
    finally:
        connection.execute("rollback")
        connection.close()


@contextmanager
def tampering(store: Store, *statements: Statement) -> Iterator[None]:
    """``statements`` with their parameters, undone at the end."""
    store.connection.execute("savepoint one")
    try:
        for sql, parameters in statements:
            store.connection.execute(sql, parameters)
        yield
    finally:
        store.connection.execute("rollback to one")
        store.connection.execute("release one")


def named_rows(store: Store, projectors: Iterable[Any] = PROJECTORS) -> Named:
    """What ``verify`` names on a :func:`bench`, but for the rules that are away there."""
    return {
        (problem["table"], problem["row"])
        for problem in verify(store, projectors)["problems"]
        if problem["problem"] != "no longer refuses changes"
    }


def named_after(store: Store, *statements: Statement) -> Named:
    """What ``verify`` names after these ``statements``, which are undone."""
    with tampering(store, *statements):
        return named_rows(store)


def numbered(named: Named) -> Named:
    """What is named by a number of the ledger, and not by a stream or a key of a projection."""
    return {
        (table, label) for table, label in named if table in FACTS and label.lstrip("-").replace(" to ", "").isdigit()
    }


def covers(label: str, seq: int) -> bool:
    first, _, last = label.partition(" to ")
    return first.lstrip("-").isdigit() and int(first) <= seq <= int(last or first)


def rewritten_schema(path: Path, *statements: str) -> None:
    """Run ``statements`` on the table of the schema itself, and let every connection read it anew."""
    connection = plain(path)
    ((before,),) = connection.execute("pragma schema_version").fetchall()
    connection.execute("pragma writable_schema = on")
    for statement in statements:
        connection.execute(statement)
    connection.execute(f"pragma schema_version = {before + 1}")
    connection.close()


@contextmanager
def loosened(path: Path, table: str) -> Iterator[None]:
    """``table`` takes anything for a while, and looks afterwards as if it never had."""
    connection = plain(path)
    ((sql,),) = connection.execute("select sql from sqlite_schema where name = ?", (table,)).fetchall()
    connection.close()
    loose = sql.replace(") strict", ")").replace("text not null", "text").replace("integer not null", "integer")
    for shape in (loose, sql):
        quoted = shape.replace("'", "''")
        rewritten_schema(path, f"update sqlite_schema set sql = '{quoted}' where name = '{table}'")
        if shape == loose:
            yield


def run_id(path: Path, goal: str = "Whole run") -> str:
    found: str = read_store(str(path), lambda s: s.rows("select run_id from runs where goal = ?", (goal,)))[0][0]
    return found


def recompute(path: Path) -> None:
    """What an owner can do who knows the recipe: hash every row anew."""
    connection = plain(path)
    triggers = connection.execute(_RULES).fetchall()
    unprotected(connection)
    previous = GENESIS_SHA256
    for seq, at, kind, stream, sequence in connection.execute(
        "select seq, at, kind, stream, stream_sequence from ledger order by seq"
    ).fetchall():
        names = ", ".join(APPEND_ONLY[kind])
        values = connection.execute(f"select {names} from {kind} where seq = ?", (seq,)).fetchone()
        payload = payload_sha256(kind, stream, sequence, at, values)
        digest = ledger_sha256(seq, at, kind, stream, sequence, payload, previous)
        connection.execute(
            "update ledger set payload_sha256 = ?, prev_sha256 = ?, sha256 = ? where seq = ?",
            (payload, previous, digest, seq),
        )
        previous = digest
    for (sql,) in triggers:
        connection.execute(sql)
    connection.close()
