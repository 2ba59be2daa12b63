"""What one command would do to one host: pure decisions over inspected states (machine-protocol §9.4).

Three rules decide everything. A file is overwritten or removed only while it is *pristine*: claimed with the
digest that this version generates, and those bytes are on disk. Whatever else exists is preserved, never
adopted. An entry is callable only while every file it needs is ours.
"""

from __future__ import annotations

from typing import NamedTuple

from slipway_lite.canon import sha256
from slipway_lite.hosts.ownership import (
    CAPABILITY_MODE,
    OWNERSHIP_MODE,
    SENTINEL,
    FileState,
    HostState,
    encode_manifest,
)


class Change(NamedTuple):
    """One path from ``before`` (a digest, or ``None``: nothing there) to ``after`` (content, or ``None``:
    removed).

    A change whose two sides are equal writes nothing and only demands that the file still is as it was.
    """

    path: str
    before: str | None
    after: bytes | None
    mode: int = CAPABILITY_MODE

    @property
    def after_sha256(self) -> str | None:
        return None if self.after is None else sha256(self.after)


class HostPlan(NamedTuple):
    """``changes`` in the order in which they are made."""

    host_id: str
    changes: tuple[Change, ...] = ()
    preserved: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def plan_install(state: HostState, *, refresh: bool) -> HostPlan:
    """Install, or with ``refresh`` bring an installed host up to this version, leaving every foreign byte
    alone.
    """
    host = state.host
    if state.installed and not refresh:
        return HostPlan(host.id, warnings=(f"{host.id}: already installed; --refresh updates it.",))
    if not state.installed and state.sentinel is not None:
        warning = f"{host.id}: not installed, because {host.sentinel} is there without a manifest; remove it first."
        return HostPlan(host.id, warnings=(warning,))
    changes: list[Change] = []
    preserved: list[str] = []
    warnings: list[str] = []
    claims: dict[str, str] = {}
    for item in state.files:
        path = item.file.path
        missing = [need for need in item.file.needs if need not in claims]
        if missing:
            warnings.append(f"{host.id}: {path} is not offered, because {missing[0]} is not ours.")
            if item.pristine:
                changes.append(Change(path, item.actual, None))
            elif item.actual is not None:
                preserved.append(path)
        elif item.pristine or item.actual is None:
            changes.append(Change(path, item.actual, item.raw))
            claims[path] = item.expected
        else:
            preserved.append(path)
            if item.stale:
                warnings.append(_stale(host.id, path))
    if state.sentinel_modified:
        preserved.append(host.sentinel)
    else:
        changes.append(Change(host.sentinel, state.sentinel, SENTINEL, OWNERSHIP_MODE))
    manifest = encode_manifest(host, state.surface, claims)
    before = None if state.manifest is None else state.manifest.sha256
    changes.append(Change(host.manifest, before, manifest, OWNERSHIP_MODE))
    return HostPlan(host.id, tuple(changes), tuple(preserved), tuple(warnings))


def plan_uninstall(state: HostState) -> HostPlan:
    """Remove what is ours and unchanged; everything else stays and belongs to the person from now on."""
    host = state.host
    if state.manifest is None:
        if state.sentinel is None:
            return HostPlan(host.id)
        warning = f"{host.id}: {host.sentinel} stays, because no ownership manifest vouches for it."
        return HostPlan(host.id, preserved=(host.sentinel,), warnings=(warning,))
    # The manifest goes first: should everything else be lost, a file without a claim is merely left alone.
    changes = [Change(host.manifest, state.manifest.sha256, None)]
    preserved: list[str] = []
    warnings: list[str] = []
    kept_policies = {_policy(state, item) for item in state.files if item.file.is_entry and _survives(item)}
    for item in reversed(state.files):
        path = item.file.path
        if item.claim is None or item.actual is None:
            continue
        if item.pristine and path not in kept_policies:
            changes.append(Change(path, item.actual, None))
            continue
        preserved.append(path)
        if item.stale:
            warnings.append(_stale(host.id, path))
    if state.sentinel_modified:
        preserved.append(host.sentinel)
    elif state.sentinel is not None:
        changes.append(Change(host.sentinel, state.sentinel, None))
    return HostPlan(host.id, tuple(changes), tuple(preserved), tuple(warnings))


def _survives(item: FileState) -> bool:
    return item.actual is not None and not item.pristine


def _policy(state: HostState, entry: FileState) -> str | None:
    """The file that keeps the host from calling ``entry`` by itself: it must not go before the entry does."""
    policy = state.host.policy
    return None if policy is None else policy.format(capability=entry.file.capability)


def _stale(host_id: str, path: str) -> str:
    return (
        f"{host_id}: the claim on {path} is withdrawn, because this version generates other bytes; "
        "delete the file and refresh to get the new text."
    )
