"""The profiles and the output instruction (turn-contract §2, §3)."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from slipway_lite.errors import UsageError
from slipway_lite.turns.profiles import PROFILES, profile_of, render_output_instruction
from slipway_lite.turns.vocabulary import (
    CONTEXT_SOURCES,
    EFFECTS,
    ENVELOPE_STATES,
    EVIDENCE,
    INTENTS,
    OUTCOME_STATUSES,
    REASONING,
    ROLES,
)

ORDER = [
    "init-workspace",
    "workflow-status",
    "discover-repository-state",
    "resolve-repository-state",
    "design-feature",
    "review-spec",
    "plan-feature",
    "review-plan",
    "plan-fix",
    "triage-issue",
    "execute-phase",
    "review-change",
    "audit-pr",
]


def test_there_are_thirteen_profiles_in_this_order() -> None:
    assert list(PROFILES) == ORDER
    assert all(PROFILES[skill].skill == skill for skill in ORDER)


def test_only_the_sensor_answers_with_an_envelope_and_only_audit_pr_has_a_native_fallback() -> None:
    assert [skill for skill in ORDER if PROFILES[skill].output == "envelope-v2"] == ["workflow-status"]
    assert [skill for skill in ORDER if PROFILES[skill].native_fallback != "none"] == ["audit-pr"]


def test_capabilities_use_the_closed_vocabularies() -> None:
    for profile in PROFILES.values():
        found = profile.capabilities
        assert found.role in ROLES and found.reasoning in REASONING
        assert set(found.effects) <= set(EFFECTS)
        assert set(found.context_sources) <= set(CONTEXT_SOURCES)
        assert set(found.required_evidence) <= set(EVIDENCE)


def test_profiles_cannot_be_changed() -> None:
    table: Any = PROFILES
    with pytest.raises(TypeError):
        table["merge"] = PROFILES["audit-pr"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        PROFILES["audit-pr"].output = "envelope-v2"  # type: ignore[misc]  # what the test is about


@pytest.mark.parametrize(
    "skill",
    [
        "advance",
        "ship-roadmap",
        "unit-lane",
        "fold-findings",
        "merge",
        "status",
        "Audit-PR",
        "audit-pr ",
        "",
        "loop-review-fold",
    ],
)
def test_other_names_are_unknown_and_have_no_instruction(skill: str) -> None:
    for ask in (profile_of, render_output_instruction):
        with pytest.raises(UsageError) as caught:
            ask(skill)
        assert caught.value.code == "unknown_skill"


@pytest.mark.parametrize("skill", ORDER)
def test_the_instruction_is_one_line_and_the_same_bytes_every_time(skill: str) -> None:
    text = render_output_instruction(skill)
    assert text == render_output_instruction(skill)
    assert "\n" not in text and "{{" not in text
    assert f'"{skill}"' in text


def test_the_envelope_instruction_states_the_contract() -> None:
    text = render_output_instruction("workflow-status")
    for fact in ("agentic-workflow/envelope@2", "detail", "mandatory", "unit.id", "text or null", "list of integers"):
        assert fact in text
    assert all(state in text for state in ENVELOPE_STATES)


@pytest.mark.parametrize("skill", [skill for skill in ORDER if skill != "workflow-status"])
def test_the_outcome_instruction_states_the_contract_and_nothing_of_the_envelope(skill: str) -> None:
    text = render_output_instruction(skill)
    for fact in (
        "agentic-workflow/skill-outcome",
        "version 1",
        "evidence_refs",
        "proposed_intent",
        "{intent, targets}",
    ):
        assert fact in text
    assert all(word in text for word in (*INTENTS, *OUTCOME_STATUSES))
    assert '"phase"' not in text and "issues_filed" not in text
