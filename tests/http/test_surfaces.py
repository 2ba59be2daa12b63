"""Command line, HTTP and Python call the same services: the same request gives the same document."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from slipway_lite.control.refusals import Refused
from slipway_lite.control.service import ControlPlane
from tests.control.world import PATCH, TYPED_REF, create_body, result_body
from tests.http.served import PROGRAM, Client, Served

Call = Callable[..., Any]
_FRESH = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64}")
# Two moments may or may not fall into one millisecond, so they are not told apart.
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|_\d{13}")


def settled(document: Any) -> Any:
    """``document`` with fresh ids and tokens replaced by numbers in order of appearance, and every time by one word."""
    names: dict[str, str] = {}
    timeless = _MOMENT.sub("#moment", json.dumps(document))
    return json.loads(_FRESH.sub(lambda found: names.setdefault(found[0], f"#{len(names)}"), timeless))


class Python:
    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane

    def call(self, name: str, task_id: str, body: dict[str, Any]) -> Any:
        methods: dict[str, Call] = {
            "create": lambda: self.plane.create_task(body),
            "get": lambda: self.plane.get_task(task_id),
            "list": lambda: self.plane.list_tasks(limit=50),
            "events": lambda: self.plane.events(task_id),
            "dispatch": lambda: self.plane.dispatch(task_id, body),
            "result": lambda: self.plane.apply_result(task_id, body),
            "checklist": lambda: self.plane.tick_checklist(task_id, body),
            "accept": lambda: self.plane.complete_acceptance(task_id, body),
            "integrate": lambda: self.plane.integrate(task_id, body),
            "integrate-complete": lambda: self.plane.complete_integrate(task_id, body),
            "publish": lambda: self.plane.publish(task_id, body),
            "publish-complete": lambda: self.plane.complete_publish(task_id, body),
            "bundle": lambda: self.plane.build_bundle(task_id, body),
        }
        try:
            return methods[name]()
        except Refused as refused:
            return {"refused": refused.code}


class Http:
    def __init__(self, client: Client) -> None:
        self.client = client

    def call(self, name: str, task_id: str, body: dict[str, Any]) -> Any:
        path = {
            "create": "/v1/tasks",
            "get": f"/v1/tasks/{task_id}",
            "list": "/v1/tasks?limit=50",
            "events": f"/v1/tasks/{task_id}/events",
            "dispatch": f"/v1/tasks/{task_id}/dispatch",
            "result": f"/v1/tasks/{task_id}/results",
            "checklist": f"/v1/tasks/{task_id}/acceptance/checklist",
            "accept": f"/v1/tasks/{task_id}/acceptance/complete",
            "integrate": f"/v1/tasks/{task_id}/integrate",
            "integrate-complete": f"/v1/tasks/{task_id}/integrate/complete",
            "publish": f"/v1/tasks/{task_id}/publish",
            "publish-complete": f"/v1/tasks/{task_id}/publish/complete",
            "bundle": f"/v1/tasks/{task_id}/context-bundles",
        }[name]
        if name in ("get", "list", "events"):
            return self.client.get(path)[1]
        status, document = self.client.post(path, body)
        return document if status < 400 else {"refused": document["code"]}


class Cli:
    def __init__(self, db: Path) -> None:
        self.db = db

    def call(self, name: str, task_id: str, body: dict[str, Any]) -> Any:
        arguments = ["task", name, *([] if name in ("create", "list") else [task_id])]
        if name not in ("get", "list", "events"):
            arguments += ["--file", "-"]
        done = subprocess.run(
            [*PROGRAM, *arguments, "--json", "--db", str(self.db)],
            input=json.dumps(body),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return json.loads(done.stdout) if done.returncode == 0 else {"refused": json.loads(done.stderr)["code"]}


def life(call: Call) -> list[Any]:
    """The documents of a whole life with some refusals on the way."""
    task_id, said = "", []

    def step(name: str, body: dict[str, Any] | None = None) -> Any:
        said.append(call(name, task_id, body or {}))
        return said[-1]

    task_id = step("create", create_body(description="日本語"))["task_id"]
    step("create", {"title": "alone"})
    step("dispatch", {"target_stage": "dev"})
    job = step("dispatch", {"target_stage": "plan", "expected_version": 0})
    step("dispatch", {"target_stage": "plan", "expected_version": 0})
    step("result", {"job_id": job["job_id"]})
    step("result", result_body(job["job_id"]))
    step("result", result_body(job["job_id"]))
    job = step("dispatch", {"target_stage": "dev"})
    step("result", result_body(job["job_id"], patch_ref=PATCH))
    job = step("dispatch", {"target_stage": "acceptance"})
    task = step("result", result_body(job["job_id"], verdict={"outcome": "accept"}))["task"]
    step("accept", {})
    step("checklist", {"checked_items": [{"id": item["id"]} for item in task["manual_checklist"]]})
    step("accept", {})
    step("integrate", {"expected_state": "accepted", "base_sha": "abcdef1", "branch_ref": "b"})
    step("integrate-complete", {"checks_passed": True})
    step("publish", {"mode": "no_op"})
    step("publish", {"mode": "no_op", "idempotency_key": "k"})
    step("publish-complete", {})
    step("bundle", {"purpose": "other"})
    step("get")
    step("list")
    step("events")
    return said


def test_the_three_surfaces_give_the_same_answers(tmp_path: Path) -> None:
    with ControlPlane.open(str(tmp_path / "python.db")) as plane:
        python = settled(life(Python(plane).call))
    with Served(tmp_path / "http.db") as served:
        http = settled(life(Http(served.client()).call))
    cli = settled(life(Cli(tmp_path / "cli.db").call))
    assert TYPED_REF in json.dumps(python)
    for number, documents in enumerate(zip(python, http, cli, strict=True)):
        assert documents[0] == documents[1] == documents[2], number
    assert [document.get("refused") for document in python if "refused" in document] == [
        "INVALID_REQUEST",
        "STATE_CONFLICT",
        "VERSION_CONFLICT",
        "INVALID_RESULT",
        "JOB_NOT_ACTIVE",
        "CHECKLIST_INCOMPLETE",
        "INVALID_REQUEST",
    ]
