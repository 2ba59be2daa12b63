"""Transitions that no worker's result expresses: recorded by hand or by a policy (control-plane §4.6,
§3.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipway_lite.control import instants, leases
from slipway_lite.control.acceptance import accept
from slipway_lite.control.draft import LOCKED_STATES, Draft
from slipway_lite.control.events import Change, TaskState
from slipway_lite.control.refusals import Refused
from slipway_lite.control.rules import require_acceptable
from slipway_lite.control.settings import (
    FUTURE_SECONDS,
    INTEGRATE_TIMEOUT_SECONDS,
    PUBLISH_TIMEOUT_SECONDS,
)
from slipway_lite.control.states import TERMINAL, is_allowed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slipway_lite.control.events import Moment

KEPT = ("run_id", "artifact_ids", "resolver_refs", "external_refs", "context_bundle_ref", "metadata")
RUN_OF = {"integrating": "integration_run", "publishing": "publish_run"}
TIMEOUT_OF = {"integrating": INTEGRATE_TIMEOUT_SECONDS, "publishing": PUBLISH_TIMEOUT_SECONDS}


def resources_of(state: TaskState, to_state: str) -> list[tuple[str, str]]:
    """What the task has to hold in ``to_state``; nothing outside integrate and publish."""
    if to_state == "integrating":
        return leases.integrate_resources(state.task)
    if to_state == "publishing":
        return leases.publish_resources(state.task, state.task.get("publish_plan", {}).get("mode", "no_op"))
    return []


def decide_transition(
    state: TaskState,
    body: Mapping[str, Any],
    job: Mapping[str, Any] | None,
    holders: Mapping[str, Mapping[str, Any]],
    moment: Moment,
) -> Change:
    """Record the event ``body`` if the seed lists its pair and the gates of its edge hold.

    Keeps the client's ``event_id`` and ``occurred_at``. ``blocked`` is left only for the recorded resume
    state, or for cancelled and failed; the edge to ``accepted`` obeys every gate of acceptance; whatever
    the step leaves behind (active job, runs, locks) is closed. ``holders`` are the locks on
    :func:`resources_of` the target.
    """
    to_state = body["to_state"]
    _require_fitting(state, body, moment)
    draft = Draft(state, moment)
    actor = (body["actor_type"], body["actor_id"])
    fields = {name: body[name] for name in KEPT if name in body}
    fields |= {"event_id": body["event_id"], "occurred_at": body["occurred_at"]}
    if "job_id" in body:
        fields["job_id"] = body["job_id"]
    draft.supersede(job)
    if to_state == "accepted":
        verdict = state.task.get("last_verdict")
        require_acceptable(state, state.task.get("manual_checklist"), verdict)
        accept(draft, verdict or {}, actor, body["reason"], **fields)
    else:
        blocked = {"resume_state": state.state, "reason": body["reason"], "waiting_on": "human"}
        draft.move(to_state, actor, body["reason"], blocked=blocked, **fields)
    if to_state in LOCKED_STATES:
        _enter_run(draft, to_state, holders)
    elif state.state in LOCKED_STATES:
        _leave_run(draft, to_state)
    if to_state in TERMINAL:
        draft.released = True
    return draft.change("transition_recorded", lambda _: draft.transition or {})


def _require_fitting(state: TaskState, body: Mapping[str, Any], moment: Moment) -> None:
    if body["task_id"] != state.task_id:
        raise Refused("CONTEXT_MISMATCH", "The event belongs to another task.")
    if body.get("typed_ref", state.task["typed_ref"]) != state.task["typed_ref"]:
        raise Refused("TYPED_REF_MISMATCH", "The event belongs to another typed_ref.")
    if body["from_state"] != state.state:
        raise Refused(
            "STATE_CONFLICT",
            f"The task is {state.state}, not {body['from_state']}.",
            details={"state": state.state},
        )
    if not is_allowed(state.state, body["to_state"]):
        raise Refused("STATE_CONFLICT", f"A task cannot go from {state.state} to {body['to_state']}.")
    if state.state == "blocked" and body["to_state"] not in TERMINAL:
        recorded = state.task.get("blocked_context", {}).get("resume_state", body["to_state"])
        if body["to_state"] != recorded:
            raise Refused(
                "RESUME_MISMATCH",
                f"The task resumes at {recorded}.",
                details={"resume_state": recorded},
            )
    if instants.normalised(body["occurred_at"]) > instants.later(moment.now, FUTURE_SECONDS):
        raise Refused("FUTURE_EVENT", "The event lies in the future.")


def _enter_run(draft: Draft, to_state: str, holders: Mapping[str, Mapping[str, Any]]) -> None:
    """Take the locks of integrate or publish, and start the clock of its run."""
    seconds = TIMEOUT_OF[to_state]
    moment = draft.moment
    draft.locks = leases.take(resources_of(draft.state, to_state), holders, draft.state.task_id, moment, seconds)
    draft.audits += leases.lock_audits(draft.locks, draft.state.task["version"])
    start_run(draft, RUN_OF[to_state], seconds)


def start_run(draft: Draft, name: str, seconds: int) -> str:
    """Put a running RunMeta as ``name`` on the task; returns its run id."""
    moment = draft.moment
    prefix = "int-run_" if name == "integration_run" else "pub-run_"
    run_id = f"{prefix}{moment.token}"
    draft.put(
        name,
        {
            "run_id": run_id,
            "started_at": moment.now,
            "status": "running",
            "progress": 0,
            "timeout_at": instants.later(moment.now, seconds),
        },
    )
    return run_id


def _leave_run(draft: Draft, to_state: str) -> None:
    """A person's word ends the run: the table decides, the reason is the record (§13, 12)."""
    name = RUN_OF[draft.state.state]
    if to_state in ("integrated", "published"):
        draft.end_run(name, "succeeded", progress=100)
        if to_state == "integrated":
            draft.put("integration", {**draft.get("integration", {}), "checks_passed": True})
    else:
        draft.end_run(name, "failed", to_state)
