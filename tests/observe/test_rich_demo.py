"""The rich demo: the same rows every time, sound like any other file, and with something of everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slipway_lite.control.projections import TaskProjector
from slipway_lite.errors import SlipwayError
from slipway_lite.observe.projection import ObservationProjector
from slipway_lite.observe.rich_demo import write_rich_demo
from slipway_lite.protocol.replay import RunProjector
from slipway_lite.store.journal import head
from slipway_lite.store.reading import read_store
from slipway_lite.store.verify import verify


def rows(path: Path, sql: str) -> list[Any]:
    return read_store(str(path), lambda store: store.rows(sql))


def test_the_demo_has_the_same_head_every_time(demo: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.db"
    write_rich_demo(str(again), runs=40, tasks=30)
    heads = [read_store(str(path), lambda store: head(store.connection)) for path in (demo, again)]
    assert heads[0] == heads[1]


def test_the_demo_verifies_and_equals_its_replay(demo: Path) -> None:
    projectors: list[Any] = [RunProjector(), TaskProjector(), ObservationProjector()]
    assert read_store(str(demo), lambda store: verify(store, projectors))["problems"] == []


def test_the_demo_has_something_of_everything(demo: Path) -> None:
    assert rows(demo, "select count(*) from runs") == [(40,)]
    assert rows(demo, "select count(*) from tasks") == [(30,)]
    for table in ("run_activities", "run_findings", "run_answers", "worker_results", "reflections"):
        assert rows(demo, f"select count(*) from {table}")[0][0] > 0, table
    assert {state for (state,) in rows(demo, "select distinct state from tasks")} >= {"published", "blocked"}
    assert {git for (git,) in rows(demo, "select distinct git from shown_claims")} == {"seen", "never seen"}


def test_a_file_that_has_rows_is_left_alone(demo: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy.db"
    path.write_bytes(demo.read_bytes())
    with pytest.raises(SlipwayError) as refused:
        write_rich_demo(str(path))
    assert refused.value.code == "demo_failed"
    assert path.read_bytes() == demo.read_bytes()
