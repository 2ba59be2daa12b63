"""Runs of three worktrees in one file, driven by several processes at once, against a model of them.

Requests that run at once have to be explained by some order of them: every reply, what readers saw meanwhile, and
what is on record afterwards.
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
from tests.adversarial import run_model, run_wire
from tests.adversarial.run_model import Asked, Run
from tests.adversarial.scale import scaled
from tests.adversarial.serial import Names, explanations
from tests.adversarial.workers import Answer, Crew, Request

PLACES = st.sampled_from(["a", "a-sibling", "b"])
WHAT = st.sampled_from(
    ["submit", "submit", "submit", "answer", "answer", "skip", "stop", "resume", "status", "listed", "material"]
)
DELAYS = st.sampled_from([0.0, 0.0, 0.001, 0.004, 0.012])
# what, how far back its Action lies, which variant of it, from which worktree, how late
STEP = st.tuples(WHAT, st.sampled_from([0, 0, 0, 1, 2]), st.integers(0, 4), st.integers(0, 9), DELAYS)
OUTCOMES = {
    "orient": ("clarify", "implement", "go", "ask", "ask"),
    "clarify": ("clarify", "implement", "go", "ask", "ask"),
    "implement": ("go", "ask"),
    "summarize": ("go",),
}


class Runs(RuleBasedStateMachine):
    """Several Runs, and several processes that do not know of each other."""

    crew: Crew
    roots: dict[str, Path]

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.db = self.crew.db = self.directory / "slipway.db"
        self.runs: dict[int, Run] = {}
        self.names: Names = {}
        self.asked: list[Asked] = []
        self.kept_open: Store | None = None

    @initialize(places=st.lists(PLACES, min_size=1, max_size=3), budget=st.integers(1, 9), is_kept_open=st.booleans())
    def first_runs(self, places: list[str], budget: int, is_kept_open: bool) -> None:
        """Whoever comes first makes the file. Somebody may keep it open, as a server does: then it never rests."""
        self._start(places, budget)
        if is_kept_open:
            self.kept_open = open_store(str(self.db))

    @rule(places=st.lists(PLACES, min_size=1, max_size=2), budget=st.integers(1, 9))
    @precondition(lambda self: len(self.runs) < 5)
    def more_runs(self, places: list[str], budget: int) -> None:
        self._start(places, budget)

    def _start(self, places: list[str], budget: int) -> None:
        requests = [
            Request(("run", "goal", "--json", "--budget", str(budget), "--root", str(self.roots[place])))
            for place in places
        ]
        for place, answer in zip(places, self.crew.race(requests), strict=True):
            number, state = len(self.runs), answer.document
            assert answer.reply.status == 0, answer.reply.err
            assert state["run_id"] not in self.names.values()
            self.names[("run", number)] = state["run_id"]
            self.names[(number, 0)] = state["action"]["action_id"]
            self.runs[number] = run_model.start(place, budget)
        self._check(len(self.runs) - 1)

    @rule(which=st.integers(0, 4), steps=st.lists(STEP, min_size=1, max_size=4))
    def at_once(self, which: int, steps: list[Any]) -> None:
        """One to four requests about one Run."""
        number = which % len(self.runs)
        self._race(number, self.meant(number, steps))

    @rule(back=st.integers(1, 4), count=st.integers(1, 3), delay=DELAYS)
    @precondition(lambda self: self.asked)
    def again(self, back: int, count: int, delay: float) -> None:
        """An identical retry of something earlier, by one or several other processes."""
        asked = self.asked[-min(back, len(self.asked))]
        self._race(asked.run, [(asked, delay * turn) for turn in range(count)])

    @rule(which=st.integers(0, 4), variants=st.lists(st.integers(0, 4), min_size=2, max_size=4))
    def for_one_action(self, which: int, variants: list[int]) -> None:
        """Different Outcomes, or different answers, for the same Action: one wins."""
        open_runs = [number for number, run in self.runs.items() if run.current is not None]
        # No precondition: how a race ended may differ each time, and what is drawn must not.
        number = open_runs[which % len(open_runs)] if open_runs else 0
        what = "submit" if self.runs[number].state == "active" else "answer"
        self._race(number, [(self._meant(number, what, 0, variant, 9), 0.0) for variant in variants])

    def _meant(self, number: int, what: str, back: int, variant: int, elsewhere: int) -> Asked:
        run = self.runs[number]
        newest = len(run.kinds) - 1 if run.current is None else run.current
        action = max(0, newest - back)
        place = run.place
        if elsewhere == 0 and what != "listed":
            place = "b" if run.place != "b" else "a"
        elif elsewhere == 1 and what != "listed":
            place = {"a": "a-sibling", "a-sibling": "a", "b": "a"}[run.place]
        text, budget = "", 0
        if what == "submit":
            choices = OUTCOMES[run.kinds[action]]
            text = f"{choices[variant % len(choices)]} {variant % 3}"
        elif what == "answer":
            text = f"Answer {variant % 3}."
        elif what == "resume":
            budget = variant
        return Asked(what, number, place, action, text, budget)

    def _race(self, number: int, group: list[tuple[Asked, float]]) -> None:
        asked = [one for one, _ in group]
        self.explain(asked, self.crew.race(self.requests(number, group)))

    def meant(self, number: int, steps: list[Any]) -> list[tuple[Asked, float]]:
        """Requests about one Run, and how late each is."""
        return [(self._meant(number, *step[:4]), step[4]) for step in steps]

    def requests(self, number: int, group: list[tuple[Asked, float]]) -> list[Request]:
        """The command lines of a group of requests about one Run."""
        run = self.runs[number]
        return [run_wire.request(asked, run, self.names, self.roots, delay) for asked, delay in group]

    def explain(self, asked: list[Asked], answers: list[Answer]) -> None:
        """Some order explains all ``answers``, and what is on record now."""
        number = asked[0].run
        found = explanations(
            self.runs,
            self.names,
            asked,
            list(zip(asked, answers, strict=True)),
            [(answer.began, answer.ended) for answer in answers],
            run_model.apply,
            run_wire.fits,
        )
        assert found, ("nothing explains", self.runs[number], asked, answers)
        self.asked += asked
        self._check(number, found)

    def _check(self, number: int, candidates: list[tuple[dict[int, Run], Names]] | None = None) -> None:
        """The record is what one of ``candidates`` says, and that one goes on."""
        candidates = candidates or [(self.runs, self.names)]
        place = candidates[0][0][number].place
        root = str(self.roots[place])
        argv = ("status", self.names["run", number], "--json", "--root", root)
        said = self.crew.ask(*argv)
        asked = Asked("status", number, place)
        left = []
        for runs, names in candidates:
            learned = run_wire.fits(run_model.whole(runs[number]), (asked, said), names)
            if learned is not None:
                left.append((runs, learned))
        assert len(left) == 1, ("on record", said, candidates)
        ((self.runs, self.names),) = left

    def teardown(self) -> None:
        if self.kept_open is not None:
            self.kept_open.close()
        if self.runs:
            assert self.crew.ask("db", "verify", "--json", "--db", str(self.db)).document["problems"] == []
        shutil.rmtree(self.directory)


def campaign(crew: Crew, roots: dict[str, Path], examples: int, steps: int) -> None:
    machine = type("Bound", (Runs,), {"crew": crew, "roots": roots})
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
    print(f"Runs: {crew.told()}")


def test_runs_are_what_some_order_of_the_requests_makes_them(crew: Crew, worktrees: dict[str, Path]) -> None:
    campaign(crew, worktrees, 2, 6)


@pytest.mark.adversarial
@pytest.mark.parametrize("part", range(2))
def test_runs_are_what_some_order_of_the_requests_makes_them_at_length(
    crew: Crew, worktrees: dict[str, Path], part: int
) -> None:
    campaign(crew, worktrees, scaled(6, 200), 20)
