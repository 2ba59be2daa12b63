"""Read models over one task: the run, its time line, its retrospective (control-plane §2.6)."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from slipway_lite.control.instants import milliseconds, normalised

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slipway_lite.control.events import TaskState

STATUS: MappingProxyType[str, str] = MappingProxyType(
    {"published": "succeeded", "blocked": "blocked", "cancelled": "cancelled", "failed": "failed"}
)
CURRENT_STAGE: MappingProxyType[str, str] = MappingProxyType(
    {
        "queued": "plan",
        "planning": "plan",
        "planned": "plan",
        "developing": "dev",
        "dev_completed": "dev",
        "rework_required": "dev",
        "accepting": "acceptance",
        "accepted": "acceptance",
    }
)


def run_document(
    task: Mapping[str, Any], newest: Mapping[str, Any], checkpoints: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The Run of a task; ``newest`` is its newest transition event."""
    run: dict[str, Any] = {
        "run_id": task["task_id"],
        "task_id": task["task_id"],
        "run_sequence": 1,
        "status": STATUS.get(task["state"], "running"),
    }
    if task["state"] in CURRENT_STAGE:
        run["current_stage"] = CURRENT_STAGE[task["state"]]
    run["current_state"] = task["state"]
    run["started_at"] = task["created_at"]
    if "completed_at" in task:
        run["ended_at"] = task["completed_at"]
    run["last_event_at"] = newest["occurred_at"]
    run["projection_version"] = task["version"]
    run["source_event_cursor"] = newest["event_id"]
    run["risk_level"] = task["risk_level"]
    run["objective"] = task["objective"]
    if "blocked_context" in task:
        run["blocked_reason"] = task["blocked_context"]["reason"]
    job_ids = [task["active_job_id"]] if "active_job_id" in task else []
    run["job_ids"] = list(dict.fromkeys([*job_ids, *task.get("latest_job_ids", {}).values()]))
    run["checkpoints"] = list(checkpoints)
    run["created_at"] = task["created_at"]
    run["updated_at"] = task["updated_at"]
    return run


def transition_entry(event: Mapping[str, Any]) -> dict[str, Any]:
    """A transition as a line of the time line."""
    entry = {"at": normalised(event["occurred_at"]), "kind": "transition"}
    names = ("event_id", "event_type", "actor_type", "actor_id", "from_state", "to_state", "job_id")
    return entry | {name: event[name] for name in names if name in event}


def audit_entry(event: Mapping[str, Any]) -> dict[str, Any]:
    """An audit event as a line of the time line; its payload stays out."""
    entry = {"at": event["occurred_at"], "kind": "audit"}
    names = ("event_id", "event_type", "actor_type", "actor_id", "job_id")
    return entry | {name: event[name] for name in names if name in event}


def stage_durations(events: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Milliseconds in each state: every gap between two events belongs to the state that held during it."""
    durations: dict[str, int] = {}
    ordered = sorted(
        ((milliseconds(normalised(event["occurred_at"])), event["to_state"]) for event in events),
        key=lambda pair: pair[0],
    )
    for (start, state), (end, _) in pairwise(ordered):
        durations[state] = durations.get(state, 0) + end - start
    return durations


def retrospective(
    state: TaskState,
    generation: int,
    events: Sequence[Mapping[str, Any]],
    job_results: Sequence[tuple[str, str | None]],
    audit_counts: Mapping[str, int],
    checkpoints: Sequence[Mapping[str, Any]],
    now: str,
) -> dict[str, Any]:
    """A retrospective of the run.

    ``job_results`` are (stage, status of its result or ``None``) of every job. No narrative: numbers only.
    """
    task = state.task
    durations = stage_durations(events)
    statuses = Counter(status for _, status in job_results)
    known = state.memory.get("risk", {})
    metrics: dict[str, Any] = {
        "total_duration_ms": sum(durations.values()),
        "stage_durations": durations,
        "job_count": len(job_results),
        "job_success_count": statuses["succeeded"],
        "job_failure_count": statuses["failed"],
        "job_blocked_count": statuses["blocked"],
        "retry_count": audit_counts.get("retry_triggered", 0),
        "retries_by_stage": dict(task.get("retry_counts", {})),
        "risk_level": task["risk_level"],
    }
    if known.get("reasons") and known["level"] == "high":
        metrics["forced_high_reasons"] = known["reasons"]
    for name in ("files_changed", "lines_added", "lines_deleted"):
        if name in task:
            metrics[name] = task[name]
    metrics["checkpoint_count"] = len(checkpoints)
    metrics["checkpoints_by_stage"] = dict(Counter(checkpoint["stage"] for checkpoint in checkpoints))
    if "last_verdict" in task:
        metrics["acceptance_result"] = task["last_verdict"]["outcome"]
    for name, run in (("integrate_result", "integration_run"), ("publish_result", "publish_run")):
        if run in task:
            metrics[name] = task[run]["status"]
    if task.get("detected_side_effects"):
        metrics["side_effects_detected"] = task["detected_side_effects"]
    if "resolver_refs" in task:
        metrics["stale_docs"] = task["resolver_refs"].get("stale_status") == "stale"
    cursor = events[-1]["event_id"]
    return {
        "retrospective_id": f"retro_{state.task_id}_gen{generation}",
        "run_id": state.task_id,
        "task_id": state.task_id,
        "generation": generation,
        "status": "completed",
        "generated_at": now,
        "summary_metrics": metrics,
        "source_refs": {"event_cursor": cursor, "task_version": task["version"]},
        "generation_metadata": {
            "model": "none",
            "prompt_version": "1.0",
            "source_event_cursor": cursor,
            "input_event_count": len(events),
            "generation_attempts": 1,
        },
    }
