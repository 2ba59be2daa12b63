"""The named repairs of old Envelope v2 emissions: complete, in this order, and nothing beside them.

A repair is made only where the missing value follows mechanically; everything else stays as it is and fails the
strict validator. Each repair leaves a diagnostic, so that old emissions can be counted and retired. (turn-contract
§6)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slipway_lite.turns.ecma import number_text
from slipway_lite.turns.shapes import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

DETAIL_DEFAULTED = "detail-defaulted"
DESIGN_CANDIDATES_MOVED = "design-candidates-moved"
UNIT_ID_FROM_CONTEXT = "unit-id-from-context"
ZERO_ISSUE_COUNT = "zero-issue-count"
AUDIT_PR_BLOCKER_MAPPED = "audit-pr-blocker-mapped"

REPAIR_DIAGNOSTICS = (
    DETAIL_DEFAULTED,
    DESIGN_CANDIDATES_MOVED,
    UNIT_ID_FROM_CONTEXT,
    ZERO_ISSUE_COUNT,
    AUDIT_PR_BLOCKER_MAPPED,
)
"""Every published diagnostic code, in the order in which a turn reports them."""

_LEGACY_BLOCKER_KEYS = ("gate", "evidence", "route")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What was repaired or noticed while parsing; the order of a list of them is contractual."""

    code: str
    detail: str

    def as_document(self) -> dict[str, str]:
        return {"code": self.code, "detail": self.detail}


@dataclass(frozen=True, slots=True)
class Repair:
    """A repaired copy of the value and what was done to it, or the refusal of a repair."""

    value: Any
    diagnostics: tuple[Diagnostic, ...]
    refusal: Problem | None = None


def repair_envelope(value: object, *, skill: str, context: Mapping[str, Any] | None) -> Repair:
    """Apply every named repair that ``value`` calls for; the value itself is left as it is.

    ``context`` is used for one thing: an audit-pr unit number that ``context["unitId"]`` spells out.
    """
    if type(value) is not dict:
        return Repair(value, ())
    draft = dict(value)
    notes: list[Diagnostic] = []
    refusal = _move_detail(draft, notes)
    if refusal is None and skill == "audit-pr":
        _name_unit(draft, context, notes)
        refusal = _empty_issue_count(draft, notes)
        if refusal is None:
            _map_blockers(draft, notes)
    return Repair(draft, tuple(notes), refusal)


def _move_detail(draft: dict[str, Any], notes: list[Diagnostic]) -> Problem | None:
    if "detail" not in draft:
        draft["detail"] = None
        notes.append(Diagnostic(DETAIL_DEFAULTED, "The absent detail was read as null."))
    if "design_candidates" not in draft:
        return None
    detail = draft["detail"]
    if detail is not None and type(detail) is not dict:
        return Problem(
            "design_candidates_unmovable",
            "$.detail",
            "A root design_candidates can only move into a detail that is null or an object.",
        )
    draft["detail"] = {**(detail or {}), "design_candidates": draft.pop("design_candidates")}
    notes.append(Diagnostic(DESIGN_CANDIDATES_MOVED, "The root design_candidates was moved into detail."))
    return None


def _is_number(value: object) -> bool:
    return type(value) in (int, float)


def _name_unit(draft: dict[str, Any], context: Mapping[str, Any] | None, notes: list[Diagnostic]) -> None:
    unit = draft.get("unit")
    if type(unit) is not dict or not _is_number(unit.get("id")):
        return
    name = context.get("unitId") if context else None
    if type(name) is str and name.startswith(f"{number_text(unit['id'])}-"):
        draft["unit"] = {**unit, "id": name}
        notes.append(Diagnostic(UNIT_ID_FROM_CONTEXT, "The unit number was completed from the context of the call."))


def _empty_issue_count(draft: dict[str, Any], notes: list[Diagnostic]) -> Problem | None:
    findings = draft.get("findings")
    if type(findings) is not dict or not _is_number(findings.get("issues_filed")):
        return None
    count = findings["issues_filed"]
    if count != 0:
        return Problem(
            "issue_count_without_ids",
            "$.findings.issues_filed",
            f"The count {number_text(count)} says that issues were filed and does not say which.",
        )
    draft["findings"] = {**findings, "issues_filed": []}
    notes.append(Diagnostic(ZERO_ISSUE_COUNT, "The issue count 0 was read as an empty list."))
    return None


def _map_blockers(draft: dict[str, Any], notes: list[Diagnostic]) -> None:
    rows = draft.get("blockers")
    if type(rows) is not list:
        return
    mapped: list[Any] = []
    for index, row in enumerate(rows):
        if type(row) is dict and all(type(row.get(key)) is str for key in _LEGACY_BLOCKER_KEYS):
            row = {"kind": "gate", "id": row["gate"], "scope": "unit", "detail": row["evidence"]}
            notes.append(Diagnostic(AUDIT_PR_BLOCKER_MAPPED, f"Row {index} of blockers was a native verdict row."))
        mapped.append(row)
    draft["blockers"] = mapped
