"""The brief of an Action (machine-protocol §4.5). Pure."""

from __future__ import annotations

from slipway_lite.protocol import prose
from slipway_lite.protocol.context import truncation_marker
from slipway_lite.protocol.rules import BRIEF_LIMIT
from slipway_lite.text import trim, utf8_prefix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slipway_lite.protocol.run import Record, Run


def brief_of(run: Run, record: Record) -> str:
    """The brief that an Action was issued with."""
    if record.issued is not None:
        return str(record.issued["brief"])
    return brief(record.kind, record.given_brief, run.initial_git, record.changed)


def brief(kind: str, given: str, initial_git: dict[str, Any], changed: bool) -> str:
    """``given`` trimmed, or the default of ``kind``; Review and Summarize also learn what was dirty at the start."""
    text = trim(given) or prose.DEFAULT_BRIEFS[kind]
    if changed and kind in ("review", "summarize"):
        text += " " + _attribution(initial_git)
    if len(text.encode()) > BRIEF_LIMIT:
        marker = truncation_marker(text)
        text = utf8_prefix(text, BRIEF_LIMIT - len(marker)) + marker
    return text


def dirty_counts(initial_git: dict[str, Any]) -> str:
    """``count=P; retained=R; path_fingerprint=F`` of the start snapshot."""
    return (
        f"count={initial_git['path_count']}; retained={len(initial_git['path_observations'])}; "
        f"path_fingerprint={initial_git['path_fingerprint']}"
    )


def _attribution(initial_git: dict[str, Any]) -> str:
    text = f"{prose.ATTRIBUTION} ({dirty_counts(initial_git)}; initial_snapshot={initial_git['snapshot_hash']}):"
    if not initial_git["path_count"]:
        return text + " none."
    text += "".join(f" {prose.dirty_path(path)};" for path in initial_git["path_observations"])
    if initial_git["details_truncated"]:
        omitted = initial_git["path_count"] - len(initial_git["path_observations"])
        text += prose.BRIEF_DETAILS_OMITTED.format(count=omitted)
    return text
