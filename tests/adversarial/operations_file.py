"""Every mutation of the file as a whole, for the crash campaign: schema, rebuild, import, prune, configuration."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from slipway_lite.control import repositories
from slipway_lite.control.importing import import_audit
from slipway_lite.control.service import ControlPlane
from slipway_lite.observe.projection import ObservationProjector, projectors
from slipway_lite.protocol.imported.service import import_journals
from slipway_lite.store import backup, migrations, prune
from slipway_lite.store.connection import open_store
from slipway_lite.store.merge import merge
from slipway_lite.store.projections import rebuild
from tests.adversarial.operations import ANOTHER, SAME, Acknowledge, Operation, Place
from tests.adversarial.operations_runs import reviewed
from tests.control.world import World
from tests.protocol.conftest import Repository
from tests.protocol.imported.published_run import PublishedRun
from tests.store.older import VERSIONS, older

NAME = "github:octo/hub"
PROJECTORS = projectors()
YEARS = 3 * 366 * 86_400
"""Seconds after which audit events may be pruned."""


def everything(place: Place) -> Any:
    """Runs and tasks in one file."""
    reviewed(place)
    with ControlPlane.open(place.database) as plane:
        world = World(plane)
        world.bring("published", description=place.text("All of it."))
        world.bring("rework_required")


def rebuilding(place: Place, asked: Any, acknowledge: Acknowledge) -> None:
    with open_store(place.database) as store:
        acknowledge({"unreplayable": rebuild(store, PROJECTORS)})


def older_file(version: int) -> Operation:
    """A file that the program of an earlier schema left, brought up to date."""

    def perform(place: Place, asked: Any, acknowledge: Acknowledge) -> None:
        with open_store(place.database) as store:
            acknowledge({"version": migrations.version(store.connection)})

    return Operation(lambda place: str(older(Path(place.database), version)), perform, SAME)


def lines(place: Place) -> Any:
    with ControlPlane.open(place.database) as plane:
        World(plane).create()
    events = [
        {
            "event_id": f"audit_{number}",
            "event_type": "run.systemGateEvaluated",
            "task_id": f"task_{number % 3}",
            "payload": {"gatefield": {"verdict": "hold"}, "note": place.text("n")},
            "occurred_at": "2025-05-01T09:00:00+09:00",
        }
        for number in range(20)
    ]
    return "".join(json.dumps(event) + "\n" for event in events).encode()


def importing(place: Place, asked: Any, acknowledge: Acknowledge) -> None:
    with open_store(place.database) as store:
        acknowledge(import_audit(store, asked))


def pruning(place: Place, asked: Any, acknowledge: Acknowledge) -> None:
    with open_store(place.database) as store:
        acknowledge(prune.prune(store, prune.floor(), [ObservationProjector()]))


def adding(place: Place, asked: Any, acknowledge: Acknowledge) -> None:
    with open_store(place.database) as store:
        acknowledge(repositories.add(store, NAME, place.root, place.text("make test")))


def removing(place: Place, asked: Any, acknowledge: Acknowledge) -> None:
    with open_store(place.database) as store:
        acknowledge(repositories.remove(store, NAME))


def added(place: Place) -> Any:
    adding(place, None, lambda reply: None)


def empty(place: Place) -> Any:
    os.makedirs(os.path.dirname(place.database))
    open(place.database, "wb").close()


def opening(place: Place, asked: Any, acknowledge: Acknowledge) -> None:
    open_store(place.database).close()
    acknowledge({})


# -- from and to other files, which are out of the reach of what strikes


def elsewhere(place: Place) -> Path:
    """A new place for other files, and the directory of the database."""
    os.makedirs(os.path.dirname(place.database))
    found = Path(place.root, ".git", "elsewhere")
    shutil.rmtree(found, ignore_errors=True)
    found.mkdir()
    return found


def published(place: Place) -> Any:
    """Two Runs of the published command line."""
    file = elsewhere(place) / "slipway.db"
    runs = [PublishedRun(Repository(Path(place.root)), file, place.text("Ship it")) for _ in range(2)]
    shutil.rmtree(runs[0].runs, ignore_errors=True)
    runs[0].submit().stop().publish()
    runs[1].submit("needs_input").publish()
    return str(runs[0].runs)


def importing_journals(place: Place, asked: Any, acknowledge: Acknowledge) -> None:
    acknowledge(import_journals(asked, place.database))


def two_files(place: Place) -> Any:
    found = elsewhere(place)
    files = [str(found / name) for name in ("one.db", "two.db")]
    for file in files:
        everything(place._replace(database=file))
    return files


def merging(place: Place, asked: Any, acknowledge: Acknowledge) -> None:
    acknowledge(merge(asked, place.database, PROJECTORS)["head"])


def backing_up(place: Place, asked: Any, acknowledge: Acknowledge) -> None:
    acknowledge(backup.backup(asked[0], place.database)["head"])


OPERATIONS = {
    "a file of no bytes": Operation(empty, opening, SAME),
    **{f"a file of schema {version}": older_file(version) for version in VERSIONS},
    "rebuild": Operation(everything, rebuilding, SAME),
    "audit import": Operation(lines, importing, "DUPLICATE_EVENT"),
    "journals, import": Operation(published, importing_journals, SAME),
    "merge": Operation(two_files, merging, "output_exists"),
    "backup": Operation(two_files, backing_up, "output_exists"),
    "audit prune": Operation(everything, pruning, SAME, YEARS),
    "repository, add": Operation(lambda place: open_store(place.database).close(), adding, ANOTHER),
    "repository, replace": Operation(added, adding, ANOTHER),
    "repository, remove": Operation(added, removing, "NOT_FOUND"),
}
