"""The thirteen output profiles and the instruction that a driven turn carries (turn-contract §2, §3).

A capability-aware caller fails closed when a capability is missing and never infers one from a name.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from slipway_lite.errors import UsageError
from slipway_lite.turns.vocabulary import (
    BLOCKER_KINDS,
    DISCOVERY_KINDS,
    DISCOVERY_SCOPES,
    ENVELOPE_CONTRACT,
    ENVELOPE_STATES,
    INTENTS,
    OUTCOME_STATUSES,
    SKILL_OUTCOME_CONTRACT,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Capabilities:
    role: str
    reasoning: str
    effects: tuple[str, ...]
    context_sources: tuple[str, ...]
    required_evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """What one skill answers with, and what it may touch and needs to see."""

    skill: str
    output: str
    native_fallback: str
    capabilities: Capabilities

    def as_document(self) -> dict[str, Any]:
        return {
            "skill": self.skill,
            "output": self.output,
            "nativeFallback": self.native_fallback,
            "capabilities": {
                "role": self.capabilities.role,
                "reasoning": self.capabilities.reasoning,
                "effects": list(self.capabilities.effects),
                "contextSources": list(self.capabilities.context_sources),
                "requiredEvidence": list(self.capabilities.required_evidence),
            },
        }


_EFFECT = {
    "RR": "repository-read",
    "RW": "repository-write",
    "GW": "git-write",
    "FR": "forge-read",
    "FW": "forge-write",
}
_CONTEXT = {
    "sensor": ("repository", "execution-state"),
    "C2": ("repository", "semantic-context"),
    "C3": ("repository", "semantic-context", "execution-state"),
    "C4": ("repository", "semantic-context", "episodic-memory", "execution-state"),
}

_OUT, _ENV = "skill-outcome-v1", "envelope-v2"
_SNAP, _CAND = "workflow-snapshot", "current-candidate"

# skill, output, native fallback, role, reasoning, effects, context, required evidence
_TABLE: tuple[tuple[str, str, str, str, str, str, str, tuple[str, ...]], ...] = (
    ("init-workspace", _OUT, "none", "executor", "semantic", "RR RW GW FR FW", "C2", ()),
    ("workflow-status", _ENV, "none", "sensor", "mechanical", "RR FR", "sensor", (_SNAP,)),
    ("discover-repository-state", _OUT, "none", "sensor", "semantic", "RR RW GW", "C2", ()),
    ("resolve-repository-state", _OUT, "none", "planner", "critical", "RR RW", "C3", (_SNAP,)),
    ("design-feature", _OUT, "none", "planner", "critical", "RR RW FR", "C4", (_SNAP,)),
    ("review-spec", _OUT, "none", "reviewer", "critical", "RR", "C4", (_SNAP, "pre-execution-review")),
    ("plan-feature", _OUT, "none", "planner", "critical", "RR RW FR", "C4", (_SNAP,)),
    ("review-plan", _OUT, "none", "reviewer", "critical", "RR", "C4", (_SNAP, "pre-execution-review")),
    ("plan-fix", _OUT, "none", "planner", "critical", "RR RW GW FR", "C4", (_SNAP, "issue-state")),
    ("triage-issue", _OUT, "none", "planner", "critical", "RR RW FR FW", "C4", (_SNAP, "issue-state")),
    ("execute-phase", _OUT, "none", "executor", "semantic", "RR RW GW FR FW", "C4", (_SNAP, _CAND)),
    ("review-change", _OUT, "none", "reviewer", "critical", "RR RW FR FW", "C3", (_CAND, "verification")),
    ("audit-pr", _OUT, "fixed-verdict", "auditor", "critical", "RR RW FR FW", "C3",
     (_CAND, "verification", "independent-review", "pull-request-state")),
)  # fmt: skip

PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        skill: Profile(
            skill=skill,
            output=output,
            native_fallback=fallback,
            capabilities=Capabilities(
                role=role,
                reasoning=reasoning,
                effects=tuple(_EFFECT[effect] for effect in effects.split()),
                context_sources=_CONTEXT[context],
                required_evidence=evidence,
            ),
        )
        for skill, output, fallback, role, reasoning, effects, context, evidence in _TABLE
    }
)
"""Skill to profile, in the published order; looked up exactly, letter case included."""


def profile_of(skill: str) -> Profile:
    """The profile of ``skill``; raises :class:`UsageError` ``unknown_skill`` for any other name."""
    profile = PROFILES.get(skill)
    if profile is None:
        raise UsageError("unknown_skill", "This skill has no output profile; `slipway turn profiles` lists them.")
    return profile


_ENVELOPE_INSTRUCTION = (
    "End your reply with exactly one fenced json block that holds one envelope of the contract "
    f"{ENVELOPE_CONTRACT}, and write nothing after its closing fence. "
    'The "skill" is {skill}. "state" is one of: ' + ", ".join(ENVELOPE_STATES) + ". "
    'The key "detail" is mandatory: use null when there is nothing to add, and put every extension of yours '
    "inside it, never at the root. unit.id is text or null. findings.issues_filed is a list of integers. "
    "Each item of blockers has exactly the keys kind, id, scope and detail."
)
_OUTCOME_INSTRUCTION = (
    "End your reply with exactly one fenced json block that holds one object of the contract "
    f'"{SKILL_OUTCOME_CONTRACT}", version 1, and write nothing after its closing fence. '
    'Its "skill" is {skill}. It has exactly these ten keys: contract, version, skill, status, summary, next, '
    "blockers, questions, discoveries, evidence_refs. "
    f"status is one of: {', '.join(OUTCOME_STATUSES)}. "
    f"next is {{{{intent, targets}}}}; every intent is one of: {', '.join(INTENTS)}. "
    f"Each item of blockers is {{{{kind, id, scope, detail}}}}: kind is one of {', '.join(BLOCKER_KINDS)}; "
    "scope is unit or run. "
    "Each item of questions is {{id, question, options}}. "
    "Each item of discoveries is {{kind, scope, summary, evidence_refs, proposed_intent}}: "
    f"kind is one of {', '.join(DISCOVERY_KINDS)}; scope is one of {', '.join(DISCOVERY_SCOPES)}. "
    "targets, options and evidence_refs are lists of strings; a list with nothing in it is []; "
    "no other key is allowed anywhere."
)


def render_output_instruction(skill: str) -> str:
    """The one line that a driver appends to a driven turn of ``skill``: same skill, same bytes.

    Append it to driven invocations only; an interactive turn needs no machine result. Raises :class:`UsageError`
    ``unknown_skill``. (turn-contract §3)
    """
    envelope = profile_of(skill).output == "envelope-v2"
    return (_ENVELOPE_INSTRUCTION if envelope else _OUTCOME_INSTRUCTION).format(skill=json.dumps(skill))
