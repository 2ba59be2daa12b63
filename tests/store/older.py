"""Files of every earlier schema, as text that can be read: made by the program of those days, with its own commands.

``fixtures/schema_N.sql`` is the dump of a real file with N steps, from a repository at a neutral path. A release that
adds a step adds the dump of a file from before it; none is ever edited.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from slipway_lite.store.migrations import HEAD
from slipway_lite.store.tables import APPEND_ONLY, LEDGER
from tests.store.files import plain

VERSIONS = range(1, HEAD)
FIXTURES = Path(__file__).parent / "fixtures"


def older(path: Path, version: int) -> Path:
    """A resting file of schema ``version`` at ``path``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = plain(path)
    connection.execute("pragma journal_mode = wal")
    connection.executescript((FIXTURES / f"schema_{version}.sql").read_text("utf-8"))
    connection.close()
    return path


def facts(path: Path) -> dict[str, list[Any]]:
    """Every row of the ledger and of the append-only tables that hold any."""
    connection = plain(path)
    there = {row[0] for row in connection.execute("select name from sqlite_schema where type = 'table'")}
    found = {
        table: connection.execute(f"select * from {table} order by seq").fetchall()
        for table in (LEDGER, *APPEND_ONLY)
        if table in there
    }
    connection.close()
    return {table: rows for table, rows in found.items() if rows}
