from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slipway_lite.control.messages_request import ApprovalResponse, CompletePublishResponse, PublishResponse
from slipway_lite.control.refusals import Refused
from tests.control.world import REPO, World

APPROVAL = {"publish_plan": {"approval_required": True}}
TAG = {"kind": "tag", "value": "v1"}


def refusal(world: World, task_id: str, mode: str = "no_op", key: str = "k1", **members: Any) -> Refused:
    before = world.task(task_id)
    with pytest.raises(Refused) as refused:
        world.publish(task_id, mode, key, **members)
    assert world.task(task_id) == before
    return refused.value


@pytest.mark.parametrize("mode", ["no_op", "dry_run", "apply"])
def test_publish_starts_in_every_mode(world: World, mode: str) -> None:
    task_id = world.bring("integrated")
    answer = world.publish(task_id, mode)
    PublishResponse.model_validate(answer)
    assert answer == {"task_id": task_id, "state": "publishing", "publish_run_id": f"pub_{task_id}"}
    task = world.task(task_id)
    assert (task["publish_plan"]["mode"], task["publish_plan"]["idempotency_key"]) == (mode, "k1")
    assert task["publish_run"]["status"] == "running"
    assert "run.publishRequested" in world.audit_types(task_id)


@pytest.mark.parametrize("mode", ["no_op", "dry_run", "apply"])
def test_the_key_is_required_in_every_mode(world: World, mode: str) -> None:
    task_id = world.bring("integrated")
    with pytest.raises(Refused) as refused:
        world.plane.publish(task_id, {"mode": mode})
    assert (refused.value.code, refused.value.status) == ("INVALID_REQUEST", 400)
    with pytest.raises(Refused):
        world.plane.publish(task_id, {"mode": mode, "idempotency_key": ""})


@pytest.mark.parametrize("state", ["accepted", "publishing", "published", "publish_pending_approval"])
def test_only_an_integrated_task(world: World, state: str) -> None:
    refused = refusal(world, world.bring(state), key="another")
    assert (refused.code, refused.status) == ("STATE_CONFLICT", 409)


def test_the_same_key_is_the_same_request_in_any_later_state(world: World) -> None:
    task_id = world.bring("integrated")
    first = world.publish(task_id, "apply")
    for step in (lambda: None, lambda: world.plane.complete_publish(task_id, {"external_refs": [TAG]})):
        step()
        before = world.task(task_id)
        assert world.publish(task_id, "apply", expected_version=0) == first
        assert world.task(task_id) == before
    assert world.audit_types(task_id).count("run.publishIdempotent") == 2


def test_the_same_key_with_another_mode_is_409(world: World) -> None:
    task_id = world.bring("integrated")
    world.publish(task_id, "dry_run")
    refused = refusal(world, task_id, "apply")
    assert (refused.code, refused.status) == ("IDEMPOTENCY_CONFLICT", 409)


def test_keys_belong_to_one_task(world: World) -> None:
    first, second = world.bring("integrated"), world.bring("integrated")
    world.publish(first, "no_op", "same")
    assert world.publish(second, "dry_run", "same")["task_id"] == second


def test_an_apply_that_needs_approval_waits(world: World) -> None:
    task_id = world.bring("integrated", **APPROVAL)
    answer = world.publish(task_id, "apply")
    assert answer["state"] == "publish_pending_approval"
    assert "publish_run" not in world.task(task_id)
    assert "approval_requested" in world.audit_types(task_id)


@pytest.mark.parametrize("mode", ["no_op", "dry_run"])
def test_other_modes_need_no_approval(world: World, mode: str) -> None:
    assert world.publish(world.bring("integrated", **APPROVAL), mode)["state"] == "publishing"


def test_a_token_is_shown_once_and_kept_as_a_hash(world: World) -> None:
    task_id = world.bring("integrated", **APPROVAL)
    answer = world.plane.issue_approval(task_id)
    ApprovalResponse.model_validate(answer)
    token = answer["approval_token"]
    assert len(token) == 64
    world.publish(task_id, "apply", approval_token=token)
    path = Path(world.plane.store.path)
    kept = path.read_bytes() + path.with_name(path.name + "-wal").read_bytes()
    assert task_id.encode() in kept
    assert token.encode() not in kept


def test_a_valid_token_publishes_at_once_and_only_once(world: World) -> None:
    task_id = world.bring("integrated", **APPROVAL)
    token = world.plane.issue_approval(task_id)["approval_token"]
    assert world.publish(task_id, "apply", approval_token=token)["state"] == "publishing"
    assert "approval_granted" in world.audit_types(task_id)
    world.move(task_id, "blocked")
    world.move(task_id, "publishing")
    rows = world.plane.store.rows("select used_at is not null from approvals where task_id = ?", (task_id,))
    assert rows == [(1,)]


def test_a_wrong_token_changes_nothing(world: World) -> None:
    task_id = world.bring("integrated", **APPROVAL)
    assert refusal(world, task_id, "apply", approval_token="f" * 64).code == "APPROVAL_INVALID"
    world.plane.issue_approval(task_id)
    refused = refusal(world, task_id, "apply", approval_token="f" * 64)
    assert (refused.code, refused.status) == ("APPROVAL_INVALID", 409)
    assert world.audit_types(task_id)[-1] == "approval_denied"


def test_a_token_of_another_task_is_wrong(world: World) -> None:
    first, second = world.bring("integrated", **APPROVAL), world.bring("integrated", **APPROVAL)
    token = world.plane.issue_approval(first)["approval_token"]
    world.plane.issue_approval(second)
    assert refusal(world, second, "apply", approval_token=token).code == "APPROVAL_INVALID"


def test_a_new_token_replaces_the_one_before(world: World) -> None:
    task_id = world.bring("integrated", **APPROVAL)
    old = world.plane.issue_approval(task_id)["approval_token"]
    new = world.plane.issue_approval(task_id)["approval_token"]
    assert refusal(world, task_id, "apply", approval_token=old).code == "APPROVAL_INVALID"
    assert world.publish(task_id, "apply", approval_token=new)["state"] == "publishing"


def test_approve_takes_the_token_or_an_operator(world: World) -> None:
    task_id = world.bring("integrated", **APPROVAL)
    world.publish(task_id, "apply")
    with pytest.raises(Refused) as refused:
        world.plane.approve_publish(task_id, {})
    assert refused.value.code == "APPROVAL_INVALID"
    token = world.plane.issue_approval(task_id)["approval_token"]
    assert world.plane.approve_publish(task_id, {"approval_token": token})["state"] == "publishing"
    event = world.plane.events(task_id)["items"][-1]
    assert (event["actor_type"], event["actor_id"], event["reason"]) == ("human", "operator", "publish approved")
    assert world.plane.list_checkpoints(task_id)["items"][-1]["ref"] == f"approval:{task_id}:publish"
    other = world.bring("integrated", repo_ref=REPO | {"name": "other"}, **APPROVAL)
    world.publish(other, "apply")
    assert world.plane.approve_publish(other, {}, is_operator=True)["state"] == "publishing"


def test_approve_needs_a_task_that_waits_for_it(world: World) -> None:
    with pytest.raises(Refused) as refused:
        world.plane.approve_publish(world.bring("integrated"), {}, is_operator=True)
    assert refused.value.code == "STATE_CONFLICT"


def test_no_token_for_a_task_that_is_over(world: World) -> None:
    with pytest.raises(Refused) as refused:
        world.plane.issue_approval(world.bring("cancelled"))
    assert refused.value.code == "STATE_CONFLICT"


def test_approval_of_a_completed_publish_needs_an_external_reference_for_apply_only(world: World) -> None:
    task_id = world.bring("integrated")
    world.publish(task_id, "apply")
    with pytest.raises(Refused) as refused:
        world.plane.complete_publish(task_id, {})
    assert (refused.value.code, refused.value.status) == ("EXTERNAL_REF_REQUIRED", 409)
    answer = world.plane.complete_publish(task_id, {"external_refs": [TAG], "rollback_notes": "delete the tag"})
    CompletePublishResponse.model_validate(answer)
    assert (answer["state"], answer["external_refs"]) == ("published", [TAG])
    task = world.task(task_id)
    assert task["completed_at"] == answer["completed_at"]
    assert task["rollback_notes"] == "delete the tag"
    assert (task["publish_run"]["status"], task["publish_run"]["external_refs"]) == ("succeeded", [TAG])
    assert "run.publishCompleted" in world.audit_types(task_id)


def test_an_apply_locks_its_targets_and_other_modes_lock_nothing(world: World) -> None:
    plan = {"publish_plan": {"targets": ["release"]}}
    first, second = world.bring("integrated", **plan), world.bring("integrated", **plan)
    third = world.bring("integrated", publish_plan={"targets": ["deployment"]})
    world.publish(first, "apply")
    refused = refusal(world, second, "apply")
    assert (refused.code, refused.status) == ("LOCK_CONFLICT", 409)
    assert world.publish(third, "apply")["state"] == "publishing"
    assert world.publish(second, "dry_run")["state"] == "publishing"
    world.plane.cancel(first)
    world.plane.cancel(third)
    assert world.plane.store.rows("select * from _locks") == []


@pytest.mark.parametrize(
    ("policy", "main_sha", "words"),
    [
        ({"main_push_actor": "human"}, None, "only a person"),
        ({"update_strategy": "pull_request"}, None, "pull request"),
        ({"update_strategy": "pull_request", "protected_branches": ["m*"]}, None, "pull request"),
        ({}, "ddddddd4", "fast-forward"),
    ],
)
def test_the_policy_denies_an_apply_with_409_and_no_change(
    world: World, policy: dict[str, Any], main_sha: str | None, words: str
) -> None:
    known = {"update_strategy": "fast_forward_only", "main_push_actor": "bot", "require_ci_pass": True}
    task_id = world.bring("integrating", repo_policy=known | policy)
    body = {"checks_passed": True} | ({"main_updated_sha": main_sha} if main_sha else {})
    world.plane.complete_integrate(task_id, body)
    refused = refusal(world, task_id, "apply")
    assert (refused.code, refused.status) == ("POLICY_DENIED", 409)
    assert words in refused.message
    assert world.audit_types(task_id)[-1] == "run.policy_check_failed"
    assert world.publish(task_id, "dry_run")["state"] == "publishing"


def test_main_on_the_checked_head_is_a_fast_forward(world: World) -> None:
    task_id = world.bring("integrating")
    body = {"checks_passed": True, "integration_head_sha": "eeeeeee5", "main_updated_sha": "eeeeeee5"}
    world.plane.complete_integrate(task_id, body)
    assert world.publish(task_id, "apply")["state"] == "publishing"


def test_a_direct_push_to_a_protected_branch_is_a_warning(world: World) -> None:
    policy = {"update_strategy": "direct_push", "main_push_actor": "any", "require_ci_pass": False}
    task_id = world.bring("integrated", repo_policy=policy)
    world.publish(task_id, "apply")
    assert world.task(task_id)["publish_plan"]["policy_warnings"] == ["direct push to a protected branch"]
