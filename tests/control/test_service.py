from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.control import use_cases
from slipway_lite.control.events import TaskState, apply
from slipway_lite.control.projections import TaskProjector
from slipway_lite.control.refusals import HTTP_STATUS, Refused
from slipway_lite.control.service import ControlPlane
from slipway_lite.store.projections import differences, rebuild
from slipway_lite.store.tables import PROJECTIONS
from slipway_lite.store.verify import verify
from tests.control.world import World, create_body, event_body


def counts(world: World) -> dict[str, int]:
    tables = ("ledger", "journal_events", "audit_events", "state_transition_events", *PROJECTIONS["task"])
    return {table: world.plane.store.rows(f"select count(*) from {table}")[0][0] for table in tables}


def test_create_is_one_event_at_version_zero_and_no_audit(world: World) -> None:
    task = world.plane.create_task(create_body())
    assert (task["state"], task["version"], task["risk_level"]) == ("queued", 0, "medium")
    assert (task["labels"], task["artifacts"], task["external_refs"]) == ([], [], [])
    assert task["created_at"] == task["updated_at"]
    (event,) = world.plane.events(task["task_id"])["items"]
    assert (event["from_state"], event["to_state"], event["reason"]) == ("queued", "queued", "task created")
    assert event["occurred_at"] == task["created_at"]
    assert world.audits(task["task_id"]) == []


def test_the_same_typed_ref_may_be_used_by_many_tasks(world: World) -> None:
    assert world.create() != world.create()


@pytest.mark.parametrize(
    "members",
    [
        {"objective": "   "},
        {"objective": ""},
        {"title": ""},
        {"typed_ref": "a:b:c"},
        {"typed_ref": "a:b:c:d\n"},
        {"repo_ref": {"provider": "gitlab", "owner": "o", "name": "n", "default_branch": "m"}},
        {"labels": ["a", "a"]},
        {"labels": [str(number) for number in range(21)]},
        {"risk_level": "extreme"},
        {"surprise": True},
        {"description": None},
    ],
)
def test_a_task_off_schema_is_400_and_nothing_is_kept(world: World, members: dict[str, Any]) -> None:
    before = counts(world)
    with pytest.raises(Refused) as refused:
        world.create(**members)
    assert (refused.value.code, refused.value.status) == ("INVALID_REQUEST", 400)
    assert counts(world) == before


def test_only_white_space_is_blank_and_a_control_character_is_none(world: World) -> None:
    assert world.plane.create_task(create_body(objective="\x1f"))["objective"] == "\x1f"
    with pytest.raises(Refused):
        world.create(objective="\u3000\u0085")


@pytest.mark.parametrize("missing", ["title", "objective", "typed_ref", "repo_ref"])
def test_what_a_task_cannot_be_without(world: World, missing: str) -> None:
    body = create_body()
    del body[missing]
    with pytest.raises(Refused):
        world.plane.create_task(body)


def test_errors_name_the_place_and_never_the_value(world: World) -> None:
    with pytest.raises(Refused) as refused:
        world.create(risk_level="hunter2", repo_ref={"provider": "hunter2"})
    assert "hunter2" not in str(refused.value.document())
    paths = {fault["path"] for fault in refused.value.document()["details"]["errors"]}
    assert {"$.risk_level", "$.repo_ref.provider", "$.repo_ref.owner"} <= paths


def test_every_request_is_exactly_one_version_step_and_one_journal_event(world: World) -> None:
    for state in ("published", "blocked", "rework_required", "publish_pending_approval"):
        task_id = world.bring(state)
        rows = world.plane.store.rows(
            "select sequence from journal_events where stream = ? order by sequence", (f"task:{task_id}",)
        )
        assert [row[0] for row in rows] == list(range(1, world.task(task_id)["version"] + 2))


def test_the_state_of_every_task_is_that_of_its_newest_event(world: World) -> None:
    for state in ("published", "blocked", "accepting"):
        task_id = world.bring(state)
        steps = world.transitions(task_id)
        assert steps[-1][1] == state
        assert all(before[1] == after[0] for before, after in pairwise(steps))


def test_a_defect_in_the_middle_of_a_request_leaves_nothing(world: World) -> None:
    task_id = world.create()
    before = counts(world)

    def broken(records: Any, settings: Any, *args: Any) -> dict[str, Any]:
        use_cases.cancel_task(records, settings, *args)
        raise RuntimeError("a defect")

    with pytest.raises(RuntimeError):
        world.plane.perform(broken, task_id, {})
    assert counts(world) == before
    assert world.state(task_id) == "queued"


def test_a_refusal_in_a_shared_transaction_leaves_the_others_alone(world: World) -> None:
    first, second = world.create(), world.create()
    with world.plane.store.immediate() as tx:
        outcomes = [
            world.plane.attempt(tx, use_cases.cancel_task, first, {}),
            world.plane.attempt(tx, use_cases.dispatch_task, second, {"target_stage": "dev"}),
            world.plane.attempt(tx, use_cases.cancel_task, second, {}),
        ]
    assert [isinstance(outcome, Refused) for outcome in outcomes] == [False, True, False]
    assert (world.state(first), world.state(second)) == ("cancelled", "cancelled")


@pytest.mark.parametrize("name", ["dispatch", "cancel", "record_transition", "resolve_docs"])
def test_if_match_refuses_another_version(world: World, name: str) -> None:
    task_id = world.create()
    body = {
        "dispatch": {"target_stage": "plan"},
        "cancel": {},
        "record_transition": event_body(world.task(task_id), "planning"),
        "resolve_docs": {},
    }[name]
    with pytest.raises(Refused) as refused:
        getattr(world.plane, name)(task_id, body, expected_version=3)
    assert refused.value.code == "VERSION_CONFLICT"
    assert world.task(task_id)["version"] == 0
    getattr(world.plane, name)(task_id, body, expected_version=0)


def test_cancel_ends_job_lease_locks_and_runs(world: World) -> None:
    for state in ("developing", "integrating", "publishing"):
        task_id = world.bring(state)
        task = world.plane.cancel(task_id, {"reason": "not wanted"})
        assert (task["state"], task["completed_at"]) == ("cancelled", task["updated_at"])
        assert "active_job_id" not in task
        event = world.plane.events(task_id)["items"][-1]
        assert (event["actor_type"], event["actor_id"], event["reason"]) == ("human", "operator", "not wanted")
    assert world.plane.store.rows("select * from _leases") == world.plane.store.rows("select * from _locks") == []
    assert task["publish_run"]["status"] == "failed"
    with pytest.raises(Refused, match="task already terminal: cancelled") as refused:
        world.plane.cancel(task_id)
    assert refused.value.status == 409


def test_rebuild_gives_the_same_rows(world: World) -> None:
    for state in ("published", "blocked", "rework_required", "publish_pending_approval", "failed"):
        task_id = world.bring(state, publish_plan={"approval_required": True})
    world.plane.link_tracker(
        world.create(), {"typed_ref": create_body()["typed_ref"], "connection_ref": "c", "entity_ref": "github_issue:1"}
    )
    world.plane.acknowledge_docs(task_id := world.create(), {"doc_id": "d", "version": "1", "task_id": task_id})
    world.plane.issue_approval(task_id)

    def dump() -> dict[str, list[Any]]:
        return {table: world.plane.store.rows(f"select * from {table} order by 1, 2") for table in PROJECTIONS["task"]}

    before = dump()
    assert all(before.values())
    assert rebuild(world.plane.store, [TaskProjector()]) == []
    assert dump() == before


def test_an_edited_projection_is_found(tmp_path: Path) -> None:
    with ControlPlane.open(str(tmp_path / "slipway.db")) as plane:
        task_id = World(plane).bring("planned")
        with plane.store.immediate() as tx:
            tx.execute("update tasks set state = 'accepted'")
            tx.execute("update worker_jobs set worker_type = 'claude_code'")
        found, unreplayable = differences(plane.store, TaskProjector())
        assert [(table, key) for table, key, _ in found] == [
            ("tasks", task_id),
            ("worker_jobs", plane.get_task(task_id)["latest_job_ids"]["plan"]),
        ]
        assert unreplayable == []


def test_a_broken_journal_is_named_and_the_others_replay(tmp_path: Path) -> None:
    with ControlPlane.open(str(tmp_path / "slipway.db")) as plane:
        world = World(plane)
        broken, whole = world.bring("planned"), world.bring("planned")
        with plane.store.immediate() as tx:
            tx.execute("drop trigger journal_events_refuses_update")
            tx.execute(
                "update journal_events set data = '{\"no\":1}' where stream = ? and sequence = 2", (f"task:{broken}",)
            )
        assert rebuild(plane.store, [TaskProjector()]) == [(f"task:{broken}", 2)]
        assert world.state(whole) == "planned"
        assert world.state(broken) == "queued"
        problems = verify(plane.store, [TaskProjector()])["problems"]
        assert {problem["table"] for problem in problems} >= {"journal_events"}


def test_apply_is_a_pure_fold() -> None:
    state = apply(None, {"set": {"task_id": "t", "state": "queued"}, "remember": {"a": 1}})
    after = apply(state, {"set": {"state": "planning", "title": "x"}, "unset": ["none"], "forget": ["a"]})
    assert state == TaskState({"task_id": "t", "state": "queued", "version": 0}, {"a": 1})
    assert after == TaskState({"task_id": "t", "title": "x", "state": "planning", "version": 1}, {})


def test_evidence_is_acknowledged_as_often_as_it_is_looked_at(world: World) -> None:
    task_id = world.create()
    first = world.plane.acknowledge_evidence(task_id, "ev-1", {"reviewed_by": "ann", "purpose": "release"})
    second = world.plane.acknowledge_evidence(task_id, "ev-1", {"reviewed_by": "ann"})
    assert first["acknowledgement_id"] != second["acknowledgement_id"]
    assert world.task(task_id)["version"] == 0
    event = world.audits(task_id)[0]
    assert event["event_id"] == first["acknowledgement_id"]
    assert event["payload"] == {"evidence_id": "ev-1", "reviewed_by": "ann", "purpose": "release"}
    assert (event["actor_type"], event["actor_id"], event["run_id"]) == ("human", "ann", task_id)
    assert event["occurred_at"] == first["acknowledged_at"]


def test_no_read_acknowledges_anything(world: World) -> None:
    task_id = world.bring("planned")
    before = counts(world)
    world.plane.get_task(task_id)
    world.plane.audit_events(task_id)
    world.plane.get_run(task_id)
    assert counts(world) == before


@pytest.mark.parametrize(
    ("task_id", "evidence_id", "body", "status"),
    [
        ("", "e", {"reviewed_by": " "}, 400),
        ("", "e", {"reviewed_by": "x" * 201}, 400),
        ("", "e", {}, 400),
        ("", "e", {"reviewed_by": "a", "purpose": ""}, 400),
        ("", "  ", {"reviewed_by": "a"}, 400),
        ("task_none", "e", {"reviewed_by": "a"}, 404),
    ],
)
def test_an_evidence_ack_needs_a_reviewer_and_a_task(
    world: World, task_id: str, evidence_id: str, body: dict[str, Any], status: int
) -> None:
    with pytest.raises(Refused) as refused:
        world.plane.acknowledge_evidence(task_id or world.create(), evidence_id, body)
    assert refused.value.status == status


def test_every_code_has_one_status() -> None:
    for code, status in HTTP_STATUS.items():
        refused = Refused(code, "x")
        assert refused.status == status
        assert refused.exit_code == (2 if status in (400, 413) else 3)


def written_between(plane: ControlPlane, before: str) -> None:
    """Once ``plane`` is about to run a statement with ``before`` in it, somebody else makes a task."""
    connection = plane.store.connection

    def trace(statement: str) -> None:
        if before in statement:
            connection.set_trace_callback(None)
            with ControlPlane.open(plane.store.path) as other:
                other.create_task(create_body())

    connection.set_trace_callback(trace)


def test_a_list_is_of_one_moment_whoever_writes_between_its_statements(world: World) -> None:
    world.create()
    written_between(world.plane, "count(*)")
    page = world.plane.list_tasks()
    assert page["total"] == len(page["items"]) == 1
    assert world.plane.list_tasks()["total"] == 2
