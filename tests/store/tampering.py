"""What anybody can do to a file who owns it, and what ``verify`` then says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from slipway_lite.protocol.replay import RunProjector
from slipway_lite.store import sqlite
from slipway_lite.store.journal import ledger_sha256, payload_sha256
from slipway_lite.store.reading import read_store
from slipway_lite.store.tables import APPEND_ONLY, GENESIS_SHA256, LEDGER
from slipway_lite.store.verify import verify
from tests.store.files import plain

FACTS = (LEDGER, *APPEND_ONLY)
Named = set[tuple[str, str]]


def problems(path: Path, head: tuple[int, str] | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read_store(str(path), lambda store: verify(store, [RunProjector()], head))["problems"]
    return found


_RULES = "select sql from sqlite_schema where type = 'trigger' and name like '%refuses%'"


def named(path: Path, head: tuple[int, str] | None = None) -> Named:
    return {(problem["table"], problem["row"]) for problem in problems(path, head)}


def unprotected(connection: sqlite.Connection) -> None:
    """What anybody can do who owns the file: take the rules away."""
    connection.execute("pragma ignore_check_constraints = on")
    connection.execute("pragma foreign_keys = off")
    for table in FACTS:
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
