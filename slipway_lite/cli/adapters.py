"""The machine commands around AI coding hosts: list, doctor, install, uninstall (machine-protocol §1.1, §9)."""

from __future__ import annotations

import os

from slipway_lite.canon import encode
from slipway_lite.cli.human import page
from slipway_lite.protocol import next as following

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slipway_lite.cli.call import Call
    from slipway_lite.hosts.adapters import CommandNext


def _command_next(call: Call) -> CommandNext:
    """A builder of ``command`` Nexts for this worktree."""
    identity = call.workspace().id

    def build(identifier: str, *argv: str, inputs: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
        return following.command(identity, identifier, *argv, inputs=inputs)

    return build


def _tools(call: Call) -> list[str] | None:
    return call.flags["tool"] if "tool" in call.flags.given else None


def show_list(call: Call) -> str:
    from slipway_lite.hosts.listing import list_report, list_text

    report = list_report(call.workspace().worktree_root, command_next=_command_next(call))
    return encode(report) + "\n" if call.flags["json"] else page(list_text(report))


def doctor(call: Call) -> str:
    from slipway_lite.hosts.doctor import doctor_report, doctor_text

    workspace = call.workspace()
    report = doctor_report(
        workspace.worktree_root, workspace.git_common_dir, environ=os.environ, command_next=_command_next(call)
    )
    return encode(report) + "\n" if call.flags["json"] else page(doctor_text(report) + _database_text(call))


def _database_text(call: Call) -> str:
    """Our own facts, for people only: `doctor --json` keeps the published list of checks exactly."""
    from slipway_lite.store.facts import fact_lines, facts
    from slipway_lite.store.location import locate

    lines = fact_lines(facts(*locate(os.environ, call.workspace().git_common_dir)))
    return "".join(f"{line}\n" for line in ("", "Database", *(f"  {line}" for line in lines)))


def install(call: Call) -> str:
    from slipway_lite.hosts import adapters

    workspace = call.workspace()
    report = adapters.install(
        workspace.worktree_root,
        workspace.git_dir,
        tools=_tools(call),
        surface=call.flags["surface"] if "surface" in call.flags.given else None,
        refresh=call.flags["refresh"],
        command_next=_command_next(call),
    )
    return encode(report) + "\n" if call.flags["json"] else page(adapters.change_text(report))


def uninstall(call: Call) -> str:
    from slipway_lite.hosts import adapters

    workspace = call.workspace()
    report = adapters.uninstall(
        workspace.worktree_root, workspace.git_dir, tools=_tools(call), command_next=_command_next(call)
    )
    return encode(report) + "\n" if call.flags["json"] else page(adapters.change_text(report))
