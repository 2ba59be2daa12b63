"""A new task, and the end of one that is not wanted any more (control-plane §4.1, §4.12)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipway_lite.control.draft import CONTROL_PLANE, Draft
from slipway_lite.control.events import Change, TaskState
from slipway_lite.control.messages_event import EVENT_FIELDS
from slipway_lite.control.refusals import Refused
from slipway_lite.control.states import TERMINAL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slipway_lite.control.events import Moment

COPIED = ("title", "objective", "typed_ref", "description", "repo_ref", "repo_policy", "publish_plan")


def decide_create(body: Mapping[str, Any], moment: Moment) -> Change:
    """A queued task at version 0, and its one event ``queued -> queued``; no audit event."""
    task = {
        "task_id": f"task_{moment.token}",
        **{name: body[name] for name in COPIED if name in body},
        "state": "queued",
        "risk_level": body.get("risk_level", "medium"),
        "artifacts": [],
        "labels": body.get("labels", []),
        "external_refs": body.get("external_refs", []),
        "created_at": moment.now,
        "updated_at": moment.now,
    }
    event = {
        "event_id": f"evt_{moment.token}",
        "task_id": task["task_id"],
        "event_type": "state_transition",
        "typed_ref": task["typed_ref"],
        "from_state": "queued",
        "to_state": "queued",
        "actor_type": CONTROL_PLANE[0],
        "actor_id": CONTROL_PLANE[1],
        "reason": "task created",
        "occurred_at": moment.now,
    }
    return Change("task_created", set=task, transition={name: event[name] for name in EVENT_FIELDS if name in event})


def decide_cancel(state: TaskState, body: Mapping[str, Any], job: Mapping[str, Any] | None, moment: Moment) -> Change:
    """``cancelled``, from every state that is not terminal; job, lease, locks and runs end with it."""
    if state.state in TERMINAL:
        raise Refused("STATE_CONFLICT", f"task already terminal: {state.state}")
    draft = Draft(state, moment)
    draft.supersede(job)
    draft.end_run("integration_run", "failed", "cancelled")
    draft.end_run("publish_run", "failed", "cancelled")
    draft.move("cancelled", ("human", "operator"), body.get("reason", "task cancelled"))
    draft.released = True
    return draft.change("task_cancelled")
