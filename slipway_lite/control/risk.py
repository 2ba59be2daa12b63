"""Risk: what a result says about it, which side effects weigh how much, and the manual checklist (§7.7)."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FORCED_HIGH_FLAGS = (
    "secrets_referenced",
    "network_access",
    "destructive_tool",
    "protected_path_write",
    "core_area_modified",
)
FORCED_HIGH_ESCALATIONS = ("network_access", "secret_access", "destructive_tool", "protected_path_write")
CORE_AREAS = (
    "src/auth",
    "authentication",
    "payment",
    "payments",
    "security",
    "iam",
    "identity",
    "crypto",
    "secrets",
)
LARGE_CHANGE_FILES = 20
MODERATE_CHANGE_FILES = 5

SIDE_EFFECT_IMPACT: MappingProxyType[str, str] = MappingProxyType(
    {
        "secret_access": "high",
        "destructive_tool": "high",
        "protected_path_write": "high",
        "network_access": "medium",
        "workspace_outside_write": "medium",
        "external_release": "medium",
    }
)
LEVELS = ("low", "medium", "high")

CHECKLIST: tuple[tuple[str, str, bool, str], ...] = (
    ("tests-passed", "All tests pass.", True, "any"),
    ("no-regressions", "Nothing that worked before is broken.", True, "any"),
    ("code-compiles", "The code builds.", True, "any"),
    ("code-review", "A person has reviewed the change.", True, "medium"),
    ("docs-updated", "The documents say what the code does.", False, "medium"),
    ("security-review", "The change was reviewed for security.", True, "high"),
    ("performance-check", "The change is fast enough.", True, "high"),
    ("stakeholder-approval", "Those concerned agree.", True, "high_risk"),
    ("rollback-plan", "There is a way back.", True, "rollback_notes_required"),
    ("secrets-handled", "Secrets are handled safely.", True, "secrets_referenced"),
    ("network-approved", "The use of the network is approved.", True, "network_access"),
    ("core-review", "The change of a core area was reviewed by its owner.", True, "core_area_modified"),
    ("breaking-changes", "Breaking changes are announced.", True, "breaking_change"),
)
"""id, description, required, and the lowest risk level or the trigger that brings it in."""

_PATCHED_FILE = re.compile(r"^--- a/(.+?)\s*$", re.MULTILINE)
_ADDED = re.compile(r"^\+(?!\+\+ )", re.MULTILINE)
_DELETED = re.compile(r"^-(?!-- )", re.MULTILINE)


def patch_size(result: Mapping[str, Any]) -> dict[str, int]:
    """files_changed, lines_added, lines_deleted of a patch given as text; nothing for an address or a
    branch.
    """
    patch = result.get("patch_ref")
    if patch is None or patch["format"] == "url":
        return {}
    content = patch["content"]
    return {
        "files_changed": len(_PATCHED_FILE.findall(content)),
        "lines_added": len(_ADDED.findall(content)),
        "lines_deleted": len(_DELETED.findall(content)),
    }


def factors(result: Mapping[str, Any]) -> dict[str, Any]:
    """The risk factors that a result shows.

    ``regression_test_passed`` goes by any suite whose name contains "regression": a heuristic, unlike the
    gate of acceptance, which wants the exact name.
    """
    patch = result.get("patch_ref", {})
    files = _PATCHED_FILE.findall(patch.get("content", "")) if patch.get("format") != "url" else []
    tests = result["test_results"]
    regression = [entry["status"] for entry in tests if "regression" in entry["suite"]]
    effects = set(result.get("detected_side_effects", ()))
    return {
        "file_count": len(files),
        "modified_areas": files,
        "test_coverage": bool(tests) and all(entry["status"] == "passed" for entry in tests),
        "regression_test_passed": bool(regression) and set(regression) == {"passed"},
        "escalation_requested": [entry["kind"] for entry in result["requested_escalations"]],
        "secrets_referenced": "secret_access" in effects,
        "network_access": "network_access" in effects,
        "destructive_tool": "destructive_tool" in effects,
        "protected_path_write": "protected_path_write" in effects,
    }


def touches_core(paths: Iterable[str]) -> bool:
    """Whether a path lies in a core area: a whole segment, or the prefix ``src/auth``."""
    for path in paths:
        padded = f"/{path.lower()}/"
        if any(f"/{area}/" in padded for area in CORE_AREAS):
            return True
    return False


def assess(found: Mapping[str, Any], override: str | None = None) -> tuple[str, list[str]]:
    """(risk level, reasons). A person's ``override`` wins; the reasons still say what was seen."""
    reasons = [name for name in FORCED_HIGH_FLAGS if found.get(name)]
    if touches_core(found.get("modified_areas", ())) and "core_area_modified" not in reasons:
        reasons.append("core_area_modified")
    if found.get("test_coverage") is False and not found.get("regression_test_passed"):
        reasons.append("no_test_coverage")
    reasons += [
        f"escalation_{kind}" for kind in FORCED_HIGH_ESCALATIONS if kind in found.get("escalation_requested", ())
    ]
    level = "high" if reasons else "low"
    if not reasons and (found.get("config_modified") or found.get("dependencies_changed")):
        level = "medium"
        reasons.append("config_modified" if found.get("config_modified") else "dependencies_changed")
    if not reasons:
        files = found.get("file_count", 0)
        if files >= LARGE_CHANGE_FILES:
            level, reasons = "high", ["large_change_scope"]
        elif files >= MODERATE_CHANGE_FILES:
            level, reasons = "medium", ["moderate_change_scope"]
    return override or level, reasons


def impact(categories: Iterable[str]) -> str:
    """The weight of a set of side effects: that of the heaviest, low for none."""
    return max((SIDE_EFFECT_IMPACT[category] for category in categories), key=LEVELS.index, default="low")


def checklist(risk_level: str, triggers: Iterable[str] = ()) -> list[dict[str, Any]]:
    """The manual checklist of a task: by its risk, and by what was seen (control-plane §7.7)."""
    active = {"any", *triggers, *LEVELS[: LEVELS.index(risk_level) + 1]}
    if risk_level == "high":
        active.add("high_risk")
    return [
        {"id": identifier, "description": description, "required": required, "checked": False}
        for identifier, description, required, when in CHECKLIST
        if when in active
    ]


def missing_items(items: Iterable[Mapping[str, Any]]) -> list[str]:
    """The required items that nobody ticked."""
    return [item["id"] for item in items if item["required"] and not item.get("checked")]
