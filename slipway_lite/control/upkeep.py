"""What a control plane does by itself: who it is, whom it succeeds, and what has run out of time (§7.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipway_lite import clock, ids
from slipway_lite.control import orphans
from slipway_lite.control.instants import from_micros
from slipway_lite.control.integration import decide_integration_timeout
from slipway_lite.control.leases import is_expired
from slipway_lite.control.publishing import decide_publish_timeout

if TYPE_CHECKING:
    from slipway_lite.control.records import Records
    from slipway_lite.control.service import ControlPlane
    from slipway_lite.control.settings import Settings
    from slipway_lite.store.connection import Store

_ORPHANED_JOBS = (
    "select j.task_id, j.job_id from worker_jobs j left join _leases l on l.job_id = j.job_id"
    " where j.closed_at is null and (l.job_id is null or l.lease_expires_at <= ?)"
)
_LATE_TASKS = "select task_id from tasks where timeout_at is not null and timeout_at <= ?"
_TIMEOUTS = {"integrating": decide_integration_timeout, "publishing": decide_publish_timeout}


def local_instance(store: Store) -> str:
    """The id of the file's own control plane, made on first use.

    It has no process to lose, so restart recovery leaves its jobs alone; their leases run out like any other.
    """
    rows = store.rows("select instance_id from _instances where kind = 'local'")
    if rows:
        return str(rows[0][0])
    with store.immediate() as tx:
        row = tx.execute("select instance_id from _instances where kind = 'local'").fetchone()
        return str(row[0]) if row else _register(tx, ids.uuid4(), "local")


def serve_instance(store: Store) -> str:
    """Register a served control plane in place of the one before it; its id."""
    with store.immediate() as tx:
        tx.execute("delete from _instances where kind = 'served'")
        return _register(tx, ids.uuid4(), "served")


def _register(tx: Any, instance_id: str, kind: str) -> str:
    tx.execute(
        "insert into _instances (instance_id, kind, started_at) values (?, ?, ?)",
        (instance_id, kind, from_micros(clock.timestamp())),
    )
    return instance_id


def recover(plane: ControlPlane) -> int:
    """Block the tasks of jobs that a control plane which is gone has dispatched. Nothing is sent again."""
    rows = plane.store.rows("select task_id, job_id from worker_jobs where closed_at is null")
    return sum(plane.perform(recover_job, task_id, job_id)["done"] for task_id, job_id in rows)


def recover_job(records: Records, settings: Settings, task_id: str, job_id: str) -> dict[str, Any]:
    """One job of :func:`recover`, looked at again inside its transaction."""
    state = records.task(task_id)
    job = records.job(job_id)
    living = frozenset(row[0] for row in records.tx.execute("select instance_id from _instances"))
    if job is None or not orphans.is_recoverable(state, job, living):
        return {"done": False}
    records.write(state, orphans.decide_recovery(state, job, records.moment))
    return {"done": True}


def expire(plane: ControlPlane) -> int:
    """Give up what has run out of time: leases of jobs, integrate and publish runs."""
    due = due_work(plane.store)
    return sum(plane.perform(use_case, *args)["done"] for use_case, *args in due)


def due_work(store: Store) -> list[tuple[Any, ...]]:
    """(use case, arguments…) for everything that has run out of time by now."""
    now = from_micros(clock.timestamp())
    due: list[tuple[Any, ...]] = [(expire_job, *row) for row in store.rows(_ORPHANED_JOBS, (now,))]
    due += [(expire_run, *row) for row in store.rows(_LATE_TASKS, (now,))]
    return due


def expire_job(records: Records, settings: Settings, task_id: str, job_id: str) -> dict[str, Any]:
    """Give up one job whose lease has run out, unless it got a sign of life meanwhile."""
    state = records.task(task_id)
    job = records.job(job_id)
    lease = records.lease(job_id)
    if job is None or state.task.get("active_job_id") != job_id:
        return {"done": False}
    if lease is not None and not is_expired(lease["lease_expires_at"], records.moment.now):
        return {"done": False}
    last_heartbeat_at = lease["last_heartbeat_at"] if lease else None
    records.write(state, orphans.decide_orphan(state, job, last_heartbeat_at, records.moment))
    return {"done": True}


def expire_run(records: Records, settings: Settings, task_id: str) -> dict[str, Any]:
    """Block one task whose integrate or publish run took too long."""
    state = records.task(task_id)
    (timeout_at,) = records.tx.execute("select timeout_at from tasks where task_id = ?", (task_id,)).fetchone()
    if timeout_at is None or not is_expired(timeout_at, records.moment.now):
        return {"done": False}
    records.write(state, _TIMEOUTS[state.state](state, records.moment))
    return {"done": True}
