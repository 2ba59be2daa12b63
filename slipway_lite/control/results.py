"""Results: what a worker hands in, and where it takes the task (control-plane §4.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipway_lite.control import instants, loops, retry, risk, run_system
from slipway_lite.control.draft import VALIDATION_LAYER, Draft, short
from slipway_lite.control.events import Audit, Change, TaskState
from slipway_lite.control.refusals import Refused
from slipway_lite.control.result_checks import Fault, check_result, is_incomplete_plan
from slipway_lite.control.result_merge import merge_result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slipway_lite.control.events import Moment
    from slipway_lite.control.settings import Settings

SUCCEEDED = {"plan": ("planned", "dispatch_dev"), "dev": ("dev_completed", "dispatch_acceptance")}
NEXT_ACTION = {"blocked": "wait_manual", "rework_required": "dispatch_dev"}


def decide_result(
    state: TaskState,
    job: Mapping[str, Any] | None,
    result: Mapping[str, Any],
    moment: Moment,
    settings: Settings,
) -> Change:
    """Apply a WorkerResult to its task; ``job`` is the stored job that it names, if there is one.

    Refuses with JOB_NOT_ACTIVE (also a second time), TYPED_REF_MISMATCH, and INVALID_RESULT for a succeeded
    plan that shows nothing; the job stays active then. Otherwise the job ends here whatever the outcome,
    and a repeated result meets JOB_NOT_ACTIVE. A valid result has its RunSystemPacket audited, with the
    state before, ahead of any transition.
    """
    if job is None or result["job_id"] != state.task.get("active_job_id"):
        raise Refused("JOB_NOT_ACTIVE", "The job is not the active job of the task.")
    if result["typed_ref"] != state.task["typed_ref"]:
        raise Refused("TYPED_REF_MISMATCH", "The result belongs to another typed_ref.")
    stage = job["stage"]
    if is_incomplete_plan(stage, result):
        message = "A succeeded plan needs a verdict or an artifact."
        raise Refused("INVALID_RESULT", message, audit=(schema_rejected(job, [message]),))
    draft = Draft(state, moment)
    fault = check_result(state.task, stage, result)
    succeeded = result["status"] == "succeeded" and fault is None
    draft.close_job(job, "completed" if succeeded else "failed")
    draft.documents["result"] = result
    draft.remember["last_result"] = {"job_id": job["job_id"], "stage": stage, "status": result["status"]}
    next_action = _reject(draft, job, fault) if fault else _accept(draft, job, result, settings)
    events = [draft.transition] if draft.transition else []
    return draft.change(
        "result_applied", lambda task: {"task": task, "emitted_events": events, "next_action": next_action}
    )


def schema_rejected(job: Mapping[str, Any], errors: list[Any]) -> Audit:
    """The audit event of a result that was refused for its shape; the job goes on."""
    payload = {"job_id": job["job_id"], "stage": job["stage"], "errors": errors}
    return Audit("instruction_schema_rejected", payload, job["job_id"])


def _reject(draft: Draft, job: Mapping[str, Any], fault: Fault) -> str:
    """A result against authority, policy or the meaning of its stage: no packet, no merge."""
    base = {"job_id": job["job_id"], "stage": job["stage"]}
    if fault.layer == "authority":
        draft.audit(
            "instruction_authority_conflict",
            {**base, "conflict_type": fault.code, "details": fault.message},
            job_id=job["job_id"],
        )
    else:
        errors = [{"code": fault.code, "message": fault.message}]
        draft.audit("instruction_semantic_rejected", {**base, "errors": errors}, job_id=job["job_id"])
    if fault.outcome == "rework_required":
        draft.move("rework_required", VALIDATION_LAYER, fault.message, job_id=job["job_id"])
        return "dispatch_dev"
    draft.audit(
        "instruction_escalated",
        {**base, "worker_type": job["worker_type"], "reason": fault.code, "waiting_on": "policy"},
        job_id=job["job_id"],
    )
    draft.block(VALIDATION_LAYER, fault.message, "policy")
    return "wait_manual"


def _accept(draft: Draft, job: Mapping[str, Any], result: Mapping[str, Any], settings: Settings) -> str:
    """A valid result: packet and gate, then what it says is kept, then the step it leads to."""
    state = draft.state
    packet = run_system.packet(state.task, job, result, settings.run_system_mode)
    report = run_system.gate(packet)
    draft.audit("run.systemPacketPrepared", run_system.packet_payload(packet), job_id=job["job_id"])
    draft.audit("run.systemGateEvaluated", run_system.gate_payload(report), job_id=job["job_id"])
    merge_result(draft, job, result)
    if report["blocks_shipyard_transition"]:
        payload = {name: report[name] for name in ("mode", "gatefield", "agent_state_gate", "manual_bb", "qeg")}
        draft.audit("run.systemGateBlocked", {**payload, "result_status": result["status"]}, job_id=job["job_id"])
        reason = short("; ".join(report["gatefield"]["reasons"]), "the run-system gate blocks")
        draft.block(("policy_engine", "agent-state-gate"), reason, "human")
        return "wait_manual"
    if result["status"] == "blocked":
        return _blocked(draft, job, result)
    if result["status"] == "failed":
        return _failed(draft, job, result)
    if job["stage"] == "acceptance":
        return _judged(draft, job, result)
    to_state, next_action = SUCCEEDED[job["stage"]]
    draft.move(
        to_state,
        _worker(job),
        short(result.get("summary"), f"{job['stage']} completed"),
        **_proof_of(job, result),
    )
    draft.forget += [name for name in ("next_worker", "failed_over") if name in state.memory]
    if job["stage"] == "dev":
        _development_succeeded(draft, job, result)
    return next_action


def _worker(job: Mapping[str, Any]) -> tuple[str, str]:
    return "worker", job["worker_type"]


def _proof_of(job: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    """What a worker's transition event refers to."""
    ids = list(dict.fromkeys(artifact["artifact_id"] for artifact in result["artifacts"]))
    return {"job_id": job["job_id"], "artifact_ids": ids or None}


def _development_succeeded(draft: Draft, job: Mapping[str, Any], result: Mapping[str, Any]) -> None:
    draft.put("rework_context", None)
    draft.remember["rework_attempts"] = 0
    plan = run_system.tool_plan(result)
    if plan and plan["execution_verdict"] == "applied" and not plan["dry_run"]:
        context = {
            "required": True,
            "source_job_id": job["job_id"],
            "reason": "a tool plan changed the workspace",
            "artifact_ids": [artifact["artifact_id"] for artifact in result["artifacts"]],
            "created_at": draft.moment.now,
        }
        draft.put("acceptance_gate_context", context)
        draft.audit("run.acceptanceGateRequired", context, job_id=job["job_id"])
    else:
        draft.put("acceptance_gate_context", None)


def _judged(draft: Draft, job: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """A verdict never accepts by itself: accept, doubt and silence wait for a person where they are."""
    verdict = result.get("verdict")
    context = draft.state.task.get("acceptance_gate_context")
    if context:
        draft.audit(
            "run.acceptanceGateEnforced",
            {
                "source_job_id": context["source_job_id"],
                "acceptance_job_id": job["job_id"],
                "artifact_ids": context["artifact_ids"],
                "verdict": verdict["outcome"] if verdict else None,
            },
            job_id=job["job_id"],
        )
    if verdict is None:
        errors = [{"code": "verdict_missing", "message": "an acceptance gives a verdict"}]
        payload = {"job_id": job["job_id"], "stage": job["stage"], "errors": errors}
        draft.audit("instruction_semantic_rejected", payload, job_id=job["job_id"])
    elif verdict["outcome"] in ("reject", "rework"):
        reason = short(verdict.get("reason"), f"acceptance verdict: {verdict['outcome']}")
        draft.move("rework_required", _worker(job), reason, **_proof_of(job, result))
        return "dispatch_dev"
    if not draft.get("manual_checklist"):
        draft.put("manual_checklist", checklist_of(draft.state, draft.get("rollback_notes")))
    return "wait_manual"


def checklist_of(state: TaskState, rollback_notes: str | None) -> list[dict[str, Any]]:
    """The manual checklist for ``state``: its risk, what its development showed, and notes on the way
    back.
    """
    triggers = list(state.memory.get("risk", {}).get("reasons", ()))
    if rollback_notes:
        triggers.append("rollback_notes_required")
    return risk.checklist(state.task["risk_level"], triggers)


def _blocked(draft: Draft, job: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    metadata = result.get("metadata", {})
    if metadata.get("litellm_error_type"):
        payload = {
            "error_type": metadata["litellm_error_type"],
            "error_message": metadata.get("litellm_error_message"),
            "retryable": metadata.get("litellm_retryable"),
            "model": metadata.get("litellm_model"),
            "blocked": True,
            "stage": job["stage"],
        }
        draft.audit("run.litellmFailed", payload, job_id=job["job_id"])
    draft.block(_worker(job), short(result.get("summary"), "worker blocked"), "human")
    return "wait_manual"


def _failed(draft: Draft, job: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """Loop, then another planner, then a retry, then the end of it, in this order (§7.3)."""
    stage = job["stage"]
    failure_class = draft.get("last_failure_class")
    spent = draft.get("retry_counts", {}).get(stage, 0)
    if failure_class not in retry.RETRYABLE:
        return _give_up(draft, job, result, failure_class)
    tried = (*draft.state.memory.get("failed_over", ()), job["worker_type"])
    other = retry.next_worker(job["worker_type"], tried) if stage == "plan" else None
    if other is None and spent >= retry.MAX_RETRIES[stage]:
        payload = {
            "retry_count": spent,
            "max_retries": retry.MAX_RETRIES[stage],
            "failure_class": failure_class,
        }
        draft.audit("job.retry_exhausted", payload, job_id=job["job_id"])
        return _give_up(draft, job, result, "spent")
    mark = job["loop_fingerprint"]
    if other is None and loops.occurrence(draft.recall("loop_window", ()), mark) >= loops.limit(stage):
        reason = f"the same {stage} work failed again and again"
        draft.block(("policy_engine", "doom_loop_detector"), reason, "policy", loop_fingerprint=mark)
        return "wait_manual"
    if other is not None:
        draft.remember["failed_over"] = list(tried)
        draft.remember["next_worker"] = {"plan": other}
        payload = {
            "from_worker": job["worker_type"],
            "to_worker": other,
            "stage": stage,
            "reason": failure_class,
        }
        draft.audit("run.workerFailover", payload, job_id=job["job_id"])
        return "none"
    draft.put("retry_counts", {**draft.get("retry_counts", {}), stage: spent + 1})
    draft.remember["next_worker"] = {stage: job["worker_type"]}
    wait = retry.backoff_seconds(spent, draft.moment.jitter)
    payload = {
        "stage": stage,
        "worker_type": job["worker_type"],
        "retry_count": spent + 1,
        "max_retries": retry.MAX_RETRIES[stage],
        "failure_class": failure_class,
        "reason": short(result.get("failure_code"), "worker failed"),
        "retry_scheduled_at": instants.later(draft.moment.now, wait),
    }
    draft.audit("retry_triggered", payload, job_id=job["job_id"])
    return "none"


def _give_up(draft: Draft, job: Mapping[str, Any], result: Mapping[str, Any], why: str) -> str:
    """A failure that is not tried again: rework, at most twice in a row, or a person (§13, 9)."""
    reason = short(result.get("failure_summary") or result.get("summary"), f"{job['stage']} failed")
    to_state = retry.FINAL_STATE[job["stage"], why]
    if to_state == "blocked":
        draft.block(_worker(job), reason, "policy" if why == "non_retryable_policy" else "worker")
        return NEXT_ACTION["blocked"]
    attempt = draft.state.memory.get("rework_attempts", 0) + 1
    context = {
        "source_job_id": job["job_id"],
        "stage": job["stage"],
        "attempt": attempt,
        "max_attempts": retry.MAX_REWORK_ATTEMPTS,
        "reason": reason,
        **_summaries(result),
        "artifact_ids": [artifact["artifact_id"] for artifact in result["artifacts"]],
    }
    if attempt > retry.MAX_REWORK_ATTEMPTS:
        draft.audit("run.reworkPayloadPrepared", {**context, "blocked": True}, job_id=job["job_id"])
        draft.block(("policy_engine", "rework_loop_guard"), "rework was tried often enough", "policy")
        return NEXT_ACTION["blocked"]
    draft.remember["rework_attempts"] = attempt
    draft.audit("run.reworkPayloadPrepared", context, job_id=job["job_id"])
    draft.put("rework_context", {**context, "created_at": draft.moment.now})
    draft.move(to_state, _worker(job), reason, job_id=job["job_id"])
    return NEXT_ACTION[to_state]


def _summaries(result: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    if result.get("failure_summary"):
        found["failure_summary"] = result["failure_summary"]
    failed = [entry["suite"] for entry in result["test_results"] if entry["status"] == "failed"]
    if failed:
        found["test_failure_summary"] = f"failed: {', '.join(failed)}"[:4000]
    return found
