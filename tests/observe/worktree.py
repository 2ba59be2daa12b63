"""A Git worktree for tests, and Outcomes of every kind."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from slipway_lite.canon import encode, sha256
from slipway_lite.protocol.run import Run
from slipway_lite.protocol.service import Service
from slipway_lite.protocol.workspace import Workspace, discover

_GIT = ("git", "-c", "user.name=T", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false")
DEFAULTS: dict[str, dict[str, Any]] = {
    "implement": {
        "implementation": {
            "result": "applied", "files_changed": ["a.py"], "activities": [], "uncertainties": [], "attempts": 1,
        }
    },
    "review": {"review": {"result": "no_findings_reported", "findings": [], "uncertainties": []}},
}  # fmt: skip


def make_worktree(root: Path) -> Workspace:
    """A repository at ``root`` with one commit."""
    root.mkdir(parents=True)
    (root / "a.py").write_text("print(1)\n", "utf-8")
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        subprocess.run([*_GIT, *arguments], cwd=root, check=True, capture_output=True)
    return discover(str(root))


def outcome(action_id: str, kind: str, **changes: Any) -> dict[str, Any]:
    """A legal completed Outcome for an Action of ``kind``, with ``changes``."""
    branch = {} if "status" in changes and changes["status"] == "needs_input" else DEFAULTS.get(kind, {})
    return {
        "contract_version": 2, "action_id": action_id, "action_kind": kind, "status": "completed", "summary": "s",
        "observations": [], "known_issues": [], "suggested_actions": [], "pause": None, "implementation": None,
        "review": None,
    } | branch | changes  # fmt: skip


def submit(service: Service, run: Run, **changes: Any) -> Run:
    """Hand in an Outcome for the current Action of ``run``."""
    assert run.current is not None
    document = outcome(run.current.action_id, run.current.kind, **changes)
    return service.submit(run.run_id, run.current.action_id, document, sha256(encode(document).encode()))
