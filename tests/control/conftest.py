from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from slipway_lite.control.projections import TaskProjector
from slipway_lite.control.service import ControlPlane
from slipway_lite.store.verify import verify
from tests.control.world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A control plane over a fresh file; at the end of every test the file proves to be sound."""
    with ControlPlane.open(str(tmp_path / "slipway.db")) as plane:
        yield World(plane)
        assert verify(plane.store, [TaskProjector()])["problems"] == []


@pytest.fixture
def enforcing(world: World) -> World:
    world.plane.settings = replace(world.plane.settings, run_system_mode="enforce")
    return world
