"""SkillOutcome v1: the few fields that a model owns (turn-contract §1.2)."""

from __future__ import annotations

from typing import Any

from slipway_lite.turns.shapes import Exactly, ListOf, Object, OneOf, Text, Validation, check
from slipway_lite.turns.vocabulary import (
    BLOCKER_KINDS,
    BLOCKER_SCOPES,
    DISCOVERY_KINDS,
    DISCOVERY_SCOPES,
    INTENTS,
    OUTCOME_STATUSES,
    SKILL_OUTCOME_CONTRACT,
)

BLOCKER = Object(
    {
        "kind": OneOf(BLOCKER_KINDS),
        "id": Text(),
        "scope": OneOf(BLOCKER_SCOPES),
        "detail": Text(),
    }
)

SKILL_OUTCOME = Object(
    {
        "contract": Exactly(SKILL_OUTCOME_CONTRACT),
        "version": Exactly(1),
        "skill": Text(least=1),
        "status": OneOf(OUTCOME_STATUSES),
        "summary": Text(),
        "next": Object({"intent": OneOf(INTENTS), "targets": ListOf(Text())}),
        "blockers": ListOf(BLOCKER),
        "questions": ListOf(Object({"id": Text(), "question": Text(), "options": ListOf(Text())})),
        "discoveries": ListOf(
            Object(
                {
                    "kind": OneOf(DISCOVERY_KINDS),
                    "scope": OneOf(DISCOVERY_SCOPES),
                    "summary": Text(),
                    "evidence_refs": ListOf(Text()),
                    "proposed_intent": OneOf(INTENTS),
                }
            )
        ),
        "evidence_refs": ListOf(Text()),
    }
)


def validate_skill_outcome(value: object) -> Validation:
    """Whether ``value``, a decoded JSON value, is a SkillOutcome v1; unknown keys are refused at every level."""
    return Validation("outcome", value, check(SKILL_OUTCOME, value))


def names_skill_outcome(value: object) -> bool:
    """Whether ``value`` claims the SkillOutcome contract, so that errors about it must speak of that contract."""
    return type(value) is dict and value.get("contract") == SKILL_OUTCOME_CONTRACT


def skill_outcome(
    *,
    skill: str,
    status: str,
    summary: str,
    intent: str,
    targets: list[str],
    blockers: list[dict[str, Any]] | None = None,
    questions: list[dict[str, Any]] | None = None,
    evidence_refs: list[str] | None = None,
) -> dict[str, Any]:
    """A SkillOutcome v1 document in the published key order, without discoveries."""
    return {
        "contract": SKILL_OUTCOME_CONTRACT,
        "version": 1,
        "skill": skill,
        "status": status,
        "summary": summary,
        "next": {"intent": intent, "targets": targets},
        "blockers": blockers or [],
        "questions": questions or [],
        "discoveries": [],
        "evidence_refs": evidence_refs or [],
    }
