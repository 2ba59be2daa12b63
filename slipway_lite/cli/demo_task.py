"""The demo's task: its whole life on the command line, from queued to published."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    # command(words after `slipway`, standard input): the JSON answer
    Command = Callable[[Sequence[str], bytes], dict[str, Any]]

_STAGES = ("plan", "dev", "acceptance")


def play(command: Command, say: Callable[[str], None]) -> None:
    """Create, dispatch and report three stages, accept by hand, integrate, publish; ``say`` each state."""
    create = ["create", "--title", "Greet in Japanese", "--objective", "Both greetings are printed"]
    create += ["--repo", "octo/hub", "--typed-ref", "agent-taskstate:task:local:demo"]
    task = _task(command, say, create)
    for stage in _STAGES:
        job = command(["task", "dispatch", task["task_id"], "--stage", stage, "--json"], b"")
        say(f"   $ slipway task dispatch {_short(task)} --stage {stage}")
        say(f"     {job['worker_type']} works on it until {job['lease_expires_at'] or 'it reports'}.")
        result = json.dumps(_result(job)).encode()
        answer = command(["task", "result", task["task_id"], "--file", "-", "--json"], result)
        task = answer["task"]
        say(f"   $ slipway task result {_short(task)} --file RESULT")
        say(f"     It is {task['state']}; next is {answer['next_action']}.")
    ticks = [word for item in task["manual_checklist"] for word in ("--check", item["id"])]
    _step(command, say, task, "accept", *ticks, "--by", "ann")
    _step(command, say, task, "integrate", "--base-sha", "0a1b2c3", "--branch", "feature")
    _step(command, say, task, "integrate-complete", "--passed", "--main-sha", "4d5e6f7")
    _step(command, say, task, "publish", "--mode", "no_op", "--key", "demo-1")
    _step(command, say, task, "publish-complete")
    events = command(["task", "events", task["task_id"], "--json"], b"")["items"]
    say("     Its life: " + " → ".join(["queued", *(event["to_state"] for event in events[1:])]) + "\n")


def _task(command: Command, say: Callable[[str], None], words: list[str]) -> dict[str, Any]:
    task = command(["task", *words, "--json"], b"")
    say("   $ slipway task create --title 'Greet in Japanese' …")
    say(f"     It is {task['state']}.")
    return task


def _step(command: Command, say: Callable[[str], None], task: dict[str, Any], verb: str, *words: str) -> None:
    command(["task", verb, task["task_id"], *words, "--json"], b"")
    state = command(["task", "get", task["task_id"], "--json"], b"")["state"]
    say(f"   $ slipway task {verb} {_short(task)} {' '.join(words)}".rstrip())
    say(f"     It is {state}.")


def _short(task: dict[str, Any]) -> str:
    return f"{task['task_id'][:9]}…"


def _result(job: dict[str, Any]) -> dict[str, Any]:
    """What a worker hands in: a log, a passed regression suite, a branch for dev, a verdict for acceptance."""
    result: dict[str, Any] = {
        "job_id": job["job_id"],
        "typed_ref": job["typed_ref"],
        "status": "succeeded",
        "summary": f"{job['stage']} done",
        "artifacts": [{"artifact_id": f"log-{job['stage']}", "kind": "log", "uri": "artifact://log"}],
        "test_results": [{"suite": "regression", "status": "passed"}],
        "requested_escalations": [],
        "usage": {"runtime_ms": 1},
    }
    if job["stage"] == "dev":
        result["branch_ref"] = {"name": "feature"}
    if job["stage"] == "acceptance":
        result["verdict"] = {"outcome": "accept", "reason": "all checks passed"}
    return result
