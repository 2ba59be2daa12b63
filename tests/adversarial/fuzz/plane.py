"""A control plane with a task in every state, on which a use case is tried out and undone again."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from slipway_lite.control.service import ControlPlane
from slipway_lite.control.settings import Settings
from slipway_lite.control.vocabulary import TASK_STATES
from slipway_lite.store.connection import Store
from slipway_lite.store.journal import Transaction
from slipway_lite.store.projections import Sink
from tests.control.world import World

TASK, JOB, REF = "TASK-ID", "JOB-ID", "a:b:c:TYPED-REF"
"""Stand for the ids of the place in a body, which no two processes draw alike."""

MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
"""Where syncing a file to disk costs nothing, where there is such a place."""
_directory = tempfile.TemporaryDirectory(prefix="slipway-fuzz-", dir=MEMORY)


@dataclass(frozen=True)
class Place:
    """One task and, where it has one, its active job."""

    store: Store
    settings: Settings
    task_id: str
    job_id: str
    typed_ref: str

    def filled(self, body: Any) -> Any:
        """``body`` with the ids of this place for :data:`TASK`, :data:`JOB` and :data:`REF`."""
        if isinstance(body, str):
            return {TASK: self.task_id, JOB: self.job_id, REF: self.typed_ref}.get(body, body)
        if isinstance(body, dict):
            return {key: self.filled(value) if type(value) is str else value for key, value in body.items()}
        return body


def path_of(name: str) -> str:
    """A database file of this process: a campaign forks one for every target."""
    return str(Path(_directory.name) / f"{name}-{os.getpid()}.db")


@cache
def places() -> tuple[Place, ...]:
    """One place a state, in the order of the contract."""
    plane = ControlPlane.open(path_of("places"))
    world = World(plane)
    plane.ingest_doc({"doc_type": "feature", "title": "CSV", "content": "# A\n\nYou must.\n"})
    found = []
    for number, state in enumerate(TASK_STATES):
        task_id = world.bring(state, repo_ref=_repository(number))
        task = world.task(task_id)
        found.append(Place(plane.store, plane.settings, task_id, task.get("active_job_id", "none"), task["typed_ref"]))
    return tuple(found)


def _repository(number: int) -> dict[str, Any]:
    return {"provider": "github", "owner": "octo", "name": f"hub{number}", "default_branch": "main"}


def place(byte: int) -> Place:
    return places()[byte % len(TASK_STATES)]


def states_of(name: str) -> list[int]:
    """The states in which an operation has most to say, as bytes for :func:`place`."""
    wanted = {
        "dispatchTask": ("queued", "planned", "dev_completed"),
        "applyResult": ("planning", "developing", "accepting"),
        "completeAcceptance": ("accepting",),
        "tickChecklist": ("accepting",),
        "recordTransition": ("queued", "developing", "blocked"),
        "integrateTask": ("accepted",),
        "completeIntegrate": ("integrating",),
        "publishTask": ("integrated",),
        "approvePublish": ("publish_pending_approval",),
        "completePublish": ("publishing",),
        "heartbeatJob": ("developing",),
    }.get(name, ("queued",))
    return [TASK_STATES.index(state) for state in wanted]


class _Undo(Exception):
    """Ends a transaction that is not wanted."""


@contextmanager
def undone(store: Store) -> Iterator[Transaction]:
    """A transaction whose writes never happened."""
    try:
        with store.immediate() as tx:
            yield tx
            raise _Undo
    except _Undo:
        return


class Journal:
    """A store that holds one journal and nothing else: what a projector asks for."""

    def __init__(self, stream: str, rows: list[Any]) -> None:
        self._stream = stream
        self._rows = rows

    def rows(self, _: str) -> list[Any]:
        return [(self._stream,)]

    def events(self, _: str) -> list[Any]:
        return self._rows


def projected(projector: Any, journal: Journal) -> list[tuple[str, int]]:
    """Replay ``journal`` into the real tables, and undo it; the streams that did not replay."""
    with undone(place(0).store) as tx:
        sink = Sink(tx.connection, "main")
        projector.project(journal, sink)
        return sink.unreplayable


class Undone:
    """A store that forgets every transaction."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def immediate(self) -> Any:
        return undone(self._store)
