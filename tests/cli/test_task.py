"""The control plane's commands, run in this process through the Typer program."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.control.world import PATCH, TYPED_REF, create_body, result_body
from tests.store.files import plain


class Shell:
    """``slipway`` on one database."""

    def __init__(self, db: Path) -> None:
        self.db = db

    def run(self, *arguments: str, stdin: Any = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "slipway_lite", *arguments, "--db", str(self.db)],
            input=stdin if isinstance(stdin, str) else json.dumps(stdin),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def json(self, *arguments: str, stdin: Any = None) -> Any:
        done = self.run(*arguments, "--json", stdin=stdin)
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith("\n")
        assert done.stdout.count("\n") == 1
        return json.loads(done.stdout)

    def code(self, *arguments: str, stdin: Any = None) -> tuple[int, str]:
        done = self.run(*arguments, stdin=stdin)
        assert done.stdout == ""
        return done.returncode, json.loads(done.stderr)["code"]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "slipway.db")


def test_a_life_from_the_command_line(shell: Shell) -> None:
    made = shell.json(
        "task",
        "create",
        "--title",
        "T",
        "--objective",
        "O",
        "--typed-ref",
        TYPED_REF,
        "--repo",
        "octo/hub",
        "--label",
        "a",
        "--label",
        "b",
    )
    assert (made["labels"], made["repo_ref"]["default_branch"]) == (["a", "b"], "main")
    task_id = made["task_id"]
    shell.json("docs", "resolve", task_id, "--feature", "login")
    shell.json("tracker", "link", task_id, "--entity", "github_issue:42", "--connection", "c")
    for stage, members in (
        ("plan", {}),
        ("dev", {"patch_ref": PATCH}),
        ("acceptance", {"verdict": {"outcome": "accept"}}),
    ):
        job = shell.json("task", "dispatch", task_id, "--stage", stage)
        shell.json("job", "heartbeat", job["job_id"], "--worker", "w1", "--stage", stage)
        assert shell.json("job", "get", job["job_id"])["job"]["status"] == "running"
        shell.json("task", "result", task_id, stdin=result_body(job["job_id"], **members))
    shell.json("task", "checklist", task_id, "--check", "tests-passed", "--check", "no-regressions", "--by", "ann")
    assert shell.code("task", "accept", task_id) == (3, "CHECKLIST_INCOMPLETE")
    accept = ("task", "accept", task_id, "--check", "code-compiles", "--check", "code-review", "--by", "ann")
    assert shell.json(*accept)["state"] == "accepted"
    shell.json("task", "integrate", task_id, "--base-sha", "abcdef1", "--branch", "work")
    shell.json("task", "integrate-complete", task_id, "--passed")
    shell.json("task", "publish", task_id, "--mode", "apply", "--key", "k")
    published = shell.json("task", "publish-complete", task_id, "--ref", "tag:v1:rc", "--rollback-notes", "untag")
    assert published["external_refs"][-1] == {"kind": "tag", "value": "v1:rc"}
    shell.json("evidence", "ack", task_id, "art_log", "--reviewed-by", "ann")
    shell.json("task", "bundle", task_id, "--purpose", "other")
    for command in ("get", "list", "events", "audit-events"):
        lines = shell.run("task", command, *([] if command == "list" else [task_id])).stdout
        assert lines and "{" not in lines
    assert shell.run("db", "verify").returncode == 0


def test_approval_tokens_come_from_files_never_from_the_command_line(shell: Shell, tmp_path: Path) -> None:
    body = create_body(publish_plan={"approval_required": True})
    task_id = shell.json("task", "create", "--file", "-", stdin=body)["task_id"]
    token = shell.json("task", "approval", "issue", task_id)["approval_token"]
    kept = tmp_path / "token"
    kept.write_text(token + "\n")
    assert shell.code("task", "publish", task_id, "--mode", "apply", "--key", "k", "--token-file", str(kept)) == (
        3,
        "STATE_CONFLICT",
    )
    assert shell.code("task", "approve", task_id, stdin=token) == (3, "STATE_CONFLICT")
    assert shell.code("task", "approval", "revoke", task_id) == (2, "invalid_usage")
    assert shell.code("task", "approve", task_id, "--token-file", str(tmp_path / "none")) == (2, "unreadable_file")


def test_a_transition_by_hand(shell: Shell) -> None:
    task_id = shell.json("task", "create", "--file", "-", stdin=create_body())["task_id"]
    event = shell.json("task", "transition", task_id, "--to", "planning", "--reason", "by hand", "--by", "ann")
    assert (event["from_state"], event["to_state"], event["actor_id"]) == ("queued", "planning", "ann")
    assert shell.code("task", "transition", task_id, "--to", "published", "--reason", "no") == (3, "STATE_CONFLICT")
    assert shell.code("task", "cancel", task_id, "--expected-version", "7") == (3, "VERSION_CONFLICT")
    assert shell.json("task", "cancel", task_id, "--reason", "done with it")["state"] == "cancelled"


def test_documents_are_registered_read_and_compared(shell: Shell, tmp_path: Path) -> None:
    spec = tmp_path / "Login Spec.md"
    spec.write_text("# Rules\nMUST: work\n")
    (made,) = shell.json("docs", "ingest", str(spec), "--type", "spec")["items"]
    assert (made["doc_id"], made["status"]) == ("doc:spec:login-spec", "ingested")
    task_id = shell.json("task", "create", "--file", "-", stdin=create_body())["task_id"]
    shell.json("docs", "ack", task_id, "--doc", made["doc_id"], "--version", made["version"])
    assert shell.json("docs", "stale-check", task_id)["stale"] == []
    spec.write_text("# Rules\nother\n")
    shell.json("docs", "ingest", str(spec), "--type", "spec")
    assert shell.json("docs", "stale-check", task_id)["stale"][0]["reason"] == "version_mismatch"
    assert shell.code("docs", "ingest", str(tmp_path)) == (2, "unreadable_file")


def test_repositories_and_imported_audit(shell: Shell, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path / "hub")], check=True)
    added = shell.json("repo", "add", "github:octo/hub", "--path", str(tmp_path / "hub"), "--ci", "true")
    assert shell.json("repo", "list")["items"] == [added]
    shell.json("repo", "remove", "github:octo/hub")
    assert shell.code("repo", "remove", "github:octo/hub") == (3, "NOT_FOUND")
    lines = tmp_path / "audit.jsonl"
    event = {"event_id": "audit_1", "event_type": "x", "task_id": "t", "occurred_at": "2025-01-01T00:00:00Z"}
    lines.write_text(json.dumps(event) + "\n")
    assert shell.json("audit", "import", str(lines))["imported"] == 1
    assert shell.code("audit", "import", str(lines)) == (3, "DUPLICATE_EVENT")


def test_what_is_wrong_with_an_invocation(shell: Shell, tmp_path: Path) -> None:
    assert shell.code("task", "create", "--file", str(tmp_path / "none")) == (2, "unreadable_file")
    assert shell.code("task", "create", "--file", "-", stdin="[1]") == (2, "invalid_body")
    assert shell.code("task", "create", "--file", "-", stdin="{") == (2, "INVALID_REQUEST")
    assert shell.code("task", "create", "--title", "only") == (2, "INVALID_REQUEST")
    assert shell.code("task", "get", "nope") == (3, "NOT_FOUND")


def test_no_title_drives_a_terminal(shell: Shell) -> None:
    shell.json("task", "create", "--file", "-", stdin=create_body(title="\u001b[31mred\u0007"))
    assert "\u001b" not in shell.run("task", "list").stdout


def test_reading_commands_leave_a_resting_file_alone(shell: Shell) -> None:
    task_id = shell.json("task", "create", "--file", "-", stdin=create_body())["task_id"]
    before = (sorted(shell.db.parent.iterdir()), shell.db.read_bytes(), shell.db.stat().st_mtime_ns)
    shell.json("task", "get", task_id)
    shell.json("task", "list")
    shell.json("task", "events", task_id)
    assert (sorted(shell.db.parent.iterdir()), shell.db.read_bytes(), shell.db.stat().st_mtime_ns) == before


def test_a_task_that_is_no_json_any_more_is_a_refusal(shell: Shell) -> None:
    task_id = shell.json("task", "create", "--file", "-", stdin=create_body())["task_id"]
    connection = plain(shell.db)
    connection.execute("update tasks set document = '{'")
    connection.close()
    for argv in (["task", "list"], ["task", "get", task_id]):
        assert shell.code(*argv) == (3, "database_unreadable")
    assert shell.code("db", "verify") == (3, "database_not_verified")
