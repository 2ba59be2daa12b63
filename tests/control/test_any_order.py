"""Whatever is asked in whatever order: the record stays one story."""

from __future__ import annotations

import shutil
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from slipway_lite.control.messages_task import Task
from slipway_lite.control.projections import TaskProjector
from slipway_lite.control.refusals import Refused
from slipway_lite.control.service import ControlPlane
from slipway_lite.control.states import PAIRS, STAGE_OF, TERMINAL
from slipway_lite.control.vocabulary import TASK_STATES
from slipway_lite.store.verify import verify
from tests.control.world import LOG, PATCH, World, event_body, failed_body, result_body

STAGE = st.sampled_from(["plan", "dev", "acceptance"])
WORKER = st.sampled_from(["codex", "claude_code", "google_antigravity"])
FAILURE = st.sampled_from(["retryable_transient", "non_retryable_policy", "non_retryable_logic"])
OUTCOME = st.sampled_from(["accept", "reject", "needs_manual_review"])


class AnyOrder(RuleBasedStateMachine):
    """One task, every request, no order."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.mkdtemp()
        self.plane = ControlPlane.open(str(Path(self.directory) / "slipway.db"))
        self.world = World(self.plane)
        self.task_id = ""
        self.version = -1

    def ask(self, call: Any, *args: Any, **members: Any) -> None:
        """A request that may be refused; a refusal changes nothing."""
        before = self.world.task(self.task_id)
        try:
            call(*args, **members)
        except Refused as refused:
            assert refused.status in (400, 409, 410)
            assert self.world.task(self.task_id) == before
            return
        assert self.world.task(self.task_id)["version"] in (before["version"], before["version"] + 1)

    @initialize(risk=st.sampled_from(["low", "medium", "high"]), approval=st.booleans())
    def create(self, risk: str, approval: bool) -> None:
        self.task_id = self.world.create(risk_level=risk, publish_plan={"approval_required": approval})

    @rule(stage=STAGE, worker=WORKER)
    def dispatch(self, stage: str, worker: str) -> None:
        self.ask(self.world.dispatch, self.task_id, stage, worker_selection=worker)

    @rule(outcome=OUTCOME, log=st.booleans())
    def succeed(self, outcome: str, log: bool) -> None:
        task = self.world.task(self.task_id)
        stage = STAGE_OF.get(task["state"], "plan")
        members: dict[str, Any] = {"artifacts": [LOG] if log else [LOG | {"kind": "report"}]}
        members |= {"dev": {"patch_ref": PATCH}, "acceptance": {"verdict": {"outcome": outcome}}}.get(stage, {})
        self.ask(self.plane.apply_result, self.task_id, result_body(task.get("active_job_id", "job_none"), **members))

    @rule(failure_class=FAILURE)
    def fail(self, failure_class: str) -> None:
        job_id = self.world.task(self.task_id).get("active_job_id", "job_none")
        self.ask(self.plane.apply_result, self.task_id, failed_body(job_id, failure_class))

    @rule(to_state=st.sampled_from(TASK_STATES))
    @precondition(lambda self: self.world.state(self.task_id) not in TERMINAL)
    def move(self, to_state: str) -> None:
        task = self.world.task(self.task_id)
        if to_state not in ("cancelled", "failed"):
            self.ask(self.plane.record_transition, self.task_id, event_body(task, to_state))

    @rule()
    def accept(self) -> None:
        items = [{"id": item["id"]} for item in self.world.task(self.task_id).get("manual_checklist", [])]
        self.ask(self.plane.complete_acceptance, self.task_id, {"checked_items": items})

    @rule(passed=st.booleans())
    def integrate(self, passed: bool) -> None:
        if self.world.state(self.task_id) == "integrating":
            self.ask(self.plane.complete_integrate, self.task_id, {"checks_passed": passed})
        else:
            self.ask(self.world.integrate, self.task_id)

    @rule(mode=st.sampled_from(["no_op", "apply"]), key=st.sampled_from(["a", "b"]))
    def publish(self, mode: str, key: str) -> None:
        if self.world.state(self.task_id) == "publishing":
            self.ask(self.plane.complete_publish, self.task_id, {})
        else:
            self.ask(self.world.publish, self.task_id, mode, key)

    @rule(version=st.sampled_from(["1", "2"]))
    def read(self, version: str) -> None:
        body = {"doc_id": "d", "version": version, "task_id": self.task_id}
        self.ask(self.plane.acknowledge_docs, self.task_id, body)
        self.ask(self.plane.resolve_docs, self.task_id, {})

    @rule()
    def let_leases_run_out(self) -> None:
        with self.plane.store.immediate() as tx:
            tx.execute("update _leases set lease_expires_at = '2000-01-01T00:00:00.000Z'")
            tx.execute("update tasks set timeout_at = '2000-01-01T00:00:00.000Z' where timeout_at is not null")
        self.plane.expire()

    @invariant()
    def the_record_is_one_story(self) -> None:
        if not self.task_id:
            return
        task = self.world.task(self.task_id)
        Task.model_validate(task)
        steps = self.world.transitions(self.task_id)
        assert set(steps) <= set(PAIRS)
        assert all(before[1] == after[0] for before, after in pairwise(steps))
        assert steps[-1][1] == task["state"]
        assert ("blocked_context" in task) == (task["state"] == "blocked")
        assert ("completed_at" in task) == (task["state"] in TERMINAL)
        assert "active_job_id" not in task or task["state"] in STAGE_OF
        open_jobs = self.plane.store.rows("select job_id from worker_jobs where closed_at is null")
        assert open_jobs == ([(task["active_job_id"],)] if "active_job_id" in task else [])
        assert self.plane.store.rows("select job_id from _leases") == open_jobs
        locked = self.plane.store.rows("select 1 from _locks")
        assert not locked or task["state"] in ("integrating", "publishing")
        assert task["version"] >= self.version
        self.version = task["version"]

    def teardown(self) -> None:
        assert verify(self.plane.store, [TaskProjector()])["problems"] == []
        self.plane.close()
        shutil.rmtree(self.directory)


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(
    deadline=None, max_examples=25, stateful_step_count=30, suppress_health_check=list(HealthCheck)
)
