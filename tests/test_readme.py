"""Everything the README tells a reader to type works as written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "mine"
    root.mkdir()
    (root / "README.md").write_text("# Mine\n", "utf-8")
    identity = ("-c", "user.name=Reader", "-c", "user.email=reader@example.invalid")
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)
    return root


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of a reader: ``slipway`` and ``python3`` on the path, and no database named."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, words in (("slipway", "-m slipway_lite"), ("python3", "")):
        script = tools / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n', "utf-8")
        script.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if name != "SLIPWAY_DB"}
    return kept | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


def test_the_tour_runs_from_the_first_block_to_the_last(repository: Path, environment: dict[str, str]) -> None:
    tour = "set -eu\n" + "".join(blocks("bash tour"))
    done = subprocess.run(["bash", "-c", tour], cwd=repository, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert b'"kind":"implement"' in done.stdout
    assert b"Sound: " in done.stdout
    assert b"(1, 'orient', 'completed', 0)" in done.stdout


def test_the_python_blocks_run(repository: Path, environment: dict[str, str]) -> None:
    printed = []
    for code in blocks("python"):
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=repository, env=environment, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        printed.append(done.stdout.decode().splitlines())
    plane, lines = printed
    assert plane == ["queued"]
    assert lines[:2] == ["active orient", "invalid_outcome 2 none"]
    assert lines[2].endswith(" active")


def test_there_are_exactly_two_commands_for_a_newcomer() -> None:
    first, second = blocks("bash")
    assert "slipway demo" in first
    assert "pytest" in second


def test_the_demo_runs(tmp_path: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        ["slipway", "demo", "--directory", str(tmp_path / "demo")], env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b"paused: destructive_confirmation_required" in done.stdout
    repository = tmp_path / "demo" / "repository"
    verify = subprocess.run(
        ["slipway", "db", "verify", "--root", str(repository)], env=environment, capture_output=True, check=False
    )
    assert verify.returncode == 0, verify.stderr.decode()


def test_the_demo_throws_away_only_what_it_made(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "precious").touch()
    command = ["slipway", "demo", "--directory", "mine"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().splitlines()[-1] == f"Throw it away: rm -r {tmp_path}/mine/repository"
    again = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert again.returncode == 3
    assert b'"code":"demo_failed"' in again.stderr


def test_every_command_is_in_the_readme() -> None:
    from slipway_lite.cli.app import NOUNS
    from slipway_lite.cli.grammar import COMMANDS

    for words in (*COMMANDS, *NOUNS):
        assert re.search(rf"`(slipway )?[^`]*\b{words.split()[-1]}\b[^`]*`", README), words
