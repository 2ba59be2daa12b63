"""The working tree that turns run in: the only module of this package that starts git or reads documents."""

from __future__ import annotations

import os
import select
import stat
import subprocess
from dataclasses import dataclass
from typing import Any, NamedTuple

from slipway_lite import clock
from slipway_lite.errors import SlipwayError
from slipway_lite.turns.compiler import FIX_INDEX_PATH, REPOSITORY_STATE_PATH, ROADMAP_PATH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

GIT_SECONDS = 30.0
OUTPUT_LIMIT = 16 * 1024 * 1024
"""Bytes that git may print."""
DOCUMENT_LIMIT = 4 * 1024 * 1024
"""Bytes of one document that are read; a larger one is named as a degradation."""

INDEX_PATHS = (REPOSITORY_STATE_PATH, ROADMAP_PATH, FIX_INDEX_PATH)

# Looking refreshes no index, and neither looking nor parking runs a hook or a monitor of the repository.
_SETTINGS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_REDIRECTIONS = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_INDEX_VERSION",
    "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_NAMESPACE",
    "GIT_REPLACE_REF_BASE", "GIT_NO_REPLACE_OBJECTS", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT", "GIT_PREFIX",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class GitFacts:
    """What git says about the tree: the caller facts of a snapshot and the conductor's probe."""

    root: str
    common_dir: str
    branch: str
    head: str
    porcelain: str
    ahead: int

    @property
    def dirty(self) -> bool:
        return bool(self.porcelain)

    def as_repository(self) -> dict[str, Any]:
        return {"branch": self.branch, "headSha": self.head, "dirty": self.dirty}


class Documents(NamedTuple):
    """The documents that were read, and the sources that exist and could not be read, as ``reason:path``."""

    documents: list[dict[str, str]]
    degradations: list[str]

    def content(self, path: str) -> str | None:
        return next((found["content"] for found in self.documents if found["path"] == path), None)

    @property
    def unread(self) -> list[str]:
        """The paths that exist and could not be read."""
        return [degradation.partition(":")[2] for degradation in self.degradations]


def observe_git(root: str, ignore: Iterable[str] = ()) -> GitFacts:
    """The state of the working tree at ``root``; paths in ``ignore`` do not make it dirty.

    A branch without an upstream counts as 1 ahead, a detached HEAD has the branch ``""``. Raises
    :class:`SlipwayError`: ``not_a_repository``, ``no_revision`` (no commit yet), ``git_failed``.
    """
    top = _git(root, "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir")
    if top is None:
        raise SlipwayError("not_a_repository", "This directory is not inside a git working tree.")
    toplevel, _, common = top.partition("\n")
    if not (os.path.isabs(toplevel) and os.path.isabs(common)):
        raise SlipwayError("git_failed", "git did not say where this working tree is.")
    status = _git(toplevel, "status", "--porcelain=v2", "--branch", "--", ".", *_excluding(ignore))
    if status is None:
        raise SlipwayError("git_failed", "git status failed in this working tree.")
    lines = status.split("\n")
    try:
        about = dict(line.removeprefix("# branch.").split(" ", 1) for line in lines if line.startswith("# branch."))
        branch, head = about["head"], about["oid"]
        ahead = int(about["ab"].split(" ")[0]) if "ab" in about else 1
    except (KeyError, ValueError):
        raise SlipwayError("git_failed", "git status does not say which branch and commit this is.") from None
    if head == "(initial)":
        raise SlipwayError("no_revision", "The repository has no commit yet, so there is no revision to cite.")
    return GitFacts(
        root=toplevel,
        common_dir=os.path.realpath(common),
        branch="" if branch == "(detached)" else branch,
        head=head,
        porcelain="\n".join(line for line in lines if not line.startswith("#")),
        ahead=ahead,
    )


def _excluding(paths: Iterable[str]) -> list[str]:
    return [f":(exclude,top,literal){path}" for path in paths]


def park(facts: GitFacts, message: str, ignore: Iterable[str] = ()) -> None:
    """Put everything that lies uncommitted into one WIP commit; nothing when the tree is clean."""
    if not facts.dirty:
        return
    staged = _git(facts.root, "add", "--all", "--", ".", *_excluding(ignore))
    if staged is None or _git(facts.root, "commit", "--quiet", "--no-verify", "-m", message) is None:
        raise SlipwayError("git_failed", "The uncommitted work could not be parked in a WIP commit.")


def _git(root: str, *arguments: str) -> str | None:
    """The output of one git command without its last newline; ``None`` when it failed."""
    environment = {name: value for name, value in os.environ.items() if name not in _REDIRECTIONS}
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        process = subprocess.Popen(
            ("git", *_SETTINGS, "-C", root, *arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
    except OSError as error:
        raise SlipwayError("git_failed", "git could not be run.") from error
    with process:
        raw = _output(process)
        if raw is None:
            process.kill()
            raise SlipwayError("git_failed", "git took too long, or printed too much.")
    if process.returncode != 0:
        return None
    return raw.decode("utf-8", "surrogateescape").removesuffix("\n")


def _output(process: subprocess.Popen[bytes]) -> bytes | None:
    """What ``process`` prints to its end; ``None`` when that is too much or takes too long."""
    assert process.stdout is not None
    deadline = clock.monotonic() + GIT_SECONDS
    waiting = select.poll()
    waiting.register(process.stdout, select.POLLIN)
    parts: list[bytes] = []
    size = 0
    while waiting.poll(max(0.0, deadline - clock.monotonic()) * 1000):
        part = os.read(process.stdout.fileno(), 1 << 18)
        if not part:
            try:
                process.wait(max(0.0, deadline - clock.monotonic()))
            except subprocess.TimeoutExpired:
                return None
            return b"".join(parts)
        size += len(part)
        if size > OUTPUT_LIMIT:
            return None
        parts.append(part)
    return None


def read_documents(root: str, paths: Iterable[str]) -> Documents:
    """The documents at ``paths`` under ``root``, in that order.

    An absent one is left out. One that exists and cannot be read is named: ``unreadable``, ``not-utf8``,
    ``too-large``, or ``outside`` for a link that leads out of the tree.
    """
    documents: list[dict[str, str]] = []
    degradations: list[str] = []
    base = os.path.realpath(root)
    for path in paths:
        place = os.path.join(base, *path.split("/"))
        try:
            os.lstat(place)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            content, reason = None, "unreadable"
        else:
            content, reason = _read(base, place)
        if content is None:
            degradations.append(f"{reason}:{path}")
        else:
            documents.append({"path": path, "content": content})
    return Documents(documents, degradations)


def _read(base: str, place: str) -> tuple[str | None, str]:
    place = os.path.realpath(place)
    if os.path.commonpath([base, place]) != base:
        return None, "outside"
    try:
        # Whatever takes the place of the file now is neither followed nor waited for.
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None, "unreadable"
            with open(descriptor, "rb", closefd=False) as file:
                raw = file.read(DOCUMENT_LIMIT + 1)
        finally:
            os.close(descriptor)
    except OSError:
        return None, "unreadable"
    if len(raw) > DOCUMENT_LIMIT:
        return None, "too-large"
    try:
        return raw.decode(), ""
    except UnicodeDecodeError:
        return None, "not-utf8"
