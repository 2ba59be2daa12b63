"""Dispatch: hand the next stage of a task to a worker (control-plane §4.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipway_lite.control import capabilities, instructions, leases, loops, retry
from slipway_lite.control.bundles import build_bundle
from slipway_lite.control.draft import CONTROL_PLANE, Draft
from slipway_lite.control.events import Audit, Change, TaskState
from slipway_lite.control.messages_job import JOB_FIELDS
from slipway_lite.control.refusals import Refused
from slipway_lite.control.rules import require_version
from slipway_lite.control.states import DISPATCH, STAGE_OF

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slipway_lite.control.events import Moment
    from slipway_lite.control.settings import Settings


def decide_dispatch(
    state: TaskState,
    body: Mapping[str, Any],
    load: Mapping[str, int],
    transitions: tuple[int, Mapping[str, Any] | None],
    moment: Moment,
    settings: Settings,
) -> Change:
    """A job for ``target_stage``, its lease, its envelope and its context bundle.

    ``load`` counts the active jobs of each worker type, ``transitions`` is how many steps the task has made
    and the newest one. Checks in the order of control-plane §4.3; every refusal leaves state and version as
    they were, since the seed has no edge into ``blocked`` before a working state. A task in a working state
    without an active job (after a retry, or resumed) is dispatched without a transition and with the audit
    event ``job_started`` instead.
    """
    require_version(state, body.get("expected_version"))
    stage = body["target_stage"]
    _require_stage(state, stage)
    worker = body.get("worker_selection") or state.memory.get("next_worker", {}).get(stage)
    worker = worker or capabilities.DEFAULT_WORKER[stage]
    _require_capabilities(stage, worker)
    _require_capacity(stage, worker, load, settings)
    draft = Draft(state, moment)
    mark = _require_no_loop(draft, stage, worker)
    job = _job(draft, body, stage, worker, mark, settings)
    draft.documents["job"] = job
    draft.lease = leases.grant(job["job_id"], worker, moment, settings)
    draft.put("active_job_id", job["job_id"])
    draft.put("latest_job_ids", {**state.task.get("latest_job_ids", {}), stage: job["job_id"]})
    draft.put("workspace_ref", job["workspace_ref"])
    draft.put("loop_fingerprint", mark)
    draft.remember["jobs"] = state.memory.get("jobs", 0) + 1
    draft.remember["loop_window"] = loops.extended(state.memory.get("loop_window", ()), mark)
    draft.audit(
        "instruction_envelope_compiled",
        {
            "job_id": job["job_id"],
            "stage": stage,
            "envelope_version": instructions.PROTOCOL_VERSION,
            "output_kind": instructions.OUTPUT_KIND[stage],
        },
        job_id=job["job_id"],
    )
    draft.audit(
        "run.workerBackendSelected",
        {
            "worker_type": worker,
            "execution_backend": job["execution_backend"],
            "fallback_reason": job["metadata"]["fallback_reason"],
        },
        job_id=job["job_id"],
    )
    draft.audit(
        "job.lease_acquired",
        {"lease_owner": worker, "lease_expires_at": draft.lease.expires_at},
        job_id=job["job_id"],
    )
    resumed = (state.state, stage) not in DISPATCH
    if resumed:
        payload = {"job_id": job["job_id"], "stage": stage, "worker_type": worker}
        draft.audit("job_started", payload, job_id=job["job_id"])
    else:
        to_state = DISPATCH[state.state, stage]
        draft.move(to_state, CONTROL_PLANE, f"dispatched {stage} job", job_id=job["job_id"])
    purpose = "review_prepare" if stage == "acceptance" else "resume_after_block" if resumed else "continue_work"
    build_bundle(draft, {"purpose": purpose}, transitions)
    return draft.change("job_dispatched", lambda _: job)


def _require_stage(state: TaskState, stage: str) -> None:
    if (state.state, stage) in DISPATCH:
        return
    if STAGE_OF.get(state.state) != stage:
        raise Refused(
            "STATE_CONFLICT",
            f"state {state.state} cannot dispatch {stage}",
            details={"state": state.state, "target_stage": stage},
        )
    if state.task.get("active_job_id"):
        raise Refused("JOB_ACTIVE", f"The task already has an active {stage} job.")


def _require_capabilities(stage: str, worker: str) -> None:
    missing = list(capabilities.missing(stage, worker))
    if missing:
        payload = {
            "stage": stage,
            "worker_type": worker,
            "missing_capabilities": missing,
            "required_capabilities": list(capabilities.REQUIRED[stage]),
            "present_capabilities": list(capabilities.PRESENT[worker]),
        }
        raise Refused(
            "CAPABILITY_MISMATCH",
            f"{worker} cannot do {stage}: it lacks {', '.join(missing)}.",
            details={"missing_capabilities": missing},
            audit=(Audit("capability_mismatch", payload),),
        )


def _require_capacity(stage: str, worker: str, load: Mapping[str, int], settings: Settings) -> None:
    if load.get(worker, 0) >= settings.worker_limit:
        reason = "worker_capacity_exceeded"
    elif sum(load.values()) >= settings.total_limit:
        reason = "global_capacity_exceeded"
    else:
        return
    payload = {"stage": stage, "worker_type": worker, "reason": reason}
    raise Refused(
        "CAPACITY_EXCEEDED",
        "Too many jobs are under way; try again when one is done.",
        details={"reason": reason},
        audit=(Audit("lock_conflict", payload),),
    )


def _require_no_loop(draft: Draft, stage: str, worker: str) -> str:
    task = draft.state.task
    mark = loops.of_dispatch(task, stage, worker, instructions.input_prompt(task, stage))
    number = loops.occurrence(draft.state.memory.get("loop_window", ()), mark)
    payload = {
        "loop_fingerprint": mark,
        "loop_occurrence_count": number,
        "loop_window_size": loops.WINDOW,
    }
    if number >= loops.limit(stage):
        raise Refused(
            "DOOM_LOOP",
            f"The same {stage} work was dispatched {number - 1} times already; change the task or the worker.",
            details={"loop_occurrence_count": number},
            audit=(Audit("job.loop_blocked", payload),),
        )
    if number == loops.WARN_AT:
        draft.audit("job.loop_warning", payload)
    return mark


def _job(
    draft: Draft, body: Mapping[str, Any], stage: str, worker: str, mark: str, settings: Settings
) -> dict[str, Any]:
    task, moment = draft.state.task, draft.moment
    risk_level = body.get("override_risk_level", task["risk_level"])
    backend, fallback_reason = capabilities.backend(stage, (risk_level, task["risk_level"]), settings.lmstudio)
    job_id = f"job_{moment.token}"
    repo_ref = dict(task["repo_ref"])
    branch = task.get("integration", {}).get("integration_branch")
    if branch:
        repo_ref["integration_branch"] = branch
    job: dict[str, Any] = {
        "job_id": job_id,
        "task_id": task["task_id"],
        "typed_ref": task["typed_ref"],
        "stage": stage,
        "worker_type": worker,
        "execution_backend": backend,
        "executor_instance_id": moment.instance_id,
        "status": "pending",
        "workspace_ref": task.get("workspace_ref")
        or {"workspace_id": f"ws_{task['task_id']}", "kind": "container", "reusable": True},
        "input_prompt": instructions.input_prompt(task, stage),
        "repo_ref": repo_ref,
        "capability_requirements": list(capabilities.REQUIRED[stage]),
        "risk_level": risk_level,
        "approval_policy": capabilities.approval_policy(stage, risk_level),
        "retry_policy": retry.policy(stage),
        "retry_count": task.get("retry_counts", {}).get(stage, 0),
        "loop_fingerprint": mark,
        "lease_owner": worker,
        "lease_expires_at": leases.grant(job_id, worker, moment, settings).expires_at,
        "context": _context(task, job_id, stage),
        "requested_outputs": list(capabilities.REQUESTED_OUTPUTS[stage]),
        "metadata": {
            "instruction_envelope_version": instructions.PROTOCOL_VERSION,
            "instruction_envelope_stage": stage,
            "execution_backend": backend,
            "fallback_reason": fallback_reason,
        },
    }
    job["instruction_envelope"] = instructions.compile_envelope(task, job)
    return {name: job[name] for name in JOB_FIELDS if name in job}


def _context(task: Mapping[str, Any], job_id: str, stage: str) -> dict[str, Any]:
    context: dict[str, Any] = {"objective": task["objective"]}
    known = task.get("resolver_refs", {})
    refs = {name: known[name] for name in ("doc_refs", "chunk_refs", "contract_refs") if name in known}
    if refs:
        context["resolver_refs"] = refs
    if task["external_refs"]:
        context["tracker_refs"] = [
            {"kind": "typed_ref", "value": reference["value"]} for reference in task["external_refs"]
        ]
    if "rework_context" in task and stage == "dev":
        context["rework_context"] = task["rework_context"]
    context["instruction_envelope_ref"] = f"envelope:{job_id}:{stage}"
    return context
