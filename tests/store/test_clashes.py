"""Ids that stand for different things in different files are a clash; nothing is made, and every clash is listed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.store.connection import open_store
from tests.store.machines import Entry, at, machine, refused_merge, rows


def clashes(out: Path, *paths: Path) -> list[dict[str, Any]]:
    error = refused_merge(out, *paths)
    assert (error.code, error.exit_code) == ("merge_conflict", 3)
    assert error.details is not None and error.details["count"] == len(error.details["clashes"])
    found: list[dict[str, Any]] = error.details["clashes"]
    return found


def test_a_run_that_went_on_differently_is_a_clash(demos: list[Path], tmp_path: Path, out: Path) -> None:
    copy = Path(shutil.copy(demos[0], tmp_path / "copy.db"))
    stream = rows(demos[0], "select stream from journal_events where stream like 'run:%' limit 1")[0][0]
    with open_store(str(copy)) as store, store.immediate() as tx:
        tx.append("audit_events", stream, tx.next_sequence("audit_events", stream), at(1),
                  "mine", "x", None, stream[4:], None, "human", "ann", at(1), "{}", None)  # fmt: skip
    other = Path(shutil.copy(demos[0], tmp_path / "other.db"))
    with open_store(str(other)) as store, store.immediate() as tx:
        tx.append("audit_events", stream, tx.next_sequence("audit_events", stream), at(2),
                  "yours", "x", None, stream[4:], None, "human", "ann", at(2), "{}", None)  # fmt: skip
    assert clashes(out, copy, demos[1], other) == [{"name": "run_id", "id": stream[4:], "files": [1, 3]}]


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        (("turns", "worktree:{}", "t-1"), "turn_id"),
        (("audit_events", "worktree:{}", "e-1"), "event_id"),
        (("audit_events", "task:{}", "e-1"), "event_id"),
    ],
)
def test_an_id_that_stands_for_two_things_is_a_clash(tmp_path: Path, out: Path, entry: Entry, name: str) -> None:
    table, stream, label = entry
    one = machine(tmp_path / "one.db", (1, (table, stream.format("a"), label)))
    other = machine(tmp_path / "other.db", (1, (table, stream.format("b"), label)))
    assert clashes(out, one, other) == [{"name": name, "id": label, "files": [1, 2]}]


def test_a_task_of_two_machines_is_a_clash(tmp_path: Path, out: Path) -> None:
    one = machine(tmp_path / "one.db", (1, ("audit_events", "task:t", "e-1")))
    other = machine(tmp_path / "other.db", (1, ("audit_events", "task:t", "e-2")))
    third = machine(tmp_path / "third.db", (1, ("audit_events", "task:t", "e-3")))
    assert clashes(out, one, other, third) == [{"name": "task_id", "id": "t", "files": [1, 2, 3]}]


def test_every_clash_is_listed(tmp_path: Path, out: Path) -> None:
    entries: list[tuple[str, str, str]] = [("audit_events", f"task:{number}", "") for number in range(30)]
    paths = [
        machine(tmp_path / f"{name}.db", *((1, (table, stream, name + stream)) for table, stream, _ in entries))
        for name in "ab"
    ]
    assert sorted(clash["id"] for clash in clashes(out, *paths)) == sorted(map(str, range(30)))
