"""Frames: one row a thing, times as times, truths as truths, and a file that stays as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas  # type: ignore[import-untyped]  # pandas has no types of its own
import pytest

from slipway_lite.errors import UsageError
from slipway_lite.observe import frames
from slipway_lite.observe.explorer.allowed import listed
from slipway_lite.store.reading import read_store

FRAMES: dict[str, Callable[[str], Any]] = {
    "runs": frames.runs_df,
    "run_actions": frames.actions_df,
    "audit_events": frames.audit_df,
}


@pytest.mark.parametrize("table", FRAMES)
def test_a_frame_has_one_row_for_each_row_of_its_table(demo: Path, table: str) -> None:
    count = read_store(str(demo), lambda store: store.rows(f"select count(*) from {table}")[0][0])
    assert len(FRAMES[table](str(demo))) == count > 0


def test_times_are_times_and_truths_are_truths(demo: Path) -> None:
    runs = frames.runs_df(str(demo))
    assert isinstance(runs["created_at"].dtype, pandas.DatetimeTZDtype)
    assert runs["review_enabled"].dtype == "boolean"
    assert runs["created_at"].is_monotonic_increasing
    assert (runs["updated_at"] >= runs["created_at"]).all()


def test_observations_are_those_of_the_window(demo: Path) -> None:
    everything = frames.observations_df(str(demo))
    assert set(everything["kind"]) == {"gate", "evidence", "reflection"}
    middle = everything["occurred_at"].iloc[len(everything) // 2]
    later = frames.observations_df(str(demo), since=middle.isoformat())
    assert len(later) == (everything["occurred_at"] >= middle).sum()
    with pytest.raises(UsageError):
        frames.observations_df(str(demo), since="yesterday")


def test_an_empty_file_gives_empty_frames(tmp_path: Path) -> None:
    from slipway_lite.store.connection import open_store

    path = str(tmp_path / "file.db")
    open_store(path).close()
    for make in (*FRAMES.values(), frames.observations_df):
        assert make(path).empty


def test_every_listed_view_is_a_frame_and_no_other_table_is(demo: Path) -> None:
    for view in listed("tables"):
        assert list(frames.view_df(str(demo), view).columns)
    for table in ("runs", "journal_events", "sqlite_schema"):
        with pytest.raises(KeyError):
            frames.view_df(str(demo), table)


def test_frames_leave_the_file_as_it_was(demo: Path) -> None:
    before = (demo.read_bytes(), sorted(demo.parent.iterdir()))
    for make in FRAMES.values():
        make(str(demo))
    assert (demo.read_bytes(), sorted(demo.parent.iterdir())) == before
