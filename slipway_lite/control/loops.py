"""Doom loops: the same work handed out again and again (control-plane §7.5, §13.1).

The fingerprint contains nothing that changes by itself, so that a repeated dispatch repeats it. The window
belongs to one task and holds accepted dispatches only.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from slipway_lite.control.refs import repo_key
from slipway_lite.control.retry import MAX_RETRIES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WINDOW = 20
WARN_AT = 3
BLOCK_AT = 4


def fingerprint(
    stage: str, worker_type: str, prompt: str, repo: str, typed_ref: str, resource: str | None = None
) -> str:
    """32 hexadecimal digits for "this work, by this worker, in this place"; case and white space do not
    count.
    """
    normal = " ".join(prompt.lower().split())
    digest = hashlib.sha256(normal.encode()).hexdigest()[:16]
    parts = [
        f"stage:{stage}",
        f"worker:{worker_type}",
        f"prompt:{digest}",
        f"repo:{repo}",
        f"typed:{typed_ref}",
    ]
    if resource is not None:
        parts.append(f"resource:{resource}")
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:32]


def of_dispatch(task: Mapping[str, Any], stage: str, worker_type: str, prompt: str) -> str:
    """The fingerprint of a dispatch; the task itself is the resource, so that no other task shares it."""
    return fingerprint(
        stage, worker_type, prompt, repo_key(task["repo_ref"]), task["typed_ref"], f"task:{task['task_id']}"
    )


def limit(stage: str) -> int:
    """The number of the identical dispatch that is refused: ordinary retries still fit below it."""
    return max(BLOCK_AT, MAX_RETRIES[stage] + 2)


def occurrence(window: Sequence[str], mark: str) -> int:
    """Which identical dispatch the next one would be."""
    return window.count(mark) + 1


def extended(window: Sequence[str], mark: str) -> list[str]:
    """The window after an accepted dispatch, cut to its newest entries."""
    return [*window, mark][-WINDOW:]
