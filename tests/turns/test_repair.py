"""The named repairs: each condition, its diagnostic, and what is left alone (turn-contract §6)."""

from __future__ import annotations

from typing import Any

import pytest

from slipway_lite.turns.repair import REPAIR_DIAGNOSTICS, repair_envelope
from tests.turns.documents import envelope, with_value, without

AUDIT = envelope("audit-pr")


def repaired(value: Any, skill: str = "audit-pr", context: dict[str, Any] | None = None) -> tuple[Any, list[str]]:
    result = repair_envelope(value, skill=skill, context=context)
    assert result.refusal is None
    return result.value, [diagnostic.code for diagnostic in result.diagnostics]


def refused(value: Any, skill: str = "audit-pr") -> tuple[str, list[str]]:
    result = repair_envelope(value, skill=skill, context=None)
    assert result.refusal is not None
    return result.refusal.code, [diagnostic.code for diagnostic in result.diagnostics]


def test_an_absent_detail_becomes_null_for_any_skill() -> None:
    assert repaired(without(envelope(), "detail"), "plan-fix") == (envelope(detail=None), ["detail-defaulted"])
    assert repaired(envelope(detail=None), "plan-fix") == (envelope(detail=None), [])


@pytest.mark.parametrize(
    ("detail", "moved"),
    [
        ({}, {"design_candidates": [1]}),
        ({"kept": 1}, {"kept": 1, "design_candidates": [1]}),
        ({"design_candidates": "old"}, {"design_candidates": [1]}),
        (None, {"design_candidates": [1]}),
    ],
)
def test_root_design_candidates_move_into_detail(detail: Any, moved: Any) -> None:
    value = {**envelope(detail=detail), "design_candidates": [1]}
    assert repaired(value, "design-feature") == (envelope(detail=moved), ["design-candidates-moved"])


def test_root_design_candidates_move_into_an_absent_detail_after_it_was_defaulted() -> None:
    value = {**without(envelope(), "detail"), "design_candidates": None}
    found, codes = repaired(value, "design-feature")
    assert found["detail"] == {"design_candidates": None}
    assert codes == ["detail-defaulted", "design-candidates-moved"]


@pytest.mark.parametrize("detail", [[], "x", 0, False])
def test_root_design_candidates_cannot_move_into_a_list_or_a_scalar(detail: Any) -> None:
    value = {**envelope(detail=detail), "design_candidates": []}
    assert refused(value, "design-feature") == ("design_candidates_unmovable", [])


@pytest.mark.parametrize("number", [12, 12.0])
def test_a_numeric_unit_id_is_completed_from_the_context(number: Any) -> None:
    value = with_value(AUDIT, number, "unit", "id")
    assert repaired(value, context={"unitId": "12-csv"}) == (AUDIT, ["unit-id-from-context"])


@pytest.mark.parametrize(
    ("number", "context"),
    [
        (12, None),
        (12, {}),
        (12, {"unitId": "12"}),
        (12, {"unitId": "112-csv"}),
        (1, {"unitId": "12-csv"}),
        (12.5, {"unitId": "12-csv"}),
        (True, {"unitId": "True-csv"}),
        (12, {"unitId": 12}),
        ("12", {"unitId": "12-csv"}),
    ],
)
def test_a_unit_id_that_does_not_match_stays(number: Any, context: Any) -> None:
    value = with_value(AUDIT, number, "unit", "id")
    assert repaired(value, context=context) == (value, [])


@pytest.mark.parametrize("zero", [0, 0.0, -0.0])
def test_a_zero_issue_count_becomes_an_empty_list(zero: Any) -> None:
    found, codes = repaired(with_value(AUDIT, zero, "findings", "issues_filed"))
    assert found["findings"]["issues_filed"] == [] and codes == ["zero-issue-count"]


@pytest.mark.parametrize("count", [3, -1, 0.5])
def test_a_count_of_issues_without_their_ids_is_refused_by_name(count: Any) -> None:
    result = repair_envelope(with_value(AUDIT, count, "findings", "issues_filed"), skill="audit-pr", context=None)
    assert result.refusal is not None
    assert result.refusal.code == "issue_count_without_ids" and str(count) in result.refusal.message


@pytest.mark.parametrize("count", ["0", True, None, {}])
def test_a_count_that_is_no_number_stays(count: Any) -> None:
    value = with_value(AUDIT, count, "findings", "issues_filed")
    assert repaired(value) == (value, [])


def test_native_blocker_rows_are_mapped_one_by_one() -> None:
    native = {"gate": "lint", "evidence": "2 errors", "route": "/execute-phase", "other": 1}
    good = {"kind": "issue", "id": "#4", "scope": "run", "detail": "open"}
    found, codes = repaired({**AUDIT, "blockers": [native, good, native]})
    mapped = {"kind": "gate", "id": "lint", "scope": "unit", "detail": "2 errors"}
    assert found["blockers"] == [mapped, good, mapped]
    assert codes == ["audit-pr-blocker-mapped"] * 2


@pytest.mark.parametrize("row", [{"gate": "g", "evidence": "e"}, {"gate": "g", "evidence": "e", "route": 1}, "g", None])
def test_a_half_native_row_stays(row: Any) -> None:
    assert repaired({**AUDIT, "blockers": [row]}) == ({**AUDIT, "blockers": [row]}, [])


def test_the_audit_repairs_are_for_audit_pr_only() -> None:
    value = with_value(with_value(envelope("plan-fix"), 12, "unit", "id"), 0, "findings", "issues_filed")
    value["blockers"] = [{"gate": "g", "evidence": "e", "route": "r"}]
    assert repaired(value, "plan-fix", {"unitId": "12-csv"}) == (value, [])


def test_all_repairs_together_report_in_the_order_of_the_table() -> None:
    value = without(with_value(with_value(AUDIT, 12, "unit", "id"), 0, "findings", "issues_filed"), "detail")
    value |= {"design_candidates": [], "blockers": [{"gate": "g", "evidence": "e", "route": "r"}]}
    before = repr(value)
    _, codes = repaired(value, context={"unitId": "12-csv"})
    assert codes == list(REPAIR_DIAGNOSTICS)
    assert repr(value) == before, "the value itself must not change"


@pytest.mark.parametrize("value", [None, [], "x", 1])
def test_what_is_no_object_is_left_alone(value: Any) -> None:
    assert repaired(value) == (value, [])


@pytest.mark.parametrize("part", ["unit", "findings", "blockers"])
def test_a_part_of_another_type_is_left_alone(part: str) -> None:
    assert repaired({**AUDIT, part: "x"}, context={"unitId": "12-csv"}) == ({**AUDIT, part: "x"}, [])
