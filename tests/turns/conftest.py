"""A git working tree to look at, and a journal in a real store."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from slipway_lite.store.connection import open_store
from slipway_lite.turns.repository_state import RepositoryState, render_repository_state
from slipway_lite.turns.service import TurnJournal

IDENTITY = {
    "GIT_AUTHOR_NAME": "t",
    "GIT_AUTHOR_EMAIL": "t@example.invalid",
    "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@example.invalid",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}

ROADMAP = "docs/features/ROADMAP.md"
STATE = "docs/workflow/REPOSITORY_STATE.md"
FROZEN = render_repository_state(RepositoryState(status="frozen", snapshot_id="S1", source_revision="abc"))


class Tree:
    """A repository with one commit, and what tests do to it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tracked = False

    def track(self) -> None:
        """Give the branch an upstream that follows every commit, as if each were pushed."""
        self.git("branch", "base")
        self.git("branch", "--quiet", "--set-upstream-to=base")
        self.tracked = True

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.root), *arguments], check=True, capture_output=True, text=True, env={**os.environ}
        )
        return done.stdout.strip()

    def write(self, path: str, content: str | bytes) -> Path:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
        return place

    def commit(self) -> str:
        """Commit everything; returns the new head."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", "c")
        if self.tracked:
            self.git("branch", "--force", "base")
        return self.git("rev-parse", "HEAD")

    def plan(self, roadmap: str = "| 12 | csv | in-progress |\n", state: str = FROZEN) -> str:
        """Commit a roadmap, a repository state and a unit with two phases, the first of them done."""
        self.write(ROADMAP, roadmap)
        self.write(STATE, state)
        self.write("docs/features/12-csv/SPEC.md", "## P1 — Parser\n\n## P2 — Writer\n")
        self.write("docs/features/12-csv/progress.md", "- Done: P1\n- Remains: P2\n")
        return self.commit()


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)
    root = tmp_path / "tree"
    root.mkdir()
    made = Tree(root)
    made.git("init", "--quiet", "--initial-branch=main")
    made.write("README.md", "# r\n")
    made.commit()
    return made


@pytest.fixture
def journal(tree: Tree, tmp_path: Path) -> Iterator[TurnJournal]:
    with open_store(str(tmp_path / "slipway.db")) as store:
        yield TurnJournal(store, str(tree.root))
