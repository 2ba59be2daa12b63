"""Git for integrate: worktrees, merges and references of a configured repository, and nothing of its hooks."""

from __future__ import annotations

import os
import subprocess
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SETTINGS = (
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "gc.auto=0",
    "-c",
    "commit.gpgSign=false",
    "-c",
    "user.name=slipway-lite",
    "-c",
    "user.email=slipway-lite@localhost",
)
GIT_SECONDS = 120
SECRETS = ("SLIPWAY_TOKEN",)


class GitFailed(Exception):
    """A git command that did not succeed; ``command`` is its verb."""

    def __init__(self, command: str) -> None:
        super().__init__(f"git {command} failed")
        self.command = command


def environment() -> dict[str, str]:
    """Our environment without anything that redirects git, and without our secrets."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") and name not in SECRETS}
    return kept | {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}


class Git:
    """Git in one directory."""

    def __init__(self, path: str) -> None:
        self.path = path

    def run(self, *arguments: str, stdin: str | None = None) -> str:
        """Standard output, trimmed. Raises :class:`GitFailed`."""
        try:
            done = subprocess.run(
                ["git", *SETTINGS, *arguments],
                cwd=self.path,
                env=environment(),
                input=stdin,
                capture_output=True,
                text=True,
                errors="surrogateescape",
                timeout=GIT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise GitFailed(arguments[0]) from None
        if done.returncode != 0:
            raise GitFailed(arguments[0])
        return done.stdout.strip()

    def commit_of(self, name: str) -> str:
        """The commit that ``name`` stands for. Raises :class:`GitFailed`."""
        return self.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")

    @contextmanager
    def worktree(self, commit: str) -> Iterator[Git]:
        """A detached worktree at ``commit`` outside the repository, gone afterwards."""
        with tempfile.TemporaryDirectory(prefix="slipway-integrate-") as directory:
            tree = os.path.join(directory, "tree")
            self.run("worktree", "add", "--detach", tree, commit)
            try:
                yield Git(tree)
            finally:
                self.run("worktree", "remove", "--force", tree)

    def fast_forward(self, branch: str, commit: str, expected: str) -> None:
        """Move ``branch`` from ``expected`` to its descendant ``commit``, together with a worktree that has it out.

        Raises :class:`GitFailed`, with nothing moved, when the branch stands elsewhere or local changes are in the
        way.
        """
        reference = f"refs/heads/{branch}"
        self.run("merge-base", "--is-ancestor", expected, commit)
        if self.commit_of(reference) != expected:
            raise GitFailed("update-ref")
        place = self._checked_out_at(reference)
        if place is None:
            self.run("update-ref", reference, commit, expected)
        else:
            Git(place).run("merge", "--ff-only", "--quiet", commit)

    def _checked_out_at(self, reference: str) -> str | None:
        place = None
        for line in self.run("worktree", "list", "--porcelain").splitlines():
            if line.startswith("worktree "):
                place = line.removeprefix("worktree ")
            elif line == f"branch {reference}":
                return place
        return None
