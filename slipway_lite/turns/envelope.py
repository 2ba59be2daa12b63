"""Envelope v2: the document of the workflow-status sensor, and the outcome that follows from one.

Two entries, both over the last fenced json block: :func:`parse_envelope_v2_strict` for new consumers, and
:func:`parse_envelope`, which lets unknown keys and an absent ``detail`` pass for old ones. (turn-contract §1.1, §7)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from slipway_lite.turns.block import decode_block
from slipway_lite.turns.ecma import SPACE
from slipway_lite.turns.extract import extract_last_json_block
from slipway_lite.turns.outcome import BLOCKER, skill_outcome
from slipway_lite.turns.shapes import (
    Anything,
    Flag,
    ListOf,
    Nullable,
    Object,
    OneOf,
    Problem,
    Text,
    Validation,
    Whole,
    check,
)
from slipway_lite.turns.vocabulary import (
    CI_STATES,
    ENVELOPE_STATES,
    PR_STATES,
    SEVERITIES,
    TERMINAL_STATES,
    TIERS,
    UNIT_TYPES,
    VERIFICATION_STATES,
)

CONTINUATION = Object(
    {
        "argv": ListOf(Text(least=1), least=1),
        "preconditions": ListOf(Object({"id": Text(least=1), "check": Text(least=1), "satisfied": Flag()})),
        "convergence": Text(form=re.compile(f"[^{SPACE}]")),
    },
    {
        "rendering": Text(least=1),
        "evidence": Object(
            {"artifact": Text(least=1), "digest": Text(form=re.compile(r"^[0-9a-f]{64}(?!\n)$"))},
        ),
    },
    sealed=True,
)

ENVELOPE = Object(
    {
        "skill": Text(least=1),
        "state": OneOf(ENVELOPE_STATES),
        "summary": Text(),
        "unit": Object(
            {
                "type": OneOf(UNIT_TYPES),
                "id": Nullable(Text()),
                "issue": Nullable(Whole()),
                "branch": Nullable(Text()),
            }
        ),
        "phase": Object(
            {"current": Nullable(Text()), "total": Nullable(Whole()), "completed": Nullable(Whole())},
        ),
        "pr": Object(
            {
                "number": Nullable(Whole()),
                "url": Nullable(Text()),
                "state": OneOf(PR_STATES),
                "head_sha": Nullable(Text()),
                "merge_ready": Nullable(Flag()),
                "ci": Nullable(OneOf(CI_STATES)),
            }
        ),
        "gates": Object(
            {
                "verification": Nullable(OneOf(VERIFICATION_STATES)),
                "review_pending": Nullable(Flag()),
                "audit_pending": Nullable(Flag()),
            }
        ),
        "findings": Object(
            {
                "fix_now": ListOf(
                    Object(
                        {
                            "id": Text(),
                            "file": Text(),
                            "axis": Text(),
                            "severity": OneOf(SEVERITIES),
                            "class": Text(),
                            "route": Text(),
                            "suggested_tier": OneOf(TIERS),
                        }
                    )
                ),
                "issues_filed": ListOf(Whole()),
                "untriaged": Whole(minimum=0),
                "decisions_recorded": Whole(minimum=0),
            }
        ),
        "blockers": ListOf(BLOCKER),
        "dependencies": Object({"unmet": ListOf(Text()), "build_order": ListOf(Text())}),
        "recommendations": Object({"product_audit": Flag(), "reason": Nullable(Text())}),
        "needs_input": Nullable(Object({"question": Text(), "options": ListOf(Text())})),
        "next": Object(
            {"recommended": Text(), "alternatives": ListOf(Text()), "tier": OneOf(TIERS)},
            {
                "suggested": ListOf(Object({"command": Text(), "trigger": Text(), "source_skill": Text()})),
                "continuation": CONTINUATION,
            },
        ),
        "detail": Anything(),
    },
    lenient=frozenset({"detail"}),
)

STATUS_OF_STATE = {
    "OK": "completed",
    "CONTINUE": "continue",
    "READY_FOR_REVIEW": "completed",
    "READY_FOR_AUDIT": "completed",
    "MERGE_READY": "completed",
    "MERGED": "completed",
    "NEEDS_FIXES": "continue",
    "BLOCKED": "blocked",
    "NEEDS_INPUT": "needs-input",
    "FAILED": "failed",
    "HALT": "failed",
}

INTENT_OF_COMMAND = {
    "workflow-status": "status",
    "init-workspace": "init-workspace",
    "discover-repository-state": "discover-repository-state",
    "resolve-repository-state": "resolve-repository-state",
    "design-feature": "design-feature",
    "plan-feature": "plan-feature",
    "plan-fix": "plan-fix",
    "triage-issue": "triage-issue",
    "execute-phase": "execute-phase",
    "review-change": "review-change",
    "audit-pr": "audit-pr",
    "merge": "merge",
}
"""The commands that name an intent. /review-spec and /review-plan are not among them, as published (§7)."""

_COMMAND = re.compile(r"/([a-z-]+)")


@dataclass(frozen=True, slots=True)
class EnvelopeResult:
    """What an envelope entry found: the envelope as it was written, or why there is none.

    ``raw`` is the body of the block, ``None`` only when there was no block.
    """

    envelope: dict[str, Any] | None
    errors: tuple[Problem, ...]
    raw: str | None

    @property
    def ok(self) -> bool:
        return not self.errors

    def as_document(self) -> dict[str, Any]:
        if self.ok:
            return {"ok": True, "envelope": self.envelope, "raw": self.raw}
        return {"ok": False, "errors": [error.as_document() for error in self.errors], "raw": self.raw}


def validate_envelope(value: object, *, strict: bool = True) -> Validation:
    """Whether ``value``, a decoded JSON value, is an Envelope v2."""
    return Validation("envelope", value, check(ENVELOPE, value, strict=strict))


def parse_envelope(text: str) -> EnvelopeResult:
    """The envelope in the last json block, for consumers of old emissions: unknown keys pass, nothing is repaired."""
    return _parse(text, strict=False)


def parse_envelope_v2_strict(text: str) -> EnvelopeResult:
    """The envelope in the last json block; unknown keys at any level and an absent ``detail`` are refused."""
    return _parse(text, strict=True)


def _parse(text: str, strict: bool) -> EnvelopeResult:
    raw = extract_last_json_block(text)
    if raw is None:
        return EnvelopeResult(None, (NO_BLOCK,), None)
    value, problem = decode_block(raw)
    if problem is not None:
        return EnvelopeResult(None, (problem,), raw)
    errors = check(ENVELOPE, value, strict=strict)
    return EnvelopeResult(None if errors else value, errors, raw)


NO_BLOCK = Problem("no_json_block", "$", "The reply has no fenced json block.")


def next_intent(command: str) -> str:
    """The intent that a recommended command names: its first slash word decides, anything unknown is ``none``."""
    match = _COMMAND.search(command)
    return INTENT_OF_COMMAND.get(match[1], "none") if match else "none"


def is_terminal(state: str) -> bool:
    """Whether a driver stops at this envelope state."""
    return state in TERMINAL_STATES


def is_run_halt(envelope: dict[str, Any]) -> bool:
    """Whether a valid envelope stops the whole run: state HALT, or any blocker with scope ``run``."""
    return envelope["state"] == "HALT" or any(blocker["scope"] == "run" for blocker in envelope["blockers"])


def outcome_from_envelope(envelope: dict[str, Any]) -> dict[str, Any]:
    """The SkillOutcome v1 that a valid envelope stands for; it brings no evidence and no discoveries. (§7)"""
    unit = envelope["unit"]["id"]
    asked = envelope["needs_input"]
    return skill_outcome(
        skill=envelope["skill"],
        status=STATUS_OF_STATE[envelope["state"]],
        summary=envelope["summary"],
        intent=next_intent(envelope["next"]["recommended"]),
        targets=[] if unit is None else [unit],
        blockers=envelope["blockers"],
        questions=[] if asked is None else [{"id": "needs-input", **asked}],
    )
