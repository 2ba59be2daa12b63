"""Publish: once per key, with an approval where the plan asks for one (control-plane §4.9, §4.10, §13.2)."""

from __future__ import annotations

import hashlib
import hmac
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from slipway_lite.control import instants, leases
from slipway_lite.control.acceptance import checkpoint
from slipway_lite.control.draft import CONTROL_PLANE, Draft
from slipway_lite.control.events import Audit, Change, TaskState
from slipway_lite.control.integration import DEFAULT_POLICY, same_sha
from slipway_lite.control.refusals import Refused
from slipway_lite.control.result_merge import merged_refs
from slipway_lite.control.rules import require_state, require_version
from slipway_lite.control.settings import APPROVAL_SECONDS, PUBLISH_TIMEOUT_SECONDS
from slipway_lite.control.states import TERMINAL
from slipway_lite.control.transitions import start_run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slipway_lite.control.events import Moment

PROTECTED_BRANCHES = ("main",)
OPERATOR = ("human", "operator")


def token_sha256(token: str) -> str:
    """What is kept of an approval token."""
    return hashlib.sha256(token.encode()).hexdigest()


def repeated_publish(state: TaskState, body: Mapping[str, Any]) -> tuple[dict[str, Any], Audit] | None:
    """The original answer when this key was used for this task before, in whatever state the task is now.

    Looked up before any other check. The same key with another mode is IDEMPOTENCY_CONFLICT.
    """
    receipt = state.memory.get("publishes", {}).get(body["idempotency_key"])
    if receipt is None:
        return None
    if receipt["mode"] != body["mode"]:
        raise Refused("IDEMPOTENCY_CONFLICT", f"The key was used with mode {receipt['mode']}.")
    payload = {
        "idempotency_key": body["idempotency_key"],
        "existing_task_id": state.task_id,
        "mode": body["mode"],
    }
    return receipt["answer"], Audit("run.publishIdempotent", payload)


def decide_publish(
    state: TaskState,
    body: Mapping[str, Any],
    holders: Mapping[str, Mapping[str, Any]],
    moment: Moment,
) -> Change:
    """``integrated -> publishing``, or ``publish_pending_approval`` for an apply that waits for its
    approval.

    A wrong or expired ``approval_token`` is refused and changes nothing. no_op and dry_run skip policy,
    approval and locks.
    """
    require_version(state, body.get("expected_version"))
    require_state(state, "integrated", "publish")
    mode = body["mode"]
    plan = {
        **state.task.get("publish_plan", {}),
        "mode": mode,
        "idempotency_key": body["idempotency_key"],
    }
    needs_approval = mode == "apply" and bool(plan.get("approval_required"))
    draft = Draft(state, moment)
    if mode == "apply":
        warnings = _require_policy(state)
        if warnings:
            plan["policy_warnings"] = warnings
    draft.put("publish_plan", plan)
    payload = {
        "mode": mode,
        "idempotency_key": body["idempotency_key"],
        "approval_required": needs_approval,
    }
    draft.audit("run.publishRequested", payload)
    if needs_approval and "approval_token" not in body:
        draft.audit("approval_requested", payload)
        draft.move("publish_pending_approval", CONTROL_PLANE, "publish approval required")
    else:
        if needs_approval:
            _spend_token(draft, body["approval_token"])
        _start(draft, mode, holders)
        draft.move("publishing", CONTROL_PLANE, "publish started", run_id=draft.get("publish_run")["run_id"])
    answer = {
        "task_id": state.task_id,
        "state": draft.get("state"),
        "publish_run_id": f"pub_{state.task_id}",
    }
    receipts = state.memory.get("publishes", {})
    draft.remember["publishes"] = {**receipts, body["idempotency_key"]: {"mode": mode, "answer": answer}}
    return draft.change("publish_started", lambda _: answer)


def _start(draft: Draft, mode: str, holders: Mapping[str, Mapping[str, Any]]) -> None:
    resources = leases.publish_resources(draft.state.task, mode)
    draft.locks = leases.take(resources, holders, draft.state.task_id, draft.moment, PUBLISH_TIMEOUT_SECONDS)
    draft.audits += leases.lock_audits(draft.locks, draft.state.task["version"])
    start_run(draft, "publish_run", PUBLISH_TIMEOUT_SECONDS)


def _require_policy(state: TaskState) -> list[str]:
    """What the repository's policy says about an apply: POLICY_DENIED, or warnings to keep."""
    policy = state.task.get("repo_policy", DEFAULT_POLICY)
    integration = state.task.get("integration", {})
    branch = state.task["repo_ref"]["default_branch"]
    protected = any(fnmatchcase(branch, pattern) for pattern in policy.get("protected_branches", PROTECTED_BRANCHES))
    if policy["main_push_actor"] == "human":
        denied = "only a person may push to the main line"
    elif policy["require_ci_pass"] and not integration.get("checks_passed"):
        denied = "CI checks have not passed"
    elif protected and policy["update_strategy"] == "pull_request":
        denied = "the branch is protected and needs a pull request"
    elif policy["update_strategy"] == "fast_forward_only" and not _is_fast_forward(state):
        denied = "the main line was not moved by a fast-forward"
    else:
        return ["direct push to a protected branch"] if protected and policy["update_strategy"] == "direct_push" else []
    payload = {"policy_checks": [denied], "mode": "apply"}
    raise Refused(
        "POLICY_DENIED",
        f"The policy denies publishing: {denied}.",
        audit=(Audit("run.policy_check_failed", payload),),
    )


def _is_fast_forward(state: TaskState) -> bool:
    """Main did not move, or moved onto the very head that was checked."""
    integration = state.task.get("integration", {})
    moved = integration.get("main_updated_sha")
    known = (state.task["repo_ref"].get("base_sha", ""), integration.get("integration_head_sha", ""))
    return moved is None or any(same_sha(moved, sha) for sha in known)


def decide_approval(state: TaskState, token: str, moment: Moment) -> Change:
    """Issue an approval token: shown in this answer, kept as a hash for 24 hours, replacing an earlier
    one.
    """
    if state.state in TERMINAL:
        raise Refused("STATE_CONFLICT", f"task already terminal: {state.state}")
    draft = Draft(state, moment)
    expires_at = instants.later(moment.now, APPROVAL_SECONDS)
    ordinal = state.memory.get("approvals", 0) + 1
    draft.remember["approvals"] = ordinal
    draft.remember["approval"] = {
        "ordinal": ordinal,
        "token_sha256": token_sha256(token),
        "issued_at": moment.now,
        "expires_at": expires_at,
    }
    draft.audit("run.approval_required", {"expires_at": expires_at}, actor_type="human", actor_id="operator")
    return draft.change(
        "approval_issued",
        lambda _: {"task_id": state.task_id, "approval_token": token, "expires_at": expires_at},
    )


def _spend_token(draft: Draft, token: str) -> None:
    """Accept ``token`` once, or refuse it, audited; compared in constant time."""
    approval = draft.state.memory.get("approval")
    denied = Audit("approval_denied", {"reason": "wrong or expired token"}, None, *OPERATOR)
    if approval is None or not hmac.compare_digest(approval["token_sha256"], token_sha256(token)):
        raise Refused("APPROVAL_INVALID", "The approval token is not the one that was issued.", audit=(denied,))
    if leases.is_expired(approval["expires_at"], draft.moment.now):
        raise Refused("APPROVAL_EXPIRED", "The approval token has expired; issue another.", audit=(denied,))
    _approved(draft)


def _approved(draft: Draft) -> None:
    task_id = draft.state.task_id
    if "approval" in draft.state.memory:
        draft.forget.append("approval")
    draft.audit("approval_granted", {"stage": "publish"}, actor_type="human", actor_id="operator")
    draft.documents["checkpoint"] = checkpoint(draft, "approval", "publish", f"approval:{task_id}:publish", "operator")


def decide_approve(
    state: TaskState,
    body: Mapping[str, Any],
    is_operator: bool,
    holders: Mapping[str, Mapping[str, Any]],
    moment: Moment,
) -> Change:
    """``publish_pending_approval -> publishing`` by the token, or by an authenticated operator without
    one.
    """
    require_state(state, "publish_pending_approval", "an approval")
    draft = Draft(state, moment)
    if "approval_token" in body:
        _spend_token(draft, body["approval_token"])
    elif is_operator:
        _approved(draft)
    else:
        raise Refused("APPROVAL_INVALID", "An approval needs the token that was issued for the task.")
    _start(draft, state.task.get("publish_plan", {}).get("mode", "apply"), holders)
    draft.move("publishing", OPERATOR, "publish approved", run_id=draft.get("publish_run")["run_id"])
    answer = {"task_id": state.task_id, "state": "publishing", "publish_run_id": f"pub_{state.task_id}"}
    return draft.change("publish_approved", lambda _: answer)


def decide_published(state: TaskState, body: Mapping[str, Any], moment: Moment) -> Change:
    """``publishing -> published``; an apply has to name what it made outside."""
    require_state(state, "publishing", "the end of publish")
    added = body.get("external_refs", [])
    if state.task.get("publish_plan", {}).get("mode") == "apply" and not added:
        raise Refused("EXTERNAL_REF_REQUIRED", "An apply names at least one external reference.")
    draft = Draft(state, moment)
    refs = merged_refs(state.task["external_refs"], added)
    draft.put("external_refs", refs)
    if "rollback_notes" in body:
        draft.put("rollback_notes", body["rollback_notes"])
    draft.end_run("publish_run", "succeeded", progress=100, external_refs=added)
    draft.move("published", CONTROL_PLANE, "publish completed")
    answer: dict[str, Any] = {
        "task_id": state.task_id,
        "state": "published",
        "external_refs": refs,
        "completed_at": moment.now,
    }
    notes = draft.get("rollback_notes")
    if notes is not None:
        answer["rollback_notes"] = notes
    draft.audit("run.publishCompleted", {"external_refs": added, "rollback_notes": notes})
    return draft.change("publish_completed", lambda _: answer)


def decide_publish_timeout(state: TaskState, moment: Moment) -> Change:
    """``publishing -> blocked`` because fifteen minutes are over; never re-run by itself."""
    draft = Draft(state, moment)
    draft.end_run("publish_run", "timeout", "publish timed out")
    draft.block(CONTROL_PLANE, "publish timed out", "environment")
    return draft.change("publish_timed_out")
