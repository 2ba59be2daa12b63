"""The documents of self-improvement/v1: what an export holds, and what its analysis gives (control-plane §6.2, §6.5).

The published schemas are workflow-cookbook's. These models are their equal, field by field (a test compares the two
over a corpus), and ``schemas/`` holds what they give as JSON Schema.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from slipway_lite.control.messages_base import Count, DateTime, Message, OpenMessage, Text, WireSchema
from slipway_lite.errors import InvalidDocument
from slipway_lite.resources import schema_id

SCHEMA_VERSION = "self-improvement/v1"
THRESHOLDS_VERSION = "self-improvement-thresholds/v1"

Version = Literal["self-improvement/v1"]
Number = Annotated[float, Field(ge=0)]
Disposition = Literal["generated", "acknowledged"]
Action = Literal["keep", "review", "relax_candidate", "archive_candidate"]
Classification = Literal["healthy", "unused", "no_effect", "override_excessive", "unread_evidence", "insufficient_data"]


class GateCatalogEntry(Message):
    """One gate that is known to exist, whether it was evaluated or not."""

    gate_id: Text
    owner: Text
    policy_revision: Text
    hard_safety: bool


class GateObservation(Message):
    """One evaluation of one gate."""

    observation_id: Text
    task_id: Text
    run_id: Text | None = None
    occurred_at: DateTime
    gate_id: Text
    owner: Text
    policy_revision: Text
    decision: Literal["pass", "warn", "hold", "block", "unknown"]
    effective_action: Literal["continue", "hold", "block", "unknown"]
    transition_changed: bool | Literal["unknown"]
    risk: Text
    override: Literal["none", "applied", "unknown"]
    source_event_id: Text


class EvidenceConsumptionObservation(Message):
    """One piece of evidence that came to be, or that somebody says to have read."""

    observation_id: Text
    task_id: Text
    evidence_id: Text
    evidence_type: Text | None = None
    occurred_at: DateTime
    disposition: Disposition
    reviewed_by: Text | None = None
    purpose: Text | None = None
    source_event_id: Text

    @model_validator(mode="after")
    def _acknowledged_by_somebody(self) -> Self:
        if self.disposition == "acknowledged" and self.reviewed_by is None:
            raise ValueError("an acknowledgement says who reviewed")
        return self


class ReflectionSummary(BaseModel):
    """What a retrospective says about its task. Only its identity is closed; the rest is its author's."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, defer_build=True)

    session_id: Text
    task_id: Text
    objective: Any
    changes: Any
    lessons: Any
    open_questions: Any
    next_actions: Any
    sources: Any
    created_at: Any
    schema_version: Version


class ImprovementObservationBundle(Message):
    """One page of observations, or all of them merged."""

    schema_version: Version
    generated_at: DateTime
    task_count: Count
    since: DateTime | None = None
    until: DateTime | None = None
    gate_catalog: list[GateCatalogEntry]
    gate_observations: list[GateObservation]
    evidence_consumption_observations: list[EvidenceConsumptionObservation]
    reflection_summaries: list[ReflectionSummary]
    next_cursor: Text | None = None


class ObservationPeriod(Message):
    """The window that was analysed; ``days`` may have a fraction."""

    since: DateTime
    until: DateTime
    days: Number


class ReportItem(OpenMessage):
    """What is concluded about one gate, or about one type of evidence."""

    target_kind: Literal["gate", "policy", "evidence_type"]
    target_ref: Text
    classification: Classification
    action: Action
    proposal_eligible: bool
    metrics: dict[str, Any]
    reasons: list[str]


class GateEffectivenessReport(Message):
    """The whole analysis. It proposes; people decide."""

    schema_version: Version
    report_id: Text
    generated_at: DateTime
    observation_period: ObservationPeriod
    gate_reports: list[ReportItem]
    evidence_reports: list[ReportItem]
    periodic_nudges: list[dict[str, Any]]


class PeriodicNudge(OpenMessage):
    """One proposal for the next session to look at. Never blocks, never acts."""

    nudge_id: Text
    reason: Text
    target_kind: Literal[
        "reflection", "docs", "acceptance", "release", "evidence", "task", "skill_draft", "gate", "policy",
        "evidence_type",
    ]  # fmt: skip
    target_ref: Text
    suggested_action: Text
    created_at: DateTime
    priority: Literal["low", "medium", "high"] | None = None
    stale_days: Count | None = None
    threshold_days: Annotated[int, Field(ge=1)] | None = None
    category: (
        Literal["review_due", "stale_content", "unfinished_task", "orphan_record", "security_check", "other"] | None
    ) = None
    blocking: bool | None = None
    acknowledged_at: DateTime | None = None
    acknowledged_by: str | None = None
    resolved_at: DateTime | None = None
    resolution_action: str | None = None
    expires_at: DateTime | None = None
    schema_version: str | None = None


class UnusedGate(Message):
    observation_days: Number
    minimum_tasks: Count
    maximum_evaluations: Count


class NoEffect(Message):
    minimum_evaluations: Count
    maximum_effective_decisions: Count


class OverrideExcessive(Message):
    minimum_overrides: Count
    minimum_ratio: Annotated[float, Field(ge=0, le=1)]


class UnreadEvidence(Message):
    minimum_generated: Count
    maximum_ack_rate: Annotated[float, Field(ge=0, le=1)]


class ArchiveCandidate(Message):
    consecutive_periods: Annotated[int, Field(ge=1)]


class Behavior(Message):
    """Not a choice: an analysis blocks nothing and changes nothing."""

    non_blocking: Literal[True]
    automatic_changes: Literal[False]


class Thresholds(Message):
    """When a gate or a type of evidence is worth a second look."""

    schema_version: Literal["self-improvement-thresholds/v1"]
    unused_gate: UnusedGate
    no_effect: NoEffect
    override_excessive: OverrideExcessive
    unread_evidence: UnreadEvidence
    archive_candidate: ArchiveCandidate
    behavior: Behavior


SCHEMAS: dict[str, tuple[type[BaseModel], str]] = {
    "gate-catalog-entry": (GateCatalogEntry, "A gate that is known to exist."),
    "gate-observation": (GateObservation, "One evaluation of one gate."),
    "evidence-consumption-observation": (EvidenceConsumptionObservation, "Evidence that came to be, or was read."),
    "reflection-summary": (ReflectionSummary, "What a retrospective says about its task, in numbers."),
    "improvement-observation-bundle": (ImprovementObservationBundle, "Observations of a window, for analysis."),
    "gate-effectiveness-report": (GateEffectivenessReport, "Which gates and which evidence ever change anything."),
    "periodic-nudge": (PeriodicNudge, "A proposal for the next session to look at."),
    "self-improvement-thresholds": (Thresholds, "When a gate or a type of evidence is worth a second look."),
}
"""The schemas of ``schemas/`` by name, each with its model and one sentence."""

# JSON Schema's own way to say what _acknowledged_by_somebody says.
_ACKNOWLEDGED_BY_SOMEBODY = {
    "if": {"properties": {"disposition": {"const": "acknowledged"}}, "required": ["disposition"]},
    "then": {"required": ["reviewed_by"]},
}


def json_schema(name: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) called ``name``; raises :class:`KeyError` for another name."""
    model, description = SCHEMAS[name]
    body = model.model_json_schema(schema_generator=WireSchema)
    for part in (body, *body.get("$defs", {}).values()):
        if part.get("title") == EvidenceConsumptionObservation.__name__:
            part["allOf"] = [_ACKNOWLEDGED_BY_SOMEBODY]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": schema_id(name),
        **body,
        "title": model.__name__,
        "description": description,
    }


def schema_text(name: str) -> str:
    """The schema as its file holds it."""
    return json.dumps(json_schema(name), indent=2, ensure_ascii=False) + "\n"


def check(model: type[BaseModel], document: Any, code: str) -> dict[str, Any]:
    """``document`` itself, once ``model`` takes it.

    Raises :class:`InvalidDocument` with ``code`` and the path of the first fault; the value is never repeated.
    """
    try:
        model.model_validate(document)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
        path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"])
        name = model.__name__
        raise InvalidDocument(
            f"The document is no valid {name}: {fault['msg']} at ${path}.", f"${path}", code
        ) from None
    checked: dict[str, Any] = document
    return checked
