"""One observation of a worktree: HEAD, index, status, and the content of dirty paths (machine-protocol §7.3-7.6).

Nothing is written, no content is kept, no symlink is followed. The digests are those of the published
implementation to the bit.
"""

from __future__ import annotations

import hashlib
import os
import stat

from slipway_lite import clock
from slipway_lite.protocol.git import Git, GitError, answer, wait
from slipway_lite.protocol.workspace import Sections

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

CONTENT_BYTE_LIMIT = 64 * 1024 * 1024
CONTENT_SECONDS = 5.0
FULL_HASH_LIMIT = 16 * 1024 * 1024
DETAIL_LIMIT = 524_288
SAMPLE = 65_536
SAMPLED_COST = 3 * SAMPLE
_BLOCK = 1 << 20


class Observing:
    """Three git reads that run side by side; :meth:`finish` turns them into an observation."""

    __slots__ = ("_processes", "_root")

    def __init__(self, root: str) -> None:
        self._root = root
        self._processes: list[Git] = []
        try:
            for arguments in (
                ("status", "--porcelain=v2", "-z", "--untracked-files=all"),
                ("ls-files", "--stage", "-z"),
                ("rev-parse", "--verify", "--quiet", "HEAD"),
            ):
                self._processes.append(Git(root, *arguments))
        except GitError:
            self.abandon()
            raise

    def finish(self) -> dict[str, Any]:
        """The observation document of machine-protocol §7.6. Raises :class:`GitError`."""
        wait(self._processes)
        status, index, head = self._processes
        return observation(self._root, _head(head), answer(index), answer(status))

    def abandon(self) -> None:
        for process in self._processes:
            process.abandon()


def observe(root: str) -> dict[str, Any]:
    """The state of the worktree at ``root`` now. Raises :class:`GitError`."""
    return Observing(root).finish()


def _head(process: Git) -> str:
    if process.status == 1 and not process.stderr:
        return "unborn"
    return answer(process).removesuffix(b"\n").removesuffix(b"\r").decode("ascii", "replace")


def observation(root: str, head: str, index: bytes, status: bytes) -> dict[str, Any]:
    """The document for what git printed, with the content of the dirty paths below ``root`` read now."""
    budget, links = _Budget(), _Links(root)
    found = parse_status(status)
    fingerprint = Sections()
    fingerprint.add("path_count", str(len(found)))
    retained: list[dict[str, Any]] = []
    detail = 0
    for name in sorted(found):
        path = _path_observation(links, name, *found[name], budget)
        _add_path(fingerprint, path)
        # The retained paths are a prefix: once one does not fit, none after it does.
        detail += _detail(path)
        if detail <= DETAIL_LIMIT:
            retained.append(path)
    document: dict[str, Any] = {
        "version": 1,
        "head": head,
        "index_fingerprint": "sha256:" + hashlib.sha256(index).hexdigest(),
        "status_fingerprint": "sha256:" + hashlib.sha256(status).hexdigest(),
        "snapshot_hash": "",
        "path_count": len(found),
        "path_fingerprint": fingerprint.digest(),
        "details_truncated": len(retained) < len(found),
        "content_observation_complete": budget.complete,
        "content_bytes_hashed": budget.hashed,
        "content_byte_limit": CONTENT_BYTE_LIMIT,
        "content_byte_limit_exceeded": budget.limit_exceeded,
        "content_deadline_exceeded": budget.deadline_exceeded,
        "dirty_files": [path["path"] for path in retained],
        "path_observations": retained,
    }
    document["snapshot_hash"] = snapshot_hash(document)
    return document


def parse_status(raw: bytes) -> dict[str, tuple[str, str]]:
    """``{path: (category, state)}`` of ``git status --porcelain=v2 -z``. Raises :class:`GitError`."""
    found: dict[str, tuple[str, str]] = {}
    # A million untracked files share one pair: what git prints may be megabytes of short names.
    pairs: dict[tuple[str, str], tuple[str, str]] = {}

    def add(raw_path: bytes, category: str, raw_state: bytes) -> None:
        path, pair = _relative(raw_path), (category, raw_state.decode("ascii", "replace"))
        known = found.get(path)
        if known is not None:
            pair = (_joined(known[0], pair[0]), _joined(known[1], pair[1]))
        found[path] = pairs.setdefault(pair, pair)

    records = _records(raw)
    for record in records:
        match record[:2]:
            case b"1 " if len(fields := record.split(b" ", 8)) == 9:
                add(fields[8], "ordinary", fields[1])
            case b"2 " if len(fields := record.split(b" ", 9)) == 10:
                kind = "copy" if fields[8].startswith(b"C") else "rename"
                state = fields[1] + b" " + fields[8]
                add(fields[9], kind, state)
                add(next(records, b""), f"{kind}_origin", state)
            case b"u " if len(fields := record.split(b" ", 10)) == 11:
                add(fields[10], "unmerged", fields[1])
            case b"? ":
                add(record[2:], "untracked", b"??")
            case b"! ":
                continue
            case _:
                raise GitError("git status printed a record that is not porcelain v2")
    return found


def _records(raw: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(raw):
        end = raw.find(b"\0", start)
        end = len(raw) if end < 0 else end
        yield raw[start:end]
        start = end + 1


def _joined(words: str, word: str) -> str:
    return ",".join(sorted({*words.split(","), word}))


def _relative(raw: bytes) -> str:
    try:
        path = raw.decode()
    except UnicodeDecodeError:
        raise GitError("git status names a path that is not UTF-8") from None
    if not path or path.startswith("/") or ".." in path.split("/"):
        raise GitError("git status names a path outside the worktree")
    return path


class _Budget:
    """What may still be read: planned bytes, reserved in path order, and wall-clock time."""

    def __init__(self) -> None:
        self.reserved = 0
        self.hashed = 0
        self.complete = True
        self.limit_exceeded = False
        self.deadline_exceeded = False
        self._deadline = clock.monotonic() + CONTENT_SECONDS

    def late(self) -> bool:
        if clock.monotonic() > self._deadline:
            self.deadline_exceeded = True
        return self.deadline_exceeded

    def reserve(self, cost: int) -> bool:
        if self.late():
            return False
        if self.reserved + cost > CONTENT_BYTE_LIMIT:
            self.limit_exceeded = True
            return False
        self.reserved += cost
        return True


class _Links:
    """Which directories below the root are symlinks: what lies behind one is not in the worktree."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._known = {"": False}

    def behind(self, path: str) -> bool:
        """Whether a directory on the way to ``path`` is a symlink."""
        directory = os.path.dirname(path.rstrip("/"))
        found = self._known.get(directory)
        if found is None:
            found = self.behind(directory) or os.path.islink(os.path.join(self.root, directory))
            self._known[directory] = found
        return found


def _path_observation(links: _Links, path: str, category: str, state: str, budget: _Budget) -> dict[str, Any]:
    document: dict[str, Any] = {"path": path, "category": category, "state": state}
    full = os.path.join(links.root, path)
    if links.behind(path):
        budget.complete = False
        return document | {"observation": "missing"}
    try:
        found = os.lstat(full)
    except (FileNotFoundError, NotADirectoryError):
        budget.complete = False
        return document | {"observation": "missing"}
    except OSError:
        budget.complete = False
        return document | {"observation": "unreadable"}
    try:
        if stat.S_ISLNK(found.st_mode):
            target = os.readlink(os.fsencode(full))
            return document | {
                "observation": "symlink",
                "size": len(target),
                "content_sha256": "sha256:" + hashlib.sha256(target).hexdigest(),
                "content_fingerprint_kind": "symlink_target_sha256",
            }
        if not stat.S_ISREG(found.st_mode):
            return document | {"observation": "non_regular", "size": found.st_size}
        return document | _regular(full, found, budget)
    except OSError:
        budget.complete = False
        return document | {"observation": "unreadable", "size": found.st_size}


def _regular(full: str, found: os.stat_result, budget: _Budget) -> dict[str, Any]:
    sampled = found.st_size > FULL_HASH_LIMIT
    seen = {"size": found.st_size, "modified_unix_nano": found.st_mtime_ns}
    if not budget.reserve(SAMPLED_COST if sampled else found.st_size):
        budget.complete = False
        return {"observation": "content_unobserved", **seen}
    descriptor = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not _same(os.fstat(descriptor), found):
            raise OSError("changed before it was read")
        digest = _sampled(descriptor, found.st_size, budget) if sampled else _whole(descriptor, budget)
        if not _same(os.fstat(descriptor), found):
            raise OSError("changed while it was read")
    finally:
        os.close(descriptor)
    return {
        "observation": "oversize_sampled" if sampled else "regular",
        **seen,
        "content_sha256": digest,
        "content_fingerprint_kind": "oversize_samples_v1" if sampled else "full_sha256",
    }


def _same(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_dev, one.st_ino, one.st_size, one.st_mtime_ns, one.st_mode) == (
        other.st_dev, other.st_ino, other.st_size, other.st_mtime_ns, other.st_mode,
    )  # fmt: skip


def _whole(descriptor: int, budget: _Budget) -> str:
    digest = hashlib.sha256()
    while block := os.read(descriptor, _BLOCK):
        digest.update(block)
        budget.hashed += len(block)
        if budget.late():
            raise OSError("the deadline passed")
    return "sha256:" + digest.hexdigest()


def _sampled(descriptor: int, size: int, budget: _Budget) -> str:
    sections = Sections()
    sections.add("mode", "oversize_samples_v1")
    sections.add("size", str(size))
    previous = -1
    for offset in (0, max(0, size // 2 - SAMPLE // 2), max(0, size - SAMPLE)):
        if offset == previous:
            continue
        previous = offset
        sample = os.pread(descriptor, SAMPLE, offset)
        sections.add("offset", str(offset))
        sections.add("sample", sample)
        budget.hashed += len(sample)
        if budget.late():
            raise OSError("the deadline passed")
    return sections.digest()


def _add_path(sections: Sections, path: dict[str, Any]) -> None:
    sections.add("path", path["path"])
    sections.add("category", path["category"])
    sections.add("state", path["state"])
    sections.add("observation", path["observation"])
    sections.add("size", str(path.get("size", "unknown")))
    sections.add("modified_unix_nano", str(path.get("modified_unix_nano", "unknown")))
    sections.add("content_sha256", path.get("content_sha256", ""))
    sections.add("content_fingerprint_kind", path.get("content_fingerprint_kind", ""))


def snapshot_hash(document: dict[str, Any]) -> str:
    """The digest over an observation document, retained paths included (machine-protocol §7.5)."""
    sections = Sections()
    for name in (
        "version", "head", "index_fingerprint", "status_fingerprint", "path_count", "path_fingerprint",
        "details_truncated", "content_observation_complete", "content_bytes_hashed", "content_byte_limit",
        "content_byte_limit_exceeded", "content_deadline_exceeded",
    ):  # fmt: skip
        value = document[name]
        sections.add(name, ("false", "true")[value] if isinstance(value, bool) else str(value))
    sections.add("retained_path_count", str(len(document["path_observations"])))
    for path in document["path_observations"]:
        _add_path(sections, path)
    return sections.digest()


def _detail(path: dict[str, Any]) -> int:
    """What a retained path counts against :data:`DETAIL_LIMIT`."""
    return (
        12 * len(path["path"].encode())
        + 6 * (len(path["category"]) + len(path["state"]) + len(path["observation"]))
        + len(path.get("content_sha256", ""))
        + len(path.get("content_fingerprint_kind", ""))
        + 320
    )
