from __future__ import annotations

from typing import Any

import pytest

from slipway_lite.control.messages_request import ChecklistResponse, CompleteAcceptanceResponse
from slipway_lite.control.refusals import Refused
from tests.control.world import LOG, PATCH, REGRESSION, World


def judged(world: World, *, dev: dict[str, Any] | None = None, verdict: str = "accept", **members: Any) -> str:
    """A task in ``accepting`` whose acceptance worker has given ``verdict``."""
    task_id = world.create(**members)
    world.work(task_id, "plan")
    world.work(task_id, "dev", **(dev or {}))
    world.work(task_id, "acceptance", verdict={"outcome": verdict})
    return task_id


def refusal(world: World, task_id: str, body: dict[str, Any]) -> Refused:
    before = world.task(task_id)
    with pytest.raises(Refused) as refused:
        world.plane.complete_acceptance(task_id, body)
    assert world.task(task_id) == before
    return refused.value


def ticks(world: World, task_id: str) -> list[dict[str, Any]]:
    return [{"id": item["id"], "checked_by": "ann"} for item in world.task(task_id)["manual_checklist"]]


def test_all_gates_held_the_task_is_accepted(world: World) -> None:
    task_id = judged(world)
    version = world.task(task_id)["version"]
    answer = world.plane.complete_acceptance(task_id, {"checked_items": ticks(world, task_id)})
    CompleteAcceptanceResponse.model_validate(answer)
    assert answer == {
        "task_id": task_id,
        "state": "accepted",
        "checklist_complete": True,
        "verdict_outcome": "accept",
    }
    assert world.task(task_id)["version"] == version + 1
    event = world.plane.events(task_id)["items"][-1]
    assert (event["actor_type"], event["actor_id"]) == ("human", "manual_acceptance")
    assert world.audits(task_id)[-1]["event_type"] == "task.verdictSubmitted"
    (checkpoint,) = world.plane.list_checkpoints(task_id)["items"]
    assert (checkpoint["checkpoint_type"], checkpoint["stage"], checkpoint["ref"]) == (
        "approval",
        "acceptance",
        f"approval:{task_id}:accepted",
    )
    assert refusal(world, task_id, {}).code == "STATE_CONFLICT"


def test_only_a_task_in_accepting(world: World) -> None:
    refused = refusal(world, world.bring("dev_completed"), {})
    assert (refused.code, refused.status) == ("STATE_CONFLICT", 409)


def test_a_checklist_is_needed(world: World) -> None:
    refused = refusal(world, world.bring("accepting"), {"verdict": {"outcome": "accept"}})
    assert (refused.code, refused.status) == ("CHECKLIST_REQUIRED", 409)


def test_all_or_nothing_a_failing_gate_keeps_no_tick_and_names_what_is_missing(world: World) -> None:
    task_id = judged(world)
    refused = refusal(world, task_id, {"checked_items": [{"id": "tests-passed"}, {"id": "not-on-it"}]})
    assert refused.code == "CHECKLIST_INCOMPLETE"
    assert refused.details == {"missing": ["no-regressions", "code-compiles", "code-review"]}
    assert not any(item["checked"] for item in world.task(task_id)["manual_checklist"])


def test_ticks_made_ahead_of_time_are_saved(world: World) -> None:
    task_id = judged(world)
    version = world.task(task_id)["version"]
    items = [{"id": "tests-passed", "checked_by": "ann", "notes": "seen"}]
    answer = world.plane.tick_checklist(task_id, {"checked_items": items})
    ChecklistResponse.model_validate(answer)
    assert answer["missing"] == ["no-regressions", "code-compiles", "code-review"]
    first = world.task(task_id)["manual_checklist"][0]
    assert (first["checked"], first["checked_by"], first["notes"]) == (True, "ann", "seen")
    assert world.task(task_id)["version"] == version + 1


def test_a_checklist_without_a_worker_is_made_when_it_is_ticked(world: World) -> None:
    task_id = world.bring("accepting")
    answer = world.plane.tick_checklist(task_id, {"checked_items": [{"id": "code-review"}]})
    assert len(answer["manual_checklist"]) == 5
    with pytest.raises(Refused) as refused:
        world.plane.tick_checklist(world.bring("planned"), {"checked_items": [{"id": "code-review"}]})
    assert refused.value.code == "STATE_CONFLICT"


def test_a_verdict_is_needed_and_has_to_be_accept(world: World) -> None:
    task_id = world.bring("accepting")
    world.tick_all_of(task_id)
    assert refusal(world, task_id, {}).code == "VERDICT_REQUIRED"
    other = judged(world, verdict="needs_manual_review")
    refused = refusal(world, other, {"checked_items": ticks(world, other)})
    assert refused.code == "VERDICT_NOT_ACCEPT"


def test_a_persons_verdict_overrides_the_workers(world: World) -> None:
    task_id = judged(world, verdict="needs_manual_review")
    body = {"checked_items": ticks(world, task_id), "verdict": {"outcome": "accept", "reason": "I looked"}}
    world.plane.complete_acceptance(task_id, body)
    assert world.task(task_id)["last_verdict"] == {"outcome": "accept", "reason": "I looked"}
    other = judged(world)
    reject = {"checked_items": ticks(world, other), "verdict": {"outcome": "reject"}}
    assert refusal(world, other, reject).code == "VERDICT_NOT_ACCEPT"


def test_a_log_artifact_is_needed(world: World) -> None:
    task_id = world.create()
    world.work(task_id, "plan")
    world.work(task_id, "dev", artifacts=[])
    world.work(task_id, "acceptance", artifacts=[LOG | {"kind": "report"}])
    refused = refusal(world, task_id, {"checked_items": ticks(world, task_id)})
    assert (refused.code, refused.status) == ("LOG_ARTIFACT_REQUIRED", 409)


def test_a_log_of_the_plan_is_older_than_the_development(world: World) -> None:
    task_id = world.create()
    world.work(task_id, "plan", artifacts=[LOG])
    world.work(task_id, "dev", artifacts=[])
    world.work(task_id, "acceptance", artifacts=[])
    assert refusal(world, task_id, {"checked_items": ticks(world, task_id)}).code == "LOG_ARTIFACT_REQUIRED"


@pytest.mark.parametrize("status", ["stale", "unknown"])
def test_documents_that_are_not_fresh_block(world: World, status: str) -> None:
    task_id = world.create()
    world.work(task_id, "plan")
    world.work(task_id, "dev")
    world.work(task_id, "acceptance", resolver_refs={"stale_status": status})
    refused = refusal(world, task_id, {"checked_items": ticks(world, task_id)})
    assert (refused.code, refused.details) == ("DOCS_NOT_FRESH", {"stale_status": status})


@pytest.mark.parametrize(
    "tests",
    [
        [],
        [{"suite": "regression", "status": "failed"}],
        [{"suite": "Regression", "status": "passed"}],
        [{"suite": "regression-all", "status": "passed"}],
    ],
)
def test_high_risk_needs_a_passed_suite_named_exactly_regression(world: World, tests: list[dict[str, Any]]) -> None:
    task_id = judged(world, risk_level="high", dev={"test_results": tests})
    refused = refusal(world, task_id, {"checked_items": ticks(world, task_id)})
    assert (refused.code, refused.status) == ("REGRESSION_REQUIRED", 409)


def test_high_risk_with_a_regression_pass_of_either_stage_is_accepted(world: World) -> None:
    for stage in ("dev", "acceptance"):
        task_id = world.create(risk_level="high")
        world.work(task_id, "plan")
        world.work(task_id, "dev", test_results=[REGRESSION] if stage == "dev" else [])
        world.work(task_id, "acceptance", test_results=[REGRESSION] if stage == "acceptance" else [])
        world.plane.complete_acceptance(task_id, {"checked_items": ticks(world, task_id)})
        assert world.state(task_id) == "accepted"


def test_rework_starts_proof_verdict_and_checklist_anew(world: World) -> None:
    task_id = judged(world, dev={"test_results": [REGRESSION]}, risk_level="high")
    world.tick_all_of(task_id)
    world.move(task_id, "rework_required")
    world.dispatch(task_id, "dev")
    task = world.task(task_id)
    assert "last_verdict" not in task
    assert "manual_checklist" not in task
    job = world.plane.get_job(task["active_job_id"])["job"]
    world.result(task_id, job, patch_ref=PATCH, artifacts=[LOG])
    world.work(task_id, "acceptance")
    assert refusal(world, task_id, {"checked_items": ticks(world, task_id)}).code == "REGRESSION_REQUIRED"


def test_accepting_by_hand_while_a_worker_judges_supersedes_it(world: World) -> None:
    task_id = judged(world, verdict="needs_manual_review")
    job = world.dispatch(task_id, "acceptance")
    body = {"checked_items": ticks(world, task_id), "verdict": {"outcome": "accept"}}
    world.plane.complete_acceptance(task_id, body)
    closed = world.plane.get_job(job["job_id"])["job"]
    assert (closed["status"], closed["metadata"]["superseded"]) == ("failed", True)
    assert "active_job_id" not in world.task(task_id)
