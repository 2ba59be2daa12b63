"""Workspace identity: which worktree of which repository a Run belongs to (machine-protocol §1.3, §7.1, §7.2)."""

from __future__ import annotations

import hashlib
import os

from slipway_lite.errors import SlipwayError, UsageError
from slipway_lite.protocol.git import Git, GitDeadline, GitError, answer, wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PATHS = ("--show-toplevel", "--git-dir", "--git-common-dir")


class Sections:
    """A digest over named sections: ``00 name 00 decimal length 00 bytes`` each (machine-protocol §7.2)."""

    __slots__ = ("_digest",)

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def add(self, name: str, value: bytes | str) -> None:
        raw = value.encode() if isinstance(value, str) else value
        self._digest.update(b"\0%s\0%d\0%s" % (name.encode(), len(raw), raw))

    def digest(self) -> str:
        return "sha256:" + self._digest.hexdigest()


class Workspace:
    """The canonical paths of one worktree, as git tells them."""

    __slots__ = ("git_common_dir", "git_dir", "id", "worktree_root")

    def __init__(self, worktree_root: str, git_dir: str, git_common_dir: str) -> None:
        self.worktree_root = worktree_root
        self.git_dir = git_dir
        self.git_common_dir = git_common_dir
        self.id = identity(worktree_root, git_dir, git_common_dir)

    def document(self) -> dict[str, Any]:
        """``workspace_identity`` as a Run keeps it."""
        return {
            "version": 1,
            "worktree_root": self.worktree_root,
            "git_dir": self.git_dir,
            "git_common_dir": self.git_common_dir,
            "id": self.id,
        }


def identity(worktree_root: str, git_dir: str, git_common_dir: str) -> str:
    """The identity digest of a worktree; linked worktrees differ by ``git_dir``."""
    sections = Sections()
    sections.add("version", "1")
    sections.add("worktree_root", worktree_root)
    sections.add("git_dir", git_dir)
    sections.add("git_common_dir", git_common_dir)
    return sections.digest()


def unavailable_identity(path: str) -> str:
    """The identity of a directory outside any worktree."""
    try:
        raw = os.fsencode(os.path.abspath(path or os.getcwd()))
    except OSError:
        # The current directory is gone: there is no path to speak of.
        raw = os.fsencode(path or "/")
    return "sha256:" + hashlib.sha256(b"unavailable-workspace-root-v1\0" + raw).hexdigest()


def directory_of(root: str) -> str:
    """``root`` (empty: the current directory) as an absolute existing directory, symlinks resolved.

    Something that is no directory stands for its parent. Raises ``git_repository_required``.
    """
    try:
        path = os.path.abspath(root or os.getcwd())
        if not os.path.isdir(path):
            os.stat(path)
            path = os.path.dirname(path)
        resolved = os.path.realpath(path, strict=True)
        resolved.encode()
    except (OSError, ValueError) as error:
        raise _required() from error
    return resolved


def _required() -> UsageError:
    return UsageError(
        "git_repository_required",
        "Git finds no worktree at the root, or refuses it: `git status` there says why. --root names another.",
    )


class Discovery:
    """The git query for one root, started early so that other work can go on beside it."""

    __slots__ = ("_process", "directory")

    def __init__(self, root: str) -> None:
        self.directory = directory_of(root)
        try:
            self._process = Git(self.directory, "rev-parse", "--path-format=absolute", *_PATHS)
        except GitError as error:
            raise _required() from error

    def workspace(self) -> Workspace:
        """The worktree around the root. Raises ``git_repository_required`` or ``git_repository_unavailable``."""
        try:
            wait([self._process])
            answers = answer(self._process).removesuffix(b"\n").split(b"\n")
            if len(answers) != len(_PATHS):
                answers = self._one_by_one()
            return Workspace(*(_canonical(raw) for raw in answers))
        except GitDeadline as error:
            raise self._unavailable() from error
        except (GitError, OSError, ValueError) as error:
            raise _required() from error

    def _unavailable(self) -> SlipwayError:
        from slipway_lite.protocol.next import command

        again = command(
            unavailable_identity(self.directory), "retry-doctor", "doctor", "--root", self.directory, "--json"
        )
        return SlipwayError(
            "git_repository_unavailable",
            "Git did not answer in time. Check the repository with `slipway doctor`.",
            next=again,
        )

    def _one_by_one(self) -> list[bytes]:
        """A path with a line feed in it cannot be told from two paths; ask for each alone."""
        processes = [Git(self.directory, "rev-parse", "--path-format=absolute", path) for path in _PATHS]
        wait(processes)
        return [answer(process).removesuffix(b"\n") for process in processes]

    def abandon(self) -> None:
        self._process.abandon()


def _canonical(raw: bytes) -> str:
    found = raw.removesuffix(b"\r").decode()
    path = os.path.realpath(found, strict=True)
    # Anything but an absolute path would be looked for below the current directory.
    if not os.path.isabs(found) or not os.path.isdir(path):
        raise NotADirectoryError(path)
    return path


def discover(root: str) -> Workspace:
    """The worktree around ``root`` (machine-protocol §1.3)."""
    return Discovery(root).workspace()
