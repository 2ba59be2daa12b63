"""Real git repositories for the tests at the edge, deaf to the configuration of whoever runs them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

IDENTITY = {
    "GIT_AUTHOR_NAME": "Dev",
    "GIT_AUTHOR_EMAIL": "dev@example.org",
    "GIT_COMMITTER_NAME": "Dev",
    "GIT_COMMITTER_EMAIL": "dev@example.org",
}


class Repository:
    """A worktree to do things to."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def git(self, *arguments: str, check: bool = True) -> bytes:
        done = subprocess.run(
            ["git", "-C", str(self.root), *arguments],
            env={name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
            | IDENTITY
            | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
            capture_output=True,
            check=check,
        )
        return done.stdout

    def write(self, path: str, content: bytes | str = b"content\n") -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def commit(self, *paths: str) -> str:
        """Commit ``paths``, written with default content where they do not exist; returns the new HEAD."""
        for path in paths:
            if not (self.root / path).exists():
                self.write(path)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "a step")
        return self.git("rev-parse", "HEAD").decode().strip()


def create(root: Path) -> Repository:
    root.mkdir(parents=True, exist_ok=True)
    repository = Repository(root)
    repository.git("init", "-q", "-b", "main")
    return repository


@pytest.fixture(autouse=True)
def _own_git_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code under test reads no configuration of the person who runs the tests, and no database of theirs."""
    for name in [name for name in os.environ if name.startswith("GIT_") or name == "SLIPWAY_DB"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A repository with one commit, clean."""
    repository = create((tmp_path / "repo").resolve())
    repository.commit("README.md")
    return repository


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The processes that a test starts by way of ours; none of them may be left when it ends."""
    pids: list[int] = []
    spawn = os.posix_spawnp

    def recording(*words: Any, **options: Any) -> int:
        pids.append(spawn(*words, **options))
        return pids[-1]

    monkeypatch.setattr(os, "posix_spawnp", recording)
    yield pids
    for pid in pids:
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
