"""Leases and locks: the right to work on a job, and the right to touch a branch or a publish target (§7.4,
§7.6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipway_lite.control import instants
from slipway_lite.control.events import Audit, Lease, Lock
from slipway_lite.control.refs import repo_key
from slipway_lite.control.refusals import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slipway_lite.control.events import Moment
    from slipway_lite.control.settings import Settings


def grant(job_id: str, worker_type: str, moment: Moment, settings: Settings) -> Lease:
    """The lease of a job that is dispatched now."""
    return Lease(job_id, worker_type, moment.now, instants.later(moment.now, settings.lease_seconds))


def is_expired(expires_at: str, now: str) -> bool:
    """A lease or lock ends the moment its time is reached."""
    return now >= expires_at


def decide_heartbeat(
    job: Mapping[str, Any],
    active_job_id: str | None,
    lease: Mapping[str, Any] | None,
    body: Mapping[str, Any],
    moment: Moment,
    settings: Settings,
) -> tuple[dict[str, Any], Audit]:
    """(response, audit event) of a sign of life; the lease is to be kept until the response's ``lease_expires_at``.

    Refuses with JOB_NOT_ACTIVE, LEASE_EXPIRED (410; a lost lease counts as expired) and WORKER_MISMATCH for
    another stage or another worker than the first one. The new lease runs from our clock, never from
    ``observed_at``. (control-plane §4.11, §13.14)
    """
    if job["job_id"] != active_job_id:
        raise Refused("JOB_NOT_ACTIVE", "The job is over; stop working on it.")
    if lease is None or is_expired(lease["lease_expires_at"], moment.now):
        raise Refused("LEASE_EXPIRED", "The lease of the job has expired; the job will be given up.")
    if body["stage"] != job["stage"]:
        raise Refused("WORKER_MISMATCH", f"The job is a {job['stage']} job.")
    if lease["worker_id"] not in (None, body["worker_id"]):
        raise Refused("WORKER_MISMATCH", "Another worker holds the job.")
    answer = {
        "job_id": job["job_id"],
        "lease_expires_at": instants.later(moment.now, settings.lease_seconds),
        "next_heartbeat_due_at": instants.later(moment.now, settings.heartbeat_seconds),
    }
    payload = {
        "lease_owner": lease["lease_owner"],
        "worker_id": body["worker_id"],
        "stage": body["stage"],
        "observed_at": body["observed_at"],
        "lease_expires_at": answer["lease_expires_at"],
        "last_heartbeat_at": moment.now,
    }
    return answer, Audit("job.heartbeat_received", payload, job["job_id"], "worker", body["worker_id"])


def integrate_resources(task: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(resource_key, resource_type) of what integrate moves: the target branch of the repository."""
    repo_ref = task["repo_ref"]
    return [(f"repo_branch:{repo_key(repo_ref)}:{repo_ref['default_branch']}", "repo_branch")]


def publish_resources(task: Mapping[str, Any], mode: str) -> list[tuple[str, str]]:
    """What publish touches: each target of the plan. no_op and dry_run touch nothing."""
    if mode != "apply":
        return []
    repo = repo_key(task["repo_ref"])
    targets = task.get("publish_plan", {}).get("targets") or ["default"]
    return [(f"publish_target:{repo}:{target}", "publish_target") for target in targets]


def take(
    resources: Sequence[tuple[str, str]],
    holders: Mapping[str, Mapping[str, Any]],
    task_id: str,
    moment: Moment,
    seconds: int,
) -> tuple[Lock, ...]:
    """Locks on all of ``resources``, or LOCK_CONFLICT with an audit event.

    ``holders`` maps a resource key to the lock that stands there, expired ones included. Not re-entrant: a
    live lock of the same task conflicts too.
    """
    for key, _ in resources:
        held = holders.get(key)
        if held and not is_expired(held["expires_at"], moment.now):
            payload = {"resource_key": key, "lock_id": held["lock_id"], "reason": "lock_held"}
            raise Refused(
                "LOCK_CONFLICT",
                "Another task holds what this one needs; try again when it is done.",
                details={"resource_key": key},
                audit=(Audit("lock_conflict", payload),),
            )
    expires_at = instants.later(moment.now, seconds)
    return tuple(
        Lock(f"{moment.token}-{number}", key, kind, moment.now, expires_at)
        for number, (key, kind) in enumerate(resources, 1)
    )


def lock_audits(locks: tuple[Lock, ...], version: int) -> list[Audit]:
    """The audit events of taken locks; ``version`` is that of the task they were taken for."""
    return [
        Audit(
            "run.lock_acquired",
            {"resource_key": lock.resource_key, "lock_id": lock.lock_id, "version": version},
        )
        for lock in locks
    ]
