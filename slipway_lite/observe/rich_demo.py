"""A realistic file to explore: 300 Runs and 200 tasks over a simulated half-year, the same rows every time.

Everything goes through the decisions, folds and use cases that real requests go through; only the clock, the ids and
what git shows are simulated. The file verifies and rebuilds like any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slipway_lite.errors import SlipwayError
from slipway_lite.observe import rich_runs, rich_tasks
from slipway_lite.observe.rich_world import Clock, Draw, moment, play
from slipway_lite.store.connection import open_store

if TYPE_CHECKING:
    from datetime import datetime

    from slipway_lite.observe.rich_world import Story

RUNS = 300
TASKS = 200
SEED = "slipway-lite"


def write_rich_demo(path: str, runs: int = RUNS, tasks: int = TASKS, seed: str = SEED) -> None:
    """Write the demo into the database at ``path``, made if need be.

    Raises ``demo_failed`` when the file has rows already.
    """
    with open_store(path) as store:
        if store.rows("select 1 from ledger limit 1"):
            raise SlipwayError("demo_failed", "The database has rows already. Give the demo a file of its own.")
        clock = Clock()
        with store.immediate() as tx:
            stories: list[tuple[datetime, Story]] = []
            for number in range(runs):
                draw = Draw(f"{seed}/run/{number}")
                stories.append((moment(draw), rich_runs.Player(tx, clock, draw).story()))
            for number in range(tasks):
                draw = Draw(f"{seed}/task/{number}")
                stories.append((moment(draw), rich_tasks.Player(tx, clock, draw).story()))
            play(clock, stories)
