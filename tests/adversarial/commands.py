"""Command lines that write, and some that only read, for the campaign of faults.

The request of a command is its words and its input; it is acknowledged with its exit status and what it printed.
What a repetition gives is an exit status' worth: a code, or :data:`ANOTHER` and :data:`SAME` for success.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from slipway_lite.control.service import ControlPlane
from tests.adversarial import operations_file as file
from tests.adversarial import operations_runs as runs
from tests.adversarial import operations_tasks as tasks
from tests.adversarial.operations import ANOTHER, SAME, Acknowledge, Operation, Place
from tests.control.world import World, create_body
from tests.machine_host import invoke
from tests.turns.documents import fenced
from tests.turns.documents import outcome as turn_outcome

Prepare = Callable[[Place], Any]


def perform(place: Place, request: Any, acknowledge: Acknowledge) -> None:
    words, stdin = request
    os.environ["SLIPWAY_DB"] = place.database
    end = words.index("--") if "--" in words else len(words)
    reply = invoke(*words[:end], "--root", place.root, *words[end:], stdin=stdin)
    acknowledge([reply.status, reply.out.decode(), reply.err.decode()])


def command(again: str, prepare: Prepare) -> Operation:
    return Operation(prepare, perform, again)


def submit(place: Place, state: Any, **fields: Any) -> Any:
    (run_id, action_id, raw), _ = runs.submission(place, state, **fields)
    return ["protocol", "submit", "--run", run_id, "--action", action_id, "--outcome-stdin"], raw


def answer(place: Place) -> Any:
    (run_id, action_id, text), _ = runs.answer(place)
    return ["protocol", "answer", "--run", run_id, "--action", action_id, "--text-stdin"], text.encode()


def skip(place: Place) -> Any:
    (run_id, action_id), _ = runs.current(place)
    return ["protocol", "skip", "--run", run_id, "--action", action_id], b""


def refresh(place: Place) -> Any:
    (run_id,), options = runs.amendment(place)
    source = Path(place.root, ".git", "source.json")
    source.write_bytes(options["source"])
    return ["protocol", "resume", run_id, "--source-file", str(source)], b""


def turn(place: Place) -> Any:
    run_id, action_id = runs.bound(place)
    text = fenced(turn_outcome())
    agent = [sys.executable, "-c", f"print({text!r})"]
    words = ["turn", "drive", "--skill", "execute-phase", "--prompt", "Do P1.", "--run", run_id, "--action", action_id]
    return [*words, "--", *agent], b""


def create(place: Place) -> Any:
    return ["task", "create", "--file", "-", "--json"], json.dumps(create_body(**tasks.description(place))).encode()


def on_plane(ask: Callable[[Place, World], Any]) -> Prepare:
    def prepare(place: Place) -> Any:
        with ControlPlane.open(place.database) as plane:
            return ask(place, World(plane))

    return prepare


def dispatch(place: Place, world: World) -> Any:
    return ["task", "dispatch", world.create(), "--stage", "plan", "--json"], b""


def result(place: Place, world: World) -> Any:
    (task_id, body), _ = tasks.job_result("plan", "queued")(place, world)
    return ["task", "result", task_id, "--file", "-", "--json"], json.dumps(body).encode()


def audit(place: Place) -> Any:
    source = Path(place.root, ".git", "audit.jsonl")
    source.write_bytes(file.lines(place))
    return ["audit", "import", str(source), "--json"], b""


def repository(place: Place) -> Any:
    runs.started(place)
    return ["repo", "add", file.NAME, "--path", place.root, "--json"], b""


def journals(place: Place) -> Any:
    return ["db", "import-jsonl", file.published(place), "--json"], b""


def backup(place: Place) -> Any:
    source, _ = file.two_files(place)
    return ["db", "backup", place.database, "--db", source, "--json"], b""


def read(*words: str) -> Prepare:
    return lambda place: (file.everything(place), ([*words], b""))[1]


WRITING = {
    "run, the first of a file": command(
        ANOTHER, lambda place: (["run", "--goal-stdin", "--json"], place.text("Ship it").encode())
    ),
    "run": command(ANOTHER, lambda place: (runs.started(place), (["run", "Ship it", "--json"], b""))[1]),
    "submit": command(SAME, lambda place: submit(place, runs.implementing(place))),
    "answer": command(SAME, answer),
    "skip": command("stale_action", skip),
    "stop": command(ANOTHER, lambda place: (["stop", runs.started(place).run_id, "--json"], b"")),
    "resume": command("source_candidate_pending", refresh),
    "turn drive": command(ANOTHER, turn),
    "task create": command(ANOTHER, create),
    "task dispatch": command("JOB_ACTIVE", on_plane(dispatch)),
    "task result": command("JOB_NOT_ACTIVE", on_plane(result)),
    "audit import": command("DUPLICATE_EVENT", audit),
    "db rebuild": command(SAME, lambda place: (file.everything(place), (["db", "rebuild", "--json"], b""))[1]),
    "db import-jsonl": command(SAME, journals),
    "db backup": command("output_exists", backup),
    "repo add": command(ANOTHER, repository),
}
READING = {
    "status": command(SAME, read("status", "--json")),
    "db verify": command(SAME, read("db", "verify", "--json")),
    "db info": command(SAME, read("db", "info", "--json")),
    "task list": command(SAME, read("task", "list", "--json")),
    "audit list": command(SAME, read("audit", "list", "--json")),
}
MACHINE = frozenset({"run, the first of a file", "run", "submit", "answer", "skip", "stop", "resume", "status"})
"""Those of the machine protocol, whose codes are its own (§1.6.2)."""
