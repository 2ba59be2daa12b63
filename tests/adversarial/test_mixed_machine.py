"""Runs and tasks in one file, with readers, exports and proofs beside them: nobody notices the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.adversarial import test_run_machine, test_task_machine
from tests.adversarial.scale import scaled
from tests.adversarial.workers import Answer, Crew, Request

LOOKS = {
    "verify": ("db", "verify", "--json"),
    "export": ("observations", "export", "--all"),
    "audit": ("audit", "list", "--json", "--limit", "500"),
    "search": ("search", "Outcome", "--json"),
    "runs": ("status", "--json"),
    "head": ("db", "head", "--json"),
    "rebuild": ("db", "rebuild", "--json"),
}


class Mixed(RuleBasedStateMachine):
    """The two machines over one file, and whoever else looks at it."""

    crew: Crew
    roots: dict[str, Path]

    def __init__(self) -> None:
        super().__init__()
        bound = {"crew": self.crew, "roots": self.roots}
        self.tasks: test_task_machine.Tasks = type("BoundTasks", (test_task_machine.Tasks,), bound)()
        self.runs: test_run_machine.Runs = type("BoundRuns", (test_run_machine.Runs,), bound)()
        # Both were made for a file of their own.
        self.tasks.db = self.crew.db = self.runs.db
        self.head = 0

    @initialize(budget=st.integers(2, 9), is_kept_open=st.booleans())
    def begin(self, budget: int, is_kept_open: bool) -> None:
        self.runs.first_runs(["a", "b"], budget, is_kept_open)
        self.tasks.first_tasks(2, False)

    @rule(
        which=st.integers(0, 3),
        run_steps=st.lists(test_run_machine.STEP, min_size=1, max_size=2),
        task_steps=st.lists(test_task_machine.STEP, min_size=1, max_size=2),
        looks=st.lists(st.sampled_from(sorted(LOOKS)), min_size=1, max_size=2),
    )
    def at_once(self, which: int, run_steps: list[Any], task_steps: list[Any], looks: list[str]) -> None:
        """Requests about one Run and about one task, and one or two who look at everything."""
        run, task = which % len(self.runs.runs), which % len(self.tasks.plane.tasks)
        of_run, of_task = self.runs.meant(run, run_steps), self.tasks.meant(task, task_steps)
        groups = [
            self.runs.requests(run, of_run),
            self.tasks.requests(of_task),
            [Request(LOOKS[look], cwd=self.roots["a"]) for look in looks],
        ]
        answers = self.crew.race([request for group in groups for request in group])
        first, second = len(groups[0]), len(groups[0]) + len(groups[1])
        self.runs.explain([asked for asked, _ in of_run], answers[:first])
        self.tasks.explain([asked for asked, _ in of_task], answers[first:second])
        for look, answer in zip(looks, answers[second:], strict=True):
            self._check(look, answer)

    def _check(self, look: str, answer: Answer) -> None:
        assert answer.code == "", (look, answer)
        if look == "verify":
            assert answer.document["problems"] == []
        elif look == "runs":
            assert answer.document["unavailable_runs"] == []
        elif look == "head":
            assert answer.document["seq"] >= self.head, "the chain never gets shorter"
            self.head = answer.document["seq"]

    def teardown(self) -> None:
        self.tasks.teardown()
        self.runs.teardown()


def campaign(crew: Crew, roots: dict[str, Path], examples: int, steps: int) -> None:
    machine = type("Bound", (Mixed,), {"crew": crew, "roots": roots})
    run_state_machine_as_test(  # type: ignore[no-untyped-call]  # hypothesis has no annotation here
        machine,
        settings=settings(
            deadline=None,
            max_examples=examples,
            stateful_step_count=steps,
            suppress_health_check=list(HealthCheck),
            database=None,
            phases=[Phase.generate],
        ),
    )
    print(f"Runs and tasks: {crew.told()}")


@pytest.mark.adversarial
def test_runs_and_tasks_and_readers_share_one_file(crew: Crew, worktrees: dict[str, Path]) -> None:
    campaign(crew, worktrees, scaled(3, 150), 15)
