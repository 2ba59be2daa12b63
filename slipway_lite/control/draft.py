"""The desk on which a decision writes its change: one place for what every transition entails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipway_lite.control.events import ACTOR_ID, Audit, Change, TaskState
from slipway_lite.control.messages_event import EVENT_FIELDS
from slipway_lite.control.refusals import Refused
from slipway_lite.control.states import TERMINAL, WORKING, is_allowed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slipway_lite.control.events import Lease, Lock, Moment

CONTROL_PLANE = ("control_plane", ACTOR_ID)
VALIDATION_LAYER = ("control_plane", "validation_layer")
NO_PROOF = {"log": False, "regression": False}
LOCKED_STATES = ("integrating", "publishing")
REASON_LIMIT = 500


class Draft:
    """A change in the making. Every mutation also sets ``updated_at``; :meth:`change` hands the result
    over.
    """

    def __init__(self, state: TaskState, moment: Moment) -> None:
        self.state = state
        self.moment = moment
        self.set: dict[str, Any] = {"updated_at": moment.now}
        self.unset: list[str] = []
        self.remember: dict[str, Any] = {}
        self.forget: list[str] = []
        self.audits: list[Audit] = []
        self.transition: dict[str, Any] | None = None
        self.documents: dict[str, Any] = {}
        self.lease: Lease | None = None
        self.locks: tuple[Lock, ...] = ()
        self.released = False

    def get(self, name: str, default: Any = None) -> Any:
        """A member of the task as it will be."""
        if name in self.unset:
            return default
        return self.set.get(name, self.state.task.get(name, default))

    def put(self, name: str, value: Any) -> None:
        """Set a member of the task, or take it away when ``value`` is ``None``."""
        if value is None:
            self.set.pop(name, None)
            if name in self.state.task and name not in self.unset:
                self.unset.append(name)
        else:
            if name in self.unset:
                self.unset.remove(name)
            self.set[name] = value

    def recall(self, name: str, default: Any = None) -> Any:
        """Something remembered, as it will be."""
        return self.remember.get(name, self.state.memory.get(name, default))

    def audit(self, event_type: str, payload: Mapping[str, Any], **fields: Any) -> None:
        self.audits.append(Audit(event_type, payload, **fields))

    def move(
        self,
        to_state: str,
        actor: tuple[str, str],
        reason: str,
        *,
        blocked: Mapping[str, Any] | None = None,
        **event_fields: Any,
    ) -> dict[str, Any]:
        """Step to ``to_state`` and record it; returns the StateTransitionEvent.

        Keeps what holds for every step: ``completed_at`` on terminal states, ``blocked_context`` exactly
        while blocked, locks given up on leaving integrate and publish, and proof, verdict and checklist
        starting anew when the task enters ``developing`` (§13, 5). Raises STATE_CONFLICT for a pair that
        the seed does not list.
        """
        from_state = self.state.state
        if not is_allowed(from_state, to_state):
            raise Refused("STATE_CONFLICT", f"A task cannot go from {from_state} to {to_state}.")
        event = {
            "event_id": f"evt_{self.moment.token}",
            "task_id": self.state.task_id,
            "event_type": "state_transition",
            "typed_ref": self.state.task["typed_ref"],
            "from_state": from_state,
            "to_state": to_state,
            "actor_type": actor[0],
            "actor_id": actor[1],
            "reason": reason,
            "occurred_at": self.moment.now,
            **event_fields,
        }
        self.transition = {name: event[name] for name in EVENT_FIELDS if event.get(name) is not None}
        self.set["state"] = to_state
        if to_state in TERMINAL:
            self.set["completed_at"] = self.moment.now
        if to_state == "blocked":
            self.put("blocked_context", dict(blocked or {}))
        elif from_state == "blocked":
            self.put("blocked_context", None)
        if from_state in LOCKED_STATES and to_state != from_state:
            self.released = True
        if to_state == "developing" and from_state != "developing":
            self.remember["proof"] = NO_PROOF
            self.put("last_verdict", None)
            self.put("manual_checklist", None)
        return self.transition

    def block(
        self, actor: tuple[str, str], reason: str, waiting_on: str, *, resume_state: str = "", **context: Any
    ) -> dict[str, Any]:
        """Step to ``blocked``, to be resumed where the task is now. ``context`` are further members."""
        blocked = {
            "resume_state": resume_state or self.state.state,
            "reason": reason,
            "waiting_on": waiting_on,
            **context,
        }
        return self.move("blocked", actor, reason, blocked=blocked)

    def close_job(self, job: Mapping[str, Any] | None, status: str, **metadata: Any) -> None:
        """End the active job, so that its result, if one still comes, is refused; its lease ends with it."""
        self.put("active_job_id", None)
        if job is not None:
            self.documents["ended"] = job
            self.documents["closed"] = {
                "job_id": job["job_id"],
                "status": status,
                "metadata": {**job.get("metadata", {}), **metadata},
            }

    def supersede(self, job: Mapping[str, Any] | None) -> None:
        """Close the active job because the task left its working state by another way (§13, 7)."""
        if self.state.task.get("active_job_id") and self.state.state in WORKING:
            self.close_job(job, "failed", superseded=True)

    def end_run(self, name: str, status: str, error: str | None = None, **fields: Any) -> None:
        """Finish ``integration_run`` or ``publish_run`` if one is under way."""
        run = self.get(name)
        if run and run["status"] == "running":
            ended = {**run, "status": status, "completed_at": self.moment.now, **fields}
            if error:
                ended["error"] = error
            self.put(name, ended)

    def change(self, kind: str, answer: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict) -> Change:
        """The finished change; ``answer`` makes the response body from the task after it."""
        return Change(
            kind,
            set=self.set,
            unset=tuple(self.unset),
            remember=self.remember,
            forget=tuple(self.forget),
            transition=self.transition,
            audit=tuple(self.audits),
            answer=answer,
            lease=self.lease,
            locks=self.locks,
            released=self.released,
            **self.documents,
        )


def short(text: str | None, default: str) -> str:
    """``text`` as a reason: not blank, at most :data:`REASON_LIMIT` characters."""
    return text[:REASON_LIMIT] if text and text.strip() else default
