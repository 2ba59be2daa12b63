"""Facts about a database file, for its owner. Reads only."""

from __future__ import annotations

import os
import stat

from slipway_lite.errors import SlipwayError
from slipway_lite.store import sqlite
from slipway_lite.store.connection import Store
from slipway_lite.store.journal import head
from slipway_lite.store.migrations import HEAD, version
from slipway_lite.store.reading import read_store
from slipway_lite.store.tables import FACTS, PROJECTIONS
from slipway_lite.store.verify import verify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ADVICE = (
    "SQLite before {fixed} can lose pages of a WAL database when two processes reset the log at once; "
    "install pysqlite3, or a Python with a newer SQLite."
)


def facts(path: str, rule: str) -> dict[str, Any]:
    """What is known about the file at ``path``: place, size in bytes, permissions, versions, rows, free disk bytes.

    ``verification`` sums up the schema, the chain and every append-only row; projections are left to
    ``slipway db verify``.
    A file that cannot be read is no error here: ``problem`` says what is wrong with it.
    """
    library = sqlite.library_version()
    document: dict[str, Any] = {
        "path": path,
        "rule": rule,
        "exists": os.path.exists(path),
        "sqlite_version": ".".join(map(str, library)),
        "sqlite_advice": ADVICE.format(fixed=".".join(map(str, sqlite.WAL_RESET_FIXED_VERSION)))
        if library < sqlite.WAL_RESET_FIXED_VERSION
        else "",
        "schema_version_known": HEAD,
        "rows": {},
    }
    if document["exists"]:
        found = os.stat(path)
        free = os.statvfs(path)
        document |= {
            "size_bytes": found.st_size,
            "permissions": oct(stat.S_IMODE(found.st_mode)),
            "free_disk_bytes": free.f_bavail * free.f_frsize,
        }
        try:
            document |= read_store(path, _inside)
        except SlipwayError as error:
            document["problem"] = error.message
    return document


def _inside(store: Store) -> dict[str, Any]:
    tables = [*FACTS, *(table for tables in PROJECTIONS.values() for table in tables)]
    rows = {table: store.rows(f"select count(*) from {table}")[0][0] for table in tables}
    seq, digest = head(store.connection)
    return {
        "schema_version": version(store.connection),
        "head": f"{seq}:{digest}",
        "verification": _verification(len(verify(store, ())["problems"])),
        "rows": rows,
    }


def _verification(problems: int) -> str:
    return f"problems found: {problems}; slipway db verify names them" if problems else "chain and rows are sound"


def fact_lines(document: dict[str, Any]) -> list[str]:
    """The facts for people, one a line."""
    lines = [f"{name.replace('_', ' ')}: {value}" for name, value in document.items() if name != "rows" and value != ""]
    return lines + [f"{table}: {count} rows" for table, count in document["rows"].items()]
