"""Is a result what its stage may hand in? Authority first, then meaning (control-plane §4.4.1).

Shape is checked before anything here runs: a document off schema never gets this far (§13, 8).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

INJECTIONS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("ignore_previous_instructions", r"\bignore\s+previous\s+instructions\b"),
        ("bypass_policy", r"\bbypass\s+policy\b"),
        ("override_authority", r"\boverride\s+authority\b"),
        ("set_approval_policy", r"\bset\s+approval_policy\s*=\s*allow\b"),
        ("disable_sandbox", r"\bdisable\s+sandbox\b"),
    )
)
PLAN_FORBIDDEN_ESCALATIONS = (
    "network_access",
    "workspace_outside_write",
    "protected_path_write",
    "destructive_tool",
)
DEV_EVIDENCE = ("tool_plan", "edit_intent")
"""Words in the id or address of a json artifact that make it a description of a change."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a result, and where the task goes because of it.

    ``layer`` is authority, semantic or policy; ``code`` names the rule; ``outcome`` is blocked or
    rework_required.
    """

    layer: Literal["authority", "semantic", "policy"]
    code: str
    message: str
    outcome: Literal["blocked", "rework_required"]


def is_incomplete_plan(stage: str, result: Mapping[str, Any]) -> bool:
    """A succeeded plan has to show a verdict or an artifact; a patch or a summary does not count (seed
    004).
    """
    return stage == "plan" and result["status"] == "succeeded" and "verdict" not in result and not result["artifacts"]


def check_result(task: Mapping[str, Any], stage: str, result: Mapping[str, Any]) -> Fault | None:
    """The first fault of ``result``, or ``None``."""
    return _authority(task, result) or _SEMANTICS[stage](result)


def _authority(task: Mapping[str, Any], result: Mapping[str, Any]) -> Fault | None:
    for text in _texts(result):
        for name, pattern in INJECTIONS:
            if pattern.search(text):
                return Fault("authority", "instruction_injection", f"the result says {name}", "blocked")
    known = task.get("resolver_refs", {})
    if "doc_refs" in known and known.get("stale_status") == "stale":
        return Fault("authority", "stale_document_reference", "the documents of the task are stale", "blocked")
    return None


def _texts(result: Mapping[str, Any]) -> Iterator[str]:
    yield result.get("summary", "")
    yield result.get("verdict", {}).get("reason", "")
    for escalation in result["requested_escalations"]:
        yield escalation["reason"]


def _plan(result: Mapping[str, Any]) -> Fault | None:
    if "patch_ref" in result or "branch_ref" in result:
        return Fault("semantic", "plan_with_change", "a plan brings no patch and no branch", "rework_required")
    for escalation in result["requested_escalations"]:
        if escalation["kind"] in PLAN_FORBIDDEN_ESCALATIONS and not escalation.get("approved"):
            return Fault("policy", "policy_violation", f"a plan may not ask for {escalation['kind']}", "blocked")
    return None


def _dev(result: Mapping[str, Any]) -> Fault | None:
    if result["status"] != "succeeded" or "patch_ref" in result or "branch_ref" in result:
        return None
    for artifact in result["artifacts"]:
        name = (artifact["artifact_id"] + artifact["uri"]).replace("-", "_")
        if artifact["kind"] == "json" and any(word in name for word in DEV_EVIDENCE):
            return None
    return Fault(
        "semantic",
        "dev_without_change",
        "a development brings a patch, a branch or a plan of edits",
        "rework_required",
    )


def _acceptance(result: Mapping[str, Any]) -> Fault | None:
    if "patch_ref" in result or "branch_ref" in result:
        return Fault(
            "semantic",
            "acceptance_with_change",
            "an acceptance brings no patch and no branch",
            "rework_required",
        )
    return None


_SEMANTICS = {"plan": _plan, "dev": _dev, "acceptance": _acceptance}
