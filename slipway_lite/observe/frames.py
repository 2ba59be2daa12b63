"""Data frames for notebooks: Runs, Actions, audit and observations, from the public views of one file.

The connection comes from our own store, never from a second SQLite library, and the file stays as it was. Frames hold
what the explorer shows: ids, kinds, states, results, counts, times and digests, never a text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipway_lite.observe.export import TABLE, Request, table_row
from slipway_lite.store.projections import columns
from slipway_lite.store.reading import read_store

if TYPE_CHECKING:
    from pandas import DataFrame

    from slipway_lite.store.connection import Store

TRUTHS = frozenset({
    "review_enabled", "changed_since_start", "final_git_observed", "has_source", "has_host_brief", "voided", "skipped",
    "is_imported",
})  # fmt: skip
"""Columns that SQLite keeps as 0 and 1."""


def runs_df(path: str) -> DataFrame:
    """One row per Run, oldest first, indexed by ``run_id``."""
    return _view(path, "shown_runs", "created_at, run_id").set_index("run_id")


def actions_df(path: str) -> DataFrame:
    """One row per Action, in the order of issue."""
    return _view(path, "shown_actions", "issued_at, run_id, ordinal")


def audit_df(path: str) -> DataFrame:
    """One row per audit event, in the order of recording, indexed by ``seq``; without payloads."""
    return _view(path, "shown_audit_events", "seq").set_index("seq")


def observations_df(path: str, since: str | None = None, until: str | None = None) -> DataFrame:
    """One row per observation of the window, in the order of an export; ``kind`` is gate, evidence or reflection.

    Raises ``invalid_window``.
    """

    def work(store: Store) -> list[dict[str, Any]]:
        return [table_row(item) for item in Request(since, until, whole=True).items(store)]

    return _frame(read_store(path, work), TABLE)


def view_df(path: str, view: str) -> DataFrame:
    """Any other public view or observation table by name, as it is. Raises :class:`KeyError` for another one."""
    from slipway_lite.observe.explorer.allowed import listed

    if view not in listed("tables"):
        raise KeyError(view)
    return _view(path, view, "1, 2")


def _view(path: str, view: str, order: str) -> DataFrame:
    def work(store: Store) -> tuple[list[str], list[Any]]:
        names = columns(store.connection, view)
        return names, store.rows(f"select {', '.join(names)} from {view} order by {order}")

    names, rows = read_store(path, work)
    return _frame([dict(zip(names, row, strict=True)) for row in rows], names)


def _frame(rows: list[dict[str, Any]], names: Any) -> DataFrame:
    import pandas

    frame = pandas.DataFrame(rows, columns=list(names))
    for name in frame.columns:
        if name == "at" or name.endswith("_at"):
            frame[name] = pandas.to_datetime(frame[name], utc=True, format="ISO8601")
        elif name in TRUTHS:
            frame[name] = frame[name].astype("boolean")
    return frame
