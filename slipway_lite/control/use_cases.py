"""The write requests of the control plane, each one function over an open transaction.

A use case takes :class:`Records`, the path parameters and the body, and returns the response body, or raises
:class:`Refused`. ``expected_version`` is the header ``If-Match`` (§13.10). Order of refusals: a body off schema, an
unknown id, then state and version (§13.15).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipway_lite import ids
from slipway_lite.control import (
    acceptance,
    bundles,
    creation,
    dispatch,
    integration,
    leases,
    publishing,
    results,
    transitions,
)
from slipway_lite.control import messages_job as job_messages
from slipway_lite.control import messages_request as requests
from slipway_lite.control.events import Audit, TaskState
from slipway_lite.control.messages_base import validate
from slipway_lite.control.messages_docs import EvidenceAckRequest
from slipway_lite.control.messages_event import TransitionRequest
from slipway_lite.control.messages_read import BundleRequest
from slipway_lite.control.messages_result import WorkerResult
from slipway_lite.control.refusals import Refused, not_found
from slipway_lite.control.rules import require_version
from slipway_lite.text import is_blank

if TYPE_CHECKING:
    from slipway_lite.control.events import Change
    from slipway_lite.control.records import Records
    from slipway_lite.control.repository import Outcome
    from slipway_lite.control.settings import Settings

Body = dict[str, Any]


def create_task(records: Records, settings: Settings, body: Body) -> Body:
    """A new task. (control-plane §4.1)"""
    validate(requests.CreateTaskRequest, body)
    return dict(records.write(None, creation.decide_create(body, records.moment)).task)


def dispatch_task(
    records: Records, settings: Settings, task_id: str, body: Body, expected_version: int | None = None
) -> Body:
    """The next job of a task. (control-plane §4.3)"""
    validate(requests.DispatchRequest, body)
    state = _task_at(records, task_id, expected_version)
    change = dispatch.decide_dispatch(
        state, body, records.load(), records.transitions(task_id), records.moment, settings
    )
    return _answer(records, state, change)


def apply_result(
    records: Records, settings: Settings, task_id: str, body: Body, expected_version: int | None = None
) -> Body:
    """A worker's result. One off schema is refused, audited, and leaves the job active. (§4.4, §13.8)"""
    try:
        validate(WorkerResult, body, code="INVALID_RESULT")
    except Refused as refused:
        raise _with_rejection(records, task_id, refused) from None
    state = _task_at(records, task_id, expected_version)
    job = records.job(body["job_id"])
    return _answer(records, state, results.decide_result(state, job, body, records.moment, settings))


def _with_rejection(records: Records, task_id: str, refused: Refused) -> Refused:
    """``refused`` with the audit event that a task with an active job gets."""
    try:
        job = records.active_job(records.task(task_id))
    except Refused:
        return refused
    if job is not None:
        errors = (refused.details or {}).get("errors", [])
        refused.audit = (results.schema_rejected(job, errors),)
    return refused


def complete_acceptance(
    records: Records, settings: Settings, task_id: str, body: Body, expected_version: int | None = None
) -> Body:
    """The one normal way to ``accepted``. (control-plane §4.5)"""
    validate(requests.CompleteAcceptanceRequest, body)
    state = _task_at(records, task_id, expected_version)
    return _answer(records, state, acceptance.decide_accept(state, body, records.active_job(state), records.moment))


def tick_checklist(
    records: Records, settings: Settings, task_id: str, body: Body, expected_version: int | None = None
) -> Body:
    """Ticks ahead of acceptance. (control-plane §13.4)"""
    validate(requests.ChecklistRequest, body)
    state = _task_at(records, task_id, expected_version)
    return _answer(records, state, acceptance.decide_checklist(state, body, records.moment))


def record_transition(
    records: Records, settings: Settings, task_id: str, body: Body, expected_version: int | None = None
) -> Body:
    """A transition by hand or policy; the event's id is used once in the whole file. (§4.6, §13.16)"""
    validate(TransitionRequest, body)
    state = _task_at(records, task_id, expected_version)
    taken = records.tx.execute("select 1 from state_transition_events where event_id = ?", (body["event_id"],))
    if taken.fetchone():
        raise Refused("DUPLICATE_EVENT", "An event with this event_id was recorded before.")
    holders = records.lock_holders(transitions.resources_of(state, body["to_state"]))
    change = transitions.decide_transition(state, body, records.active_job(state), holders, records.moment)
    return _answer(records, state, change)


def integrate(
    records: Records, settings: Settings, task_id: str, body: Body, expected_version: int | None = None
) -> Body:
    """Start to integrate. (control-plane §4.7)"""
    validate(requests.IntegrateRequest, body)
    state = _task_at(records, task_id, expected_version)
    holders = records.lock_holders(leases.integrate_resources(state.task))
    return _answer(records, state, integration.decide_integrate(state, body, holders, records.moment))


def complete_integrate(
    records: Records, settings: Settings, task_id: str, body: Body, expected_version: int | None = None
) -> Body:
    """How integrate ended. (control-plane §4.8)"""
    validate(requests.CompleteIntegrateRequest, body)
    state = _task_at(records, task_id, expected_version)
    return _answer(records, state, integration.decide_integrated(state, body, records.moment))


def is_integrating(records: Records, settings: Settings, task_id: str, run_id: str) -> Body:
    """Whether the integration ``run_id`` is still wanted; writes nothing."""
    task = records.task(task_id).task
    wanted = task["state"] == "integrating" and task.get("integration_run", {}).get("run_id") == run_id
    return {"wanted": wanted}


def finish_integration(records: Records, settings: Settings, task_id: str, run_id: str, outcome: Outcome) -> Body:
    """Record how an integration on a configured repository went.

    The checks' exit code is audited. When the task has moved on meanwhile only the facts are kept: a main line that
    moved is audited whatever became of the task.
    """
    state = records.task(task_id)
    if outcome.exit_code is not None:
        payload = {"run_id": run_id, "exit_code": outcome.exit_code, "duration_ms": outcome.duration_ms}
        records.audit(task_id, (Audit("run.checksCompleted", payload),))
    if not is_integrating(records, settings, task_id, run_id)["wanted"]:
        records.audit(task_id, integration.main_audits(outcome.body, outcome.body))
        return {"task_id": task_id, "state": state.state}
    return _answer(
        records,
        state,
        integration.decide_integrated(state, outcome.body, records.moment, obstacle=outcome.obstacle),
    )


def publish(
    records: Records, settings: Settings, task_id: str, body: Body, expected_version: int | None = None
) -> Body:
    """Start to publish; a key that was used for this task answers as it did then. (control-plane §4.9)"""
    validate(requests.PublishRequest, body)
    state = records.task(task_id)
    repeated = publishing.repeated_publish(state, body)
    if repeated is not None:
        answer, audit = repeated
        records.audit(task_id, (audit,))
        return answer
    require_version(state, expected_version)
    holders = records.lock_holders(leases.publish_resources(state.task, body["mode"]))
    return _answer(records, state, publishing.decide_publish(state, body, holders, records.moment))


def issue_approval(
    records: Records, settings: Settings, task_id: str, body: Body, expected_version: int | None = None
) -> Body:
    """A token for one publish, shown once. (control-plane §13.2)"""
    validate(requests.ApprovalRequest, body)
    state = _task_at(records, task_id, expected_version)
    token = (ids.uuid4() + ids.uuid4()).replace("-", "")
    return _answer(records, state, publishing.decide_approval(state, token, records.moment))


def approve_publish(
    records: Records,
    settings: Settings,
    task_id: str,
    body: Body,
    expected_version: int | None = None,
    *,
    is_operator: bool = False,
) -> Body:
    """Approve a pending publish; ``is_operator`` says that the caller proved to be one. (§4.10)"""
    validate(requests.ApproveRequest, body)
    state = _task_at(records, task_id, expected_version)
    mode = state.task.get("publish_plan", {}).get("mode", "apply")
    holders = records.lock_holders(leases.publish_resources(state.task, mode))
    return _answer(records, state, publishing.decide_approve(state, body, is_operator, holders, records.moment))


def complete_publish(
    records: Records, settings: Settings, task_id: str, body: Body, expected_version: int | None = None
) -> Body:
    """How publish ended. (control-plane §4.10)"""
    validate(requests.CompletePublishRequest, body)
    state = _task_at(records, task_id, expected_version)
    return _answer(records, state, publishing.decide_published(state, body, records.moment))


def cancel_task(
    records: Records, settings: Settings, task_id: str, body: Body, expected_version: int | None = None
) -> Body:
    """The end of a task that is not wanted any more. (control-plane §4.12)"""
    validate(requests.CancelRequest, body)
    state = _task_at(records, task_id, expected_version)
    return _answer(records, state, creation.decide_cancel(state, body, records.active_job(state), records.moment))


def build_bundle(
    records: Records, settings: Settings, task_id: str, body: Body, expected_version: int | None = None
) -> Body:
    """A context bundle on request. (control-plane §8.5)"""
    validate(BundleRequest, body)
    state = _task_at(records, task_id, expected_version)
    return _answer(records, state, bundles.decide_bundle(state, body, records.transitions(task_id), records.moment))


def heartbeat(records: Records, settings: Settings, job_id: str, body: Body) -> Body:
    """A sign of life: the lease goes on, the task's version does not. (control-plane §4.11)"""
    validate(job_messages.HeartbeatRequest, body)
    job = records.job(job_id)
    if job is None:
        raise not_found("job", job_id)
    state = records.task(job["task_id"])
    answer, audit = leases.decide_heartbeat(
        job, state.task.get("active_job_id"), records.lease(job_id), body, records.moment, settings
    )
    records.tx.execute(
        "update _leases set worker_id = ?, lease_expires_at = ?, last_heartbeat_at = ? where job_id = ?",
        (body["worker_id"], answer["lease_expires_at"], records.moment.now, job_id),
    )
    records.audit(state.task_id, (audit,))
    return answer


def acknowledge_evidence(records: Records, settings: Settings, task_id: str, evidence_id: str, body: Body) -> Body:
    """Somebody looked at a piece of evidence; every request is a new look. (control-plane §6.4)"""
    validate(EvidenceAckRequest, body)
    if is_blank(evidence_id):
        raise Refused("INVALID_REQUEST", "The evidence id is blank.")
    records.task(task_id)
    payload = {"evidence_id": evidence_id, **body}
    audit = Audit("evidence.acknowledged", payload, None, "human", body["reviewed_by"])
    (event_id,) = records.audit(task_id, (audit,))
    return {
        "acknowledgement_id": event_id,
        "task_id": task_id,
        **payload,
        "acknowledged_at": records.moment.now,
    }


def generate_retrospective(records: Records, settings: Settings, task_id: str, body: Body) -> Body:
    """The next generation of a task's retrospective. (control-plane §2.6)"""
    validate(requests.RetrospectiveRequest, body)
    return records.retrospect(records.task(task_id))


def _task_at(records: Records, task_id: str, expected_version: int | None) -> TaskState:
    state = records.task(task_id)
    require_version(state, expected_version)
    return state


def _answer(records: Records, state: TaskState, change: Change) -> Body:
    return dict(change.answer(records.write(state, change).task))
