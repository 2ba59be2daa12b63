"""Bodies of requests, and a driver that brings a task into any state by the ways that the contract offers."""

from __future__ import annotations

from typing import Any

from slipway_lite.control.service import ControlPlane

TYPED_REF = "agent-taskstate:task:local:1"
REPO = {"provider": "github", "owner": "octo", "name": "hub", "default_branch": "main"}
BASE = "aaaaaaa1"
LOG = {"artifact_id": "art_log", "kind": "log", "uri": "artifact://log"}
PATCH = {"format": "unified_diff", "content": "--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n-x\n+y\n+z\n"}
REGRESSION = {"suite": "regression", "status": "passed"}
TIME = "2026-01-01T00:00:00.000Z"


def create_body(**members: Any) -> dict[str, Any]:
    return {
        "title": "Add a schema",
        "objective": "Fix the contract",
        "typed_ref": TYPED_REF,
        "repo_ref": REPO,
    } | members


def result_body(job_id: str, **members: Any) -> dict[str, Any]:
    return {
        "job_id": job_id,
        "typed_ref": TYPED_REF,
        "status": "succeeded",
        "artifacts": [LOG],
        "test_results": [],
        "requested_escalations": [],
        "usage": {"runtime_ms": 7},
    } | members


def failed_body(job_id: str, failure_class: str = "retryable_transient", **members: Any) -> dict[str, Any]:
    return result_body(job_id, status="failed", artifacts=[], failure_class=failure_class, **members)


def event_body(task: dict[str, Any], to_state: str, /, event_id: str = "", **members: Any) -> dict[str, Any]:
    return {
        "event_id": event_id or f"evt-{task['task_id']}-{task['version']}-{to_state}",
        "task_id": task["task_id"],
        "from_state": task["state"],
        "to_state": to_state,
        "actor_type": "human",
        "actor_id": "someone",
        "reason": "by hand",
        "occurred_at": TIME,
    } | members


class World:
    """A control plane over a file, and short ways to say what tests do with it."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane

    def create(self, **members: Any) -> str:
        return str(self.plane.create_task(create_body(**members))["task_id"])

    def task(self, task_id: str) -> dict[str, Any]:
        return self.plane.get_task(task_id)

    def state(self, task_id: str) -> str:
        return str(self.task(task_id)["state"])

    def dispatch(self, task_id: str, stage: str, **members: Any) -> dict[str, Any]:
        return self.plane.dispatch(task_id, {"target_stage": stage, **members})

    def result(self, task_id: str, job: dict[str, Any], **members: Any) -> dict[str, Any]:
        return self.plane.apply_result(task_id, result_body(job["job_id"], **members))

    def fail(
        self, task_id: str, job: dict[str, Any], failure_class: str = "retryable_transient", **members: Any
    ) -> Any:
        return self.plane.apply_result(task_id, failed_body(job["job_id"], failure_class, **members))

    def work(self, task_id: str, stage: str, **members: Any) -> dict[str, Any]:
        """Dispatch ``stage`` and hand in a success that suits it."""
        suits: dict[str, Any] = {
            "plan": {},
            "dev": {"patch_ref": PATCH},
            "acceptance": {"verdict": {"outcome": "accept"}},
        }
        return self.result(task_id, self.dispatch(task_id, stage), **(suits[stage] | members))

    def move(self, task_id: str, to_state: str, /, **members: Any) -> dict[str, Any]:
        return self.plane.record_transition(task_id, event_body(self.task(task_id), to_state, **members))

    def tick_all(self, task_id: str) -> None:
        items = [{"id": item["id"]} for item in self.task(task_id)["manual_checklist"]]
        self.plane.tick_checklist(task_id, {"checked_items": items})

    def tick_all_of(self, task_id: str) -> None:
        """Tick every item, also of a checklist that is made by ticking."""
        made = self.plane.tick_checklist(task_id, {"checked_items": [{"id": "tests-passed"}]})
        items = [{"id": item["id"]} for item in made["manual_checklist"]]
        self.plane.tick_checklist(task_id, {"checked_items": items})

    def integrate(self, task_id: str, **members: Any) -> dict[str, Any]:
        body = {"expected_state": "accepted", "base_sha": BASE, "branch_ref": "work", **members}
        return self.plane.integrate(task_id, body)

    def publish(self, task_id: str, mode: str = "no_op", key: str = "k1", **members: Any) -> dict[str, Any]:
        return self.plane.publish(task_id, {"mode": mode, "idempotency_key": key, **members})

    def audits(self, task_id: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.plane.audit_events(task_id)["items"]
        return items

    def audit_types(self, task_id: str) -> list[str]:
        return [event["event_type"] for event in self.audits(task_id)]

    def transitions(self, task_id: str) -> list[tuple[str, str]]:
        return [(event["from_state"], event["to_state"]) for event in self.plane.events(task_id)["items"]]

    def bring(self, state: str, **members: Any) -> str:
        """A new task in ``state``, on the way a task normally takes; ``blocked`` is entered from developing."""
        task_id = self.create(**members)
        if state == "rework_required":
            self.bring_on(task_id, "accepting")
            self.result(task_id, self.redispatched(task_id), verdict={"outcome": "rework"})
        elif state == "blocked":
            self.bring_on(task_id, "developing")
            self.move(task_id, "blocked")
        elif state in ("cancelled", "failed"):
            self.move(task_id, state)
        elif state == "publish_pending_approval":
            self.bring_on(task_id, "integrated")
            self.move(task_id, state)
        else:
            self.bring_on(task_id, state)
        assert self.state(task_id) == state
        return task_id

    def redispatched(self, task_id: str) -> dict[str, Any]:
        """The active job of a task in ``accepting``."""
        job: dict[str, Any] = self.plane.get_job(self.task(task_id)["active_job_id"])["job"]
        return job

    def bring_on(self, task_id: str, state: str) -> None:
        for reached, step in (
            ("queued", lambda: None),
            ("planning", lambda: self.dispatch(task_id, "plan")),
            ("planned", lambda: self.result(task_id, self.redispatched(task_id))),
            ("developing", lambda: self.dispatch(task_id, "dev")),
            (
                "dev_completed",
                lambda: self.result(task_id, self.redispatched(task_id), patch_ref=PATCH, test_results=[REGRESSION]),
            ),
            ("accepting", lambda: self.dispatch(task_id, "acceptance")),
            ("accepted", lambda: self._accept(task_id)),
            ("integrating", lambda: self.integrate(task_id)),
            ("integrated", lambda: self.plane.complete_integrate(task_id, {"checks_passed": True})),
            ("publishing", lambda: self.publish(task_id)),
            ("published", lambda: self.plane.complete_publish(task_id, {})),
        ):
            step()
            if reached == state:
                return
        raise AssertionError(state)

    def _accept(self, task_id: str) -> None:
        self.result(task_id, self.redispatched(task_id), verdict={"outcome": "accept"})
        self.tick_all(task_id)
        self.plane.complete_acceptance(task_id, {})
