"""Processes that live as long as the test session and run one command line after the other, so that a step is cheap.

A worker reads one JSON request a line and answers with one line: ``{"argv", "stdin", "cwd", "db", "at"}`` becomes
``{"status", "out", "err", "began", "ended"}``. ``at`` is when to begin, on the monotonic clock that all processes
share: requests with the same ``at`` are released at once. Instead of ``argv`` a request may name a ``call``.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from tests.machine_host import CHECKOUT, Reply, environment, invoke, outcome, suggest

LEAD_SECONDS = 0.003
"""How far ahead of its release a group is handed out, so that every worker is ready for it."""

Document = dict[str, Any]


class Request(NamedTuple):
    """One command line, or one ``call`` with its arguments; ``delay`` is in seconds after the release."""

    argv: tuple[str, ...]
    stdin: bytes = b""
    cwd: Path | None = None
    call: str = ""
    delay: float = 0.0


class Answer(NamedTuple):
    """What a worker says: the reply of the command, its one JSON document, and when it ran (monotonic seconds).

    Nothing is checked against a schema here: that is done elsewhere, and these are many.
    """

    reply: Reply
    document: Document
    began: float
    ended: float

    @property
    def code(self) -> str:
        """The code of a refusal; empty for a success."""
        return "" if self.reply.status == 0 else str(self.document["code"])


class Crew:
    """As many workers as were ever needed at once. ``db`` is the file that SLIPWAY_DB names for them, or nothing."""

    def __init__(self) -> None:
        self.db: Path | None = None
        self.steps = self.groups = self.requests = 0
        self._workers: list[subprocess.Popen[bytes]] = []

    def grow(self, size: int) -> None:
        """Have at least ``size`` workers that are ready."""
        while len(self._workers) < size:
            self._workers.append(
                subprocess.Popen(
                    [sys.executable, "-m", "tests.adversarial.workers"],
                    cwd=CHECKOUT,
                    env=environment(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1"),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
            )
            # Whoever has started and imported what it needs waits for the release and for nothing else.
            self._send(self._workers[-1], Request(("db", "path", "--json")), 0)
            self._answer(self._workers[-1])

    def race(self, requests: list[Request]) -> list[Answer]:
        """Run every request in a worker of its own, all of them released at once; their answers, in order."""
        self.grow(max(2, len(requests)))
        self.steps += 1
        self.groups += len(requests) > 1
        self.requests += len(requests)
        # Another worker is the first one each time, so that a repeated request comes from another process.
        turn = self.steps % len(self._workers)
        chosen = (self._workers[turn:] + self._workers[:turn])[: len(requests)]
        at = time.monotonic() + (LEAD_SECONDS if len(requests) > 1 else 0)
        for worker, request in zip(chosen, requests, strict=True):
            self._send(worker, request, at)
        return [self._answer(worker) for worker in chosen]

    def ask(self, *argv: str, stdin: bytes = b"") -> Answer:
        """Run one command line in some worker."""
        return self.race([Request(argv, stdin)])[0]

    def told(self) -> str:
        """What this crew did so far."""
        return f"{self.steps} steps, {self.groups} of them raced groups; {self.requests} requests"

    def close(self) -> None:
        """End every worker."""
        for worker in self._workers:
            worker.communicate(timeout=30)

    def _send(self, worker: subprocess.Popen[bytes], request: Request, at: float) -> None:
        assert worker.stdin is not None
        document = {
            "argv": request.argv,
            "stdin": base64.b64encode(request.stdin).decode(),
            "cwd": str(request.cwd or CHECKOUT),
            "db": str(self.db) if self.db else "",
            "call": request.call,
            "at": at + request.delay,
        }
        worker.stdin.write(json.dumps(document).encode() + b"\n")
        worker.stdin.flush()

    @staticmethod
    def _answer(worker: subprocess.Popen[bytes]) -> Answer:
        assert worker.stdout is not None
        found: Document = json.loads(worker.stdout.readline())
        out, err = (base64.b64decode(found[name]) for name in ("out", "err"))
        reply = Reply(found["status"], out, err)
        line, other = (out, err) if reply.status == 0 else (err, out)
        assert other == b"" and reply.status in (0, 2, 3), reply
        return Answer(reply, json.loads(line or b"{}"), found["began"], found["ended"])


# -- the other side


def let_leases_expire(db: str, *job_ids: str) -> Reply:
    """The leases of ``job_ids`` have run out, as if their time had passed."""
    from slipway_lite.store.connection import open_store

    with open_store(db) as store, store.immediate() as tx:
        for job_id in job_ids:
            tx.execute("update _leases set lease_expires_at = '2000-01-01T00:00:00.000Z' where job_id = ?", (job_id,))
    return Reply(0, b"", b"")


def keep_up(db: str) -> Reply:
    """Give up what has run out of time, as a served control plane does by itself."""
    from slipway_lite.control.service import ControlPlane

    with ControlPlane.open(db) as plane:
        return Reply(0, str(plane.expire()).encode(), b"")


def submits(db: str, root: str, count: str) -> Reply:
    """A Run of its own, and ``count`` steps of it; when each was done, in monotonic seconds."""
    from slipway_lite import Slipway

    slipway = Slipway.open(root, db)
    state, done = slipway.run("Keep going", budget=1000), []
    for number in range(int(count)):
        assert state.action is not None
        action = {"kind": state.action.kind, "action_id": state.action.action_id}
        document = outcome(action, summary=f"Step {number}.", suggested_actions=suggest("clarify"))
        state = slipway.submit(state.run_id, state.action.action_id, document)
        done.append(time.monotonic())
    return Reply(0, json.dumps(done).encode(), b"")


def tasks(db: str, root: str, count: str) -> Reply:
    """``count`` tasks, each by an opening of its own; when each was done, in monotonic seconds."""
    from slipway_lite.control.service import ControlPlane
    from tests.control.world import create_body

    done = []
    for _ in range(int(count)):
        with ControlPlane.open(db) as plane:
            plane.create_task(create_body())
        done.append(time.monotonic())
    return Reply(0, json.dumps(done).encode(), b"")


CALLS = {"let_leases_expire": let_leases_expire, "keep_up": keep_up, "submits": submits, "tasks": tasks}


def _serve(request: Document) -> Document:
    os.chdir(request["cwd"])
    if request["db"]:
        os.environ["SLIPWAY_DB"] = request["db"]
    else:
        os.environ.pop("SLIPWAY_DB", None)
    while (left := request["at"] - time.monotonic()) > 0:
        time.sleep(left if left > 0.001 else 0)
    began = time.monotonic()
    if request["call"]:
        reply = CALLS[request["call"]](request["db"], *request["argv"])
    else:
        reply = invoke(*request["argv"], stdin=base64.b64decode(request["stdin"]))
    ended = time.monotonic()
    out, err = (base64.b64encode(raw).decode() for raw in (reply.out, reply.err))
    return {"status": reply.status, "out": out, "err": err, "began": began, "ended": ended}


def main() -> None:
    """Serve until standard input ends."""
    with os.fdopen(os.dup(0), "rb") as requests, os.fdopen(os.dup(1), "wb") as answers:
        for line in requests:
            answers.write(json.dumps(_serve(json.loads(line))).encode() + b"\n")
            answers.flush()


if __name__ == "__main__":
    main()
