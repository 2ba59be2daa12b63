"""Our models, our schemas and the published schemas agree, but for the differences listed here."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError

from slipway_lite.control import messages_job, messages_result, messages_run_system
from slipway_lite.control.messages_base import Message
from slipway_lite.control.messages_event import StateTransitionEvent
from slipway_lite.control.messages_task import Task
from slipway_lite.control.schema_files import ENTITIES, schema, text
from slipway_lite.resources import resource
from tests.control.world import LOG, PATCH, REGRESSION, TYPED_REF, World, result_body
from tests.published import published

BEYOND_THE_PUBLISHED_SCHEMA: dict[str, tuple[str, ...]] = {
    # control-plane §2.1: implemented, described, but never added to the closed schema of March
    "task": (
        "repo_policy",
        "integration_run",
        "publish_run",
        "manual_checklist",
        "retry_counts",
        "last_failure_class",
        "detected_side_effects",
        "loop_fingerprint",
        "acceptance_gate_context",
        "rework_context",
        "files_changed",
        "lines_added",
        "lines_deleted",
        "integration.original_base_sha",
        "publish_plan.policy_warnings",
    ),
    # §2.2: execution_backend, executor_instance_id and instruction_envelope are in the seed itself
    "worker-job": ("execution_backend", "executor_instance_id", "status", "instruction_envelope"),
    "worker-result": (),
    "state-transition-event": (),
    "heartbeat-request": (),
    "heartbeat-response": (),
}


def without(document: dict[str, Any], paths: tuple[str, ...]) -> dict[str, Any]:
    reduced = copy.deepcopy(document)
    for path in paths:
        *parents, name = path.split(".")
        place = reduced
        for parent in parents:
            place = place.get(parent, {})
        place.pop(name, None)
    return reduced


def check_published(name: str, document: dict[str, Any]) -> None:
    oracle = json.loads(published("oracles", "shipyard-cp", f"{name}.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(oracle).validate(without(document, BEYOND_THE_PUBLISHED_SCHEMA[name]))


def lives(world: World) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """(tasks, jobs, events) of two whole lives, looked at after every step."""
    tasks: list[dict[str, Any]] = []
    for state in ("published", "rework_required", "blocked", "publish_pending_approval", "cancelled"):
        task_id = world.bring(state, description="d", labels=["a"], risk_level="high")
        tasks.append(world.task(task_id))
    world.plane.check_stale_docs(task_id := world.create(), {})
    world.plane.resolve_docs(task_id, {"feature": "f"})
    world.fail(task_id, world.dispatch(task_id, "plan"), detected_side_effects=["network_access"])
    tasks.append(world.task(task_id))
    jobs = [world.plane.get_job(row[0])["job"] for row in world.plane.store.rows("select job_id from worker_jobs")]
    events = [event for task in tasks for event in world.plane.events(task["task_id"])["items"]]
    return tasks, jobs, events


def test_whole_lives_validate_against_the_published_schemas(world: World) -> None:
    tasks, jobs, events = lives(world)
    assert len(jobs) > 10
    for name, documents in (("task", tasks), ("worker-job", jobs), ("state-transition-event", events)):
        for document in documents:
            check_published(name, document)


def test_whole_lives_validate_against_our_models_and_schemas(world: World) -> None:
    tasks, jobs, events = lives(world)
    for model, name, documents in (
        (Task, "task", tasks),
        (messages_job.WorkerJob, "worker-job", jobs),
        (StateTransitionEvent, "state-transition-event", events),
    ):
        validator = jsonschema.Draft202012Validator(schema(name))
        for document in documents:
            model.model_validate(document)
            validator.validate(document)


def test_every_packet_and_gate_of_a_life_is_one(world: World) -> None:
    task_id = world.bring("published")
    payloads = {
        kind: [event["payload"] for event in world.audits(task_id) if event["event_type"] == kind]
        for kind in ("run.systemPacketPrepared", "run.systemGateEvaluated")
    }
    for payload in payloads["run.systemPacketPrepared"]:
        messages_run_system.RunSystemPacket.model_validate({"schema_version": "1.0", **payload})
    for payload in payloads["run.systemGateEvaluated"]:
        names = messages_run_system.RunSystemGate.model_fields.keys() & payload.keys()
        report = {"schema_version": payload["policy_revision"]} | {name: payload[name] for name in names}
        messages_run_system.RunSystemGate.model_validate(report)
    assert len(payloads["run.systemPacketPrepared"]) == 3


@pytest.mark.parametrize("name", ENTITIES)
def test_the_schema_files_are_those_of_the_models(name: str) -> None:
    path = resource("schemas") / f"{name}.schema.json"
    assert path.read_text("utf-8") == text(name), "run: python -m slipway_lite.control.schema_files schemas"
    jsonschema.Draft202012Validator.check_schema(schema(name))


@pytest.mark.parametrize("name", ["worker-result", "worker-job", "heartbeat-request", "state-transition-event", "task"])
def test_the_published_examples_are_ours_too(name: str) -> None:
    oracle = json.loads(published("oracles", "shipyard-cp", f"{name}.schema.json").read_text("utf-8"))
    for example in oracle.get("examples", []):
        jsonschema.Draft202012Validator(schema(name)).validate(_completed(name, example))
        ENTITIES[name].model_validate(_completed(name, example))


def _completed(name: str, example: dict[str, Any]) -> dict[str, Any]:
    """Our Task always lists artifacts and labels (control-plane §2.1); the published example leaves them out."""
    return {"artifacts": [], "labels": []} | example if name == "task" else example


FULL: dict[str, dict[str, Any]] = {
    "worker-result": result_body(
        "j",
        summary="s",
        patch_ref=PATCH | {"base_sha": "abcdef1"},
        branch_ref={"name": "b", "head_sha": "abcdef1", "remote_url": "https://example.org/r"},
        artifacts=[LOG | {"content_type": "text/plain", "size_bytes": 0, "description": ""}],
        test_results=[REGRESSION | {"passed": 1, "failed": 0, "skipped": 0, "duration_ms": 5, "artifact_id": "a"}],
        verdict={"outcome": "accept", "reason": "", "checklist_completed": True, "manual_notes": ""},
        requested_escalations=[{"kind": "human_verdict", "reason": "r", "approved": False}],
        usage={"runtime_ms": 0, "exit_code": -1, "litellm": {"model": "m", "cost_usd": 0.5, "fallback_used": False}},
        retry_count=0,
        failure_class="retryable_capacity",
        failure_code="x",
        resolver_refs={"doc_refs": ["a"], "stale_status": "stale"},
        external_refs=[{"kind": "tag", "value": "v", "connection_ref": "c"}],
        raw_outputs=[{"channel": "stdout", "artifact_id": "a"}],
        timestamps={"started_at": "2026-01-01T00:00:00Z"},
        metadata={"a": 1, "b": None, "c": 1.5, "d": True, "e": "s"},
    ),
    "heartbeat-request": {
        "worker_id": "w",
        "stage": "dev",
        "progress": {"any": [1]},
        "observed_at": "2026-01-01T00:00:00Z",
    },
    "state-transition-event": {
        "event_id": "e",
        "task_id": "t",
        "event_type": "state_transition",
        "typed_ref": TYPED_REF,
        "from_state": "queued",
        "to_state": "planning",
        "actor_type": "human",
        "actor_id": "a",
        "reason": "r",
        "artifact_ids": ["a"],
        "metadata": {"k": None},
        "occurred_at": "2026-01-01T00:00:00Z",
    },
}


def mutations(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
    """(path, broken value) for one fault at every place of ``document``."""
    found: list[tuple[tuple[Any, ...], Any]] = []
    for key, value in document.items() if isinstance(document, dict) else enumerate(document):
        here = (*path, key)
        found += [(here, broken) for broken in (None, [], {}, "", -1, "no such word")]
        if isinstance(value, dict | list):
            found += mutations(value, here)
    if isinstance(document, dict) and "metadata" not in path and "progress" not in path:
        found.append(((*path, "surprise"), 1))
    return found


def broken(document: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    copied = copy.deepcopy(document)
    place: Any = copied
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return copied


def accepts(model: type[Message], document: Any) -> bool:
    try:
        model.model_validate(document)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("name", FULL)
def test_model_and_published_schema_agree_on_every_single_fault(name: str) -> None:
    oracle = json.loads(published("oracles", "shipyard-cp", f"{name}.schema.json").read_text("utf-8"))
    checker = jsonschema.FormatChecker(formats=())
    checker.checks("date-time")(lambda text: not isinstance(text, str) or text.startswith("2026"))
    checker.checks("uri")(lambda text: not isinstance(text, str) or bool(text))
    theirs = jsonschema.Draft202012Validator(oracle, format_checker=checker)
    ours = ENTITIES[name]
    assert accepts(ours, FULL[name]) and theirs.is_valid(FULL[name])
    faults = mutations(FULL[name])
    assert len(faults) > 25
    for path, value in faults:
        document = broken(FULL[name], path, value)
        assert accepts(ours, document) == theirs.is_valid(document), (path, value)


def test_null_is_not_absent(world: World) -> None:
    assert not accepts(messages_result.WorkerResult, FULL["worker-result"] | {"summary": None})
    assert accepts(messages_result.WorkerResult, FULL["worker-result"])


def test_models_are_frozen_and_closed() -> None:
    result = messages_result.WorkerResult.model_validate(FULL["worker-result"])
    with pytest.raises(ValidationError):
        result.summary = "other"  # type: ignore[misc]  # the point of the test
    assert result.model_dump(exclude_none=True)["usage"]["litellm"]["cost_usd"] == 0.5


def test_numbers_are_not_taken_for_other_kinds() -> None:
    for value in (True, "1", 1.0):
        assert not accepts(messages_result.WorkerResult, FULL["worker-result"] | {"usage": {"runtime_ms": value}})
