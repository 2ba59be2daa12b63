"""The conductor's pure parts (turn-contract §13)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from slipway_lite.turns.conductor import (
    SensorReading,
    check_closeout,
    decide_from_envelope,
    invocation_from_decision,
    judge_urgency,
    parse_sensor_output,
    snapshot_from_envelope,
)
from slipway_lite.turns.decide import WorkflowDecision
from slipway_lite.turns.vocabulary import EVIDENCE
from tests.turns.documents import envelope, outcome, with_value, without

PLAIN = json.dumps(envelope())


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        f"  {PLAIN}\n",
        f"noise\n```json\n{PLAIN}\n```",
        f"```json{PLAIN}```",
        f"```json {PLAIN} ```",
        f"```json\r{PLAIN}\r```",
        f"```json\n{{}}\n```\n```json\n{PLAIN}\n```\n```json\n{PLAIN}",
    ],
    ids=["bare", "padded", "fenced", "one line", "spaces", "CR only", "last complete fence"],
)
def test_a_sensor_is_read_from_bare_json_or_a_loose_fence(text: str) -> None:
    assert parse_sensor_output(text).as_document() == {"ok": True, "envelope": envelope()}


def test_a_sensor_may_add_keys_and_leave_out_detail() -> None:
    extended = with_value(without(envelope(), "detail"), "why", "next", "reason")
    assert parse_sensor_output(json.dumps(extended)).envelope == extended


@pytest.mark.parametrize(
    "text",
    [
        "",
        "all quiet",
        "{}",
        "[]",
        "```json\n{bad\n```",
        json.dumps(without(envelope(), "unit")),
        json.dumps(envelope(detail={"degradations": ["unavailable-forge-auth"]})),
    ],
)
def test_any_other_output_is_a_degraded_sensor(text: str) -> None:
    reading = parse_sensor_output(text)
    assert reading.as_document()["refusal"] == "sensor-degraded" and reading.detail


@pytest.mark.parametrize("detail", [None, "x", {"degradations": []}, {"degradations": None}])
def test_an_empty_list_of_degradations_is_none(detail: Any) -> None:
    assert parse_sensor_output(json.dumps(envelope(detail=detail))).ok


def test_a_long_row_of_openers_and_spaces_costs_linear_time() -> None:
    assert not parse_sensor_output("```json" * 200_000).ok
    assert not parse_sensor_output("```json" + " " * 2_000_000 + "x").ok


def sensed(status: Any = "frozen", revision: Any = "r1", **changes: Any) -> dict[str, Any]:
    return envelope(detail={"repository_state": {"status": status, "source_revision": revision}}, **changes)


def test_a_snapshot_from_an_envelope() -> None:
    assert snapshot_from_envelope(sensed()) == {
        "contract": "agentic-workflow/workflow-snapshot",
        "version": 1,
        "sourceRevision": "r1",
        "repository": {"branch": "feat/12-csv", "headSha": "abc", "dirty": False},
        "repositoryState": "frozen",
        "unit": {"kind": "feature", "id": "12-csv", "status": ""},
        "phase": {"current": "P1", "total": 2, "completed": 0, "names": []},
        "provenance": [{"field": "envelope", "source": "workflow-status", "line": 0}],
        "contradictions": [],
        "unknowns": [],
    }


@pytest.mark.parametrize("detail", [None, [], {}, {"repository_state": None}, {"repository_state": {"status": None}}])
def test_without_a_repository_state_the_revision_is_the_summary_and_the_state_unknown(detail: Any) -> None:
    found = snapshot_from_envelope(envelope(detail=detail))
    assert (found["sourceRevision"], found["repositoryState"]) == (envelope()["summary"], "unknown")


def test_units_and_heads_of_a_snapshot_from_an_envelope() -> None:
    unit = {"type": "docs", "id": None, "issue": None, "branch": None}
    pr = {**envelope()["pr"], "head_sha": None}
    found = snapshot_from_envelope(sensed(unit=unit, pr=pr))
    assert found["unit"] == {"kind": "feature", "id": "", "status": ""}
    assert found["repository"] == {"branch": "", "headSha": "r1", "dirty": False}
    assert snapshot_from_envelope(sensed(unit={**unit, "type": "fix", "id": "134-x"}))["unit"]["kind"] == "fix"


def decide(seen: Any, last: Any, **changes: Any) -> WorkflowDecision:
    return decide_from_envelope(
        **{
            "envelope": seen,
            "last_outcome": last,
            "last_outcome_source_revision": "r1",
            "policy": None,
            **changes,
        }
    )


LAST = outcome("workflow-status", "execute-phase", evidence_refs=list(EVIDENCE))


def test_the_decision_maps_the_sensors_name_and_adds_the_word_envelope() -> None:
    decision = decide(sensed(), LAST)
    assert (decision.kind, decision.intent) == ("invoke", "execute-phase")
    assert decision.evidence_refs == (*EVIDENCE, "envelope")


def test_a_policy_of_null_allows_everything_and_another_one_counts() -> None:
    audited = {
        **outcome("audit-pr", "merge", evidence_refs=list(EVIDENCE)),
        "next": {"intent": "merge", "targets": ["1"]},
    }
    assert decide(sensed(), audited).intent == "merge"
    denied = decide(sensed(), LAST, policy={"allowedIntents": [], "forgeWriteAuthorized": False})
    assert denied.reason_code == "stop-policy-denied"


def test_a_contradicted_state_is_lifted_to_a_valid_line_and_stops() -> None:
    decision = decide(sensed("contradicted"), {**LAST, "next": {"intent": "resolve-repository-state", "targets": []}})
    assert decision.reason_code == "stop-contradiction"
    assert decision.targets == ("repository_state",)
    assert decision.evidence_refs == ("contradiction:repository_state",)


@pytest.mark.parametrize(
    ("seen", "last", "reason"),
    [
        (None, LAST, "sense-missing-evidence"),
        (sensed(), None, "sense-initial"),
        (sensed(revision="r2"), LAST, "sense-stale-revision"),
        (sensed("odd"), LAST, "sense-missing-evidence"),
    ],
)
def test_what_is_missing_or_stale_senses(seen: Any, last: Any, reason: str) -> None:
    assert decide(seen, last).reason_code == reason


@pytest.mark.parametrize(
    "last", ["x", {"skill": "workflow-status"}, {**LAST, "evidence_refs": None}, {**LAST, "next": 1}]
)
def test_a_malformed_part_asks_a_human(last: Any) -> None:
    decision = decide(sensed(), last)
    assert (decision.kind, decision.intent, decision.reason_code) == ("stop", "ask-human", "stop-failed")
    assert decide({}, LAST).reason_code == "stop-failed"


def test_the_review_cycles_of_the_envelope_are_counted() -> None:
    seen = with_value(sensed(), {"spec": 2}, "detail", "review_loop_cycles")
    last = {**LAST, "next": {"intent": "review-spec", "targets": []}}
    assert decide(seen, last).reason_code == "stop-review-loop-cap"


def urgent(dirty: Any = False, left: int = 9, label: str = "urgent", **changes: Any) -> Any:
    facts = {"unit": "12-csv", "phase": "P1", "dirty": dirty, "tasks_from_boundary": left}
    issues = [{"number": 5, "title": "t", "label": "urgent"}, {"number": 6, "title": "t", "label": label}]
    return envelope(detail={"urgent": {"issues": issues, "interruptibility": facts, **changes}})


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (envelope(detail=None), {"verdict": "no-urgent"}),
        (envelope(detail={"urgent": None}), {"verdict": "no-urgent"}),
        (urgent(issues=[]), {"verdict": "no-urgent"}),
        (urgent(), {"verdict": "interrupt-now", "issue": 5}),
        (urgent(label="fix-next"), {"verdict": "finish-first", "issue": 5}),
        (urgent(dirty=True, left=1), {"verdict": "finish-first", "issue": 5}),
        (urgent(dirty=True, left=2), {"verdict": "finish-first", "issue": 5}),
        (urgent(interruptibility=None), {"verdict": "finish-first", "issue": 5}),
        (urgent(dirty=None), {"verdict": "finish-first", "issue": 5}),
        (urgent(issues=["odd"]), {"verdict": "interrupt-now"}),
    ],
)
def test_urgency(seen: Any, verdict: dict[str, Any]) -> None:
    assert judge_urgency(seen).as_document() == verdict


@pytest.mark.parametrize(("porcelain", "ahead", "found"), [("", 0, "clean"), (" ", 0, "partial"), ("", 1, "partial")])
def test_closeout(porcelain: str, ahead: int, found: str) -> None:
    assert check_closeout(porcelain, ahead) == found


def invocation(intent: str = "review-change", targets: Any = ("12", "P1"), **options: Any) -> Any:
    decision = WorkflowDecision("invoke", intent, targets, "invoke-proven-transition", (), "")
    names = ("review-change", "execute-phase", "merge")
    return invocation_from_decision(decision, **{"command_names": names, **options}).as_document()


def test_an_invocation_names_the_skill_and_its_targets() -> None:
    assert invocation() == {"ok": True, "invocation": "/skill:review-change 12 P1"}
    assert invocation(targets=())["invocation"] == invocation(targets=None)["invocation"] == "/skill:review-change"
    assert invocation("merge")["ok"], "the loop refuses it, not the mapping"


def test_a_decision_that_invokes_nothing_is_refused() -> None:
    stop = WorkflowDecision("stop", "review-change", (), "stop-failed", (), "")
    found = invocation_from_decision(stop, command_names=("review-change",))
    assert found.as_document() == {"ok": False, "refusal": "no-decision-available"}


def test_a_verb_outside_the_command_set_is_refused() -> None:
    assert invocation("audit-pr") == {"ok": False, "refusal": "no-decision-available"}


def test_an_unsatisfied_precondition_is_refused() -> None:
    rows = [{"id": "a", "check": "b", "satisfied": True}, {"id": "c", "check": "d", "satisfied": False}]
    assert invocation(continuation={"preconditions": rows})["refusal"] == "precondition-uncheckable"
    assert invocation(continuation={"preconditions": rows[:1]})["ok"]
    assert invocation(continuation={})["ok"]


@pytest.mark.parametrize(
    ("intent", "security", "sensitive", "attended", "level"),
    [
        ("review-change", True, True, True, None),
        ("review-change", False, False, False, None),
        ("review-change", False, True, False, 2),
        ("execute-phase", False, True, False, None),
        ("execute-phase", True, False, False, 3),
        ("review-change", True, True, False, 3),
    ],
)
def test_unattended_work_near_guarded_paths_is_adversarial(
    intent: str, security: bool, sensitive: bool, attended: bool, level: int | None
) -> None:
    found = invocation(intent, security=security, sensitive=sensitive, attended=attended)
    assert found.get("adversarial") == level
    assert found["invocation"].endswith(f" --adversarial {level}") is (level is not None)


def test_a_reading_without_an_envelope_says_why() -> None:
    assert SensorReading(None, "why").as_document() == {"ok": False, "refusal": "sensor-degraded", "detail": "why"}
