"""A coding host that knows nothing about Slipway but the text of ``slipway-run`` and the replies it gets.

Where to begin, how an Outcome looks, which combinations are legal, how a scope is digested and how an issue
is fetched all come out of the named blocks and tables of the text; what works next comes out of
``next.variants``. What a model would bring along, understanding the work, is a script of the test.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .capability_text import block, python, table

Reply = dict[str, Any]
#: What the person says when something is shown to them: words to record, or ``True`` for an explicit yes.
Person = Callable[[Reply], "str | bool"]
#: What a model would do for an Action: the branches of the Outcome that it wants, and the work itself on the
#: side.
Work = Callable[[Reply, "ScriptedHost"], dict[str, Any]]

LEGALITY = (
    "action_kind", "status", "implementation.result", "review.result", "pause.reason", "suggested_actions"
)  # fmt: skip


class ScriptedHost:
    def __init__(self, text: str, root: Path, environment: dict[str, str], work: Work, person: Person) -> None:
        self.text, self.root, self.environment = text, root, environment
        self.work, self.person = work, person
        self.commands: list[list[str]] = []
        self.materials: dict[str, str] = {}

    # Commands, files, text

    def run(self, argv: list[str]) -> Reply:
        """One command as an array of arguments, without a shell; its one JSON document."""
        self.commands.append(argv)
        done = subprocess.run(argv, cwd="/", env=self.environment, capture_output=True, timeout=60, check=False)
        assert done.returncode in (0, 2, 3), (argv, done.stderr)
        raw = done.stdout if done.returncode == 0 else done.stderr
        reply: Reply = json.loads(raw)
        assert done.returncode == reply.get("exit_code", 0)
        return reply

    def with_private_files(self, contents: list[str], argv: Callable[..., list[str]]) -> Reply:
        """Run the command with the paths of files that only we can read and that are gone afterwards."""
        with tempfile.TemporaryDirectory() as directory:
            assert stat.S_IMODE(os.stat(directory).st_mode) == 0o700
            paths = []
            for content in contents:
                descriptor, path = tempfile.mkstemp(dir=directory)
                assert stat.S_IMODE(os.fstat(descriptor).st_mode) == 0o600
                with open(descriptor, "w", encoding="utf-8", newline="") as file:
                    file.write(content)
                paths.append(path)
            return self.run(argv(*paths))

    def block(self, name: str, **values: str) -> list[str]:
        """The command in a block, with its placeholders replaced inside each argument."""
        argv = []
        for word in block(self.text, name):
            for placeholder, value in values.items():
                word = value if word == placeholder else word.replace(f"={placeholder}", f"={value}")
            argv.append(word)
        return argv

    def variant(self, reply: Reply, identifier: str, **values: str) -> list[str]:
        """``base_argv`` and, for every input that has a value, its flag and the value as two elements."""
        [variant] = [item for item in reply["next"]["variants"] if item["id"] == identifier]
        argv = list(variant["base_argv"])
        for wanted in variant["inputs"]:
            assert wanted["name"] in values or not wanted["required"]
            if wanted["name"] in values:
                assert "--" not in argv
                argv += [wanted["flag"], values[wanted["name"]]]
        return argv

    # Start

    def start(self, goal: str, source: str | None = None) -> Reply:
        def argv(goal_file: str, *source_file: str) -> list[str]:
            start = self.block("start", ROOT=str(self.root), GOAL_FILE=goal_file)
            return [*start, *(word for path in source_file for word in ("--source-file", path))]

        return self.with_private_files([goal] if source is None else [goal, source], argv)

    def fetch(self, owner: str, name: str, number: int) -> str:
        """The envelope of an issue, made as the text says."""
        values = {"OWNER": owner, "NAME": name, "NUMBER": str(number)}
        repository = self.run(self.block("fetch-issue", **values))["data"]["repository"]
        issue = repository["issue"]
        wanted = [section["comment_node_id"] for section in _manifest(issue["body"])["sections"]]
        *head, flag, first = self.block("fetch-comments", COMMENT_NODE_ID=wanted[0])
        pairs = [word for node in wanted for word in (flag, first.replace(wanted[0], node))]
        nodes = self.run([*head, *pairs])["data"]["nodes"]
        envelope: dict[str, Any] = block(self.text, "envelope")
        [comment] = envelope["comments"]
        del envelope["parent"]
        envelope |= {
            "repository_id": repository["id"],
            "issue_id": issue["id"],
            "issue_number": issue["number"],
            "canonical_url": issue["url"],
            "updated_at": issue["updatedAt"],
            "fetched_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "title": issue["title"],
            "body": issue["body"],
            "labels": [label["name"] for label in issue["labels"]["nodes"]],
            "comments": [
                comment
                | {
                    "node_id": node["id"],
                    "database_id": int(node["fullDatabaseId"]),
                    "url": node["url"],
                    "updated_at": node["updatedAt"],
                    "author_id": node["author"]["id"],
                    "is_minimized": node["isMinimized"],
                    "body": node["body"],
                }
                for node in nodes
            ],
        }
        return json.dumps(envelope, ensure_ascii=False)

    # The loop

    def drive(self, reply: Reply) -> Reply:
        """Follow ``next`` until nothing is left to do."""
        steps = {row["operation"] for row in table(self.text, "operation", "what to do")}
        while reply["next"]["operation"] != "none":
            operation = reply["next"]["operation"]
            assert operation in steps
            reply = {"action": self.act, "answer": self.ask, "resume": self.resume}[operation](reply)
        return reply

    def act(self, reply: Reply) -> Reply:
        action = reply["action"]
        assert action["kind"] in {row["kind"] for row in table(self.text, "kind", "work")}
        self.read_requirements(action)
        outcome = block(self.text, "outcome")
        outcome |= {"action_id": action["action_id"], "action_kind": action["kind"], "summary": "Done as scripted."}
        outcome |= self.work(reply, self)
        self.check_legal(outcome)
        content = json.dumps(outcome, ensure_ascii=False)
        return self.with_private_files(
            [content], lambda path: self.variant(reply, "submit-outcome-file", outcome_file=path)
        )

    def read_requirements(self, action: dict[str, Any]) -> None:
        if "requirements" in action:
            reader = action["requirements"]["reader"]
            for key in action["requirements"]["required_for_action"]:
                section = self.run([*reader["base_argv"], "--section", key])["section"]
                self.materials[key] = section["markdown"]

    def check_legal(self, outcome: dict[str, Any]) -> None:
        def fits(cell: str, branch: str, key: str) -> bool:
            return (outcome[branch] or {key: "null"})[key] in cell.split(", ")

        assert any(
            row["action_kind"] == outcome["action_kind"]
            and outcome["status"] in row["status"].split(", ")
            and fits(row["implementation.result"], "implementation", "result")
            and fits(row["review.result"], "review", "result")
            and fits(row["pause.reason"], "pause", "reason")
            and str(len(outcome["suggested_actions"])) in row["suggested_actions"].split(" or ")
            for row in table(self.text, *LEGALITY)
        ), outcome

    def destructive_pause(self, targets: list[dict[str, str]], impact: str) -> dict[str, Any]:
        pause: dict[str, Any] = block(self.text, "destructive_pause")
        request = python(self.text, "scope")["destructive_request"](targets, impact)
        return pause | {"question": "May this go?", "destructive_request": request}

    def ask(self, reply: Reply) -> Reply:
        assert reply["pause_reason"] in {row["pause_reason"] for row in table(self.text, "pause_reason", "what to do")}
        said = self.person(reply)
        if said is True:
            assert reply["pause_reason"] == "destructive_confirmation_required"
            return self.run(self.variant(reply, "confirm-destructive"))
        assert isinstance(said, str)
        decision = reply["pause_reason"] == "decision_required"
        chosen = "answer-decision" if decision else "decline-or-feedback"
        return self.with_private_files([said], lambda path: self.variant(reply, chosen, text_file=path))

    def resume(self, reply: Reply) -> Reply:
        said = self.person(reply)
        assert isinstance(said, str)
        identifier = reply["next"]["variants"][0]["id"]
        return self.run(self.variant(reply, identifier, budget=said))


def _manifest(body: str) -> dict[str, Any]:
    _, _, rest = body.partition("```slipway-manifest\n")
    manifest: dict[str, Any] = json.loads(rest.partition("\n```")[0])
    return manifest
