"""``slipway demo``: a tiny host that knows nothing but ``next.variants``, in a throw-away repository.

Every step is a command line of its own in a process of its own, as a real host would run it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slipway_lite.cli import demo_task
from slipway_lite.cli.human import harmless, page, visible
from slipway_lite.cli.noun import noun
from slipway_lite.errors import SlipwayError
from slipway_lite.protocol.rules import scope_sha256
from slipway_lite.protocol.shells import posix

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

app = noun("Drive Runs in a throw-away repository and show what happened.")

_ID = re.compile(r"sha256:[0-9a-f]{64}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_GIT = (
    "-c",
    "user.name=Demo",
    "-c",
    "user.email=demo@example.invalid",
    "-c",
    "commit.gpgsign=false",
    "-c",
    "core.hooksPath=/dev/null",
)


@app.command()
def demo(
    directory: Annotated[str, typer.Option("--directory", help="Where to make it (default: a temporary folder).")] = "",
    rich: Annotated[str, typer.Option("--rich", help="Write a database of half a simulated year here instead.")] = "",
) -> None:
    """Make a throw-away Git repository, drive three Runs and a task in it, and show what happened.

    Example: slipway demo
    """
    if rich:
        _write_rich(rich)
    else:
        Demo(directory, lambda text: typer.echo(page(text))).play()


def _write_rich(path: str) -> None:
    from slipway_lite.observe.rich_demo import write_rich_demo

    if os.path.lexists(path):
        raise SlipwayError("demo_failed", "There is a file at that place already; nothing was written.")
    write_rich_demo(path)
    typer.echo(harmless(f"300 Runs and 200 tasks of half a simulated year are in {path}."))
    typer.echo(harmless(f"Look at them: slipway explore --db {posix([path])}"))


class Demo:
    """Plays the demo; ``say`` gets each line for people."""

    def __init__(self, directory: str, say: Callable[[str], None]) -> None:
        self._say = say
        self._repository = Path(directory or tempfile.mkdtemp(prefix="slipway-demo-")).absolute() / "repository"
        self._state: dict[str, Any] = {}
        # A database that the environment names is not ours to play in.
        self._environment = {name: value for name, value in os.environ.items() if name != "SLIPWAY_DB"}

    def play(self) -> None:
        """Make the repository, drive the three Runs and the task, and say what to try next. Raises ``demo_failed``."""
        self._make_repository()
        self._say(f"A repository to throw away: {self._repository}\n")
        self._change_with_review()
        self._questions()
        self._out_of_budget()
        self._say("4. A task of the control plane: plan, dev, acceptance, then integrate and publish.")
        demo_task.play(self._command, self._say)
        self._farewell()

    def _make_repository(self) -> None:
        if self._repository.exists():
            raise SlipwayError("demo_failed", "The demo's repository exists already. Give another --directory.")
        self._repository.mkdir(parents=True)
        (self._repository / "greeting.py").write_text('print("Hello")\n', "utf-8")
        self._git("init", "-q")
        self._git("add", "-A")
        self._git("commit", "-q", "-m", "A greeting")

    def _git(self, *arguments: str) -> None:
        try:
            subprocess.run(["git", *_GIT, *arguments], cwd=self._repository, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SlipwayError("demo_failed", "Git is needed for the demo, and it did not work.") from error

    # -- the three Runs

    def _change_with_review(self) -> None:
        self._say("1. A change. Git sees it, so a Review is interposed before the Run ends.")
        self._start("Greet people in Japanese as well")
        self._report("One file prints one greeting.", suggested_actions=[_suggest("implement", "Add the greeting.")])
        (self._repository / "greeting.py").write_text('print("Hello")\nprint("こんにちは")\n', "utf-8")
        check = subprocess.run([sys.executable, "greeting.py"], cwd=self._repository, capture_output=True, check=False)
        self._report(
            "The greeting is there.",
            implementation={
                "result": "applied",
                "files_changed": ["greeting.py"],
                "activities": [
                    {
                        "kind": "test",
                        "command": "python greeting.py",
                        "exit_code": check.returncode,
                        "summary": "It printed both greetings.",
                    }
                ],
                "uncertainties": [],
                "attempts": 1,
            },
        )
        finding = {"location": "greeting.py:2", "summary": "No test", "detail": "Nothing checks the new greeting."}
        self._report(
            "Correct, with one remark.",
            review={"result": "findings_reported", "findings": [finding], "uncertainties": []},
        )
        self._report("Both greetings are printed; a test is still missing.")

    def _questions(self) -> None:
        self._say("2. Questions. A decision is answered by a person; a destructive step is confirmed scope by scope.")
        self._start("Remove the old build output", "--no-review")
        self._report("Which output is meant?", pause=_pause("decision_required", "Remove build/ or dist/ as well?"))
        self._follow("answer-decision", text_file="Only build/.")
        self._report("Only build/ goes.", suggested_actions=[_suggest("implement", "Remove build/.")])
        request = {
            "request_id": "5b0c1d52-3f0e-4d8e-9a57-0f6f2c9f1b11",
            "targets": [{"kind": "path", "value": "build"}],
            "impact": "Deletes the folder build/ for good.",
        }
        request["scope_sha256"] = scope_sha256(request)
        self._report("Needs a confirmation.", pause=_pause("destructive_confirmation_required", "Delete it?", request))
        self._follow("confirm-destructive")
        self._report("build/ was not there; nothing to delete.", implementation=_nothing_done())
        self._report("There was nothing to remove.")

    def _out_of_budget(self) -> None:
        self._say("3. A small budget. It runs out, the Run waits, and a resume gives it a new one.")
        self._start("Find out why the greeting is slow", budget=1)
        self._report("Nothing measured yet.", suggested_actions=[_suggest("clarify", "Ask how slow it is.")])
        self._follow("resume-ad-hoc", budget="3")
        self._say("   … and it is left active, for you to go on with.\n")

    # -- a host's hands

    def _start(self, goal: str, *flags: str, budget: int = 8) -> None:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="goal-") as file:
            file.write(goal)
            file.flush()
            root = str(self._repository)
            argv = ["slipway", "run", "--budget", str(budget), "--json", "--root", root, *flags]
            self._run([*argv, "--goal-file", file.name], shown=[*argv, "--goal-file", "GOAL_FILE"])

    def _report(self, summary: str, **branches: Any) -> None:
        action = self._state["action"]
        outcome = {
            "contract_version": 2,
            "action_id": action["action_id"],
            "action_kind": action["kind"],
            "status": "needs_input" if "pause" in branches else "completed",
            "summary": summary,
            "observations": [],
            "known_issues": [],
            "suggested_actions": [],
            "pause": None,
            "implementation": None,
            "review": None,
        } | branches
        self._follow("submit-outcome-file", outcome_file=json.dumps(outcome, ensure_ascii=False))

    def _follow(self, identifier: str, **values: str) -> None:
        """Resolve one variant of ``next`` (machine-protocol §5.5) and run it."""
        variant = next(item for item in self._state["next"]["variants"] if item["id"] == identifier)
        argv, shown = list(variant["base_argv"]), list(variant["base_argv"])
        with tempfile.TemporaryDirectory(prefix="slipway-host-") as private:
            for item in variant["inputs"]:
                if item["name"] not in values:
                    continue
                value = values[item["name"]]
                if item["type"] == "path":
                    path = Path(private, item["name"])
                    path.write_text(value, "utf-8")
                    argv += [item["flag"], str(path)]
                    shown += [item["flag"], item["name"].upper()]
                else:
                    argv += [item["flag"], value]
                    shown += [item["flag"], value]
            self._run(argv, shown)

    def _run(self, argv: list[str], shown: list[str]) -> None:
        self._state = self._command(argv[1:])
        self._say(f"   $ {posix([self._short(word) for word in shown])}")
        self._say(f"     {self._outcome()}")

    def _command(self, words: Sequence[str], stdin: bytes = b"") -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-m", "slipway_lite", *words],
            input=stdin,
            capture_output=True,
            check=False,
            cwd=self._repository,
            env=self._environment,
        )
        if done.returncode:
            raise SlipwayError("demo_failed", f"A step of the demo was refused ({_code(done.stderr)}).")
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def _short(self, word: str) -> str:
        if word == str(self._repository):
            return "REPOSITORY"
        return _ID.sub(lambda found: found[0][: 15 if found[0].startswith("sha256:") else 8] + "…", word)

    def _outcome(self) -> str:
        state = self._state
        if state["state"] == "ended":
            return "The Run has ended:\n" + "".join(f"       {line}\n" for line in state["summary"].split("\n"))
        if state["state"] == "paused":
            return f"It is paused: {state['pause_reason']}."
        action = state["action"]
        return f"Next is {action['kind']}: {visible(action['brief'].partition('.')[0])}."

    def _farewell(self) -> None:
        root = posix([str(self._repository)])
        program = "slipway" if shutil.which("slipway") else posix([os.path.abspath(sys.argv[0])])
        self._say("Everything is in one SQLite file. Try:")
        for words in ("status", f"status {self._state['run_id']}", "task list", "db path", "db verify", "db info"):
            self._say(f"   {program} {words} --root {root}")
        self._say(f"Throw it away: rm -r {posix([str(self._repository)])}")


def _code(stderr: bytes) -> str:
    try:
        return str(json.loads(stderr)["code"])
    except (ValueError, KeyError, TypeError):
        return "no JSON"


def _suggest(kind: str, brief: str) -> dict[str, str]:
    return {"kind": kind, "brief": brief}


def _pause(reason: str, question: str, request: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"reason": reason, "question": question, "destructive_request": request}


def _nothing_done() -> dict[str, Any]:
    return {"result": "not_needed", "files_changed": [], "activities": [], "uncertainties": [], "attempts": 1}
