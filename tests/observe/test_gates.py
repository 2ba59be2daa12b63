"""Gate analysis, one test for each row and each sentence of control-plane §6.5."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from slipway_lite.errors import InvalidDocument
from slipway_lite.observe import DEFAULT, analyze_gates
from slipway_lite.observe.gates import ROWS, Gate, classify
from tests.published import published

AT = "2026-07-12T12:00:00Z"


def gate(**changes: Any) -> Gate:
    values: dict[str, Any] = {
        "days": 31.0, "tasks": 20, "evaluations": 20, "decisions": {}, "effective": 0, "overrides": 0, "unknown": 0,
    }  # fmt: skip
    return Gate(**(values | changes))


def entry(gate_id: str = "lint", revision: str = "1", hard_safety: bool = False) -> dict[str, Any]:
    return {"gate_id": gate_id, "owner": "ops", "policy_revision": revision, "hard_safety": hard_safety}


def evaluation(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "observation_id": f"gate:{number}", "task_id": "t", "occurred_at": "2026-07-01T00:00:00.000Z",
        "gate_id": "lint", "owner": "ops", "policy_revision": "1", "decision": "pass", "effective_action": "continue",
        "transition_changed": False, "risk": "low", "override": "none", "source_event_id": str(number),
    } | changes  # fmt: skip


def evidence(number: int, disposition: str, **changes: Any) -> dict[str, Any]:
    document = {
        "observation_id": f"evidence:{disposition}{number}", "task_id": "t", "evidence_id": f"e{number}",
        "evidence_type": "log", "occurred_at": "2026-07-01T00:00:00.000Z", "disposition": disposition,
        "source_event_id": str(number),
    }  # fmt: skip
    if disposition == "acknowledged":
        document["reviewed_by"] = "r"
    return document | changes


def bundle(**changes: Any) -> dict[str, Any]:
    return {
        "schema_version": "self-improvement/v1", "generated_at": "2026-07-12T00:00:00Z", "task_count": 20,
        "since": "2026-06-11T00:00:00Z", "until": "2026-07-12T00:00:00Z", "gate_catalog": [entry()],
        "gate_observations": [], "evidence_consumption_observations": [], "reflection_summaries": [],
    } | changes  # fmt: skip


def report_of(**changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = analyze_gates(bundle(**changes), generated_at=AT)["gate_reports"][0]
    return found


@pytest.mark.parametrize(
    ("row", "found", "classification", "is_eligible"),
    [
        (1, gate(unknown=1), "insufficient_data", False),
        (1, gate(unknown=1, overrides=20), "insufficient_data", False),
        (2, gate(evaluations=0, days=29.9), "insufficient_data", False),
        (3, gate(evaluations=0), "unused", True),
        (3, gate(evaluations=0, days=30.0), "unused", True),
        (4, gate(evaluations=0, tasks=19), "insufficient_data", False),
        (5, gate(evaluations=7, overrides=5), "override_excessive", True),
        (5, gate(evaluations=10, overrides=7, effective=10), "override_excessive", True),
        (6, gate(), "no_effect", True),
        (7, gate(effective=1), "healthy", True),
        (7, gate(evaluations=20, overrides=13, effective=1), "healthy", True),
        (8, gate(evaluations=19), "insufficient_data", False),
        (8, gate(evaluations=5, overrides=4), "insufficient_data", False),
    ],
)
def test_the_first_row_that_holds_decides(row: int, found: Gate, classification: str, is_eligible: bool) -> None:
    assert classify(found, DEFAULT)[:2] == (classification, is_eligible)
    assert ROWS[row - 1][2](found, DEFAULT) is not None
    assert all(condition(found, DEFAULT) is None for _, _, condition in ROWS[: row - 1])


@pytest.mark.parametrize("change", [{"decision": "hold"}, {"decision": "block"}, {"transition_changed": True}])
def test_a_hold_a_block_or_a_changed_transition_is_an_effect(change: dict[str, Any]) -> None:
    assert report_of(gate_observations=[evaluation(1, **change)])["metrics"]["effective_decision_count"] == 1


@pytest.mark.parametrize("name", ["decision", "transition_changed", "override"])
def test_one_unknown_value_makes_the_whole_gate_insufficient(name: str) -> None:
    many = [evaluation(number) for number in range(40)] + [evaluation(41, **{name: "unknown"})]
    found = report_of(gate_observations=many)
    assert (found["classification"], found["metrics"]["unknown_observation_count"]) == ("insufficient_data", 1)


@pytest.mark.parametrize("name", ["effective_action", "risk"])
def test_an_unknown_value_of_another_field_does_not_matter(name: str) -> None:
    many = [evaluation(number, **{name: "unknown"}) for number in range(20)]
    assert report_of(gate_observations=many)["classification"] == "no_effect"


def test_ratios_have_six_decimals() -> None:
    found = report_of(gate_observations=[evaluation(1, override="applied"), evaluation(2), evaluation(3)])
    assert found["metrics"]["override_ratio"] == 0.333333


def test_decision_counts_are_sorted_by_decision() -> None:
    observations = [evaluation(number, decision=name) for number, name in enumerate(("warn", "block", "pass", "warn"))]
    assert list(report_of(gate_observations=observations)["metrics"]["decision_counts"].items()) == [
        ("block", 1), ("pass", 1), ("warn", 2),
    ]  # fmt: skip


def test_observations_are_matched_by_gate_id_whatever_their_revision() -> None:
    found = analyze_gates(
        bundle(gate_catalog=[entry(revision="1"), entry(revision="2")], gate_observations=[evaluation(1)]),
        generated_at=AT,
    )
    assert [item["metrics"]["evaluation_count"] for item in found["gate_reports"]] == [1, 1]


def test_the_golden_report_and_its_repetition() -> None:
    catalog = [entry("run-system")]
    first = analyze_gates(bundle(gate_catalog=catalog), generated_at=AT)
    assert first["report_id"] == "GER-20260712120000"
    assert first["observation_period"]["days"] == 31
    (found,) = first["gate_reports"]
    assert (found["classification"], found["action"], found["proposal_eligible"], found["consecutive_periods"]) == (
        "unused", "review", True, 1,
    )  # fmt: skip
    assert [(nudge["nudge_id"], nudge["priority"], nudge["blocking"]) for nudge in first["periodic_nudges"]] == [
        ("NUDGE-gate-run-system-20260712120000", "medium", False)
    ]
    second = analyze_gates(bundle(gate_catalog=catalog), previous_report=first, generated_at="2026-08-12T12:00:00Z")
    assert second["gate_reports"][0]["action"] == "archive_candidate"
    assert second["gate_reports"][0]["consecutive_periods"] == 2
    assert second["periodic_nudges"][0]["priority"] == "high"


def test_a_hard_safety_gate_is_never_an_archive_candidate() -> None:
    catalog = [entry("hard-safety:secrets", hard_safety=True)]
    first = analyze_gates(bundle(gate_catalog=catalog), generated_at=AT)
    second = analyze_gates(bundle(gate_catalog=catalog), previous_report=first, generated_at=AT)
    assert second["gate_reports"][0]["action"] == "review"
    assert len(second["gate_reports"][0]["reasons"]) == 2


def test_another_classification_starts_counting_periods_again() -> None:
    unused = analyze_gates(bundle(), generated_at=AT)
    found = analyze_gates(
        bundle(gate_observations=[evaluation(number) for number in range(20)]), previous_report=unused, generated_at=AT
    )
    assert found["gate_reports"][0]["consecutive_periods"] == 1


@pytest.mark.parametrize(
    ("generated", "acknowledged", "classification", "action"),
    [
        (9, 0, "insufficient_data", "keep"),
        (10, 1, "unread_evidence", "review"),
        (10, 2, "healthy", "keep"),
    ],
)
def test_evidence_is_unread_at_a_tenth_of_ten(
    generated: int, acknowledged: int, classification: str, action: str
) -> None:
    observations = [evidence(number, "generated") for number in range(generated)]
    observations += [evidence(number, "acknowledged") for number in range(acknowledged)]
    (found,) = analyze_gates(bundle(evidence_consumption_observations=observations), generated_at=AT)[
        "evidence_reports"
    ]
    assert (found["classification"], found["action"]) == (classification, action)
    assert found["metrics"]["ack_rate"] == round(acknowledged / generated, 6)


def test_an_acknowledgement_of_older_evidence_counts_for_nothing() -> None:
    observations = [evidence(number, "generated") for number in range(10)]
    observations += [evidence(number, "acknowledged") for number in range(50, 60)]
    (found,) = analyze_gates(bundle(evidence_consumption_observations=observations), generated_at=AT)[
        "evidence_reports"
    ]
    assert found["metrics"] == {"generated_count": 10, "acknowledged_count": 0, "ack_rate": 0.0}


def test_evidence_types_are_sorted_and_an_absent_one_is_unknown() -> None:
    observations = [evidence(1, "generated", evidence_type="trace"), evidence(2, "generated")]
    del observations[1]["evidence_type"]
    found = analyze_gates(bundle(evidence_consumption_observations=observations), generated_at=AT)
    assert [item["target_ref"] for item in found["evidence_reports"]] == ["trace", "unknown"]


def test_without_a_declared_window_the_observations_give_it() -> None:
    document = bundle(
        gate_observations=[evaluation(1, occurred_at="2026-07-01T00:00:00.000Z")],
        evidence_consumption_observations=[evidence(1, "generated", occurred_at="2026-07-03T12:00:00.000Z")],
    )
    del document["since"], document["until"]
    assert analyze_gates(document, generated_at=AT)["observation_period"] == {
        "since": "2026-07-01T00:00:00.000Z", "until": "2026-07-03T12:00:00.000Z", "days": 2.5,
    }  # fmt: skip


def test_without_any_observation_the_window_ends_when_the_bundle_was_made() -> None:
    document = bundle()
    del document["until"]
    assert analyze_gates(document, generated_at=AT)["observation_period"]["until"] == "2026-07-12T00:00:00Z"


def test_a_window_that_ends_before_it_starts_has_no_days() -> None:
    document = bundle(until="2026-01-01T00:00:00Z")
    assert analyze_gates(document, generated_at=AT)["observation_period"]["days"] == 0


def test_an_analysis_changes_none_of_its_documents() -> None:
    document = bundle(gate_observations=[evaluation(1)])
    before = json.dumps(document)
    analyze_gates(document, generated_at=AT)
    assert json.dumps(document) == before


def test_thresholds_of_ones_own_are_used() -> None:
    mine = DEFAULT | {"no_effect": {"minimum_evaluations": 1, "maximum_effective_decisions": 0}}
    found = analyze_gates(bundle(gate_observations=[evaluation(1)]), mine, generated_at=AT)
    assert found["gate_reports"][0]["classification"] == "no_effect"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"bundle": bundle(task_count=-1)}, "invalid_bundle"),
        ({"bundle": bundle(extra=1)}, "invalid_bundle"),
        ({"bundle": bundle(gate_observations=[evaluation(1, decision="maybe")])}, "invalid_bundle"),
        ({"bundle": bundle(evidence_consumption_observations=[evidence(1, "generated", occurred_at="now")])},
         "invalid_bundle"),
        ({"thresholds": {}}, "invalid_thresholds"),
        ({"thresholds": DEFAULT | {"behavior": {"non_blocking": False, "automatic_changes": False}}},
         "invalid_thresholds"),
        ({"previous_report": {}}, "invalid_previous_report"),
        ({"generated_at": "yesterday"}, "invalid_generated_at"),
    ],
)  # fmt: skip
def test_a_document_off_schema_is_refused_by_its_code(changes: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidDocument) as refused:
        analyze_gates(**({"bundle": bundle()} | changes))
    assert refused.value.code == code


def test_a_refusal_names_the_place_and_never_the_value() -> None:
    with pytest.raises(InvalidDocument) as refused:
        analyze_gates(bundle(gate_observations=[evaluation(1, decision="SECRET")]))
    assert refused.value.path == "$.gate_observations[0].decision"
    assert "SECRET" not in refused.value.message


def test_the_recorded_analyses_are_equal() -> None:
    checker = published("conformance", "gates", "check.py")
    done = subprocess.run([sys.executable, str(checker)], capture_output=True, check=False, env={"PYTHONPATH": "."})
    assert done.stdout.decode().strip() == "80 of 80 gate analyses", done.stderr.decode()


def test_the_published_thresholds_are_the_default() -> None:
    assert json.loads(published("conformance", "gates", "thresholds.json").read_text("utf-8")) == DEFAULT
