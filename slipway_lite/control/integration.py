"""Integrate: an accepted task's change goes to the main line (control-plane §4.7, §4.8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipway_lite.control import leases
from slipway_lite.control.acceptance import checkpoint
from slipway_lite.control.draft import CONTROL_PLANE, Draft
from slipway_lite.control.events import Audit, Change, TaskState
from slipway_lite.control.rules import require_state, require_version
from slipway_lite.control.settings import INTEGRATE_TIMEOUT_SECONDS
from slipway_lite.control.transitions import start_run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slipway_lite.control.events import Moment

DEFAULT_POLICY = {
    "update_strategy": "fast_forward_only",
    "main_push_actor": "bot",
    "require_ci_pass": True,
}
BRANCH_PREFIX = "cp/integrate/"


def decide_integrate(
    state: TaskState,
    body: Mapping[str, Any],
    holders: Mapping[str, Mapping[str, Any]],
    moment: Moment,
) -> Change:
    """``accepted -> integrating``, with the lock on the target branch and ten minutes to finish."""
    require_version(state, body.get("expected_version"))
    require_state(state, "accepted", "integrate")
    draft = Draft(state, moment)
    draft.locks = leases.take(
        leases.integrate_resources(state.task), holders, state.task_id, moment, INTEGRATE_TIMEOUT_SECONDS
    )
    draft.audits += leases.lock_audits(draft.locks, state.task["version"])
    policy = state.task.get("repo_policy", DEFAULT_POLICY)
    branch = policy.get("integration_branch_prefix", BRANCH_PREFIX) + state.task_id
    run_id = start_run(draft, "integration_run", INTEGRATE_TIMEOUT_SECONDS)
    draft.put("repo_policy", policy)
    draft.put("repo_ref", {**state.task["repo_ref"], "base_sha": body["base_sha"]})
    draft.put(
        "integration",
        {
            "run_id": run_id,
            "integration_branch": branch,
            "integration_head_sha": body["base_sha"],
            "checks_passed": False,
            "original_base_sha": body["base_sha"],
            "lock_id": draft.locks[0].lock_id,
            "lease_expires_at": draft.locks[0].expires_at,
        },
    )
    draft.remember["change"] = {name: body[name] for name in ("branch_ref", "patch_ref") if name in body}
    reason = "integrate requested"
    if policy["update_strategy"] == "pull_request":
        reason += " (PR required)"
    draft.move("integrating", CONTROL_PLANE, reason, run_id=run_id)
    return draft.change(
        "integration_started",
        lambda _: {
            "task_id": state.task_id,
            "state": "integrating",
            "integration_branch": branch,
            "run_id": run_id,
        },
    )


def decide_integrated(state: TaskState, body: Mapping[str, Any], moment: Moment, obstacle: str | None = None) -> Change:
    """``integrated`` when the base did not move and the checks passed, else ``blocked`` waiting on github.

    ``obstacle`` is what our own work on a configured repository met, in plain words.
    """
    require_state(state, "integrating", "the end of integrate")
    draft = Draft(state, moment)
    integration = dict(state.task.get("integration", {}))
    policy = state.task.get("repo_policy", DEFAULT_POLICY)
    main_sha = body.get("main_updated_sha")
    for name in ("integration_head_sha", "main_updated_sha"):
        if name in body:
            integration[name] = body[name]
    integration["checks_passed"] = body["checks_passed"]
    reason, drifted = _obstacle(state, body, policy)
    if reason and not drifted:
        reason = obstacle or reason
    draft.audits += main_audits(body, integration)
    answer: dict[str, Any] = {
        "task_id": state.task_id,
        "state": "blocked" if reason else "integrated",
        **{name: integration[name] for name in ("integration_branch", "integration_head_sha") if name in integration},
        "requires_pr": not drifted and policy["update_strategy"] == "pull_request",
        "can_fast_forward": bool(
            body.get("integration_head_sha")
            and main_sha
            and same_sha(main_sha, state.task["repo_ref"].get("base_sha", ""))
        ),
    }
    draft.put("integration", integration)
    if reason:
        draft.end_run("integration_run", "failed", reason)
        draft.block(CONTROL_PLANE, reason, "github")
        if drifted:
            answer["requires_pr"] = False
            answer["policy_warnings"] = [reason]
            answer["needs_rebase"] = reason == "base_sha_changed"
    else:
        draft.end_run("integration_run", "succeeded", progress=100)
        draft.move("integrated", CONTROL_PLANE, "integration checks passed")
        if main_sha:
            draft.documents["checkpoint"] = checkpoint(draft, "code", "integrate", main_sha, CONTROL_PLANE[1])
    return draft.change("integration_completed", lambda _: answer)


def _obstacle(state: TaskState, body: Mapping[str, Any], policy: Mapping[str, Any]) -> tuple[str | None, bool]:
    """(why the integration is blocked, whether because of its base), or (None, False)."""
    original = state.task.get("integration", {}).get("original_base_sha")
    if original is None:
        return "original_base_sha_missing", True
    current = body.get("current_base_sha", state.task["repo_ref"].get("base_sha", ""))
    if not same_sha(original, current):
        return "base_sha_changed", True
    if body.get("has_conflicts"):
        return "the change conflicts with the main line", False
    if not body["checks_passed"]:
        required = policy["require_ci_pass"]
        return ("CI checks must pass before integration" if required else "CI checks failed"), False
    return None, False


def same_sha(one: str, other: str) -> bool:
    """Whether two object ids of seven or more digits name the same object, one perhaps shortened."""
    one, other = one.lower(), other.lower()
    return bool(one and other) and (one.startswith(other) or other.startswith(one))


def main_audits(body: Mapping[str, Any], integration: Mapping[str, Any]) -> tuple[Audit, ...]:
    """A moved main line is a fact, whatever became of the task."""
    if "main_updated_sha" not in body:
        return ()
    payload = {
        "main_updated_sha": body["main_updated_sha"],
        "integration_head_sha": integration.get("integration_head_sha"),
        "checks_passed": body["checks_passed"],
    }
    return (Audit("run.main_updated", payload),)


def decide_integration_timeout(state: TaskState, moment: Moment) -> Change:
    """``integrating -> blocked`` because ten minutes are over; locks are given up."""
    draft = Draft(state, moment)
    draft.end_run("integration_run", "timeout", "integration timed out")
    draft.block(CONTROL_PLANE, "integration timed out", "github")
    return draft.change("integration_timed_out")
