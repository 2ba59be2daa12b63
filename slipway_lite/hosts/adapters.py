"""Install and uninstall: the use cases behind ``slipway install`` and ``slipway uninstall`` (machine-protocol
§9.3).
"""

from __future__ import annotations

from typing import NamedTuple

from slipway_lite.errors import SlipwayError, UsageError
from slipway_lite.hosts.ownership import HostState, ManifestUnreadable, inspect, is_detected
from slipway_lite.hosts.plan import HostPlan, plan_install, plan_uninstall
from slipway_lite.hosts.registry import (
    HOST_IDS,
    HOSTS,
    NO_SURFACE,
    SURFACE_HOST,
    SURFACES,
    Host,
    generated_files,
)
from slipway_lite.hosts.transaction import (
    Directories,
    Settled,
    Unsettled,
    execute,
    locked,
    read_directories,
    recover,
)
from slipway_lite.hosts.tree import Tree, UnsafePath, parents, reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    #: ``command_next(variant_id, *argv_after_slipway, inputs=())``: a ``command`` Next (machine-protocol §5).
    CommandNext = Callable[..., dict[str, Any]]

ALL = "all"


class Request(NamedTuple):
    """One command. ``hosts`` is ``None`` where the person named none."""

    verb: str
    root: str
    hosts: tuple[Host, ...] | None
    surface: str | None
    refresh: bool
    command_next: CommandNext


def install(
    root: str,
    git_dir: str,
    *,
    tools: Sequence[str] | None,
    surface: str | None,
    refresh: bool,
    command_next: CommandNext,
) -> dict[str, Any]:
    """Write the adapters of the selected hosts in one transaction and return the change report (§2.9).

    ``root`` is the canonical worktree root and ``git_dir`` its own Git directory. ``tools`` are the values of
    ``--tool`` as given, ``None`` for all detected hosts; ``surface`` is the value of ``--surface`` or
    ``None``. Files that are not ours are preserved. An interrupted earlier command is undone or finished
    first.

    Raises :class:`UsageError` ``host_adapter_required``, ``unknown_host_adapter``,
    ``invalid_adapter_surface``, and :class:`SlipwayError` ``install_failed`` with the adapter details of §1.5
    when nothing was committed.
    """
    hosts = _select(root, tools, command_next)
    if surface is not None and surface not in SURFACES:
        raise _invalid_surface(root, command_next, "The surface of Kiro is ide or cli.")
    return _run(Request("install", root, hosts, surface, refresh, command_next), git_dir)


def uninstall(root: str, git_dir: str, *, tools: Sequence[str] | None, command_next: CommandNext) -> dict[str, Any]:
    """Remove what is ours and unchanged in one transaction and return the change report (§2.9).

    Arguments as for :func:`install`; ``tools=None`` selects the hosts that have a manifest. Directories that
    an install made here go when they are empty. Raises :class:`UsageError` ``host_adapter_required``,
    ``unknown_host_adapter``, and :class:`SlipwayError` ``uninstall_failed``.
    """
    hosts = _select(root, tools, command_next)
    return _run(Request("uninstall", root, hosts, None, False, command_next), git_dir)


def change_report(
    hosts: Iterable[str] = (),
    outcome: str = "not_committed",
    *,
    written: Iterable[str] = (),
    removed: Iterable[str] = (),
    preserved: Iterable[str] = (),
    recovery_artifacts: Iterable[str] = (),
    warnings: Iterable[str] = (),
) -> dict[str, Any]:
    """The change report of §2.9: every array present, sorted, without duplicates."""
    return {
        "contract_version": 2,
        "hosts": sorted(set(hosts)),
        "transaction_outcome": outcome,
        "written": sorted(set(written)),
        "removed": sorted(set(removed)),
        "preserved": sorted(set(preserved)),
        "recovery_artifacts": sorted(set(recovery_artifacts)),
        "warnings": sorted(set(warnings)),
    }


def change_text(report: dict[str, Any]) -> str:
    """The change report for people: what happened to how many files, and every path that is not as one may expect."""
    counts = ", ".join(f"{len(report[name])} {name}" for name in ("written", "removed", "preserved") if report[name])
    lines = [f"{', '.join(report['hosts'])}: {counts or 'nothing to do'}"]
    lines += [f"preserved: {path}" for path in report["preserved"]]
    lines += [f"set aside: {path}" for path in report["recovery_artifacts"]]
    lines += [f"warning: {warning}" for warning in report["warnings"]]
    return "\n".join(lines) + "\n"


def _select(root: str, tools: Sequence[str] | None, command_next: CommandNext) -> tuple[Host, ...] | None:
    """The named hosts in registry order. ``--tool`` repeats, splits at commas and ignores case."""
    if tools is None:
        return None
    names = {name.strip().lower() for tool in tools for name in tool.split(",")} - {""}
    known = ", ".join((*HOST_IDS, ALL))

    def following() -> dict[str, Any]:
        return command_next("list-host-adapters", "list", "--root", root)

    if not names:
        message = f"--tool was given without a host; the hosts are {known}."
        raise UsageError("host_adapter_required", message, next=following())
    if not names <= {*HOST_IDS, ALL}:
        message = f"--tool names an unknown host; the hosts are {known}."
        raise UsageError("unknown_host_adapter", message, next=following())
    return tuple(host for host in HOSTS if ALL in names or host.id in names)


def _run(request: Request, git_dir: str) -> dict[str, Any]:
    try:
        with locked(git_dir), Tree(request.root) as tree, Tree(git_dir) as state:
            recovered = recover(tree, state)
            plans = _plan_install(request, tree) if request.verb == "install" else _plan_uninstall(request, tree)
            return _commit(request, tree, state, plans, recovered)
    except Unsettled as error:
        message = f"An interrupted install or uninstall cannot be settled, so nothing was tried: {error}"
        raise _failed(request, message) from None
    except (ManifestUnreadable, UnsafePath, OSError) as error:
        raise _failed(request, f"Nothing was changed: {reason(error)}") from None


def _plan_install(request: Request, tree: Tree) -> list[HostPlan]:
    hosts = request.hosts or tuple(host for host in HOSTS if is_detected(request.root, host))
    states = [_inspect(request, tree, host) for host in hosts]
    if not states:
        raise _failed(request, "No host was detected in this worktree; --tool selects one.")
    states, skipped = _with_surface(request, tree, states)
    plans = [plan_install(state, refresh=request.refresh) for state in states]
    return [plans[0]._replace(warnings=(*plans[0].warnings, *skipped)), *plans[1:]]


def _with_surface(request: Request, tree: Tree, states: list[HostState]) -> tuple[list[HostState], tuple[str, ...]]:
    """The states once the surface of Kiro is settled, and a warning when Kiro is left out for want of one."""
    kiro = next((state for state in states if state.host.id == SURFACE_HOST), None)
    if kiro is None:
        if request.surface is not None:
            message = "--surface is for Kiro, and Kiro is not among the selected hosts."
            raise _invalid_surface(request.root, request.command_next, message)
        return states, ()
    if kiro.installed:
        if request.surface not in (None, kiro.surface):
            message = f"Kiro is installed for {kiro.surface}; uninstall it to change the surface."
            raise _invalid_surface(request.root, request.command_next, message)
        return states, ()
    if request.surface is not None:
        return states, ()
    if request.hosts is None and len(states) > 1:
        skipped = "kiro: left out, because its first install needs --surface ide or cli."
        return [state for state in states if state is not kiro], (skipped,)
    message = "The first install for Kiro needs --surface ide or cli."
    raise _invalid_surface(request.root, request.command_next, message)


def _plan_uninstall(request: Request, tree: Tree) -> list[HostPlan]:
    states = [_inspect(request, tree, host) for host in (HOSTS if request.hosts is None else request.hosts)]
    if request.hosts is None:
        states = [state for state in states if state.installed]
    if not states:
        raise _failed(request, "No host has an ownership manifest in this worktree.")
    return [plan_uninstall(state) for state in states]


def _inspect(request: Request, tree: Tree, host: Host) -> HostState:
    surface = request.surface if host.has_surfaces else NO_SURFACE
    try:
        return inspect(request.root, tree, host, surface if request.verb == "install" else None)
    except ManifestUnreadable as error:
        raise ManifestUnreadable(f"{host.id} has an ownership manifest that cannot be trusted. {error}") from None


def _commit(
    request: Request, tree: Tree, state: Tree, plans: list[HostPlan], recovered: Settled | None
) -> dict[str, Any]:
    hosts = [plan.host_id for plan in plans]
    changes = [change for plan in plans for change in plan.changes]
    preserved = [path for plan in plans for path in plan.preserved]
    warnings = [warning for plan in plans for warning in plan.warnings]
    artifacts: list[str] = []
    if recovered is not None:
        warnings.append("An interrupted install or uninstall was settled first.")
        preserved += recovered.preserved
        artifacts += recovered.artifacts
    if not changes:
        return change_report(hosts, "committed", preserved=preserved, recovery_artifacts=artifacts, warnings=warnings)
    made, prune, directories = _directories(request, tree, read_directories(state), plans)
    result = execute(tree, state, changes, made=made, prune=prune, directories=directories)
    preserved += result.settled.preserved
    artifacts += result.settled.artifacts
    if result.outcome == "committed" and result.problem is not None:
        warnings.append(result.problem)
    committed = [change for change in changes if result.outcome == "committed" and change.path not in preserved]
    report = change_report(
        hosts,
        result.outcome,
        written=(change.path for change in committed if change.after is not None),
        removed=(change.path for change in committed if change.after is None),
        preserved=preserved,
        recovery_artifacts=artifacts,
        warnings=warnings,
    )
    if result.outcome != "committed":
        raise _failed(request, f"The {request.verb} was not committed: {result.problem}", report)
    return report


def _directories(
    request: Request, tree: Tree, record: Directories, plans: list[HostPlan]
) -> tuple[list[str], list[str], Directories]:
    """Directories to make, directories to remove when empty, and the record of directories afterwards."""
    made: list[str] = []
    prune: list[str] = []
    record = dict(record)
    for plan in plans:
        if not plan.changes:
            continue
        ours = record.pop(plan.host_id) if plan.host_id in record else _named_by_us(plan.host_id)
        if request.verb == "uninstall":
            prune += ours
            continue
        wanted = {directory for change in plan.changes for directory in parents(change.path)}
        missing = sorted(directory for directory in wanted - {*made} if not tree.is_directory(directory))
        made += missing
        # What an earlier install made counts only while that install is still there.
        record[plan.host_id] = sorted({*missing, *(ours if _is_refresh(plan) else ())})
    return made, prune, record


def _is_refresh(plan: HostPlan) -> bool:
    """Whether the plan found a manifest, which is always the last of its changes."""
    return plan.changes[-1].before is not None


def _named_by_us(host_id: str) -> list[str]:
    """Directories that nobody else would have made, for a host that was installed elsewhere, as in a clone."""
    host = HOSTS[HOST_IDS.index(host_id)]
    paths = [file.path for surface in host.entries for file in generated_files(host, surface)]
    found = {directory for path in (*paths, host.manifest) for directory in parents(path)}
    return sorted(path for path in found if any(name.startswith("slipway") for name in path.split("/")))


def _failed(request: Request, message: str, report: dict[str, Any] | None = None) -> SlipwayError:
    report = report or change_report()
    return SlipwayError(
        f"{request.verb}_failed",
        message,
        details={"report": report, "transaction_outcome": report["transaction_outcome"]},
        next=request.command_next("inspect-host-adapters", "list", "--root", request.root),
    )


def _invalid_surface(root: str, command_next: CommandNext, message: str) -> UsageError:
    surface = {
        "name": "surface",
        "type": "enum",
        "flag": "--surface",
        "required": True,
        "choices": list(SURFACES),
    }
    following = command_next("install-kiro", "install", "--root", root, "--tool", SURFACE_HOST, inputs=(surface,))
    return UsageError("invalid_adapter_surface", message, next=following)
