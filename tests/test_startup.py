"""Start-up is part of the product: what the machine commands import, and how many git processes they start."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.machine_host import COMMAND, Host, decision, environment, outcome, raw, repository, whole_run

HEAVY = (
    "dataclasses", "datasette", "fastapi", "importlib.resources", "inspect", "jsonschema", "pandas", "pathlib",
    "pydantic", "rich", "slipway_lite.protocol.imported", "sqlite_utils", "subprocess", "tempfile", "typer", "typing",
    "uuid",
)  # fmt: skip
PROBE = """
import sys
before = set(sys.modules)
from slipway_lite.cli.main import execute
status = execute(sys.argv[2:])
sys.stderr.write(" ".join(sorted(set(sys.argv[1].split(",")) & set(sys.modules) - before)))
sys.exit(status)
"""

Prepared = tuple[list[str], bytes]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose database is there already."""
    root = repository(tmp_path_factory.mktemp("startup") / "repo")
    Host(root)
    return root


def prepared(root: Path) -> Iterator[tuple[str, Prepared]]:
    """One command line of every kind, with its input."""
    here = ["--root", str(root)]
    host = Host(root)
    yield "run", (["run", "--goal-stdin", "--json", *here], b"goal")
    yield "run for people", (["run", "goal", *here], b"")
    yield "status list", (["status", "--json", *here], b"")
    yield "status one", (["status", host.run_id, "--json", *here], b"")
    yield "status for people", (["status", host.run_id, *here], b"")
    yield "submit", (host.argv("submit", "--outcome-stdin"), raw(outcome(host.action, "needs_input", pause=decision())))
    yield "answer", (host.argv("answer", "--text-stdin"), b"This one.")
    host.state = {"action": host.status()["current_action"]}
    yield "skip", (host.argv("skip"), b"")
    yield "stop", (["stop", host.run_id, "--json", *here], b"")
    yield "resume", (["protocol", "resume", host.run_id, *here], b"")
    yield "usage error", (["run", *here], b"")


def test_nothing_heavy_is_imported_by_a_machine_command(root: Path) -> None:
    found = {}
    for name, (argv, stdin) in prepared(root):
        done = subprocess.run(
            [sys.executable, "-c", PROBE, ",".join(HEAVY), *argv], input=stdin, capture_output=True, env=environment()
        )
        assert done.returncode == (2 if name == "usage error" else 0), (name, done.stderr)
        found[name] = done.stderr.decode().rpartition("\n")[2]
    assert found == dict.fromkeys(found, "")


LIMITS = {
    "run": 5, "run for people": 5, "submit": 5, "answer": 5, "skip": 5, "stop": 5, "resume": 5,
    "status list": 1, "status one": 1, "status for people": 1,
}  # fmt: skip


def test_few_git_processes_a_command(root: Path, tmp_path: Path) -> None:
    wrapper, log = tmp_path / "bin" / "git", tmp_path / "log"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\necho x >>"{log}"\nexec "{shutil.which("git")}" "$@"\n')
    wrapper.chmod(0o755)
    counted: dict[str, Any] = {}
    for name, (argv, stdin) in prepared(root):
        log.write_text("")
        env = environment()
        env["PATH"] = f"{wrapper.parent}:{env['PATH']}"
        subprocess.run([*COMMAND, *argv], input=stdin, capture_output=True, env=env)
        counted[name] = log.read_text().count("x")
    assert {name: counted[name] for name in LIMITS if counted[name] > LIMITS[name]} == {}
    assert {counted[name] for name in LIMITS if name.startswith("status")} == {1}


def test_a_status_of_a_run_that_is_over_starts_one_git_process_too(root: Path, tmp_path: Path) -> None:
    other = repository(tmp_path / "repo")
    host = whole_run(other)
    wrapper, log = tmp_path / "bin" / "git", tmp_path / "log"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\necho x >>"{log}"\nexec "{shutil.which("git")}" "$@"\n')
    wrapper.chmod(0o755)
    env = environment()
    env["PATH"] = f"{wrapper.parent}:{env['PATH']}"
    done = subprocess.run([*COMMAND, "status", host.run_id], cwd=other, capture_output=True, env=env)
    assert (done.returncode, log.read_text()) == (0, "x\n")
