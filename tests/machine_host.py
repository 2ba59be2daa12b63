"""A host for the tests: repositories, Outcomes, and machine commands run in this process or in one of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

from slipway_lite.cli.main import execute

CHECKOUT = Path(__file__).resolve().parents[1]
COMMAND = [sys.executable, "-m", "slipway_lite"]

Document = dict[str, Any]


class Reply(NamedTuple):
    """What one command left behind."""

    status: int
    out: bytes
    err: bytes

    @property
    def document(self) -> Document:
        """The one JSON line: on standard output after success, else on standard error; the other stream is empty."""
        # A worker process of the campaigns that only runs command lines need not wait for the schemas.
        from tests.wire import check

        wire, other = (self.out, self.err) if self.status == 0 else (self.err, self.out)
        assert other == b"", (self.status, other)
        assert wire.count(b"\n") == 1 and wire.endswith(b"\n"), wire
        found: Document = json.loads(wire)
        check(found)
        assert self.status == found.get("exit_code", 0)
        return found

    @property
    def code(self) -> str:
        """The code of a refusal."""
        assert self.status in (2, 3), (self.status, self.out, self.err)
        return str(self.document["code"])


def environment(**more: str) -> dict[str, str]:
    """Our environment with this checkout importable, and without a place for the database."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "SLIPWAY_"))}
    return kept | {"PYTHONPATH": str(CHECKOUT)} | more


def git(root: Path, *argv: str) -> str:
    identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *argv], cwd=root, env=environment(), check=True, capture_output=True)
    return done.stdout.decode()


def repository(root: Path) -> Path:
    """A git repository with one commit at ``root``."""
    root.mkdir(parents=True)
    git(root, "init", "--quiet", "--initial-branch=main")
    (root / "README.md").write_text("Hello.\n")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "Start")
    return root


def database(root: Path) -> Path:
    return root / ".git" / "slipway-lite" / "slipway.db"


@contextmanager
def _descriptors(*files: Any) -> Iterator[None]:
    """Standard input, output and error lead to ``files``, for descriptors and for :mod:`sys` alike."""
    kept = [os.dup(descriptor) for descriptor in range(3)]
    try:
        for descriptor, file in enumerate(files):
            os.dup2(file.fileno(), descriptor)
        with (
            open(1, "w", encoding="utf-8", closefd=False) as out,
            open(2, "w", encoding="utf-8", closefd=False) as err,
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            yield
    finally:
        for descriptor, copy in enumerate(kept):
            os.dup2(copy, descriptor)
            os.close(copy)


def invoke(*argv: str, stdin: bytes = b"") -> Reply:
    """Run one command line in this process."""
    with TemporaryFile() as source, TemporaryFile() as out, TemporaryFile() as err:
        source.write(stdin)
        source.seek(0)
        with _descriptors(source, out, err):
            status = execute(list(argv))
        out.seek(0)
        err.seek(0)
        return Reply(status, out.read(), err.read())


def process(*argv: str, cwd: Path | None = None, stdin: bytes = b"", env: dict[str, str] | None = None) -> Reply:
    """Run one command line in a process of its own."""
    done = subprocess.run(
        [*COMMAND, *argv], cwd=cwd, input=stdin, env=environment() | (env or {}), capture_output=True, timeout=60
    )
    return Reply(done.returncode, done.stdout, done.stderr)


def outcome(action: Document, status: str = "completed", **fields: Any) -> Document:
    """An Outcome for ``action``: the plainest legal one of its kind, with ``fields`` on top."""
    kind = action["kind"]
    implementation = {"result": "applied", "files_changed": [], "activities": [], "uncertainties": [], "attempts": 1}
    review = {"result": "no_findings_reported", "findings": [], "uncertainties": []}
    paused = status == "needs_input"
    return {
        "contract_version": 2,
        "action_id": action["action_id"],
        "action_kind": kind,
        "status": status,
        "summary": f"{kind} is {status}",
        "observations": [],
        "known_issues": [],
        "suggested_actions": [],
        "pause": None,
        "implementation": implementation if kind == "implement" and not paused else None,
        "review": review if kind == "review" and not paused else None,
    } | fields


def suggest(kind: str, brief: str = "Go on.") -> list[Document]:
    return [{"kind": kind, "brief": brief}]


def decision(question: str = "Which one?") -> Document:
    """The pause of an Outcome that asks for a decision."""
    return {"reason": "decision_required", "question": question, "destructive_request": None}


def raw(document: Document) -> bytes:
    return json.dumps(document).encode()


class Host:
    """Drives one Run in ``root``; ``state`` is the last reply of the machine."""

    def __init__(self, root: Path, goal: str = "Make it better", *options: str) -> None:
        self.root = root
        self.state = self.reply(invoke("run", "--root", str(root), "--json", *options, "--goal-stdin",
                                       stdin=goal.encode()))  # fmt: skip
        self.run_id: str = self.state["run_id"]

    @staticmethod
    def reply(reply: Reply) -> Document:
        assert reply.status == 0, reply.err
        return reply.document

    @property
    def action(self) -> Document:
        found: Document = self.state["action"]
        return found

    def argv(self, operation: str, *more: str) -> list[str]:
        """The command line of one protocol operation on the current Action."""
        action = self.action["action_id"]
        return ["protocol", operation, "--run", self.run_id, "--action", action, "--root", str(self.root), *more]

    def submit(self, status: str = "completed", **fields: Any) -> Document:
        argv = self.argv("submit", "--outcome-stdin")
        self.state = self.reply(invoke(*argv, stdin=raw(outcome(self.action, status, **fields))))
        return self.state

    def ask(self, question: str = "Which one?") -> Document:
        """Hand in an Outcome that asks for a decision."""
        return self.submit("needs_input", pause=decision(question))

    def answer(self, text: str) -> Document:
        self.state = self.reply(invoke(*self.argv("answer", "--text-stdin"), stdin=text.encode()))
        return self.state

    def stop(self) -> Document:
        self.state = self.reply(invoke("stop", self.run_id, "--root", str(self.root), "--json"))
        return self.state

    def status(self) -> Document:
        return self.reply(invoke("status", self.run_id, "--root", str(self.root), "--json"))


def whole_run(root: Path) -> Host:
    """A Run that went all the way: asked, answered, implemented, reviewed, summarized and ended."""
    host = Host(root, "Whole run")
    host.ask()
    host.answer("The first one.\n")
    host.submit(suggested_actions=suggest("implement"))
    (root / "work.txt").write_text("done\n")
    activity = {"kind": "test", "command": "true", "exit_code": 0, "summary": "fine"}
    host.submit(
        implementation={
            "result": "applied", "files_changed": ["work.txt"], "activities": [activity], "uncertainties": [],
            "attempts": 1,
        }
    )  # fmt: skip
    finding = {"location": "work.txt:1", "summary": "Short", "detail": "It could say more."}
    host.submit(review={"result": "findings_reported", "findings": [finding], "uncertainties": []})
    host.submit()
    assert host.state["state"] == "ended"
    return host
