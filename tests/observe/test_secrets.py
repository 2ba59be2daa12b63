"""Planted secrets: one in every input field of every contract. All are stored; none is shown but to the owner.

Texts are planted as they come, because they are never shown; commands, paths, locations and names are planted in the
shape of a token, because those are shown redacted.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.control.importing import import_audit
from slipway_lite.control.service import ControlPlane
from slipway_lite.errors import SlipwayError
from slipway_lite.observe import export, frames
from slipway_lite.observe.explorer import allowed, launch
from slipway_lite.protocol.rules import scope_sha256
from slipway_lite.protocol.service import Service
from slipway_lite.protocol.source.classify import classify
from slipway_lite.protocol.source.envelope import decode_envelope
from slipway_lite.store.connection import open_store
from slipway_lite.store.reading import read_store
from slipway_lite.turns.driver import drive_turn
from slipway_lite.turns.service import TurnJournal
from tests.observe.conftest import Browser
from tests.observe.worktree import make_worktree, submit
from tests.protocol.source.change import Change
from tests.turns.documents import fenced
from tests.turns.documents import outcome as turn_outcome
from tests.turns.test_driver import Agent

CORE = re.compile(r"zq\d{3}X9vKc4RtB8nWs7Lm")
TOKEN_COUNT = 987654321
NEVER_STORED = {"turn reply", "issue body"}
"""Planted as well, and not even stored: what a contract keeps only the digest of."""


class Garden:
    """Makes secrets and remembers where each was planted."""

    def __init__(self) -> None:
        self.planted: dict[str, str] = {}

    def text(self, where: str) -> str:
        """A secret as prose may hold it."""
        core = f"zq{len(self.planted):03}X9vKc4RtB8nWs7Lm"
        self.planted[core] = where
        return f"secret {core}"

    def token(self, where: str) -> str:
        """A secret in the shape of a token."""
        return f"ghp_{self.text(where).removeprefix('secret ')}"

    def found(self, haystack: str) -> set[str]:
        return {self.planted[core] for core in CORE.findall(haystack)}


def plant_run(garden: Garden, home: Path, path: Path) -> str:
    """A Run whose every field holds a secret; returns its id."""
    workspace = make_worktree(home / "repository")
    service = Service(workspace, str(path))
    dirty = garden.token("dirty file")
    (home / "repository" / dirty).write_text("x", "utf-8")
    run = service.start(garden.text("goal"), 20, True)
    run_id = run.run_id
    run = submit(
        service, run, summary=garden.text("summary"), observations=[garden.text("observation")],
        known_issues=[garden.text("known issue")],
        suggested_actions=[{"kind": "clarify", "brief": garden.text("brief")}],
    )  # fmt: skip
    pause: dict[str, Any] = {
        "reason": "decision_required",
        "question": garden.text("question"),
        "destructive_request": None,
    }
    run = submit(service, run, status="needs_input", pause=pause)
    assert run.current is not None
    run = service.answer(run_id, run.current.action_id, garden.text("answer"))
    run = submit(service, run, suggested_actions=[{"kind": "implement", "brief": "go"}])
    request: dict[str, Any] = {
        "request_id": "5b0c1d52-3f0e-4d8e-9a57-0f6f2c9f1b11",
        "targets": [{"kind": "path", "value": garden.token("destructive target")}],
        "impact": garden.text("impact"),
    }
    request["scope_sha256"] = scope_sha256(request)
    pause = {"reason": "destructive_confirmation_required", "question": "sure?", "destructive_request": request}
    run = submit(service, run, status="needs_input", pause=pause)
    assert run.current is not None
    run = service.answer(run_id, run.current.action_id, garden.text("note"), True, request["scope_sha256"])
    activity = {
        "kind": "test", "command": f"deploy {garden.token('command')}", "exit_code": 0,
        "summary": garden.text("activity summary"),
    }  # fmt: skip
    implementation = {
        "result": "applied", "files_changed": [garden.token("changed file"), dirty], "activities": [activity],
        "uncertainties": [garden.text("uncertainty")], "attempts": 1,
    }  # fmt: skip
    (home / "repository" / "a.py").write_text("print(2)\n", "utf-8")
    run = submit(service, run, implementation=implementation)
    finding = {
        "location": f"{garden.token('location')}:3", "summary": garden.text("finding summary"),
        "detail": garden.text("finding detail"),
    }  # fmt: skip
    review = {"result": "findings_reported", "findings": [finding], "uncertainties": [garden.text("doubt")]}
    assert run.current is not None and run.current.kind == "review"
    run = submit(service, run, review=review)
    submit(service, run, summary=garden.text("final summary"))
    return run_id


def plant_source(garden: Garden, home: Path, path: Path) -> None:
    """A Run bound to a source whose texts hold secrets."""
    change = Change()
    change.title = f"[Change] {garden.text('issue title')}"
    change.after = garden.text("issue body") + "\n"
    change.sections[0]["title"] = garden.text("section title")
    change.sections[1]["body"] = f"{change.sections[1]['body']}{garden.text('section body')}\n"
    classified = classify(decode_envelope(change.raw()))
    Service(make_worktree(home / "bound"), str(path)).start("bound", 5, True, classified)


def plant_turn(garden: Garden, path: Path, run_id: str) -> None:
    document = turn_outcome(
        summary=garden.text("turn summary"),
        blockers=[{"kind": "gate", "id": garden.token("blocker"), "scope": "unit", "detail": garden.text("detail")}],
        questions=[{"id": "q1", "question": garden.text("turn question"), "options": [garden.text("option"), "b"]}],
        evidence_refs=[garden.token("evidence ref")],
    )
    with open_store(str(path)) as store:
        ((repository,),) = store.rows("select git_common_dir from runs where run_id = ?", (run_id,))
        journal = TurnJournal(store, str(path.parent), run_id=run_id, git_common_dir=repository)
        drive_turn("execute-phase", Agent(garden.text("turn reply") + "\n" + fenced(document)), journal=journal)


def plant_task(garden: Garden, path: Path) -> None:
    """A task that goes all the way, with a secret in every field of every request."""
    with ControlPlane.open(str(path)) as plane:
        task = plane.create_task(_task(garden))
        task_id = task["task_id"]
        plane.ingest_doc(
            {"doc_id": garden.token("doc id"), "doc_type": "spec", "title": garden.text("doc title"),
             "content": garden.text("doc content")}, path=garden.token("doc path"),
        )  # fmt: skip
        topics = {name: garden.token(name) for name in ("feature", "topic", "task_seed")}
        plane.resolve_docs(task_id, topics)
        ack = {"doc_id": garden.token("acked doc"), "version": garden.token("acked version"), "task_id": task_id}
        plane.acknowledge_docs(task_id, ack)
        plane.link_tracker(task_id, {
            "typed_ref": task["typed_ref"], "connection_ref": garden.token("connection"),
            "entity_ref": f"tracker:issue:github:{garden.token('entity')}",
        })  # fmt: skip
        job = plane.dispatch(task_id, {"target_stage": "plan"})
        beat = {"worker_id": garden.token("worker id"), "stage": "plan", "observed_at": task["created_at"]}
        plane.heartbeat(job["job_id"], beat)
        plane.apply_result(task_id, _result(garden, job, "plan"))
        failing = plane.dispatch(task_id, {"target_stage": "dev"})
        failed = _result(garden, failing, "failed dev") | {
            "status": "failed", "failure_class": "non_retryable_logic", "failure_code": garden.token("failure code"),
            "failure_summary": garden.text("failure summary"),
        }  # fmt: skip
        plane.apply_result(task_id, failed)
        job = plane.dispatch(task_id, {"target_stage": "dev"})
        patch = {"format": "unified_diff", "content": garden.text("patch")}
        plane.apply_result(task_id, _result(garden, job, "dev") | {"patch_ref": patch})
        job = plane.dispatch(task_id, {"target_stage": "acceptance"})
        verdict = {
            "outcome": "accept", "reason": garden.text("verdict reason"), "manual_notes": garden.text("manual notes"),
        }  # fmt: skip
        done = plane.apply_result(task_id, _result(garden, job, "acceptance") | {"verdict": verdict})
        ticks = [
            {"id": item["id"], "checked_by": garden.token(f"checked by {number}"),
             "notes": garden.text(f"tick notes {number}")}
            for number, item in enumerate(done["task"]["manual_checklist"])
        ]  # fmt: skip
        accepted = {"outcome": "accept", "reason": garden.text("human reason")}
        plane.complete_acceptance(task_id, {"checked_items": ticks, "verdict": accepted})
        evidence = {"reviewed_by": garden.token("reviewed by"), "purpose": garden.token("purpose")}
        plane.acknowledge_evidence(task_id, garden.token("acknowledged evidence"), evidence)
        plane.integrate(task_id, {
            "expected_state": "accepted", "base_sha": "a" * 40, "branch_ref": garden.token("branch"),
        })  # fmt: skip
        plane.complete_integrate(task_id, {
            "checks_passed": True, "main_updated_sha": "b" * 40, "current_base_sha": "a" * 40,
        })  # fmt: skip
        plane.publish(task_id, {"mode": "dry_run", "idempotency_key": garden.token("idempotency key")})
        plane.complete_publish(task_id, {
            "external_refs": [{"kind": "release", "value": garden.token("release")}],
            "rollback_notes": garden.text("rollback notes"),
        })  # fmt: skip
        plane.generate_retrospective(task_id)
        _plant_ends(garden, plane)


def plant_import(garden: Garden, path: Path) -> None:
    """Audit events from elsewhere, whose every name is free text."""
    lines = []
    for number, event_type in enumerate(("run.systemGateEvaluated", "evidence.acknowledged", garden.token("type"))):
        payload = {
            "gate_id": garden.token(f"gate {number}"), "gate_owner": garden.token(f"gate owner {number}"),
            "risk": garden.token(f"risk {number}"), "evidence_id": garden.token(f"evidence {number}"),
            "reviewed_by": garden.token(f"reviewer {number}"), "prompt": garden.text(f"prompt {number}"),
            "stage": garden.text(f"stage {number}"), "decision": garden.text(f"decision {number}"),
        }  # fmt: skip
        lines.append({
            "event_id": garden.token(f"imported event {number}"), "event_type": event_type,
            "task_id": garden.token(f"imported task {number}"), "job_id": garden.token(f"imported job {number}"),
            "actor_id": garden.token(f"imported actor {number}"), "payload": payload,
            "occurred_at": "2026-01-01T00:00:00.000Z",
        })  # fmt: skip
    with open_store(str(path)) as store:
        import_audit(store, "\n".join(map(json.dumps, lines)).encode())


def _task(garden: Garden, name: str = "task") -> dict[str, Any]:
    return {
        "title": garden.text(f"{name} title"),
        "objective": garden.text(f"{name} objective"),
        "description": garden.text(f"{name} description"),
        "typed_ref": f"agent-taskstate:task:local:{garden.token(f'{name} typed ref')}",
        "repo_ref": {
            "provider": "github", "owner": garden.token(f"{name} owner"), "name": garden.token(f"{name} repo"),
            "default_branch": garden.token(f"{name} default branch"),
        },
        "labels": [garden.token(f"{name} label")],
        "external_refs": [{
            "kind": "github_issue", "value": garden.token(f"{name} external ref"),
            "connection_ref": garden.token(f"{name} external connection"),
        }],
    }  # fmt: skip


def _result(garden: Garden, job: dict[str, Any], name: str) -> dict[str, Any]:
    return {
        "job_id": job["job_id"],
        "typed_ref": job["typed_ref"],
        "status": "succeeded",
        "summary": garden.text(f"{name} result summary"),
        "artifacts": [{
            "artifact_id": garden.token(f"{name} artifact id"), "kind": "log",
            "uri": garden.token(f"{name} artifact uri"), "description": garden.text(f"{name} artifact description"),
        }],
        "test_results": [
            {"suite": "regression", "status": "passed"},
            {"suite": garden.token(f"{name} suite"), "status": "passed"},
        ],
        "requested_escalations": [{"kind": "human_verdict", "reason": garden.text(f"{name} escalation")}],
        "usage": {"runtime_ms": 1, "litellm": {"model": garden.token(f"{name} model"), "input_tokens": TOKEN_COUNT}},
        "metadata": {"anything": garden.token(f"{name} metadata")},
        "rollback_notes": garden.text(f"{name} result rollback"),
        "context_bundle_ref": garden.token(f"{name} bundle ref"),
        "external_refs": [{"kind": "github_issue", "value": garden.token(f"{name} result ref")}],
        "raw_outputs": [{"channel": "stdout", "artifact_id": garden.token(f"{name} raw output")}],
    }  # fmt: skip


def _plant_ends(garden: Garden, plane: ControlPlane) -> None:
    """Transitions by hand, and a cancellation."""
    task = plane.create_task(_task(garden, "second task"))
    plane.record_transition(task["task_id"], {
        "event_id": garden.token("event id"), "task_id": task["task_id"], "event_type": "state_transition",
        "typed_ref": task["typed_ref"], "from_state": "queued", "to_state": "planning", "actor_type": "human",
        "actor_id": garden.token("actor id"), "reason": garden.text("transition reason"),
        "job_id": garden.token("transition job"), "metadata": {"x": garden.token("transition metadata")},
        "occurred_at": task["created_at"],
    })  # fmt: skip
    plane.cancel(task["task_id"], {"reason": garden.text("cancel reason")})


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Garden, Path, str]:
    home, garden = tmp_path_factory.mktemp("secrets"), Garden()
    path = home / "file.db"
    run_id = plant_run(garden, home, path)
    plant_source(garden, home, path)
    plant_turn(garden, path, run_id)
    plant_task(garden, path)
    plant_import(garden, path)
    return garden, path, run_id


def everything_stored(path: Path) -> str:
    def work(store: Any) -> str:
        names = store.rows("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")
        return "\n".join(repr(store.rows(f"select * from {name}")) for (name,) in names)

    return read_store(str(path), work)


def test_every_secret_was_stored(planted: tuple[Garden, Path, str]) -> None:
    garden, path, _ = planted
    assert len(garden.planted) > 140
    assert set(garden.planted.values()) - garden.found(everything_stored(path)) <= NEVER_STORED


def test_the_owner_sees_them_all(planted: tuple[Garden, Path, str], plugin: None) -> None:
    garden, path, _ = planted
    browser = Browser(launch.datasette(str(path), full=True))
    tables = read_store(str(path), lambda store: store.rows("select name from sqlite_schema where type = 'table'"))
    local = {"headers": {"host": "localhost:1"}}
    shown = "".join(browser.get(f"/file/{name}.json?_size=max", **local).text for (name,) in tables)
    browser.close()
    assert set(garden.planted.values()) - garden.found(shown) <= NEVER_STORED


def pages(path: Path, run_id: str) -> Iterator[str]:
    yield from ("/", "/.json", "/file", "/file.json", "/-/metadata.json", f"/-/slipway/run/file/{run_id}")
    for name in (*allowed.listed("tables"), *allowed.listed("queries")):
        yield from (f"/file/{name}", f"/file/{name}.json?_shape=array&_size=max", f"/file/{name}.csv?_size=max")
    for table in allowed.listed("tables"):
        for facet in allowed.descriptions()["tables"][table]["columns"]:
            yield f"/file/{table}.json?_facet={facet}&_size=0"
    task_id = read_store(str(path), lambda store: store.rows("select task_id from tasks limit 1")[0][0])
    yield f"/file/timeline_of_a_run.json?run_id={run_id}"
    yield f"/file/audit_of_a_task.json?task_id={task_id}"
    yield "/v1/improvement/observations?limit=500"


def test_nobody_else_sees_any_in_datasette(
    planted: tuple[Garden, Path, str], plugin: None, browse: Callable[..., Browser], capfd: pytest.CaptureFixture[str]
) -> None:
    garden, path, run_id = planted
    browser = browse(path)
    for where in pages(path, run_id):
        answer = browser.get(where)
        assert answer.status_code == 200, where
        assert garden.found(answer.text) == set(), where
        assert str(TOKEN_COUNT) not in answer.text, where
    logged = capfd.readouterr()
    assert garden.found(logged.out + logged.err) == set()


@pytest.mark.parametrize("form", sorted(export.FORMS))
def test_no_export_holds_any(planted: tuple[Garden, Path, str], form: str) -> None:
    garden, path, _ = planted
    out = io.BytesIO()
    read_store(str(path), lambda store: export.write(store, export.Request(whole=True), form, out))
    assert len(out.getvalue()) > 1000
    assert garden.found(out.getvalue().decode("latin-1")) == set()
    assert str(TOKEN_COUNT).encode() not in out.getvalue()


def test_no_frame_holds_any(planted: tuple[Garden, Path, str]) -> None:
    garden, path, _ = planted
    for frame in (frames.runs_df, frames.actions_df, frames.audit_df, frames.observations_df):
        assert garden.found(frame(str(path)).reset_index().to_csv()) == set()
    for view in allowed.listed("tables"):
        assert garden.found(frames.view_df(str(path), view).to_csv()) == set()


def test_the_audit_of_a_run_holds_none(planted: tuple[Garden, Path, str]) -> None:
    garden, path, run_id = planted
    rows = read_store(
        str(path), lambda store: store.rows("select * from audit_events where stream = ?", (f"run:{run_id}",))
    )
    assert rows
    assert garden.found(json.dumps(rows)) == set()


def test_a_failing_page_logs_none(
    planted: tuple[Garden, Path, str], plugin: None, browse: Callable[..., Browser], capfd: pytest.CaptureFixture[str]
) -> None:
    garden, path, _ = planted
    browser = browse(path)
    for where in ("/file/runs.json", "/file/shown_runs.json?_sort=goal", "/file.json?sql=select+*+from+runs"):
        assert browser.status(where) in (400, 403, 500)
    logged = capfd.readouterr()
    assert garden.found(logged.out + logged.err) == set()


def test_an_error_of_ours_holds_none(planted: tuple[Garden, Path, str]) -> None:
    garden, path, _ = planted
    with pytest.raises(SlipwayError) as refused:
        frames.observations_df(str(path), since=garden.text("window"))
    assert garden.found(refused.value.message) == set()
