"""Files of several machines, small and made through the store, to be merged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slipway_lite.errors import SlipwayError
from slipway_lite.observe.projection import projectors
from slipway_lite.store.connection import open_store
from slipway_lite.store.journal import head
from slipway_lite.store.merge import merge
from slipway_lite.store.reading import read_store
from slipway_lite.store.verify import verify

# table, stream, what tells the row from others; the n-th row is written at second n of the day
Entry = tuple[str, str, str]


def at(second: int) -> str:
    return f"2020-01-01T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}.000000Z"


def values(table: str, label: str, moment: str) -> tuple[Any, ...]:
    """The columns of a made-up row."""
    if table == "audit_events":
        return (label, "run.noted", None, None, None, "human", "ann", moment[:23] + "Z", "{}", None)
    if table == "documents":
        return ("doc:a", "spec", "A", None, label, f"# {label}\n")
    if table == "materials":
        return (label, len(label), label)
    if table == "turns":
        return (label, None, None, "plan-fix", "failed", None, "none", None, "[]", "[]", None, None, "[]", None, None,
                None, None, None, None, "{}")  # fmt: skip
    return ("noted", f'{{"text":"{label}"}}')


def machine(path: Path, *entries: tuple[int, Entry]) -> Path:
    """The file of one machine: each entry at its second."""
    with open_store(str(path)) as store, store.immediate() as tx:
        for second, (table, stream, label) in entries:
            moment = at(second)
            tx.append(table, stream, tx.next_sequence(table, stream), moment, *values(table, label, moment))
    return path


def merged(out: Path, *paths: Path) -> dict[str, Any]:
    return merge([str(path) for path in paths], str(out), projectors())


def problems(path: Path, noted: tuple[int, str] | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read_store(str(path), lambda store: verify(store, projectors(), noted))["problems"]
    return found


def rows(path: Path, sql: str, *parameters: Any) -> list[Any]:
    found: list[Any] = read_store(str(path), lambda store: store.rows(sql, parameters))
    return found


def newest(path: Path) -> tuple[int, str]:
    return read_store(str(path), lambda store: head(store.connection))


def refused_merge(out: Path, *paths: Path) -> SlipwayError:
    """The refusal of a merge; nothing of it is left."""
    before = sorted(out.parent.iterdir())
    with pytest.raises(SlipwayError) as caught:
        merged(out, *paths)
    assert sorted(out.parent.iterdir()) == before
    return caught.value
