from __future__ import annotations

from dataclasses import replace

import pytest

from slipway_lite.control.capabilities import REQUIRED
from slipway_lite.control.messages_job import InstructionEnvelopeV2, WorkerJob
from slipway_lite.control.refusals import Refused
from slipway_lite.control.states import DISPATCH, STAGE_OF
from slipway_lite.control.vocabulary import TASK_STATES
from tests.control.world import REPO, TYPED_REF, World


def refusal(world: World, task_id: str, stage: str, **members: object) -> Refused:
    """The refusal of a dispatch, which changed nothing."""
    before = world.task(task_id)
    events = world.plane.events(task_id)
    with pytest.raises(Refused) as refused:
        world.dispatch(task_id, stage, **members)
    assert world.task(task_id) == before
    assert world.plane.events(task_id) == events
    return refused.value


@pytest.mark.parametrize("state", TASK_STATES)
def test_a_stage_is_dispatched_from_its_states_only(world: World, state: str) -> None:
    for stage in REQUIRED:
        task_id = world.bring(state, repo_ref=REPO | {"name": stage})
        if (state, stage) in DISPATCH:
            job = world.dispatch(task_id, stage)
            after = world.task(task_id)
            assert after["state"] == DISPATCH[state, stage]
            assert after["active_job_id"] == after["latest_job_ids"][stage] == job["job_id"]
            assert world.transitions(task_id)[-1] == (state, after["state"])
        else:
            expected = "JOB_ACTIVE" if STAGE_OF.get(state) == stage else "STATE_CONFLICT"
            assert refusal(world, task_id, stage).code == expected


def test_an_accepted_dispatch_is_one_version_step_and_one_event(world: World) -> None:
    task_id = world.create()
    job = world.dispatch(task_id, "plan", expected_version=0)
    assert world.task(task_id)["version"] == 1
    assert world.transitions(task_id) == [("queued", "queued"), ("queued", "planning")]
    assert world.audit_types(task_id) == [
        "instruction_envelope_compiled",
        "run.workerBackendSelected",
        "job.lease_acquired",
        "context_bundle_generated",
    ]
    WorkerJob.model_validate(job)
    assert job["executor_instance_id"] == world.plane.instance_id
    assert job["typed_ref"] == TYPED_REF


def test_another_version_than_expected_is_a_conflict_and_audited(world: World) -> None:
    task_id = world.create()
    refused = refusal(world, task_id, "plan", expected_version=77)
    assert (refused.code, refused.status) == ("VERSION_CONFLICT", 409)
    (event,) = world.audits(task_id)
    assert (event["event_type"], event["payload"]) == (
        "task.version_conflict",
        {"expected_version": 77, "version": 0},
    )


def test_a_worker_that_lacks_capabilities_is_refused_without_a_transition(world: World) -> None:
    task_id = world.bring("planned")
    refused = refusal(world, task_id, "dev", worker_selection="google_antigravity")
    assert (refused.code, refused.status) == ("CAPABILITY_MISMATCH", 409)
    event = world.audits(task_id)[-1]
    assert event["event_type"] == "capability_mismatch"
    assert event["payload"]["missing_capabilities"] == ["edit_repo", "run_tests"]


def test_antigravity_may_plan_and_judge(world: World) -> None:
    task_id = world.create()
    assert world.dispatch(task_id, "plan", worker_selection="google_antigravity")["worker_type"] == "google_antigravity"
    other = world.bring("dev_completed")
    assert world.dispatch(other, "acceptance", worker_selection="google_antigravity")["stage"] == "acceptance"


@pytest.mark.parametrize(
    ("limits", "reason"),
    [({"worker_limit": 1}, "worker_capacity_exceeded"), ({"total_limit": 1}, "global_capacity_exceeded")],
)
def test_concurrency_limits_refuse_and_are_audited(world: World, limits: dict[str, int], reason: str) -> None:
    world.plane.settings = replace(world.plane.settings, **limits)
    world.dispatch(world.create(), "plan")
    task_id = world.create()
    refused = refusal(world, task_id, "plan")
    assert (refused.code, refused.details) == ("CAPACITY_EXCEEDED", {"reason": reason})
    event = world.audits(task_id)[-1]
    assert (event["event_type"], event["payload"]["reason"]) == ("lock_conflict", reason)


def test_the_same_work_again_and_again_warns_then_refuses(world: World) -> None:
    task_id = world.create()
    for number in range(1, 4):
        job = world.dispatch(task_id, "plan", worker_selection="codex")
        assert world.audit_types(task_id).count("job.loop_warning") == (1 if number >= 3 else 0)
        world.fail(task_id, job, retry_count=0)
    refused = refusal(world, task_id, "plan", worker_selection="codex")
    assert (refused.code, refused.status) == ("DOOM_LOOP", 409)
    assert world.audits(task_id)[-1]["event_type"] == "job.loop_blocked"
    assert world.dispatch(task_id, "plan", worker_selection="claude_code")["worker_type"] == "claude_code"


def test_two_tasks_of_the_same_kind_do_not_share_a_loop(world: World) -> None:
    marks = {world.dispatch(world.create(), "plan")["loop_fingerprint"] for _ in range(5)}
    assert len(marks) == 5


def test_the_envelope_is_compiled_and_kept_on_the_job(world: World) -> None:
    task_id = world.create(description="More words")
    job = world.dispatch(task_id, "plan")
    envelope = job["instruction_envelope"]
    InstructionEnvelopeV2.model_validate(envelope)
    assert job["metadata"]["instruction_envelope_version"] == "2.0"
    assert job["context"]["instruction_envelope_ref"] == f"envelope:{job['job_id']}:plan"
    assert world.plane.get_job(job["job_id"])["job"]["instruction_envelope"] == envelope
    assert job["input_prompt"] == ("PLAN task: Add a schema\n\nObjective: Fix the contract\n\nDescription: More words")


def test_lmstudio_takes_only_low_risk_plan_and_dev_and_never_changes_the_worker(world: World) -> None:
    world.plane.settings = replace(world.plane.settings, lmstudio="available")
    low = world.create(risk_level="low")
    job = world.dispatch(low, "plan")
    assert (job["execution_backend"], job["worker_type"]) == ("lmstudio", "codex")
    medium = world.create()
    assert world.dispatch(medium, "plan")["execution_backend"] == "external"
    raised = world.create(risk_level="low")
    assert world.dispatch(raised, "plan", override_risk_level="high")["execution_backend"] == "external"
    lowered = world.create(risk_level="high")
    assert world.dispatch(lowered, "plan", override_risk_level="low")["execution_backend"] == "external"


def test_lmstudio_down_falls_back_for_plan_only(world: World) -> None:
    task_id = world.create(risk_level="low")
    world.plane.settings = replace(world.plane.settings, lmstudio="unavailable")
    job = world.dispatch(task_id, "plan")
    assert (job["execution_backend"], job["metadata"]["fallback_reason"]) == (
        "external",
        "worker_backend_unavailable",
    )
    world.result(task_id, job)
    assert refusal(world, task_id, "dev").code == "WORKER_BACKEND_UNAVAILABLE"


def test_an_overridden_risk_level_stands_on_the_job_only(world: World) -> None:
    task_id = world.bring("planned")
    job = world.dispatch(task_id, "dev", override_risk_level="high")
    assert job["risk_level"] == "high"
    assert job["approval_policy"]["allowed_side_effect_categories"] == ["network_access"]
    assert world.task(task_id)["risk_level"] == "medium"


def test_documents_and_tracker_entities_reach_the_job(world: World) -> None:
    task_id = world.create(external_refs=[{"kind": "github_issue", "value": "42"}])
    world.plane.resolve_docs(task_id, {"feature": "login"})
    context = world.dispatch(task_id, "plan")["context"]
    assert context["resolver_refs"]["doc_refs"] == ["doc:feature:login"]
    assert context["tracker_refs"] == [{"kind": "typed_ref", "value": "42"}]


def test_a_task_that_is_not_there_is_404(world: World) -> None:
    with pytest.raises(Refused) as refused:
        world.dispatch("task_none", "plan")
    assert (refused.value.code, refused.value.status) == ("NOT_FOUND", 404)
    assert refused.value.message == "task not found: task_none"


@pytest.mark.parametrize("members", [{"target_stage": "integrate"}, {"skills": ["x"]}, {"expected_version": -1}])
def test_a_dispatch_off_schema_is_400(world: World, members: dict[str, object]) -> None:
    with pytest.raises(Refused) as refused:
        world.plane.dispatch(world.create(), {"target_stage": "plan"} | members)
    assert (refused.value.code, refused.value.status) == ("INVALID_REQUEST", 400)
