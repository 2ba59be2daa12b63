"""What is ours in a worktree: the ownership manifest, and how disk and manifest agree (machine-protocol
§9.4).

The manifest lies in the repository, so a stranger may have written it. It can only name paths that this
version generates, and a claim counts only where it names the digest that this version generates: then the
bytes are known to be ours whoever wrote the claim.
"""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from slipway_lite.canon import decode, is_digest, sha256
from slipway_lite.errors import InvalidDocument
from slipway_lite.hosts.registry import CAPABILITIES, NO_SURFACE, GeneratedFile, Host, generated_files
from slipway_lite.hosts.render import rendered
from slipway_lite.hosts.tree import File, Tree, UnsafePath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MANIFEST_LIMIT = 262_144
MANIFEST_VERSION = 2
OWNERSHIP_MODE = 0o600
CAPABILITY_MODE = 0o644
SENTINEL = b"generated\n"

#: Stands for the digest of something that cannot be compared: a link, a directory, a file above 1 MiB.
UNSAFE = "unsafe"


class ManifestUnreadable(Exception):
    """There is a manifest and it is not a valid one of this host."""


class Manifest(NamedTuple):
    """``claims``: path to ``sha256:`` digest of what we wrote there."""

    surface: str
    claims: dict[str, str]


class FileState(NamedTuple):
    """One generated file: what it should be, what the manifest claims, what is on disk.

    ``actual`` is a digest, :data:`UNSAFE`, or ``None`` where there is nothing.
    """

    file: GeneratedFile
    raw: bytes
    expected: str
    claim: str | None
    actual: str | None

    @property
    def pristine(self) -> bool:
        """Claimed, and on disk exactly as this version generates it: the only state in which it may be
        touched.
        """
        return self.claim == self.expected == self.actual

    @property
    def stale(self) -> bool:
        """The claim names bytes that this version does not generate."""
        return self.claim is not None and self.claim != self.expected


class HostState(NamedTuple):
    """One host in one worktree. ``files`` is empty while neither manifest nor request fixes the surface."""

    host: Host
    detected: bool
    surface: str
    manifest: File | None
    sentinel: str | None
    files: tuple[FileState, ...]

    @property
    def installed(self) -> bool:
        return self.manifest is not None

    @property
    def sentinel_modified(self) -> bool:
        return self.sentinel not in (None, sha256(SENTINEL))

    @property
    def complete(self) -> bool:
        """Every generated file is claimed, and the sentinel is there."""
        return self.sentinel is not None and all(state.claim is not None for state in self.files)

    @property
    def needs_refresh(self) -> bool:
        return self.sentinel != sha256(SENTINEL) or not all(state.pristine for state in self.files)

    @property
    def capabilities(self) -> list[str]:
        """Those whose every file is claimed and pristine, in registry order."""
        broken = {state.file.capability for state in self.files if not state.pristine}
        return [name for name, _ in CAPABILITIES if self.files and name not in broken]


def is_detected(root: str, host: Host) -> bool:
    """Whether the host is used in this worktree.

    Links are followed here and only here: a host reads through them, so a person must hear about them.
    """
    return any(os.path.isdir(os.path.join(root, directory)) for directory in host.detect)


def inspect(root: str, tree: Tree, host: Host, surface: str | None = None) -> HostState:
    """How ``host`` stands. Reads only.

    ``surface`` is what a first install asks for; a valid manifest decides for itself. Without a manifest and
    without ``surface`` only detection and sentinel are looked at. Raises :class:`ManifestUnreadable`,
    :class:`UnsafePath` when a directory on the way is a link and the host is used or asked for, and
    :class:`OSError`.
    """
    detected = is_detected(root, host)
    try:
        manifest = tree.read(host.manifest)
    except UnsafePath as error:
        if error.path == host.manifest:
            raise ManifestUnreadable(str(error)) from None
        if detected or surface is not None:
            raise
        return HostState(host, False, NO_SURFACE, None, None, ())
    claims: dict[str, str] = {}
    if manifest is not None:
        surface, claims = decode_manifest(host, manifest.raw)
    sentinel = _digest(tree, host.sentinel)
    if surface is None:
        return HostState(host, detected, NO_SURFACE, None, sentinel, ())
    content = rendered(host, surface)
    files = tuple(
        FileState(
            file,
            content[file.path],
            sha256(content[file.path]),
            claims.get(file.path),
            _digest(tree, file.path),
        )
        for file in generated_files(host, surface)
    )
    return HostState(host, detected, surface, manifest, sentinel, files)


def orphans(tree: Tree, host: Host) -> list[str]:
    """Existing files at paths that are generated for ``host`` on any surface, sorted."""
    paths = {file.path for surface in host.entries for file in generated_files(host, surface)}
    return sorted(path for path in paths if _digest(tree, path) is not None)


def encode_manifest(host: Host, surface: str, claims: Mapping[str, str]) -> bytes:
    """The manifest as it lies on disk: two-space indent, files sorted by path, bare digests, LF."""
    document: dict[str, Any] = {"version": MANIFEST_VERSION, "tool_id": host.id}
    if host.has_surfaces:
        document["surface"] = {host.id: surface}
    document["files"] = [
        {"path": path, "sha256": digest.removeprefix("sha256:")} for path, digest in sorted(claims.items())
    ]
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


def decode_manifest(host: Host, raw: bytes) -> Manifest:
    """The claims of ``host``. Raises :class:`ManifestUnreadable` for what we would not have written."""
    try:
        document = decode(raw, MANIFEST_LIMIT)
    except InvalidDocument as error:
        raise ManifestUnreadable(error.message) from None
    keys = {"version", "tool_id", "files"} | ({"surface"} if host.has_surfaces else set())
    if not isinstance(document, dict) or document.keys() != keys:
        raise ManifestUnreadable("The manifest does not have exactly the known fields.")
    if document["version"] != MANIFEST_VERSION or document["tool_id"] != host.id:
        raise ManifestUnreadable("The manifest has another version or belongs to another host.")
    surface = _decode_surface(host, document)
    if not isinstance(document["files"], list):
        raise ManifestUnreadable("The files of the manifest are not a list.")
    known = {file.path for file in generated_files(host, surface)}
    claims: dict[str, str] = {}
    for claim in document["files"]:
        if not isinstance(claim, dict) or claim.keys() != {"path", "sha256"}:
            raise ManifestUnreadable("A claim does not have exactly a path and a digest.")
        path, digest = claim["path"], claim["sha256"]
        if not isinstance(path, str) or path not in known or path in claims:
            raise ManifestUnreadable("A claim repeats a path or names one that this version does not generate.")
        if not isinstance(digest, str) or not is_digest(f"sha256:{digest}"):
            raise ManifestUnreadable("A claim has a malformed digest.")
        claims[path] = f"sha256:{digest}"
    return Manifest(surface, claims)


def _decode_surface(host: Host, document: dict[str, Any]) -> str:
    if not host.has_surfaces:
        return NO_SURFACE
    for surface in host.entries:
        if document["surface"] == {host.id: surface}:
            return surface
    raise ManifestUnreadable("The manifest does not name a known surface.")


def _digest(tree: Tree, path: str) -> str | None:
    try:
        file = tree.read(path)
    except UnsafePath:
        return UNSAFE
    return None if file is None else file.sha256
