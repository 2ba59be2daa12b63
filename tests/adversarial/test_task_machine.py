"""Tasks in one file, driven by several processes at once, against a model of them.

Several dispatchers at one task make one job, a stale version is refused, a key publishes once, a lease that ran out
is given up once; every answer is explained by an order of what ran at once.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from slipway_lite.store.connection import Store, open_store
from tests.adversarial import task_model, task_wire
from tests.adversarial.scale import scaled
from tests.adversarial.serial import Names, explanations
from tests.adversarial.task_model import WORKING, Asked, Plane, Task
from tests.adversarial.workers import Answer, Crew, Request

# What leads on from a state, so that a task gets somewhere.
ONWARD = {
    "queued": "dispatch", "planning": "work", "planned": "dispatch", "developing": "work", "dev_completed": "dispatch",
    "accepting": "judge", "rework_required": "dispatch", "accepted": "integrate", "integrating": "integrated",
    "integrated": "publish", "publishing": "published", "blocked": "transition",
}  # fmt: skip
STAGE_OF = {"queued": "plan", "planned": "dev", "rework_required": "dev", "dev_completed": "acceptance"} | WORKING
WHAT = st.sampled_from(
    ["onward", "onward", "onward", "onward", "dispatch", "heartbeat", "heartbeat", "result", "accept", "transition",
     "integrate", "publish", "cancel", "lapse", "keep_up", "get", "list"]
)  # fmt: skip
DELAYS = st.sampled_from([0.0, 0.0, 0.001, 0.003])
STEP = st.tuples(WHAT, st.integers(0, 11), st.sampled_from(["", "", "current", "stale"]), DELAYS)


class Tasks(RuleBasedStateMachine):
    """Several tasks of one repository. ``candidates`` are all that the answers so far allow."""

    crew: Crew

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.db = self.crew.db = self.directory / "slipway.db"
        self.candidates: list[tuple[Plane, Names]] = [(Plane(), {})]
        self.asked: list[Asked] = []
        self.kept_open: Store | None = None

    @property
    def plane(self) -> Plane:
        return self.candidates[0][0]

    @initialize(count=st.integers(1, 3), is_kept_open=st.booleans())
    def first_tasks(self, count: int, is_kept_open: bool) -> None:
        """Whoever comes first makes the file. Somebody may keep it open, as a server does: then it never rests."""
        self._race([(Asked("create", number), 0.0) for number in range(count)])
        if is_kept_open:
            self.kept_open = open_store(str(self.db))

    @rule(steps=st.lists(STEP, min_size=0, max_size=2))
    @precondition(lambda self: len(self.plane.tasks) < 4)
    def create(self, steps: list[Any]) -> None:
        number = len(self.plane.tasks)
        self._race([(Asked("create", number), 0.0), *((self._meant(0, *step[:3]), step[3]) for step in steps)])

    @rule(which=st.integers(0, 3), steps=st.lists(STEP, min_size=1, max_size=4))
    def at_once(self, which: int, steps: list[Any]) -> None:
        """One to four requests about one task."""
        number = which % len(self.plane.tasks)
        self._race(self.meant(number, steps))

    @rule(which=st.integers(0, 3), count=st.integers(2, 4), versioned=st.booleans(), delay=DELAYS)
    def for_one_step(self, which: int, count: int, versioned: bool, delay: float) -> None:
        """Everybody wants to take the same step: one does."""
        number = which % len(self.plane.tasks)
        asked = self._meant(number, "onward", 0, "current" if versioned else "")
        self._race([(asked, delay * turn) for turn in range(count)])

    @rule(back=st.integers(1, 4), count=st.integers(1, 3))
    @precondition(lambda self: self.asked)
    def again(self, back: int, count: int) -> None:
        """The same request once more, by other processes."""
        asked = self.asked[-min(back, len(self.asked))]
        if asked.what != "create":
            self._race([(asked, 0.0)] * count)

    def _meant(self, number: int, what: str, variant: int, version: str) -> Asked:
        task = self.plane.tasks[number]
        expected = {"": None, "current": task.version, "stale": max(0, task.version - 1)}[version]
        job = max(min(0, len(task.jobs) - 1), len(task.jobs) - 1 - (variant % 4 == 3))
        if what == "onward":
            what = ONWARD.get(task.state, "get")
            if what in ("work", "judge") and task.job is not None:
                what = "result"
            elif what == "judge" and task.judged:
                what = "accept"
            elif what in ("work", "judge"):
                what = "dispatch"
        if what in ("heartbeat", "lapse", "keep_up", "get", "list", "integrated", "published"):
            expected = None
        if what == "dispatch":
            usual = STAGE_OF.get(task.state, "plan")
            return Asked(what, number, expected, ("plan", "dev", "acceptance")[variant % 3] if variant > 8 else usual)
        if what == "transition":
            state = task.state if variant < 10 else "planning"
            to_state = (task.resume or "planning") if state == "blocked" else "blocked"
            to_state = "developing" if variant == 9 and state == "blocked" else to_state
            event_id = f"evt-{variant}" if variant > 7 else f"evt-{number}-{task.version}"
            return Asked(what, number, expected, state, text=event_id, to_state=to_state)
        if what == "publish":
            return Asked(what, number, expected, ("no_op", "dry_run")[variant % 5 == 4], text=f"key-{variant % 2}")
        text = {"heartbeat": f"worker-{variant % 2}", "result": "rework" if variant % 6 == 5 else "accept"}
        return Asked(what, number, expected, job=job, text=text.get(what, ""))

    def _race(self, group: list[tuple[Asked, float]]) -> None:
        self.explain([one for one, _ in group], self.crew.race(self.requests(group)))

    def meant(self, number: int, steps: list[Any]) -> list[tuple[Asked, float]]:
        """Requests about one task, and how late each is."""
        return [(self._meant(number, *step[:3]), step[3]) for step in steps]

    def requests(self, group: list[tuple[Asked, float]]) -> list[Request]:
        """The command lines of a group of requests."""
        plane, names = self.candidates[0]
        return [task_wire.request(asked, plane, names, delay) for asked, delay in group]

    def explain(self, asked: list[Asked], answers: list[Answer]) -> None:
        """Some order explains all ``answers``, and what is on record now."""
        self._explain(asked, answers)
        self.asked += asked
        about = {one.task for one in asked} & self.plane.tasks.keys()
        gets = [Asked("get", number) for number in sorted(about)]
        self._explain(gets, self.crew.race([task_wire.request(one, *self.candidates[0], 0.0) for one in gets]))

    def _explain(self, asked: list[Asked], answers: list[Answer]) -> None:
        found: list[tuple[Plane, Names]] = []
        for plane, names in self.candidates:
            for one in explanations(
                plane,
                names,
                asked,
                list(zip(asked, answers, strict=True)),
                [(answer.began, answer.ended) for answer in answers],
                task_model.apply,
                task_wire.fits,
            ):
                found += [] if one in found else [one]
        assert found, ("nothing explains", self.candidates, asked, answers)
        self.candidates = found

    def teardown(self) -> None:
        if self.kept_open is not None:
            self.kept_open.close()
        if self.plane.tasks:
            assert self.crew.ask("db", "verify", "--json", "--db", str(self.db)).document["problems"] == []
        shutil.rmtree(self.directory)


def campaign(crew: Crew, examples: int, steps: int) -> None:
    machine = type("Bound", (Tasks,), {"crew": crew})
    run_state_machine_as_test(  # type: ignore[no-untyped-call]  # hypothesis has no annotation here
        machine,
        settings=settings(
            deadline=None,
            max_examples=examples,
            stateful_step_count=steps,
            suppress_health_check=list(HealthCheck),
            database=None,
            # What a race did once it may not do again, so there is nothing to shrink.
            phases=[Phase.generate],
        ),
    )
    print(f"tasks: {crew.told()}")


def test_the_model_of_a_task_gets_to_its_end() -> None:
    plane = Plane({0: Task()})
    for asked in (
        Asked("dispatch", 0, stage="plan"), Asked("result", 0, job=0), Asked("dispatch", 0, stage="dev"),
        Asked("result", 0, job=1), Asked("dispatch", 0, stage="acceptance"), Asked("result", 0, job=2, text="accept"),
        Asked("accept", 0), Asked("integrate", 0), Asked("integrated", 0), Asked("publish", 0, stage="no_op", text="k"),
        Asked("published", 0),
    ):  # fmt: skip
        answer, plane = task_model.apply(plane, asked)
        assert not answer.code
    assert plane.tasks[0].state == "published"


def test_tasks_are_what_some_order_of_the_requests_makes_them(crew: Crew) -> None:
    campaign(crew, 2, 6)


@pytest.mark.adversarial
@pytest.mark.parametrize("part", range(2))
def test_tasks_are_what_some_order_of_the_requests_makes_them_at_length(crew: Crew, part: int) -> None:
    campaign(crew, scaled(4, 200), 20)
