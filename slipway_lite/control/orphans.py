"""Jobs that nobody works on any more: expired leases, and a control plane that was restarted (§7.4).

One rule: a job is an orphan when its lease has run out. Nothing is ever sent again by itself; what may be
tried again waits for a fresh dispatch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slipway_lite.control.draft import Draft
from slipway_lite.control.events import Change, TaskState
from slipway_lite.control.retry import MAX_RETRIES
from slipway_lite.control.states import STAGE_OF

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from slipway_lite.control.events import Moment

SCANNER = ("control_plane", "orphan_scanner")
WAITING_ON = {"plan": "worker", "dev": "worker", "acceptance": "human"}
RETRIED_STAGES = ("plan", "dev")


def decide_orphan(state: TaskState, job: Mapping[str, Any], last_heartbeat_at: str | None, moment: Moment) -> Change:
    """Give up a job whose lease has expired.

    Plan and dev with retries left keep their state and may be dispatched again; everything else is blocked.
    ``last_heartbeat_at`` is ``None`` for a job of which no worker ever gave a sign.
    """
    draft = Draft(state, moment)
    stage = job["stage"]
    cause = "heartbeat_timeout" if last_heartbeat_at else "lease_expired"
    spent = state.task.get("retry_counts", {}).get(stage, 0)
    retried = stage in RETRIED_STAGES and spent < MAX_RETRIES[stage]
    base = {"job_id": job["job_id"], "stage": stage}
    draft.close_job(job, "failed", orphaned=True, orphaned_reason=cause)
    if last_heartbeat_at:
        payload = {**base, "last_heartbeat_at": last_heartbeat_at}
        draft.audit("heartbeat_missed", payload, job_id=job["job_id"])
    draft.audit(
        "job.lease_expired",
        {"lease_owner": job.get("lease_owner"), "last_heartbeat_at": last_heartbeat_at},
        job_id=job["job_id"],
    )
    action = "retry" if retried else "block"
    draft.audit("orphan_detected", {**base, "reason": cause, "recovery_action": action}, job_id=job["job_id"])
    if not retried:
        draft.block(SCANNER, f"job_orphaned:{cause}", WAITING_ON[stage], orphaned_run=True)
        return draft.change("job_orphaned")
    draft.put("retry_counts", {**state.task.get("retry_counts", {}), stage: spent + 1})
    payload = {
        "stage": stage,
        "worker_type": job["worker_type"],
        "retry_count": spent + 1,
        "max_retries": MAX_RETRIES[stage],
        "failure_class": "retryable_transient",
        "reason": f"job_orphaned:{cause}",
    }
    draft.audit("retry_triggered", payload, job_id=job["job_id"])
    return draft.change("job_orphaned")


def decide_recovery(state: TaskState, job: Mapping[str, Any], moment: Moment) -> Change:
    """Block a task whose active job was dispatched by a control plane that is gone; it is never sent
    again.
    """
    draft = Draft(state, moment)
    draft.close_job(
        job,
        "failed",
        orphaned=True,
        orphaned_reason="executor_instance_restarted",
        recovered_by_instance=moment.instance_id,
    )
    draft.audit(
        "run.executorOrphanRecovered",
        {
            "job_id": job["job_id"],
            "previous_executor_instance_id": job.get("executor_instance_id", "legacy"),
            "recovery_action": "block_without_resubmit",
        },
        job_id=job["job_id"],
    )
    draft.block(("control_plane", moment.instance_id), "executor_instance_restarted", "worker", orphaned_run=True)
    return draft.change("job_recovered")


def is_recoverable(state: TaskState, job: Mapping[str, Any], instance_ids: frozenset[str]) -> bool:
    """Whether ``job`` is still the task's active job in a worker stage, and its instance is none of ours."""
    return (
        state.task.get("active_job_id") == job["job_id"]
        and STAGE_OF.get(state.state) == job["stage"]
        and job.get("executor_instance_id") not in instance_ids
    )
