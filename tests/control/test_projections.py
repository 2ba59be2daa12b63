"""The projections of tasks over journals that somebody else has written and chained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slipway_lite.control.projections import TaskProjector
from slipway_lite.control.service import ControlPlane
from slipway_lite.store.connection import open_store
from slipway_lite.store.projections import rebuild
from slipway_lite.store.reading import read_store
from slipway_lite.store.verify import verify
from tests.control.world import World
from tests.store.tampering import recompute, tampered


def problems(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read_store(str(path), lambda store: verify(store, [TaskProjector()]))["problems"]
    return found


@pytest.mark.parametrize(
    "change",
    [
        "json_remove(data, '$.set')",
        "json_remove(data, '$.set.repo_ref')",
        "json_remove(data, '$.set.risk_level')",
        "json_set(data, '$.set.title', json('[1]'))",
        "json_set(data, '$.set.objective', json('null'))",
        "json_set(data, '$.set.version', 7)",
        "json_set(data, '$.unset', 3)",
        "json_set(data, '$.checkpoint', json('{}'))",
        "json_set(data, '$.bundle', json('[]'))",
        "json_set(data, '$.link', json('{\"kind\":\"doc_ack\"}'))",
        "'not json'",
        "'[' || printf('%.*c', 99999, '[')",
    ],
)
def test_a_correctly_chained_event_of_another_shape_is_named_by_verify_and_rebuild(tmp_path: Path, change: str) -> None:
    path = tmp_path / "slipway.db"
    with ControlPlane.open(str(path)) as plane:
        stream = f"task:{World(plane).create()}"
    assert problems(path) == []
    tampered(path, f"update journal_events set data = {change} where sequence = 1")
    recompute(path)
    assert f"{stream}/1" in {problem["row"] for problem in problems(path)}
    with open_store(str(path)) as store:
        assert rebuild(store, [TaskProjector()]) == [(stream, 1)]
