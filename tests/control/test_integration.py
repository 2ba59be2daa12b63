from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from slipway_lite.control.integration import decide_integration_timeout, same_sha
from slipway_lite.control.messages_request import CompleteIntegrateResponse, IntegrateResponse
from slipway_lite.control.refusals import Refused
from tests.control.world import BASE, PATCH, REPO, World


def test_integrate_starts_a_run_and_takes_the_branch(world: World) -> None:
    task_id = world.bring("accepted")
    answer = world.integrate(task_id)
    IntegrateResponse.model_validate(answer)
    task = world.task(task_id)
    assert answer == {
        "task_id": task_id,
        "state": "integrating",
        "integration_branch": f"cp/integrate/{task_id}",
        "run_id": task["integration_run"]["run_id"],
    }
    assert task["repo_ref"]["base_sha"] == BASE
    assert task["repo_policy"] == {
        "update_strategy": "fast_forward_only",
        "main_push_actor": "bot",
        "require_ci_pass": True,
    }
    assert task["integration"]["checks_passed"] is False
    assert task["integration_run"]["status"] == "running"
    assert "run.lock_acquired" in world.audit_types(task_id)


@pytest.mark.parametrize("state", ["accepting", "integrating", "integrated", "queued"])
def test_only_an_accepted_task(world: World, state: str) -> None:
    task_id = world.bring(state)
    with pytest.raises(Refused) as refused:
        world.integrate(task_id)
    assert (refused.value.code, refused.value.status) == ("STATE_CONFLICT", 409)


@pytest.mark.parametrize(
    "members",
    [
        {"expected_state": "planned"},
        {"base_sha": "xyz"},
        {"patch_ref": "p"},
        {"branch_ref": {"name": ""}},
        {"branch_ref": ""},
    ],
)
def test_a_body_off_schema_is_400(world: World, members: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        world.integrate(world.bring("accepted"), **members)
    assert (refused.value.code, refused.value.status) == ("INVALID_REQUEST", 400)


@pytest.mark.parametrize(
    "change", [{"branch_ref": "b"}, {"branch_ref": {"name": "b"}}, {"patch_ref": "art"}, {"patch_ref": PATCH}]
)
def test_a_branch_or_a_patch_as_object_or_name(world: World, change: dict[str, Any]) -> None:
    body = {"expected_state": "accepted", "base_sha": BASE, **change}
    assert world.plane.integrate(world.bring("accepted"), body)["state"] == "integrating"


def test_the_branch_of_another_task_is_locked_until_it_leaves(world: World) -> None:
    first, second = world.bring("accepted"), world.bring("accepted")
    world.integrate(first)
    before = world.task(second)
    with pytest.raises(Refused) as refused:
        world.integrate(second)
    assert (refused.value.code, refused.value.status) == ("LOCK_CONFLICT", 409)
    assert world.task(second) == before
    assert world.audit_types(second)[-1] == "lock_conflict"
    world.plane.complete_integrate(first, {"checks_passed": False})
    assert world.integrate(second)["state"] == "integrating"


@pytest.mark.parametrize("leave", ["integrated", "blocked", "cancelled", "failed"])
def test_the_lock_is_released_on_every_path(world: World, leave: str) -> None:
    task_id = world.bring("integrating")
    world.move(task_id, leave)
    assert world.plane.store.rows("select * from _locks") == []


def test_another_repository_is_not_locked(world: World) -> None:
    world.integrate(world.bring("accepted"))
    other = world.bring("accepted", repo_ref=REPO | {"name": "other"})
    assert world.integrate(other)["state"] == "integrating"


def test_passed_checks_integrate(world: World) -> None:
    task_id = world.bring("integrating")
    body = {"checks_passed": True, "integration_head_sha": "bbbbbbb2", "main_updated_sha": BASE}
    answer = world.plane.complete_integrate(task_id, body)
    CompleteIntegrateResponse.model_validate(answer)
    assert (answer["state"], answer["can_fast_forward"], answer["requires_pr"]) == ("integrated", True, False)
    task = world.task(task_id)
    assert (task["integration_run"]["status"], task["integration_run"]["progress"]) == ("succeeded", 100)
    main = next(event for event in world.audits(task_id) if event["event_type"] == "run.main_updated")
    assert main["payload"]["main_updated_sha"] == BASE
    assert world.plane.list_checkpoints(task_id)["items"][-1]["checkpoint_type"] == "code"


@pytest.mark.parametrize(
    ("body", "reason", "needs_rebase"),
    [
        ({"checks_passed": False}, "CI checks must pass before integration", None),
        ({"checks_passed": True, "current_base_sha": "ccccccc3"}, "base_sha_changed", True),
        ({"checks_passed": True, "has_conflicts": True}, "the change conflicts with the main line", None),
    ],
)
def test_an_obstacle_blocks_waiting_on_github(
    world: World, body: dict[str, Any], reason: str, needs_rebase: bool | None
) -> None:
    task_id = world.bring("integrating")
    answer = world.plane.complete_integrate(task_id, body)
    CompleteIntegrateResponse.model_validate(answer)
    assert (answer["state"], answer.get("needs_rebase")) == ("blocked", needs_rebase)
    task = world.task(task_id)
    assert task["blocked_context"] == {"resume_state": "integrating", "reason": reason, "waiting_on": "github"}
    assert task["integration_run"]["status"] == "failed"


def test_a_task_that_came_by_hand_has_no_base(world: World) -> None:
    task_id = world.bring("accepted")
    world.move(task_id, "integrating")
    answer = world.plane.complete_integrate(task_id, {"checks_passed": True})
    assert (answer["state"], answer["policy_warnings"]) == ("blocked", ["original_base_sha_missing"])
    assert answer["needs_rebase"] is False


def test_failed_checks_that_are_not_required_still_block(world: World) -> None:
    policy = {"update_strategy": "pull_request", "main_push_actor": "bot", "require_ci_pass": False}
    task_id = world.bring("integrating", repo_policy=policy | {"integration_branch_prefix": "int/"})
    assert world.task(task_id)["integration"]["integration_branch"] == f"int/{task_id}"
    assert world.plane.events(task_id)["items"][-1]["reason"] == "integrate requested (PR required)"
    answer = world.plane.complete_integrate(task_id, {"checks_passed": False})
    assert (answer["state"], answer["requires_pr"]) == ("blocked", True)
    assert world.task(task_id)["blocked_context"]["reason"] == "CI checks failed"


def test_complete_needs_a_task_that_is_integrating(world: World) -> None:
    with pytest.raises(Refused) as refused:
        world.plane.complete_integrate(world.bring("accepted"), {"checks_passed": True})
    assert refused.value.code == "STATE_CONFLICT"


def test_an_integration_that_took_too_long_is_blocked(world: World) -> None:
    task_id = world.bring("integrating")
    with world.plane.store.immediate() as tx:
        from slipway_lite.control.records import Records

        records = Records(tx, "test")
        moment = replace(records.moment, now="2999-01-01T00:00:00.000Z")
        change = decide_integration_timeout(records.task(task_id), moment)
    assert change.set["integration_run"]["status"] == "timeout"
    assert change.set["blocked_context"] == {
        "resume_state": "integrating",
        "reason": "integration timed out",
        "waiting_on": "github",
    }
    assert change.released


def test_object_ids_are_equal_when_one_is_shortened() -> None:
    assert same_sha("ABCDEF12", "abcdef1234")
    assert not same_sha("abcdef12", "abcdef13")
    assert not same_sha("", "abcdef13")
