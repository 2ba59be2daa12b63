"""Kill operations at every point of their way to the disk, and look at what is left.

``python -m tests.adversarial.crash_points JSON`` (:class:`Order`), started by :func:`tests.adversarial.shim.run`, plays
every point in a child that it forks, and prints ``{"points", "reached", "failures"}``. It is a program of its own
because forking a test runner is not safe, and because the shim has to be loaded before everything else.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from slipway_lite.control.refusals import Refused
from slipway_lite.errors import SlipwayError
from slipway_lite.store import gate, sqlite
from slipway_lite.store.connection import Store
from slipway_lite.store.reading import read_store
from slipway_lite.store.verify import verify
from tests.adversarial import operations_file, operations_runs, operations_tasks, shim
from tests.adversarial.boundaries import Boundaries, die
from tests.adversarial.operations import (
    ANOTHER,
    PERFORMING,
    PREPARING,
    REPEATING,
    REPLAYED,
    SAME,
    Operation,
    Place,
    steady,
)

OPERATIONS: dict[str, Operation] = {
    **operations_runs.OPERATIONS,
    **operations_tasks.OPERATIONS,
    **operations_file.OPERATIONS,
}
STATEMENT = "statement"
NEVER = 0
MODES = {
    "count": shim.COUNT,
    "kill": shim.KILL,
    "tear": shim.TEAR,
    "power": shim.POWER,
    "fail": shim.FAIL,
    "fail from": shim.FAIL_FROM,
}
FAULTS = ("fail", "fail from")
TEARS = (1, 128, 250)
"""256ths of a write that are done when the process dies."""

State = dict[str, Any] | None


class Point(NamedTuple):
    """``mode`` at the ``at``-th call or statement; one past the last is right after the operation was acknowledged."""

    mode: str
    at: int
    argument: int = 0
    kinds: str = shim.WRITES


class Order(NamedTuple):
    """What to play: the operations by name, at most so many points of each (0: all), in which kind of place.

    ``faults`` are those of :data:`tests.adversarial.fault_points.KINDS` that are wanted, all of them when empty.
    """

    directory: str
    root: str
    names: list[str]
    limit: int = 0
    size: int = 0
    is_live: bool = False
    faults: Sequence[str] = ()


class Subject:
    """One operation, the state before it, and every state that it may leave behind."""

    def __init__(self, order: Order, name: str, operation: Operation) -> None:
        self.name, self.operation = name, operation
        self.base, self.here = Path(order.directory, "base"), Path(order.directory, "here")
        self.place = Place(order.root, str(self.here / "db" / "slipway.db"), order.size)
        shutil.rmtree(self.base, ignore_errors=True)
        shutil.rmtree(self.here, ignore_errors=True)
        self.here.mkdir()
        steady(PREPARING, 0)
        self.request = self.operation.prepare(self.place)
        if order.is_live and os.path.exists(self.place.database):
            with Reader(self.place.database):
                shutil.copytree(self.here, self.base)
        else:
            shutil.copytree(self.here, self.base)
        self.stages: list[State] = []
        self._reached()
        self._play_whole()

    def _play_whole(self) -> None:
        """Undisturbed, for how many points there are, the reply, and the states after each of its commits."""
        self.calls = self.counted(shim.WRITES)
        report = self.attempt(Point(STATEMENT, NEVER))
        self.reply, self.statements = report["reply"], report["statements"]
        for number in range(1, report["commits"] + 1):
            self.attempt(Point("commit", number))
            self._reached()
        self.attempt(Point(STATEMENT, NEVER))
        self._reached()

    def _reached(self) -> None:
        state, problems = self.look()
        assert problems == [], (self.name, problems)
        if state not in self.stages:
            self.stages.append(state)

    def counted(self, kinds: str) -> str:
        """The calls of ``kinds`` that the operation makes, in order."""
        found: str = self.attempt(Point("count", NEVER, kinds=kinds))["calls"]
        return found

    def points(self) -> list[Point]:
        """Every point, those of each kind together, in the order in which the operation passes them."""
        calls, statements = len(self.calls), self.statements
        found = [Point(STATEMENT, at) for at in range(1, statements + 2)]
        found += [Point("kill", at) for at in range(1, calls + 2)]
        found += [Point("tear", at, TEARS[at % len(TEARS)]) for at, kind in enumerate(self.calls, 1) if kind == "w"]
        found += [Point("power", at, seed) for at in range(1, calls + 2) for seed in (0, 2 * at + at % 2)]
        return found

    def attempt(self, point: Point) -> dict[str, Any]:
        """Perform the operation from the state before in a child that dies at ``point``; what it had to say."""
        gate.forget()
        shutil.rmtree(self.here)
        shutil.copytree(self.base, self.here)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            try:
                self._perform(point, writer)
            except BaseException:
                traceback.print_exc()
            os._exit(1)
        os.close(writer)
        with open(reader, "rb") as stream:
            said = stream.read()
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, (self.name, point, status)
        return dict(json.loads(line) for line in said.splitlines())

    def _perform(self, point: Point, writer: int) -> None:
        """In the child: never comes back, and acknowledges before it dies of anything else than its point."""

        def say(word: str, value: Any) -> None:
            os.write(writer, json.dumps([word, value]).encode() + b"\n")

        def acknowledge(reply: Any) -> None:
            say("reply", reply)

        steady(PERFORMING, self.operation.later)
        boundaries = None
        if point.mode == STATEMENT:
            boundaries = Boundaries(point.at)
        elif point.mode == "commit":
            boundaries = Boundaries(commit=point.at)
        else:
            shim.arm(str(self.here), point.kinds, point.at, MODES[point.mode], point.argument)
        self.operation.perform(self.place, self.request, acknowledge)
        if point.at == NEVER:
            calls = shim.disarm()
            say("calls", calls)
            if boundaries:
                say("statements", boundaries.count)
                say("commits", boundaries.commits)
            die()
        if boundaries or point.mode in FAULTS:
            die()
        shim.strike()

    def look(self) -> tuple[State, list[Any]]:
        """Every row there is, by a reader that must not write, and what :func:`verify` has to say about them.

        Row for row one of the stages, which were verified when they were reached: then only the pages are checked, as
        nothing else can differ.
        """

        def work(store: Store) -> tuple[State, list[Any]]:
            found = rows(store.connection)
            if found not in self.stages:
                return found, verify(store, operations_file.PROJECTORS)["problems"]
            return found, [row for row in store.rows("pragma quick_check") if row != ("ok",)]

        steady(REPEATING, self.operation.later + 10)
        try:
            return read_store(self.place.database, work)
        except SlipwayError as error:
            if error.code == "database_outdated":
                connection = sqlite.connect(f"file:{self.place.database}?mode=ro", 5)
                try:
                    return rows(connection), []
                finally:
                    connection.close()
            if error.code in ("database_blank", "database_interrupted", "database_unavailable"):
                return None, []
            raise

    def failure(self, point: Point) -> str | None:
        """Strike at ``point``, look, and do it again; what went wrong."""
        said = self.attempt(point)
        left, problems = self.look()
        if problems:
            return f"left with problems: {problems[:3]}"
        if left not in self.stages:
            return f"torn: {difference(self.stages[-1], left)}"
        if "reply" in said and (left != self.stages[-1] or said["reply"] != self.reply):
            return "acknowledged and lost"
        steady(REPEATING, self.operation.later + 10)
        replies: list[Any] = []
        code = None
        try:
            self.operation.perform(self.place, self.request, replies.append)
        except (SlipwayError, Refused) as error:
            code = error.code
        found, problems = self.look()
        if problems:
            return f"problems after the repetition: {problems[:3]}"
        if left != self.stages[-1]:
            return None if code is None and size(found) == size(self.stages[-1]) else f"not done again: {code}"
        return self._repeated(found, code, replies)

    def _repeated(self, found: State, code: str | None, replies: list[Any]) -> str | None:
        expected = self.operation.again
        is_same = found == self.stages[-1]
        if expected == ANOTHER:
            sound = code is None and not is_same
        elif expected == SAME:
            sound = code is None and is_same
        elif expected == REPLAYED:
            sound = code is None and is_same and replies == [self.reply]
        else:
            sound = code == expected
        return None if sound else f"a repetition gave {code or ('nothing new' if is_same else 'something new')}"


class Reader:
    """Somebody who reads the file while another process has written much and taken it back: the log stays."""

    def __init__(self, database: str) -> None:
        self._connection = sqlite.connect(f"file:{database}?mode=rw", 5)
        self._writer = sqlite.connect(f"file:{database}?mode=rw", 5)

    def __enter__(self) -> None:
        self._connection.execute("select count(*) from sqlite_schema").fetchall()
        self._writer.execute("create table noise (x)")
        self._writer.execute("insert into noise values (zeroblob(100000))")
        self._writer.execute("drop table noise")
        self._writer.close()

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def rows(connection: sqlite.Connection) -> State:
    """Every definition and every row, but for the time at which a schema step was applied."""
    found: dict[str, Any] = {
        "schema": sorted(connection.execute("select type, name, sql from sqlite_schema"), key=repr)
    }
    for kind, name, _ in found["schema"]:
        if kind == "table":
            chosen = "id, migration_set, name" if name == "_sqlite_migrations" else "*"
            found[name] = sorted(connection.execute(f'select {chosen} from "{name}"'), key=repr)
    return found


def size(state: State) -> int:
    return len(state["ledger"]) if state else 0


def difference(expected: State, found: State) -> str:
    """The names of the tables that are not as expected."""
    names = (expected or {}).keys() | (found or {}).keys()
    return ", ".join(sorted(name for name in names if (expected or {}).get(name) != (found or {}).get(name)))


def spread(points: list[Point], limit: int) -> list[Point]:
    """At most ``limit`` of the points, evenly, the last one among them; all of them where it is 0."""
    if not limit or limit >= len(points):
        return points
    return [points[(number + 1) * len(points) // limit - 1] for number in range(limit)]


def play(order: Order) -> dict[str, Any]:
    points = 0
    failures: list[str] = []
    for name in order.names:
        subject = Subject(order, name, OPERATIONS[name])
        if len(subject.stages) > 2 and subject.stages[0] is not None:
            failures.append(f"{name}: is more than one commit, and not because the file is made on the way")
        gc.freeze()
        for point in spread(subject.points(), order.limit):
            points += 1
            try:
                failure = subject.failure(point)
            except Exception:
                failure = traceback.format_exc()
            if failure:
                failures.append(f"{name}, {point}: {failure}")
    return {"points": points, "failures": failures}


if __name__ == "__main__":
    print(json.dumps(play(Order(**json.loads(sys.argv[1])))))
