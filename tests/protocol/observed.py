"""Observe a worktree and check the document against itself, by recipes written out again (machine-protocol §7.5)."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from slipway_lite.protocol import observation
from tests.protocol.conftest import Repository

KEYS = [
    "version", "head", "index_fingerprint", "status_fingerprint", "snapshot_hash", "path_count", "path_fingerprint",
    "details_truncated", "content_observation_complete", "content_bytes_hashed", "content_byte_limit",
    "content_byte_limit_exceeded", "content_deadline_exceeded", "dirty_files", "path_observations",
]  # fmt: skip
PATH_KEYS = [
    "path", "category", "state", "observation", "size", "modified_unix_nano", "content_sha256",
    "content_fingerprint_kind",
]  # fmt: skip
HEADER = [*KEYS[:4], *KEYS[5:13]]


def sha256(raw: bytes) -> str:
    return "sha256:" + hashlib.sha256(raw).hexdigest()


def sections(*pairs: tuple[str, Any]) -> str:
    """§7.2 and §7.5 by hand."""

    def shown(value: Any) -> bytes:
        if isinstance(value, bool):
            value = "true" if value else "false"
        return value if isinstance(value, bytes) else str(value).encode()

    raw = b"".join(
        b"\0" + name.encode() + b"\0" + str(len(shown(value))).encode() + b"\0" + shown(value) for name, value in pairs
    )
    return sha256(raw)


def path_pairs(paths: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    return [
        (name, path.get(name, "unknown" if name in ("size", "modified_unix_nano") else ""))
        for path in paths
        for name in PATH_KEYS
    ]


def seen(repository: Repository) -> dict[str, Any]:
    """Observe, and check the document against itself."""
    document = observation.observe(str(repository.root))
    assert list(document) == KEYS
    paths = document["path_observations"]
    for path in paths:
        assert list(path) == [name for name in PATH_KEYS if name in path]
    assert document["dirty_files"] == [path["path"] for path in paths]
    assert document["dirty_files"] == sorted(document["dirty_files"], key=str.encode)
    pairs = [(name, document[name]) for name in HEADER] + [("retained_path_count", len(paths))]
    assert document["snapshot_hash"] == sections(*pairs, *path_pairs(paths))
    if not document["details_truncated"]:
        assert document["path_count"] == len(paths)
        assert document["path_fingerprint"] == sections(("path_count", len(paths)), *path_pairs(paths))
    assert document["status_fingerprint"] == sha256(
        repository.git("status", "--porcelain=v2", "-z", "--untracked-files=all")
    )
    assert document["index_fingerprint"] == sha256(repository.git("ls-files", "--stage", "-z"))
    return document


def only(document: dict[str, Any], path: str) -> dict[str, Any]:
    (found,) = [item for item in document["path_observations"] if item["path"] == path]
    return dict(found)


def with_status(root: Path, status: bytes) -> dict[str, Any]:
    """The observation of a directory for which git would say ``status``."""
    return observation.observation(str(root), "0" * 40, b"", status)
