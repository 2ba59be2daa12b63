"""Whether the person's ``gh`` can serve as a source of issues (machine-protocol §9.1, item 5).

The only place that starts ``gh``. Children get five seconds and 64 KiB; their standard error is thrown away,
and nothing that they print is shown to anybody.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from typing import NamedTuple

from slipway_lite.canon import decode
from slipway_lite.clock import monotonic
from slipway_lite.errors import InvalidDocument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

CHILD_SECONDS = 5.0
CHILD_OUTPUT_LIMIT = 65_536

#: The first ``gh`` that answers everything a capability asks for without the REST fallback.
OLDEST_COMPATIBLE = (2, 94, 0)

_VERSION = re.compile(r"v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})", re.ASCII)
_ORIGIN = re.compile(
    r"(?:https://github\.com/|git@github\.com:|ssh://(?:git@)?github\.com/)"
    r"(?P<owner>[A-Za-z0-9-]+)/(?P<name>[A-Za-z0-9_.-]+?)(?:\.git)?/?",
    re.ASCII,
)
#: What of Git's own variables may reach ``git remote``: where configuration lies, never which repository it
#: is.
_GIT_CONFIGURATION = frozenset({"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"})


class Finding(NamedTuple):
    code: str
    status: str
    name: str
    detail: str


def github_checks(root: str, environ: Mapping[str, str]) -> list[Finding]:
    """What can be said about ``gh`` on the PATH of ``environ``, its login, and the rights on ``origin`` of
    ``root``.
    """
    gh = _on_path("gh", environ)
    if gh is None:
        return [Finding("github_cli_unavailable", "warning", "github_cli", "gh is not on PATH.")]
    environ = {**environ, "GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "NO_COLOR": "1"}
    findings = [_version(_output([gh, "--version"], root, environ))]
    if _output([gh, "auth", "status", "--hostname", "github.com"], root, environ) is None:
        return [
            *findings,
            Finding("github_auth_unavailable", "warning", "github_auth", "gh is not logged in to github.com."),
        ]
    findings.append(Finding("github_auth_available", "ok", "github_auth", "gh is logged in to github.com."))
    repository = _origin(root, environ)
    if repository is not None:
        path = f"repos/{repository}"
        raw = _output([gh, "api", "--hostname", "github.com", path, "--jq", ".permissions"], root, environ)
        findings.append(_permissions(raw))
    return findings


def _version(raw: bytes | None) -> Finding:
    fields = (raw or b"").decode("utf-8", "replace").split()
    found = next((match for match in map(_VERSION.fullmatch, fields) if match), None)
    if found is None:
        return Finding("github_cli_version_unknown", "warning", "github_cli", "gh does not tell its version.")
    if tuple(map(int, found.groups())) < OLDEST_COMPATIBLE:
        oldest = ".".join(map(str, OLDEST_COMPATIBLE))
        detail = f"gh is older than {oldest}: some of its issue commands are missing, its REST calls work."
        return Finding("github_cli_rest_fallback_required", "warning", "github_cli", detail)
    return Finding("github_cli_compatible", "ok", "github_cli", "gh is new enough.")


def _permissions(raw: bytes | None) -> Finding:
    """What the reported rights on the repository allow: read, triage and write must all be there."""
    try:
        granted = decode(raw or b"", CHILD_OUTPUT_LIMIT)
    except InvalidDocument:
        granted = None
    if not isinstance(granted, dict):
        detail = "The rights on the origin repository cannot be read."
        return Finding("github_issue_permissions_unknown", "warning", "github_permissions", detail)
    read = granted.get("pull") is True
    write = any(granted.get(name) is True for name in ("push", "maintain", "admin"))
    triage = write or granted.get("triage") is True
    if read and triage and write:
        detail = "Issues of the origin repository can be read, triaged and written."
        return Finding("github_issue_permissions_ok", "ok", "github_permissions", detail)
    detail = "Some of reading, triaging and writing issues of the origin repository is not allowed."
    return Finding("github_issue_permissions_limited", "warning", "github_permissions", detail)


def _origin(root: str, environ: Mapping[str, str]) -> str | None:
    """``owner/name`` when ``origin`` is a github.com URL without credentials in it."""
    git = _on_path("git", environ)
    if git is None:
        return None
    clean = {
        name: value
        for name, value in environ.items()
        if not name.upper().startswith("GIT_") or name in _GIT_CONFIGURATION
    }
    raw = _output([git, "-C", root, "remote", "get-url", "origin"], root, clean)
    match = _ORIGIN.fullmatch((raw or b"").decode("utf-8", "replace").strip())
    if match is None or match["name"] in (".", ".."):
        return None
    return f"{match['owner']}/{match['name']}"


def _on_path(name: str, environ: Mapping[str, str]) -> str | None:
    """The program on an absolute entry of PATH: a relative one would run what the repository brings along."""
    for directory in environ.get("PATH", "").split(os.pathsep):
        path = os.path.join(directory, name)
        if os.path.isabs(directory) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def _output(argv: list[str], root: str, environ: Mapping[str, str]) -> bytes | None:
    """What the child printed, or ``None`` when it failed, took too long or printed too much."""
    try:
        child = subprocess.Popen(
            argv,
            cwd=root,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None
    with child:
        deadline = monotonic() + CHILD_SECONDS
        raw = _read(child, deadline)
        if raw is not None:
            try:
                return raw if child.wait(max(0.0, deadline - monotonic())) == 0 else None
            except subprocess.TimeoutExpired:
                pass
        # The whole group, because gh starts children of its own, which would keep the pipe open.
        os.killpg(child.pid, signal.SIGKILL)
    return None


def _read(child: subprocess.Popen[bytes], deadline: float) -> bytes | None:
    """Everything up to the end of the pipe, or ``None`` past the deadline or the limit."""
    import selectors

    assert child.stdout is not None
    raw = b""
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while selector.select(max(0.0, deadline - monotonic())):
            chunk = os.read(child.stdout.fileno(), CHILD_OUTPUT_LIMIT)
            if not chunk:
                return raw
            raw += chunk
            if len(raw) > CHILD_OUTPUT_LIMIT:
                return None
    return None
