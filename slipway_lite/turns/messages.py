"""The three contracts as frozen models, for code that wants attributes instead of JSON values.

The tables in :mod:`envelope`, :mod:`outcome` and :mod:`snapshot` are the authority; these models take exactly the
same values and a test holds the two and the JSON Schemas together. Key names are the contract's, camel case where it
has camel case. A key that was absent stays absent: :meth:`Message.as_document` gives back what was read.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator

from slipway_lite.turns.ecma import trim
from slipway_lite.turns.shapes import is_whole
from slipway_lite.turns.vocabulary import (
    BlockerKind,
    BlockerScope,
    CiState,
    DiscoveryKind,
    DiscoveryScope,
    EnvelopeState,
    Intent,
    OutcomeStatus,
    PrState,
    RepositoryStateWord,
    Severity,
    SnapshotUnitKind,
    Tier,
    UnitType,
    VerificationState,
)


def _text(value: object) -> str:
    if type(value) is not str:
        raise ValueError("must be a string")
    return value


def _filled(value: object) -> str:
    if not _text(value):
        raise ValueError("must not be empty")
    return _text(value)


def _whole(value: Any) -> int:
    if not is_whole(value):
        raise ValueError("must be a whole number")
    return int(value)


def _from(minimum: int) -> Any:
    def check(value: int) -> int:
        if _whole(value) < minimum:
            raise ValueError(f"must be at least {minimum}")
        return _whole(value)

    return PlainValidator(check)


def _present(value: Any) -> Any:
    if value is None:
        raise ValueError("may be absent, not null")
    return value


def _not_blank(value: object) -> str:
    if not trim(_text(value)):
        raise ValueError("must not be blank")
    return _text(value)


def _digest(value: object) -> str:
    if not re.fullmatch(r"[0-9a-f]{64}", _text(value)):
        raise ValueError("must be 64 lower-case hexadecimal digits")
    return _text(value)


# Pydantic's own str refuses the lone surrogates that JSON may escape; its own int refuses 7.0 or takes "7".
Text = Annotated[str, PlainValidator(_text)]
FilledText = Annotated[str, PlainValidator(_filled)]
Whole = Annotated[int, PlainValidator(_whole)]
Count = Annotated[int, _from(0)]
Line = Annotated[int, _from(1)]
VersionOne = Annotated[Literal[1], BeforeValidator(_whole)]
Texts = Annotated[tuple[Text, ...], Field(strict=False)]


class Message(BaseModel):
    """A frozen document or a part of one; unknown keys are refused, nothing is coerced."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, validate_by_alias=True)

    @classmethod
    def from_document(cls, value: object) -> Self:
        """The model for a decoded JSON value. Raises :class:`pydantic.ValidationError`."""
        return cls.model_validate(value)

    def as_document(self) -> dict[str, Any]:
        """The JSON value, absent keys left out."""
        return self.model_dump(mode="python", by_alias=True, exclude_unset=True)


class Blocker(Message):
    kind: BlockerKind
    id: Text
    scope: BlockerScope
    detail: Text


class Unit(Message):
    type: UnitType
    id: Text | None
    issue: Whole | None
    branch: Text | None


class Phase(Message):
    current: Text | None
    total: Whole | None
    completed: Whole | None


class PullRequest(Message):
    number: Whole | None
    url: Text | None
    state: PrState
    head_sha: Text | None
    merge_ready: bool | None
    ci: CiState | None


class Gates(Message):
    verification: VerificationState | None
    review_pending: bool | None
    audit_pending: bool | None


class FixNow(Message):
    id: Text
    file: Text
    axis: Text
    severity: Severity
    class_: Text = Field(alias="class")
    route: Text
    suggested_tier: Tier


class Findings(Message):
    fix_now: Annotated[tuple[FixNow, ...], Field(strict=False)]
    issues_filed: Annotated[tuple[Whole, ...], Field(strict=False)]
    untriaged: Count
    decisions_recorded: Count


class Dependencies(Message):
    unmet: Texts
    build_order: Texts


class Recommendations(Message):
    product_audit: bool
    reason: Text | None


class NeedsInput(Message):
    question: Text
    options: Texts


class Suggested(Message):
    command: Text
    trigger: Text
    source_skill: Text


class Precondition(Message):
    id: FilledText
    check: FilledText
    satisfied: bool


class ContinuationEvidence(Message):
    artifact: FilledText
    digest: Annotated[str, PlainValidator(_digest)]


class Continuation(Message):
    argv: Annotated[tuple[FilledText, ...], Field(strict=False, min_length=1)]
    preconditions: Annotated[tuple[Precondition, ...], Field(strict=False)]
    convergence: Annotated[str, PlainValidator(_not_blank)]
    rendering: Annotated[FilledText | None, BeforeValidator(_present)] = None
    evidence: Annotated[ContinuationEvidence | None, BeforeValidator(_present)] = None


class EnvelopeNext(Message):
    recommended: Text
    alternatives: Texts
    tier: Tier
    suggested: Annotated[Annotated[tuple[Suggested, ...], Field(strict=False)] | None, BeforeValidator(_present)] = None
    continuation: Annotated[Continuation | None, BeforeValidator(_present)] = None


class Envelope(Message):
    """Envelope v2, strict (turn-contract §1.1)."""

    skill: FilledText
    state: EnvelopeState
    summary: Text
    unit: Unit
    phase: Phase
    pr: PullRequest
    gates: Gates
    findings: Findings
    blockers: Annotated[tuple[Blocker, ...], Field(strict=False)]
    dependencies: Dependencies
    recommendations: Recommendations
    needs_input: NeedsInput | None
    next: EnvelopeNext
    detail: Any


class OutcomeNext(Message):
    intent: Intent
    targets: Texts


class Question(Message):
    id: Text
    question: Text
    options: Texts


class Discovery(Message):
    kind: DiscoveryKind
    scope: DiscoveryScope
    summary: Text
    evidence_refs: Texts
    proposed_intent: Intent


class SkillOutcome(Message):
    """SkillOutcome v1 (turn-contract §1.2)."""

    contract: Literal["agentic-workflow/skill-outcome"]
    version: VersionOne
    skill: FilledText
    status: OutcomeStatus
    summary: Text
    next: OutcomeNext
    blockers: Annotated[tuple[Blocker, ...], Field(strict=False)]
    questions: Annotated[tuple[Question, ...], Field(strict=False)]
    discoveries: Annotated[tuple[Discovery, ...], Field(strict=False)]
    evidence_refs: Texts


class Repository(Message):
    branch: Text
    headSha: Text
    dirty: bool


class SnapshotUnit(Message):
    kind: SnapshotUnitKind
    id: Text
    status: Text


class SnapshotPhase(Message):
    current: Text | None
    total: Whole | None
    completed: Whole | None
    names: Texts


class Provenance(Message):
    field: Text
    source: Text
    line: Line


class Contradiction(Message):
    field: Text
    source: Text
    line: Line
    detail: Text


class Unknown(Message):
    field: Text
    reason: Text


class WorkflowSnapshot(Message):
    """WorkflowSnapshot v1 (turn-contract §1.3)."""

    contract: Literal["agentic-workflow/workflow-snapshot"]
    version: VersionOne
    sourceRevision: FilledText
    repository: Repository
    repositoryState: RepositoryStateWord
    unit: SnapshotUnit | None
    phase: SnapshotPhase
    provenance: Annotated[tuple[Provenance, ...], Field(strict=False)]
    contradictions: Annotated[tuple[Contradiction, ...], Field(strict=False)]
    unknowns: Annotated[tuple[Unknown, ...], Field(strict=False)]
