"""The two envelope entries and what follows from an envelope (turn-contract §1.1, §7)."""

from __future__ import annotations

import pytest

from slipway_lite.turns.envelope import (
    is_run_halt,
    is_terminal,
    next_intent,
    outcome_from_envelope,
    parse_envelope,
    parse_envelope_v2_strict,
    validate_envelope,
)
from slipway_lite.turns.outcome import validate_skill_outcome
from slipway_lite.turns.vocabulary import ENVELOPE_STATES
from tests.turns.documents import envelope, fenced, with_value, without


def test_the_strict_entry_returns_the_envelope_as_it_was_written() -> None:
    result = parse_envelope_v2_strict(fenced(envelope()))
    assert result.ok and result.envelope == envelope()
    assert result.as_document()["raw"] == result.raw


def test_the_legacy_entry_lets_unknown_keys_and_an_absent_detail_pass() -> None:
    old = with_value(with_value(without(envelope(), "detail"), 1, "extra"), 1, "unit", "extra")
    assert parse_envelope(fenced(old)).envelope == old
    strict = parse_envelope_v2_strict(fenced(old))
    assert [(error.code, error.path) for error in strict.errors] == [
        ("unknown_key", "$.unit.extra"),
        ("missing_key", "$.detail"),
        ("unknown_key", "$.extra"),
    ]


def test_the_legacy_entry_seals_the_continuation_but_not_what_is_in_it() -> None:
    assert not parse_envelope(fenced(with_value(envelope(), 1, "next", "continuation", "x"))).ok
    assert parse_envelope(fenced(with_value(envelope(), 1, "next", "continuation", "evidence", "x"))).ok
    assert parse_envelope(fenced(with_value(envelope(), 1, "next", "continuation", "preconditions", 0, "x"))).ok


def test_the_legacy_entry_still_misses_a_nullable_key() -> None:
    assert not parse_envelope(fenced(without(envelope(), "pr", "ci"))).ok


@pytest.mark.parametrize("parse", [parse_envelope, parse_envelope_v2_strict])
def test_raw_is_null_only_when_there_was_no_block(parse: type) -> None:
    nothing = parse("no block")
    assert [error.code for error in nothing.errors] == ["no_json_block"] and nothing.raw is None
    broken = parse(fenced("{bad"))
    assert [error.code for error in broken.errors] == ["block_not_json"] and broken.raw == "{bad"
    assert broken.as_document()["ok"] is False
    assert parse(fenced([])).errors[0].code == "expected_object"


STATUS_OF_STATE = [
    ("OK", "completed"),
    ("CONTINUE", "continue"),
    ("READY_FOR_REVIEW", "completed"),
    ("READY_FOR_AUDIT", "completed"),
    ("MERGE_READY", "completed"),
    ("MERGED", "completed"),
    ("NEEDS_FIXES", "continue"),
    ("BLOCKED", "blocked"),
    ("NEEDS_INPUT", "needs-input"),
    ("FAILED", "failed"),
    ("HALT", "failed"),
]


@pytest.mark.parametrize(("state", "status"), STATUS_OF_STATE)
def test_a_state_gives_a_status(state: str, status: str) -> None:
    assert outcome_from_envelope(envelope(state=state))["status"] == status


def test_every_state_gives_a_status() -> None:
    assert [state for state, _ in STATUS_OF_STATE] == list(ENVELOPE_STATES)


def test_the_outcome_of_an_envelope_is_valid_and_brings_no_evidence() -> None:
    outcome = outcome_from_envelope(envelope())
    assert validate_skill_outcome(outcome).ok
    assert outcome["next"] == {"intent": "execute-phase", "targets": ["12-csv"]}
    assert outcome["questions"] == [{"id": "needs-input", "question": "Which?", "options": ["a"]}]
    assert outcome["blockers"] == envelope()["blockers"]
    assert outcome["evidence_refs"] == [] and outcome["discoveries"] == []
    bare = envelope(unit={"type": "none", "id": None, "issue": None, "branch": None}, needs_input=None)
    assert outcome_from_envelope(bare)["next"]["targets"] == []
    assert outcome_from_envelope(bare)["questions"] == []


@pytest.mark.parametrize(
    ("command", "intent"),
    [
        ("/workflow-status", "status"),
        ("/init-workspace", "init-workspace"),
        ("/discover-repository-state", "discover-repository-state"),
        ("/resolve-repository-state C1", "resolve-repository-state"),
        ("/design-feature x", "design-feature"),
        ("/plan-feature x", "plan-feature"),
        ("/plan-fix", "plan-fix"),
        ("/triage-issue 4", "triage-issue"),
        ("/execute-phase 12 P1", "execute-phase"),
        ("/review-change", "review-change"),
        ("/audit-pr", "audit-pr"),
        ("then /merge", "merge"),
        ("//audit-pr", "audit-pr"),
        ("/execute-phase2", "execute-phase"),
        ("/review-spec", "none"),
        ("/review-plan", "none"),
        ("/unit-lane x", "none"),
        ("/fold-findings", "none"),
        ("/plan-feature-from-issue", "none"),
        ("docs/features then /audit-pr", "none"),
        ("/AUDIT-PR", "none"),
        ("/ audit-pr", "none"),
        ("", "none"),
    ],
)
def test_the_first_slash_word_names_the_intent(command: str, intent: str) -> None:
    assert next_intent(command) == intent


def test_terminal_states() -> None:
    assert [state for state in ENVELOPE_STATES if is_terminal(state)] == ["NEEDS_INPUT", "FAILED", "HALT"]
    assert not is_terminal("") and not is_terminal("halt")


def test_a_run_halts_on_halt_or_on_any_run_scoped_blocker() -> None:
    unit = {"kind": "gate", "id": "", "scope": "unit", "detail": ""}
    assert not is_run_halt(envelope(blockers=[unit]))
    assert is_run_halt(envelope(blockers=[unit, {**unit, "scope": "run"}]))
    assert is_run_halt(envelope(state="HALT", blockers=[]))
    assert not is_run_halt(envelope(state="FAILED", blockers=[]))


def test_a_validation_hands_the_value_back_under_its_name() -> None:
    assert validate_envelope(envelope()).as_document() == {"ok": True, "envelope": envelope()}
    document = validate_envelope({}).as_document()
    assert document["ok"] is False and len(document["errors"]) == 14
