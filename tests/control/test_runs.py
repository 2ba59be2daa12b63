from __future__ import annotations

import pytest

from slipway_lite import clock
from slipway_lite.control import queries, runs
from slipway_lite.control.messages_event import AuditEvent
from slipway_lite.control.messages_read import AuditSummary, Retrospective, Run, Timeline
from slipway_lite.control.refusals import Refused
from slipway_lite.control.vocabulary import TASK_STATES
from tests.control.world import World


@pytest.mark.parametrize("state", TASK_STATES)
def test_a_task_is_a_run(world: World, state: str) -> None:
    task_id = world.bring(state)
    run = world.plane.get_run(task_id)
    Run.model_validate(run)
    assert run["status"] == {
        "published": "succeeded",
        "blocked": "blocked",
        "cancelled": "cancelled",
        "failed": "failed",
    }.get(state, "running")
    assert ("ended_at" in run) == (state in ("published", "cancelled", "failed"))
    assert ("blocked_reason" in run) == (state == "blocked")
    assert run["source_event_cursor"] == world.plane.events(task_id)["items"][-1]["event_id"]
    assert run["projection_version"] == world.task(task_id)["version"]


def test_the_active_job_stands_first(world: World) -> None:
    task_id = world.bring("developing")
    latest = world.task(task_id)["latest_job_ids"]
    assert world.plane.get_run(task_id)["job_ids"] == [latest["dev"], latest["plan"]]


def test_the_time_line_is_the_order_of_recording(world: World) -> None:
    task_id = world.bring("planned")
    timeline = world.plane.get_timeline(task_id)
    Timeline.model_validate(timeline)
    kinds = [entry["event_type"] for entry in timeline["items"]]
    assert kinds[0] == "state_transition"
    assert kinds.index("run.systemPacketPrepared") < len(kinds) - 1
    assert kinds[-1] == "state_transition"
    assert "payload" not in timeline["items"][1]


def test_the_summary_counts_and_shows_the_newest_ten(world: World) -> None:
    task_id = world.bring("published")
    summary = world.plane.get_audit_summary(task_id)
    AuditSummary.model_validate(summary)
    audits = world.audits(task_id)
    for event in audits:
        AuditEvent.model_validate(event)
    assert summary["total"] == len(audits) == sum(summary["counts"].values())
    assert [entry["event_id"] for entry in summary["recent"]] == [event["event_id"] for event in audits[:-11:-1]]


def test_a_task_without_audit_events_is_summed_up_by_its_transitions(world: World) -> None:
    summary = world.plane.get_audit_summary(world.create())
    assert summary["counts"] == {"state_transition": 1}


def test_a_gap_belongs_to_the_state_that_held() -> None:
    events = [
        {"occurred_at": "2026-01-01T00:00:00.000Z", "to_state": "queued"},
        {"occurred_at": "2026-01-01T00:00:01.500Z", "to_state": "planning"},
        {"occurred_at": "2026-01-01T09:00:04+09:00", "to_state": "planned"},
        {"occurred_at": "2026-01-01T00:00:05.000Z", "to_state": "planning"},
        {"occurred_at": "2026-01-01T00:00:06.000Z", "to_state": "failed"},
    ]
    assert runs.stage_durations(events) == {"queued": 1500, "planning": 3500, "planned": 1000}


def test_a_terminal_state_makes_a_retrospective_and_a_request_the_next_generation(world: World) -> None:
    task_id = world.bring("planned")
    with pytest.raises(Refused) as refused:
        world.plane.get_retrospective(task_id)
    assert refused.value.status == 404
    world.fail(task_id, world.dispatch(task_id, "dev"))
    world.plane.cancel(task_id)
    (made,) = world.plane.list_retrospectives(task_id)["items"]
    Retrospective.model_validate(made)
    assert made["retrospective_id"] == f"retro_{task_id}_gen1"
    metrics = made["summary_metrics"]
    assert (metrics["job_count"], metrics["job_success_count"], metrics["job_failure_count"]) == (2, 1, 1)
    assert (metrics["retry_count"], metrics["retries_by_stage"]) == (1, {"dev": 1})
    assert "narrative" not in made
    again = world.plane.generate_retrospective(task_id)
    assert (again["generation"], again["generation_metadata"]["input_event_count"]) == (2, 5)
    newest = world.plane.get_retrospective(task_id)
    assert newest == again
    assert [item["generation"] for item in world.plane.list_retrospectives(task_id)["items"]] == [2, 1]


def test_a_published_task_tells_its_results(world: World) -> None:
    task_id = world.bring("published")
    (made,) = world.plane.list_retrospectives(task_id)["items"]
    metrics = made["summary_metrics"]
    assert metrics["acceptance_result"] == "accept"
    assert (metrics["integrate_result"], metrics["publish_result"]) == ("succeeded", "succeeded")
    assert metrics["checkpoints_by_stage"] == {"acceptance": 1}


@pytest.mark.parametrize(
    "query",
    [
        queries.task,
        queries.transition_events,
        queries.audit_events,
        queries.job,
        queries.checkpoints,
        queries.context_bundles,
        queries.retrospectives,
        queries.retrospective,
        queries.run,
        queries.timeline,
        queries.audit_summary,
    ],
)
def test_an_unknown_id_is_404(world: World, query: object) -> None:
    with pytest.raises(Refused) as refused:
        query(world.plane.store, "nothing")  # type: ignore[operator]  # each is a function of store and id
    assert (refused.value.code, refused.value.status) == ("NOT_FOUND", 404)


def test_lists_are_paged_filtered_and_newest_change_first(world: World) -> None:
    ids = [world.create(title=str(number)) for number in range(5)]
    clock.pause(0.002)  # changes of one millisecond are in no order
    world.dispatch(ids[1], "plan")
    page = world.plane.list_tasks(limit=2)
    assert page["total"] == 5
    assert page["items"][0]["task_id"] == ids[1]
    everything = [item["task_id"] for offset in (0, 2, 4) for item in world.plane.list_tasks(2, offset)["items"]]
    assert sorted(everything) == sorted(ids)
    assert [item["task_id"] for item in world.plane.list_tasks(state="planning,planned")["items"]] == [ids[1]]
    listed = world.plane.list_runs(1)
    assert (listed["total"], listed["items"][0]["run_id"]) == (5, ids[1])


@pytest.mark.parametrize(("limit", "offset", "state"), [(0, 0, None), (501, 0, None), (1, -1, None), (1, 0, "done")])
def test_a_page_off_its_limits_is_400(world: World, limit: int, offset: int, state: str | None) -> None:
    with pytest.raises(Refused) as refused:
        world.plane.list_tasks(limit, offset, state)
    assert refused.value.code == "INVALID_REQUEST"
