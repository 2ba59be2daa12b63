"""``slipway list``: how each host stands. Reads only, takes no lock (machine-protocol §2.9, §9.4)."""

from __future__ import annotations

from slipway_lite.errors import SlipwayError
from slipway_lite.hosts.ownership import ManifestUnreadable, inspect
from slipway_lite.hosts.registry import HOSTS, Host
from slipway_lite.hosts.tree import Tree, UnsafePath, reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slipway_lite.hosts.adapters import CommandNext


def list_report(root: str, *, command_next: CommandNext) -> dict[str, Any]:
    """The list report: ten hosts in registry order.

    A host that cannot be inspected gets a ``warning`` and counts as not installed; it never hides the others.
    Raises :class:`SlipwayError` ``list_failed`` when ``root`` itself cannot be opened.
    """
    try:
        with Tree(root) as tree:
            hosts = [_host_status(root, tree, host) for host in HOSTS]
    except OSError as error:
        following = command_next("retry-list", "list", "--root", root, "--json")
        message = f"The worktree cannot be read: {reason(error)}"
        raise SlipwayError("list_failed", message, next=following) from None
    return {"contract_version": 2, "hosts": hosts}


def list_text(report: dict[str, Any]) -> str:
    """The list report for people: one line a host, and a line for each warning."""
    lines = []
    for host in report["hosts"]:
        if host["installed"]:
            state = "installed, needs refresh" if host["needs_refresh"] else "installed"
            state += f", {len(host['capabilities'])} capabilities"
        else:
            state = "detected, not installed" if host["detected"] else "not detected"
        lines.append(f"{host['id']:<9} {state}")
        if "warning" in host:
            lines.append(f"{'':<9} {host['warning']}")
    return "\n".join(lines) + "\n"


def _host_status(root: str, tree: Tree, host: Host) -> dict[str, Any]:
    try:
        state = inspect(root, tree, host)
    except (ManifestUnreadable, UnsafePath, OSError) as error:
        return {
            "id": host.id,
            "detected": True,
            "installed": False,
            "needs_refresh": False,
            "capabilities": [],
            "warning": f"This host cannot be inspected: {reason(error)}",
        }
    return {
        "id": host.id,
        "detected": state.detected,
        "installed": state.installed,
        "needs_refresh": state.installed and state.needs_refresh,
        "capabilities": state.capabilities,
    }
