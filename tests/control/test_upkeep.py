from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slipway_lite.control import upkeep
from slipway_lite.control.refusals import Refused
from slipway_lite.control.service import ControlPlane
from slipway_lite.control.settings import Settings
from tests.control.world import World


def expire_lease(world: World, job_id: str) -> None:
    with world.plane.store.immediate() as tx:
        tx.execute("update _leases set lease_expires_at = '2000-01-01T00:00:00.000Z' where job_id = ?", (job_id,))


def beat(world: World, job: dict[str, Any], worker_id: str = "w1", **members: Any) -> dict[str, Any]:
    body = {"worker_id": worker_id, "stage": job["stage"], "observed_at": "2000-01-01T00:00:00Z", **members}
    return world.plane.heartbeat(job["job_id"], body)


def test_a_job_with_a_living_lease_is_left_alone(world: World) -> None:
    world.dispatch(world.create(), "plan")
    assert world.plane.expire() == 0


@pytest.mark.parametrize(("stage", "state"), [("plan", "planning"), ("dev", "developing")])
def test_an_orphan_with_retries_left_may_be_dispatched_again(world: World, stage: str, state: str) -> None:
    task_id = world.bring({"plan": "queued", "dev": "planned"}[stage])
    job = world.dispatch(task_id, stage)
    events = world.transitions(task_id)
    expire_lease(world, job["job_id"])
    assert world.plane.expire() == 1
    task = world.task(task_id)
    assert (task["state"], task["retry_counts"]) == (state, {stage: 1})
    assert "active_job_id" not in task
    assert world.transitions(task_id) == events
    types = world.audit_types(task_id)
    assert types[-3:] == ["job.lease_expired", "orphan_detected", "retry_triggered"]
    assert world.plane.get_job(job["job_id"])["job"]["metadata"]["orphaned"] is True
    world.dispatch(task_id, stage)


def test_an_orphan_without_retries_left_is_blocked(world: World) -> None:
    task_id = world.create()
    for _ in range(3):
        expire_lease(world, world.dispatch(task_id, "plan")["job_id"])
        world.plane.expire()
    assert world.task(task_id)["blocked_context"] == {
        "resume_state": "planning",
        "reason": "job_orphaned:lease_expired",
        "waiting_on": "worker",
        "orphaned_run": True,
    }


def test_an_orphaned_acceptance_waits_for_a_person_and_a_missed_heartbeat_says_so(world: World) -> None:
    task_id = world.bring("dev_completed")
    job = world.dispatch(task_id, "acceptance")
    beat(world, job)
    expire_lease(world, job["job_id"])
    world.plane.expire()
    context = world.task(task_id)["blocked_context"]
    assert (context["waiting_on"], context["reason"]) == ("human", "job_orphaned:heartbeat_timeout")
    assert "heartbeat_missed" in world.audit_types(task_id)


def test_a_lost_lease_counts_as_expired(world: World) -> None:
    job = world.dispatch(world.create(), "plan")
    with world.plane.store.immediate() as tx:
        tx.execute("delete from _leases")
    with pytest.raises(Refused) as refused:
        beat(world, job)
    assert refused.value.code == "LEASE_EXPIRED"
    assert world.plane.expire() == 1


def test_a_heartbeat_extends_the_lease_from_our_clock_and_takes_no_version_step(world: World) -> None:
    task_id = world.create()
    job = world.dispatch(task_id, "plan")
    answer = beat(world, job, progress={"percent": 50})
    assert answer["job_id"] == job["job_id"]
    assert job["lease_expires_at"] <= answer["lease_expires_at"]
    assert answer["next_heartbeat_due_at"] < answer["lease_expires_at"]
    assert world.task(task_id)["version"] == 1
    found = world.plane.get_job(job["job_id"])
    assert (found["job"]["status"], found["lease_expires_at"]) == ("running", answer["lease_expires_at"])
    assert "last_heartbeat_at" in found
    assert world.audit_types(task_id)[-1] == "job.heartbeat_received"


def test_the_first_heartbeat_binds_the_worker(world: World) -> None:
    job = world.dispatch(world.create(), "plan")
    beat(world, job, "w1")
    beat(world, job, "w1")
    with pytest.raises(Refused) as refused:
        beat(world, job, "w2")
    assert (refused.value.code, refused.value.status) == ("WORKER_MISMATCH", 409)


def test_another_stage_is_409_an_expired_lease_410_a_closed_job_409_an_unknown_one_404(world: World) -> None:
    task_id = world.create()
    job = world.dispatch(task_id, "plan")
    with pytest.raises(Refused) as refused:
        beat(world, job, stage="dev")
    assert (refused.value.code, refused.value.status) == ("WORKER_MISMATCH", 409)
    expire_lease(world, job["job_id"])
    with pytest.raises(Refused) as refused:
        beat(world, job)
    assert (refused.value.code, refused.value.status) == ("LEASE_EXPIRED", 410)
    world.result(task_id, job)
    with pytest.raises(Refused) as refused:
        beat(world, job)
    assert (refused.value.code, refused.value.status) == ("JOB_NOT_ACTIVE", 409)
    with pytest.raises(Refused) as refused:
        world.plane.heartbeat("job_none", {"worker_id": "w", "stage": "plan", "observed_at": "2026-01-01T00:00:00Z"})
    assert refused.value.status == 404


@pytest.mark.parametrize(
    ("state", "reason", "waiting_on", "run"),
    [
        ("integrating", "integration timed out", "github", "integration_run"),
        ("publishing", "publish timed out", "environment", "publish_run"),
    ],
)
def test_runs_that_take_too_long_are_blocked_and_give_up_their_locks(
    world: World, state: str, reason: str, waiting_on: str, run: str
) -> None:
    task_id = world.bring(state)
    assert world.plane.expire() == 0
    with world.plane.store.immediate() as tx:
        tx.execute("update tasks set timeout_at = '2000-01-01T00:00:00.000Z'")
    assert world.plane.expire() == 1
    task = world.task(task_id)
    assert task["blocked_context"] == {"resume_state": state, "reason": reason, "waiting_on": waiting_on}
    assert task[run]["status"] == "timeout"
    assert world.plane.store.rows("select * from _locks") == []
    assert world.plane.expire() == 0


def served(path: str) -> ControlPlane:
    plane = ControlPlane.open(path)
    return ControlPlane(plane.store, Settings(), upkeep.serve_instance(plane.store))


def test_a_restart_blocks_the_jobs_of_the_instance_before_and_never_sends_them_again(tmp_path: Path) -> None:
    path = str(tmp_path / "slipway.db")
    with served(path) as before:
        world = World(before)
        task_id = world.create()
        job = world.dispatch(task_id, "plan")
        finished = world.bring("planned")
    with served(path) as after:
        world = World(after)
        assert after.recover() == 1
        task = world.task(task_id)
        assert task["state"] == "blocked"
        assert task["blocked_context"] == {
            "resume_state": "planning",
            "reason": "executor_instance_restarted",
            "waiting_on": "worker",
            "orphaned_run": True,
        }
        assert "active_job_id" not in task
        event = after.events(task_id)["items"][-1]
        assert (event["actor_type"], event["actor_id"]) == ("control_plane", after.instance_id)
        metadata = after.get_job(job["job_id"])["job"]["metadata"]
        assert metadata["orphaned_reason"] == "executor_instance_restarted"
        assert metadata["recovered_by_instance"] == after.instance_id
        recovered = world.audits(task_id)[-1]
        assert recovered["event_type"] == "run.executorOrphanRecovered"
        assert recovered["payload"]["previous_executor_instance_id"] == before.instance_id
        assert recovered["payload"]["recovery_action"] == "block_without_resubmit"
        assert world.state(finished) == "planned"
        assert after.recover() == 0


def test_a_restart_leaves_jobs_of_the_local_instance_to_their_leases(tmp_path: Path) -> None:
    path = str(tmp_path / "slipway.db")
    with ControlPlane.open(path) as local:
        World(local).dispatch(World(local).create(), "plan")
    with ControlPlane.open(path) as again:
        assert again.instance_id == local.instance_id
    with served(path) as after:
        assert after.recover() == 0
