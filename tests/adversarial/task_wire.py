"""The requests of the task model as command lines, and the replies as what the model expects."""

from __future__ import annotations

import json

from slipway_lite.control.risk import CHECKLIST
from tests.adversarial.serial import Names, named
from tests.adversarial.task_model import Asked, Expected, Plane, Task
from tests.adversarial.workers import Answer, Request
from tests.control.world import BASE, PATCH, create_body, event_body, result_body
from tests.machine_host import Document

TICKS = tuple(word for item in CHECKLIST for word in ("--check", item[0]))


def request(asked: Asked, plane: Plane, names: Names, delay: float) -> Request:
    """``asked`` as a command line, or as a call of the worker."""
    task = plane.tasks.get(asked.task, Task())
    task_id = names.get(("task", asked.task), "task_none")
    job_id = names.get((asked.task, asked.job), "job_none")
    if asked.what == "lapse":
        return Request((job_id,), call="let_leases_expire", delay=delay)
    if asked.what == "keep_up":
        return Request((), call="keep_up", delay=delay)
    body: Document | None = None
    argv: tuple[str, ...] = (asked.what, task_id)
    match asked.what:
        case "create":
            argv, body = ("create",), create_body(risk_level="low", title=f"Task {asked.task}")
        case "list":
            argv = ("list", "--limit", "500")
        case "dispatch":
            argv = ("dispatch", task_id, "--stage", asked.stage)
        case "heartbeat":
            stage = task.jobs[asked.job] if asked.job >= 0 else "plan"
            argv = ("heartbeat", job_id, "--worker", asked.text, "--stage", stage)
        case "result":
            body = _result(asked, task, job_id)
        case "accept":
            argv = ("accept", task_id, *TICKS)
        case "transition":
            known = {"task_id": task_id, "state": asked.stage, "version": 0}
            body = event_body(known, asked.to_state, event_id=asked.text)
        case "integrate":
            argv = ("integrate", task_id, "--base-sha", BASE, "--branch", "work")
        case "integrated":
            argv = ("integrate-complete", task_id)
        case "publish":
            argv = ("publish", task_id, "--mode", asked.stage, "--key", asked.text)
        case "published":
            argv = ("publish-complete", task_id)
    if body is not None:
        argv = (*argv, "--file", "-")
    if asked.expected is not None:
        argv = (*argv, "--expected-version", str(asked.expected))
    noun = "job" if asked.what == "heartbeat" else "task"
    return Request((noun, *argv, "--json"), b"" if body is None else json.dumps(body).encode(), delay=delay)


def _result(asked: Asked, task: Task, job_id: str) -> Document:
    stage = task.jobs[asked.job] if asked.job >= 0 else "plan"
    suits: dict[str, Document] = {
        "plan": {},
        "dev": {"patch_ref": PATCH},
        "acceptance": {"verdict": {"outcome": asked.text}},
    }
    return result_body(job_id, **suits[stage])


def fits(expected: Expected, answer: tuple[Asked, Answer], names: Names) -> Names | None:
    """What is called how after ``answer``; ``None`` where it is not the ``expected`` one."""
    asked, said = answer
    if said.code or expected.code:
        return names if said.code == expected.code else None
    if expected.count is not None:
        return names if said.document == expected.count else None
    if expected.tasks is not None:
        return _fits_list(expected.tasks, said.document, names)
    document = said.document.get("task", said.document)
    if asked.what == "create":
        learned = named(names, ("task", asked.task), document["task_id"])
        return learned if _fits_task(Task(), document) else None
    if asked.what in ("dispatch", "heartbeat"):
        assert expected.job is not None
        return named(names, (asked.task, expected.job), document["job_id"])
    if asked.what == "get":
        assert expected.task is not None
        if not _fits_task(expected.task, document):
            return None
        found = document.get("active_job_id")
        if expected.job is None or found is None:
            return names if expected.job is None and found is None else None
        return named(names, (asked.task, expected.job), found)
    state = document.get("to_state", document.get("state"))
    is_right = expected.task is None or state == expected.task.state
    is_right &= expected.task is None or document.get("version", expected.task.version) == expected.task.version
    return names if is_right else None


def _fits_task(task: Task, document: Document) -> bool:
    resume = document.get("blocked_context", {}).get("resume_state", "")
    return (document["state"], document["version"], resume) == (task.state, task.version, task.resume)


def _fits_list(tasks: dict[int, Task], document: Document, names: Names) -> Names | None:
    """A list is one moment: every task that was there then, none more, and the number of them."""
    called = {names.get(("task", number)): task for number, task in tasks.items()}
    found = {item["task_id"]: item for item in document["items"]}
    unknown = [number for number in tasks if ("task", number) not in names]
    if document["total"] != len(found) or len(found) != len(tasks):
        return None
    for task_id, item in found.items():
        if task_id not in called and item["title"] in [f"Task {number}" for number in unknown]:
            continue
        if task_id not in called or not _fits_task(called[task_id], item):
            return None
    return names
