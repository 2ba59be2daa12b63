"""A host at work on a real repository with a real store, and ways to look into and to damage its file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from slipway_lite.canon import encode, sha256
from slipway_lite.errors import SlipwayError
from slipway_lite.protocol.reading import Reading
from slipway_lite.protocol.replay import RunProjector
from slipway_lite.protocol.resume import Mode
from slipway_lite.protocol.run import Run
from slipway_lite.protocol.service import Service
from slipway_lite.protocol.workspace import discover
from slipway_lite.store import sqlite
from slipway_lite.store.reading import read_store
from slipway_lite.store.verify import verify
from tests.protocol.conftest import Repository
from tests.protocol.outcomes import outcome
from tests.protocol.valid_next import check as check_next


class Stored:
    """Each command with a :class:`Service` of its own, as each process has one."""

    def __init__(self, repository: Repository, db: str | None = None) -> None:
        self.repository = repository
        self.workspace = discover(str(repository.root))
        self.db = db

    @property
    def service(self) -> Service:
        return Service(self.workspace, self.db)

    @property
    def reading(self) -> Reading:
        return Reading(self.workspace, self.db)

    @property
    def path(self) -> str:
        return self.service.path

    def start(self, goal: str = "Ship it", budget: int = 8, review: bool = True, source: Any = None) -> Run:
        return self.service.start(goal, budget, review, source)

    def submit(self, run: Run, status: str = "completed", **fields: Any) -> Run:
        assert run.current is not None
        action_id = run.current.action_id
        document = outcome(run.current.kind, status, action_id=action_id, **fields)
        return self.service.submit(run.run_id, action_id, document, sha256(encode(document).encode()))

    def answer(self, run: Run, text: str | None, confirm: bool = False, scope: str = "") -> Run:
        assert run.current is not None
        return self.service.answer(run.run_id, run.current.action_id, text, confirm, scope)

    def skip(self, run: Run) -> Run:
        assert run.current is not None
        return self.service.skip(run.run_id, run.current.action_id)

    def stop(self, run: Run) -> Run:
        return self.service.stop(run.run_id)

    def resume(self, run: Run, budget: int = 0, mode: Mode | None = None, materials: Any = ()) -> Run:
        return self.service.resume(run.run_id, budget, mode or Mode(), materials)[0]

    # -- the file

    @contextmanager
    def connection(self) -> Iterator[sqlite.Connection]:
        """A plain connection, for looking and for damage."""
        connection = sqlite.connect(f"file:{self.path}?mode=rw", 5)
        try:
            yield connection
        finally:
            connection.close()

    def sql(self, *statements: str) -> None:
        """Damage the file past its append-only triggers, which are there again afterwards."""
        with self.connection() as connection:
            triggers = connection.execute("select name, sql from sqlite_schema where type = 'trigger'").fetchall()
            for name, _ in triggers:
                connection.execute(f"drop trigger {name}")
            for statement in statements:
                changed = connection.execute(statement)
                assert changed.rowcount != 0, statement
            for _, definition in triggers:
                connection.execute(definition)

    def rows(self, query: str) -> list[Any]:
        with self.connection() as connection:
            return connection.execute(query).fetchall()

    def events(self, run: Run) -> list[str]:
        query = f"select type from journal_events where stream = 'run:{run.run_id}' order by sequence"
        return [kind for (kind,) in self.rows(query)]

    def problems(self) -> list[dict[str, Any]]:
        """What ``db verify`` would say: ledger, journals, and projections against their replay."""
        if not os.path.exists(self.path):
            return []
        found: list[dict[str, Any]] = read_store(self.path, lambda store: verify(store, [RunProjector()]))["problems"]
        return found


def refused(attempt: Callable[[], Any], code: str, exit_code: int = 3) -> SlipwayError:
    """Assert the refusal, with a valid ``next`` where it has one."""
    with pytest.raises(SlipwayError) as caught:
        attempt()
    error = caught.value
    assert (error.code, error.exit_code) == (code, exit_code), error.message
    if error.next is not None:
        check_next(error.next)
    return error


def variant(error: SlipwayError) -> tuple[str, list[str]]:
    """The id and the argv of the one variant of an error's ``next``."""
    assert error.next is not None
    (only,) = error.next["variants"]
    return only["id"], only["base_argv"]


def mutation(phase: str, **true: bool) -> dict[str, Any]:
    names = ("committed", "projection_stale", "namespace_detached", "ambiguous")
    return {"phase": phase} | {name: true.get(name, False) for name in names}


MUTATIONS: dict[str, Callable[[Service, str], Any]] = {
    "submit": lambda service, run_id: service.submit(run_id, "act-1", outcome("orient"), "sha256:" + "0" * 64),
    "answer": lambda service, run_id: service.answer(run_id, "act-1", "x"),
    "skip": lambda service, run_id: service.skip(run_id, "act-1"),
    "stop": lambda service, run_id: service.stop(run_id),
    "resume": lambda service, run_id: service.resume(run_id, 0, Mode()),
}
"""Every mutation of a Run that exists already, with arguments that are fine in form."""
