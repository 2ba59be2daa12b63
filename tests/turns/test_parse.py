"""One reply in, one result out: the order of the forms and the refusals (turn-contract §5)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.turns import parse as module
from slipway_lite.turns.parse import ParsedTurn, parse_line, parse_turn
from slipway_lite.turns.profiles import PROFILES
from slipway_lite.turns.vocabulary import SOURCES
from tests.turns.documents import envelope, fenced, outcome, with_value, without
from tests.turns.test_native import READY, REPORT


def codes(turn: ParsedTurn) -> list[str]:
    return [error.code for error in turn.errors]


def notes(turn: ParsedTurn) -> list[str]:
    return [diagnostic.code for diagnostic in turn.diagnostics]


def test_an_unknown_skill_is_refused_before_the_text_is_touched() -> None:
    assert codes(parse_turn(skill="advance", text=fenced(outcome("advance")))) == ["unknown_skill"]


@pytest.mark.parametrize("skill", [skill for skill in PROFILES if skill != "workflow-status"])
def test_every_other_profile_may_answer_with_an_outcome(skill: str) -> None:
    turn = parse_turn(skill=skill, text=fenced(outcome(skill)))
    assert (turn.source, turn.outcome, turn.envelope, notes(turn)) == ("skill-outcome-v1", outcome(skill), None, [])


@pytest.mark.parametrize("skill", list(PROFILES))
def test_every_profile_may_answer_with_an_envelope(skill: str) -> None:
    turn = parse_turn(skill=skill, text=fenced(envelope(skill)))
    assert turn.source == "envelope-v2-strict" and turn.envelope == envelope(skill)
    assert turn.outcome is not None and turn.outcome["skill"] == skill


def test_the_sensor_does_not_answer_with_an_outcome_whatever_skill_it_names() -> None:
    for named in ("workflow-status", "plan-fix"):
        turn = parse_turn(skill="workflow-status", text=fenced(outcome(named)))
        assert codes(turn) == ["sensor_requires_envelope"]


@pytest.mark.parametrize(
    "document", [outcome("plan-fix"), envelope("plan-fix"), without(envelope("plan-fix"), "detail")]
)
def test_a_result_that_names_another_skill_is_refused(document: Any) -> None:
    assert codes(parse_turn(skill="execute-phase", text=fenced(document))) == ["skill_mismatch"]


def test_the_name_is_checked_last_so_a_refused_repair_still_has_its_diagnostics() -> None:
    turn = parse_turn(skill="execute-phase", text=fenced(without(envelope("plan-fix"), "detail")))
    assert notes(turn) == ["detail-defaulted"]


def test_an_envelope_that_only_the_named_repairs_make_strict_is_compat() -> None:
    turn = parse_turn(skill="plan-fix", text=fenced(without(envelope("plan-fix"), "detail")))
    assert turn.source == "envelope-v2-compat" and turn.envelope == envelope("plan-fix", detail=None)
    assert notes(turn) == ["detail-defaulted"]
    assert turn.as_document()["diagnostics"][0]["code"] == "detail-defaulted"


def test_what_the_repairs_do_not_name_stays_refused() -> None:
    for path in ("summary", "needs_input", "unit"):
        turn = parse_turn(skill="plan-fix", text=fenced(without(envelope("plan-fix"), path)))
        assert codes(turn) == ["missing_key"] and turn.errors[0].path == f"$.{path}"


def test_a_refused_repair_is_the_only_error() -> None:
    text = fenced(with_value(envelope("audit-pr"), 3, "findings", "issues_filed"))
    assert codes(parse_turn(skill="audit-pr", text=text)) == ["issue_count_without_ids"]
    other = fenced({**envelope("plan-fix", detail=[]), "design_candidates": []})
    assert codes(parse_turn(skill="plan-fix", text=other)) == ["design_candidates_unmovable"]


def test_the_context_completes_a_unit_number_of_audit_pr() -> None:
    text = fenced(with_value(envelope("audit-pr"), 12, "unit", "id"))
    turn = parse_turn(skill="audit-pr", text=text, context={"unitId": "12-csv"})
    assert turn.ok and turn.outcome is not None and turn.outcome["next"]["targets"] == ["12-csv"]
    assert codes(parse_turn(skill="audit-pr", text=text)) == ["expected_text"]


def test_errors_speak_of_the_outcome_when_the_block_names_its_contract() -> None:
    broken = without(outcome(), "version")
    turn = parse_turn(skill="execute-phase", text=fenced({**broken, "extra": 1}))
    assert [(error.code, error.path) for error in turn.errors] == [
        ("missing_key", "$.version"),
        ("unknown_key", "$.extra"),
    ]
    assert notes(turn) == ["detail-defaulted"], "as published"


@pytest.mark.parametrize("value", [[], 1, None, '"x"', {}])
def test_a_block_with_other_json_is_refused_and_never_read_as_native(value: Any) -> None:
    turn = parse_turn(skill="audit-pr", text=fenced(value) + READY)
    assert not turn.ok and "no_machine_result" not in codes(turn)


def test_the_native_step_is_for_audit_pr_and_only_without_a_parseable_block() -> None:
    assert parse_turn(skill="audit-pr", text=REPORT).source == "native"
    assert parse_turn(skill="audit-pr", text=fenced("{bad") + READY).source == "native"
    assert codes(parse_turn(skill="review-change", text=REPORT)) == ["no_machine_result", "no_json_block"]
    mismatch = REPORT.replace("(2 blockers)", "(3 blockers)")
    assert codes(parse_turn(skill="audit-pr", text=mismatch)) == ["native_count_mismatch"]


@pytest.mark.parametrize("text", ["", "Looks good, merge it.", "MERGE_READY", json.dumps(outcome())])
def test_prose_and_bare_json_are_never_promoted(text: str) -> None:
    turn = parse_turn(skill="audit-pr", text=text)
    assert codes(turn) == ["no_machine_result", "no_json_block"]
    assert turn.as_document()["ok"] is False


def test_invalid_json_is_told_with_its_place() -> None:
    turn = parse_turn(skill="execute-phase", text=fenced("{bad"))
    assert codes(turn) == ["no_machine_result", "block_not_json"]


STALE = fenced(outcome()) + "\nSecond thoughts.\n\n```json\n{"


def test_a_possibly_stale_block_is_accepted_as_published_and_noticed() -> None:
    turn = parse_turn(skill="execute-phase", text=STALE)
    assert turn.ok and notes(turn) == ["opener-after-block"]


def test_a_strict_tail_refuses_it_and_keeps_the_diagnostic() -> None:
    turn = parse_turn(skill="execute-phase", text=STALE, strict_tail=True)
    assert codes(turn) == ["stale_tail"] and notes(turn) == ["opener-after-block"] and turn.outcome is None
    assert parse_turn(skill="execute-phase", text=fenced(outcome()), strict_tail=True).ok


def test_a_fence_left_open_is_noticed_on_a_failure_too() -> None:
    turn = parse_turn(skill="execute-phase", text="```json\n{")
    assert codes(turn) == ["no_machine_result", "no_json_block"] and notes(turn) == ["fence-left-open"]


def test_a_text_past_the_cap_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TEXT_LIMIT", 10)
    assert codes(parse_turn(skill="execute-phase", text=fenced(outcome()))) == ["text_too_long"]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b'{"skill":"plan-fix"}',
        b'{"skill":1,"text":""}',
        b'{"skill":"plan-fix","text":"","context":1}',
    ],
)
def test_a_line_that_is_no_turn_has_a_code(line: bytes) -> None:
    assert [error["code"] for error in parse_line(line)["errors"]] == ["invalid_line"]


def test_a_line_names_its_skill_or_takes_the_given_one_and_repeats_its_id() -> None:
    line = {"id": 7, "skill": "plan-fix", "text": fenced(outcome("plan-fix")), "context": None}
    assert parse_line(json.dumps(line).encode())["id"] == 7
    del line["skill"]
    assert parse_line(json.dumps(line).encode(), skill="plan-fix")["ok"] is True
    assert parse_line(json.dumps(line).encode())["errors"][0]["code"] == "invalid_line"


FRAGMENTS = [
    *(
        "```json\n",
        "\n```",
        "{",
        "}",
        '"contract":"agentic-workflow/skill-outcome"',
        ":",
        ",",
        "[",
        "]",
        "null",
        "\ud800",
    ),
    *("→ Next: /merge — x\n", "· y\n", "VERDICT: BLOCKED (1 blocker)\n", "1. [a] b — c\n", "PR #1 — x\n", "\x00", "９"),
    *(fenced(outcome("audit-pr")), fenced(envelope("audit-pr")), READY, REPORT),
]


@given(
    text=st.text(max_size=80) | st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join),
    skill=st.sampled_from([*PROFILES, "unknown"]),
    context=st.none() | st.dictionaries(st.just("unitId"), st.none() | st.integers() | st.text(max_size=5)),
    strict_tail=st.booleans(),
)
@settings(deadline=None, max_examples=400)
def test_no_text_raises_and_every_failure_has_a_code(text: str, skill: str, context: Any, strict_tail: bool) -> None:
    turn = parse_turn(skill=skill, text=text, context=context, strict_tail=strict_tail)
    if turn.ok:
        assert turn.outcome is not None and turn.source in SOURCES
    else:
        assert turn.outcome is None and turn.source is None and turn.envelope is None
        assert all(error.code and error.path.startswith("$") and error.message for error in turn.errors)
    json.dumps(turn.as_document())
