"""Which rows and columns of the file a campaign takes."""

from __future__ import annotations

from slipway_lite.store.connection import Store
from slipway_lite.store.tables import PROJECTIONS
from tests.adversarial.scale import scaled

PROJECTED = tuple(table for tables in PROJECTIONS.values() for table in tables)
EVERY = scaled(9, 1)
"""Of the rows of a table a bounded run takes one in so many."""


def columns(store: Store, table: str) -> list[str]:
    return [name for (name,) in store.rows("select name from pragma_table_info(?)", (table,))]


def keys(store: Store, table: str) -> list[str]:
    return [name for (name,) in store.rows("select name from pragma_table_info(?) where pk > 0 order by pk", (table,))]


def seqs(store: Store, table: str) -> list[int]:
    """Some rows of ``table``: the first, the last, and one in every so many between."""
    found = [seq for (seq,) in store.rows(f"select seq from {table} order by seq")]
    return sorted({*found[::EVERY], found[-1]})
