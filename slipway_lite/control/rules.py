"""Guards that more than one request obeys: versions, and the edge to ``accepted`` (control-plane §4.5,
§7.6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slipway_lite.control.events import Audit, TaskState
from slipway_lite.control.refusals import Refused
from slipway_lite.control.risk import missing_items

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


def require_version(state: TaskState, expected: int | None) -> None:
    """Refuse with VERSION_CONFLICT, audited, when the caller expected another version."""
    version = state.task["version"]
    if expected is not None and expected != version:
        raise Refused(
            "VERSION_CONFLICT",
            f"The task is at version {version}; read it again.",
            details={"expected_version": expected, "version": version},
            audit=(Audit("task.version_conflict", {"expected_version": expected, "version": version}),),
        )


def require_state(state: TaskState, wanted: str, what: str) -> None:
    """Refuse with STATE_CONFLICT unless the task is in ``wanted``."""
    if state.state != wanted:
        raise Refused(
            "STATE_CONFLICT",
            f"A task has to be {wanted} for {what}; it is {state.state}.",
            details={"state": state.state, "expected_state": wanted},
        )


def require_acceptable(
    state: TaskState, checklist: Sequence[Mapping[str, Any]] | None, verdict: Mapping[str, Any] | None
) -> None:
    """Every gate of the edge ``accepting -> accepted``, in the published order; the same on every path to
    it.

    A checklist with all required items ticked, an accept verdict, a log artifact, documents that are not
    stale or unknown, and for high risk a passed suite named exactly ``regression``; log and regression from
    results that came since the task last entered ``developing`` (§13, 5).
    """
    if not checklist:
        raise Refused("CHECKLIST_REQUIRED", "The task has no manual checklist yet.")
    missing = missing_items(checklist)
    if missing:
        raise Refused(
            "CHECKLIST_INCOMPLETE",
            f"Required items of the checklist are open: {', '.join(missing)}.",
            details={"missing": missing},
        )
    if verdict is None:
        raise Refused("VERDICT_REQUIRED", "Nobody has given a verdict yet.")
    if verdict["outcome"] != "accept":
        raise Refused("VERDICT_NOT_ACCEPT", f"The verdict is {verdict['outcome']}.")
    proof = state.memory.get("proof", {})
    if not proof.get("log"):
        raise Refused("LOG_ARTIFACT_REQUIRED", "No result since the last development has a log artifact.")
    stale_status = state.task.get("resolver_refs", {}).get("stale_status", "fresh")
    if stale_status != "fresh":
        raise Refused(
            "DOCS_NOT_FRESH",
            f"The documents of the task are {stale_status}; read them again.",
            details={"stale_status": stale_status},
        )
    if state.task["risk_level"] == "high" and not proof.get("regression"):
        raise Refused(
            "REGRESSION_REQUIRED",
            "A task of high risk needs a passed suite named regression since the last development.",
        )
