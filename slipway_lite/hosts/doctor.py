"""``slipway doctor``: what may keep Slipway from working here. Reads only, takes no lock (machine-protocol
§9.1).
"""

from __future__ import annotations

import os

from slipway_lite.errors import SlipwayError
from slipway_lite.hosts.github import github_checks
from slipway_lite.hosts.ownership import HostState, ManifestUnreadable, inspect, orphans
from slipway_lite.hosts.registry import HOSTS, Host
from slipway_lite.hosts.tree import Tree, UnsafePath, reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from slipway_lite.hosts.adapters import CommandNext

NO_HOST = "-"

#: Names that earlier tools left in the namespace of the public CLI, which today holds ``runs`` and nothing
#: else.
LEGACY_NAMES = frozenset({"runtime", "cache", "scope-root", "scopes", "locks", "processes", "repair-backups"})
LEGACY_NAMESPACE = "slipway"
CURRENT_NAME = "runs"

_RANK = {"ok": "ok", "warning": "warn", "error": "FAIL"}


def doctor_report(
    root: str, git_common_dir: str, *, environ: Mapping[str, str], command_next: CommandNext
) -> dict[str, Any]:
    """The doctor report: repository, ten hosts, legacy residue, durability, GitHub.

    ``environ`` is the environment for ``gh`` and ``git``. Neither writes anything, runs project code, nor
    copies what a child printed. Raises :class:`SlipwayError` ``doctor_failed`` when ``root`` itself cannot be
    opened.
    """
    try:
        with Tree(root) as tree:
            adapters = [_adapter(root, tree, host) for host in HOSTS]
    except OSError as error:
        following = command_next("retry-doctor", "doctor", "--root", root, "--json")
        message = f"The worktree cannot be read: {reason(error)}"
        raise SlipwayError("doctor_failed", message, next=following) from None
    checks = [
        check("repository_ok", "ok", "repository", root),
        *adapters,
        *_legacy_residue(git_common_dir),
        {
            **check(
                "runstore_durability_full",
                "ok",
                "runstore durability",
                "Files and directories are flushed to disk before a reply.",
            ),
            "durability": {"level": "file_and_directory_fsync", "file_sync": True, "directory_sync": True},
        },
        *(check(code, status, name, detail) for code, status, name, detail in github_checks(root, environ)),
    ]
    return {"contract_version": 2, "checks": checks}


def doctor_text(report: dict[str, Any]) -> str:
    """The doctor report for people: one line a check."""
    lines = []
    for entry in report["checks"]:
        host = "" if entry["host_id"] == NO_HOST else f" {entry['host_id']}"
        lines.append(f"{_RANK[entry['status']]:<4}  {entry['name']}{host}: {entry['detail']}")
    return "\n".join(lines) + "\n"


def check(code: str, status: str, name: str, detail: str, host_id: str = NO_HOST) -> dict[str, Any]:
    """One check of §2.9, in the order of its fields."""
    return {"code": code, "status": status, "host_id": host_id, "name": name, "detail": detail}


def _adapter(root: str, tree: Tree, host: Host) -> dict[str, Any]:
    try:
        state = inspect(root, tree, host)
        code, status, detail = _judge(tree, state)
    except ManifestUnreadable as error:
        return check("adapter_manifest_unreadable", "error", "manifest", reason(error), host.id)
    except (UnsafePath, OSError) as error:
        return check("adapter_inspection_unavailable", "error", "adapter inspection", reason(error), host.id)
    return check(code, status, "adapter", detail, host.id)


def _judge(tree: Tree, state: HostState) -> tuple[str, str, str]:
    """Code, status and detail of a host that could be inspected; the first condition that holds decides."""
    if not state.installed:
        if not state.detected:
            return "adapter_not_detected", "ok", "The host is not used in this worktree."
        if state.sentinel is not None:
            return "adapter_not_installed", "warning", f"There is only the marker {state.host.sentinel}."
        found = orphans(tree, state.host)
        detail = f"Files without an owner: {', '.join(found)}." if found else "Nothing is installed."
        return "adapter_not_installed", "warning", detail
    if state.sentinel_modified:
        return "adapter_modified", "warning", f"{state.host.sentinel} was edited."
    stale = [item.file.path for item in state.files if item.stale]
    if stale:
        return "adapter_refresh_required", "warning", f"From another version: {', '.join(stale)}."
    if not state.complete:
        return "adapter_refresh_required", "warning", "Not every generated file is there and ours."
    modified = [item.file.path for item in state.files if not item.pristine]
    if modified:
        return "adapter_modified", "warning", f"Edited or missing: {', '.join(modified)}."
    return "adapter_healthy", "ok", f"{len(state.files)} managed files are as generated."


def _legacy_residue(git_common_dir: str) -> list[dict[str, Any]]:
    """One warning for each name in the old namespace that means nothing today; looked at, never opened."""
    namespace = os.path.join(git_common_dir, LEGACY_NAMESPACE)
    try:
        names = sorted(os.listdir(namespace), key=os.fsencode)
    except FileNotFoundError:
        return []
    except OSError as error:
        return [check("legacy_unknown_residue", "warning", "legacy_runstore", reason(error))]
    checks = []
    for name in names:
        if name != CURRENT_NAME:
            known = f"legacy_{name.replace('-', '_')}_residue" if name in LEGACY_NAMES else "legacy_unknown_residue"
            shown = "".join(sign if sign.isprintable() else "\ufffd" for sign in name)
            detail = f"{LEGACY_NAMESPACE}/{shown} in the Git directory is not used."
            checks.append(check(known, "warning", "legacy_runstore", detail))
    return checks
