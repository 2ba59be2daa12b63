"""Small files for the tests of the store: opened, filled, and looked at from outside."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from slipway_lite.store import sqlite
from slipway_lite.store.connection import Store, open_store
from slipway_lite.store.journal import Transaction
from slipway_lite.store.tables import APPEND_ONLY, FACTS, PROJECTIONS

AT = "2026-01-02T03:04:05.000006Z"
LINK = "seq, at, kind, stream, stream_sequence, payload_sha256, prev_sha256, sha256"
TABLES = (*FACTS, *(table for tables in PROJECTIONS.values() for table in tables))


def event(tx: Transaction, stream: str, sequence: int, data: str = "{}") -> int:
    """Append one event of a made-up kind."""
    return tx.append("journal_events", stream, sequence, AT, "noted", data)


def filled(path: Path) -> Store:
    """A file with three events in two streams and one material."""
    store = open_store(str(path))
    with store.immediate() as tx:
        event(tx, "note:a", 1, '{"text":"one"}')
        event(tx, "note:b", 1, '{"text":"zwei"}')
        tx.append("materials", "material:m", 1, AT, "m", 5, "hello")
        event(tx, "note:a", 2, '{"text":"trois é"}')
    return store


def filled_everywhere(path: Path) -> Store:
    """A file with a row in every append-only table, whatever the other rules of the table ask for.

    The file that was merged into it is one of only its first row.
    """
    store = filled(path)
    store.connection.execute("pragma ignore_check_constraints = on")
    store.connection.execute("pragma foreign_keys = off")
    types = "select name, type from pragma_table_info(?)"
    with store.immediate() as tx:
        link = store.rows(f"select {LINK} from ledger where seq = 1")[0]
        merged = tx.append("merged_files", "file:a", 1, AT, "a.db", 1, link[-1])
        store.connection.execute(f"insert into merged_rows (file_seq, {LINK}, merged_seq) values (?{', ?' * 9})",
                                 (merged, *link, 1))  # fmt: skip
        for table, names in APPEND_ONLY.items():
            if not store.rows(f"select 1 from {table} limit 1"):
                kinds = dict(store.rows(types, (table,)))
                values = [3 if kinds[name] == "INTEGER" else f'"{name}é"' for name in names]
                tx.append(table, f"{table}:a", 1, AT, *values)
    return store


def plain(path: Path) -> sqlite.Connection:
    """A connection of somebody who has the file and no respect for its rules."""
    return sqlite.connect(f"file:{path}", 5.0)


def dump(connection: sqlite.Connection, tables: tuple[str, ...] = TABLES) -> dict[str, list[Any]]:
    """Every row of every table, in key order."""
    return {table: sorted(connection.execute(f"select * from {table}"), key=repr) for table in tables}


def directory_state(directory: Path) -> dict[str, tuple[int, int, bytes]]:
    """Name, size, mtime and bytes of every file in a directory, and the mtime of the directory itself."""
    found = {".": (0, os.stat(directory).st_mtime_ns, b"")}
    for path in sorted(directory.iterdir()):
        stat = path.stat()
        found[path.name] = (stat.st_size, stat.st_mtime_ns, path.read_bytes())
    return found
