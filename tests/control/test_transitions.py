from __future__ import annotations

from itertools import product

import pytest

from slipway_lite.control.refusals import Refused
from slipway_lite.control.states import PAIRS, TERMINAL, WORKING
from slipway_lite.control.vocabulary import TASK_STATES
from tests.control.world import LOG, REGRESSION, World, event_body


def ready_for(world: World, from_state: str, to_state: str) -> str:
    """A task in ``from_state`` whose gates and recorded resume state fit ``to_state`` where that can be."""
    if from_state == "blocked" and to_state in WORKING:
        task_id = world.bring(to_state)
        world.move(task_id, "blocked")
        return task_id
    task_id = world.bring(from_state)
    if (from_state, to_state) == ("accepting", "accepted"):
        world.result(task_id, world.redispatched(task_id), verdict={"outcome": "accept"})
        world.tick_all(task_id)
    return task_id


@pytest.mark.parametrize(("from_state", "to_state"), list(product(TASK_STATES, TASK_STATES)))
def test_exactly_the_53_pairs_of_the_seed_succeed(world: World, from_state: str, to_state: str) -> None:
    task_id = ready_for(world, from_state, to_state)
    before = world.task(task_id)
    events = world.plane.events(task_id)["items"]
    body = event_body(before, to_state)
    if (from_state, to_state) in PAIRS:
        recorded = world.plane.record_transition(task_id, body)
        after = world.task(task_id)
        assert after["state"] == to_state
        assert after["version"] == before["version"] + 1
        assert world.plane.events(task_id)["items"] == [*events, recorded]
        assert ("blocked_context" in after) == (to_state == "blocked")
        assert ("completed_at" in after) == (to_state in TERMINAL)
    else:
        with pytest.raises(Refused) as refused:
            world.plane.record_transition(task_id, body)
        assert (refused.value.code, refused.value.status) == ("STATE_CONFLICT", 409)
        assert world.task(task_id) == before
        assert world.plane.events(task_id)["items"] == events


def test_the_clients_event_id_and_time_are_kept(world: World) -> None:
    task_id = world.create()
    recorded = world.move(task_id, "planning", event_id="mine", occurred_at="2026-01-01T09:00:00+09:00")
    assert recorded["event_id"] == "mine"
    assert recorded["occurred_at"] == "2026-01-01T09:00:00+09:00"
    assert recorded["event_type"] == "state_transition"
    assert recorded["typed_ref"] == world.task(task_id)["typed_ref"]


def test_an_event_id_is_used_once_in_the_whole_file(world: World) -> None:
    world.move(world.create(), "planning", event_id="once")
    other = world.create()
    with pytest.raises(Refused, match="recorded before") as refused:
        world.move(other, "planning", event_id="once")
    assert refused.value.code == "DUPLICATE_EVENT"
    assert world.task(other)["version"] == 0


def test_an_event_of_the_future_is_refused(world: World) -> None:
    with pytest.raises(Refused) as refused:
        world.move(world.create(), "planning", occurred_at="2999-01-01T00:00:00Z")
    assert refused.value.code == "FUTURE_EVENT"


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({"task_id": "task_other"}, "CONTEXT_MISMATCH"),
        ({"typed_ref": "a:b:c:other"}, "TYPED_REF_MISMATCH"),
        ({"from_state": "planned"}, "STATE_CONFLICT"),
    ],
)
def test_an_event_has_to_fit_its_task(world: World, members: dict[str, str], code: str) -> None:
    with pytest.raises(Refused) as refused:
        world.move(world.create(), "planning", **members)
    assert refused.value.code == code


def test_blocked_resumes_only_where_it_was(world: World) -> None:
    task_id = world.bring("blocked")
    for to_state in ("planning", "accepting", "integrating", "publishing"):
        with pytest.raises(Refused) as refused:
            world.move(task_id, to_state)
        assert refused.value.code == "RESUME_MISMATCH"
    world.move(task_id, "developing")
    assert "blocked_context" not in world.task(task_id)


def test_blocking_by_hand_makes_the_context_from_the_event(world: World) -> None:
    task_id = world.bring("accepting")
    world.move(task_id, "blocked", reason="waiting for a person")
    assert world.task(task_id)["blocked_context"] == {
        "resume_state": "accepting",
        "reason": "waiting for a person",
        "waiting_on": "human",
    }


def test_leaving_a_working_state_by_hand_closes_the_active_job(world: World) -> None:
    task_id = world.bring("developing")
    job_id = world.task(task_id)["active_job_id"]
    world.move(task_id, "blocked")
    assert "active_job_id" not in world.task(task_id)
    closed = world.plane.get_job(job_id)
    assert closed["job"]["status"] == "failed"
    assert closed["job"]["metadata"]["superseded"] is True
    assert "lease_expires_at" not in closed


def test_a_resumed_task_is_dispatched_again_without_a_transition(world: World) -> None:
    task_id = world.bring("blocked")
    world.move(task_id, "developing")
    events = world.transitions(task_id)
    job = world.dispatch(task_id, "dev")
    assert world.transitions(task_id) == events
    assert world.task(task_id)["active_job_id"] == job["job_id"]
    assert world.audit_types(task_id).count("job_started") == 1


def test_the_edge_to_accepted_has_its_gates_here_too(world: World) -> None:
    task_id = world.bring("accepting", risk_level="high")
    world.result(task_id, world.redispatched(task_id), verdict={"outcome": "accept"})
    with pytest.raises(Refused) as refused:
        world.move(task_id, "accepted")
    assert refused.value.code == "CHECKLIST_INCOMPLETE"
    world.tick_all(task_id)
    world.move(task_id, "accepted")
    assert "task.verdictSubmitted" in world.audit_types(task_id)


def test_high_risk_without_regression_is_not_accepted_by_transition(world: World) -> None:
    task_id = world.create(risk_level="high")
    world.work(task_id, "plan")
    world.work(task_id, "dev", test_results=[REGRESSION | {"suite": "regression-suite"}])
    world.work(task_id, "acceptance")
    world.tick_all(task_id)
    with pytest.raises(Refused) as refused:
        world.move(task_id, "accepted")
    assert refused.value.code == "REGRESSION_REQUIRED"


def test_stale_docs_are_not_accepted_by_transition(world: World) -> None:
    task_id = world.create()
    world.work(task_id, "plan")
    world.work(task_id, "dev")
    world.work(task_id, "acceptance", resolver_refs={"stale_status": "unknown"})
    world.tick_all(task_id)
    with pytest.raises(Refused) as refused:
        world.move(task_id, "accepted")
    assert refused.value.code == "DOCS_NOT_FRESH"
    assert refused.value.details == {"stale_status": "unknown"}


def test_proof_from_before_the_last_development_does_not_count(world: World) -> None:
    task_id = world.bring("rework_required")
    world.work(task_id, "dev", artifacts=[], patch_ref={"format": "url", "content": "https://example.org/p"})
    world.work(task_id, "acceptance", artifacts=[])
    world.tick_all(task_id)
    with pytest.raises(Refused) as refused:
        world.move(task_id, "accepted")
    assert refused.value.code == "LOG_ARTIFACT_REQUIRED"


def test_integrated_by_hand_counts_as_checked(world: World) -> None:
    task_id = world.bring("integrating")
    world.move(task_id, "integrated")
    task = world.task(task_id)
    assert task["integration"]["checks_passed"] is True
    assert task["integration_run"]["status"] == "succeeded"
    assert world.publish(task_id, "apply")["state"] == "publishing"


def test_resuming_integrate_takes_its_lock_again(world: World) -> None:
    task_id = world.bring("integrating")
    world.move(task_id, "blocked")
    other = world.bring("accepted")
    world.integrate(other)
    with pytest.raises(Refused) as refused:
        world.move(task_id, "integrating")
    assert refused.value.code == "LOCK_CONFLICT"
    world.move(other, "cancelled")
    world.move(task_id, "integrating")
    assert world.task(task_id)["integration_run"]["status"] == "running"


def test_a_reason_is_needed(world: World) -> None:
    with pytest.raises(Refused) as refused:
        world.move(world.create(), "planning", reason="")
    assert refused.value.code == "INVALID_REQUEST"


def test_artifacts_and_metadata_of_the_event_are_kept(world: World) -> None:
    recorded = world.move(
        world.create(), "planning", artifact_ids=[LOG["artifact_id"]], metadata={"ticket": 7, "note": None}
    )
    assert recorded["artifact_ids"] == ["art_log"]
    assert recorded["metadata"] == {"ticket": 7, "note": None}
