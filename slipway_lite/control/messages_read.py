"""Documents, tracker, evidence, and the read models over a task (control-plane §2.5, §2.6, §8)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from slipway_lite.control import refs
from slipway_lite.control.messages_base import (
    UNIQUE,
    UNIQUE_ITEMS,
    Count,
    DateTime,
    DocVersion,
    Message,
    Metadata,
    Note,
    Text,
    TypedRef,
    Unique,
)
from slipway_lite.control.messages_event import StateTransitionEvent
from slipway_lite.control.messages_task import ExternalRef, Task
from slipway_lite.control.vocabulary import (
    BundlePurpose,
    RebuildLevel,
    RiskLevel,
    RunStatus,
    SideEffectCategory,
    StaleStatus,
    TaskStateName,
)

Topic = Annotated[str, Field(min_length=1, max_length=100)]
DocId = Annotated[str, Field(min_length=1, max_length=500)]


class ResolveDocsRequest(Message):
    """What the task is about; nothing at all asks for the general blueprint."""

    feature: Topic | None = None
    topic: Topic | None = None
    task_seed: Topic | None = None


class ResolveDocsResponse(Message):
    """What to read."""

    typed_ref: TypedRef
    doc_refs: Unique[str]
    chunk_refs: Unique[str]
    contract_refs: Unique[str]
    stale_status: StaleStatus


class AckDocsRequest(Message):
    """This version of this document was read for this task."""

    doc_id: DocId
    version: DocVersion
    task_id: Text


class AckDocsResponse(Message):
    """The acknowledgement's name; the same triple has the same name."""

    ack_ref: Text


class StaleCheckRequest(Message):
    """Which acknowledged documents to compare; all of them when left out."""

    doc_ids: Annotated[list[DocId], Field(max_length=200, json_schema_extra=UNIQUE_ITEMS), UNIQUE] | None = None


class StaleDoc(Message):
    """An acknowledged document that is not what was read."""

    task_id: Text
    doc_id: Text
    previous_version: Text
    current_version: Text
    reason: Literal["version_mismatch", "document_missing"]
    detected_at: DateTime


class StaleCheckResponse(Message):
    """What has to be read again."""

    task_id: Text
    stale: list[StaleDoc]


class IngestDocRequest(Message):
    """A document for the registry; its version is the SHA-256 of its content."""

    doc_id: DocId | None = None
    doc_type: Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[a-z0-9_-]+$")]
    title: Annotated[str, Field(min_length=1, max_length=500)]
    content: Text


class IngestDocResponse(Message):
    """The registered document."""

    doc_id: Text
    version: Text
    status: Literal["ingested", "updated", "unchanged"]
    chunk_count: Count


class GetChunksRequest(Message):
    """Chunks by id, or those of one document, filtered and in order."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["chunk_ids"]}, {"required": ["doc_id"]}]})

    chunk_ids: Annotated[list[Text], Field(max_length=100, json_schema_extra=UNIQUE_ITEMS), UNIQUE] | None = None
    doc_id: DocId | None = None
    heading: Text | None = None
    query: Text | None = None
    limit: Annotated[int, Field(ge=1, le=100)] | None = None

    @model_validator(mode="after")
    def _names_something(self) -> GetChunksRequest:
        if self.chunk_ids is None and self.doc_id is None:
            raise ValueError("name chunk_ids or a doc_id")
        return self


class Chunk(Message):
    """A part of a document under one heading."""

    chunk_id: Text
    doc_id: Text
    version: Text
    ordinal: Count
    heading_path: list[Text] | None = None
    body: Text
    importance: Literal["required", "recommended", "reference"]
    token_estimate: Count


class GetChunksResponse(Message):
    """The chunks found, and the ids that are none."""

    chunks: list[Chunk]
    not_found: list[Text]


class ResolveContractsRequest(Message):
    """Which contract template to fill."""

    feature: Topic


class ResolveContractsResponse(Message):
    """What has to be read, hold and be done for a feature."""

    feature: Text
    required_docs: list[Text]
    acceptance_criteria: list[Text]
    forbidden_patterns: list[Text]
    definition_of_done: list[Text]


class TrackerLinkRequest(Message):
    """Which tracker entity belongs to the task."""

    typed_ref: TypedRef
    connection_ref: Text
    entity_ref: Annotated[str, Field(min_length=1, pattern=refs.ENTITY_REF_PATTERN)]


class TrackerLinkResponse(Message):
    """The two references that the link made."""

    typed_ref: TypedRef
    external_refs: list[ExternalRef]
    sync_event_ref: Text


class EvidenceAckRequest(Message):
    """Who looked at a piece of evidence, and why."""

    reviewed_by: Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
    purpose: Annotated[str, Field(min_length=1, max_length=500)] | None = None


class EvidenceAcknowledgement(Message):
    """The recorded look; every request is a new one."""

    acknowledgement_id: Text
    task_id: Text
    evidence_id: Text
    reviewed_by: Text
    purpose: Text | None = None
    acknowledged_at: DateTime


class TaskList(Message):
    """A page of tasks, newest change first; ``total`` counts every match."""

    items: list[Task]
    total: Count


class Checkpoint(Message):
    """A point of the task's history to come back to."""

    checkpoint_id: Text
    task_id: Text
    run_id: Text
    checkpoint_type: Literal["code", "approval"]
    stage: Literal["plan", "dev", "acceptance", "integrate", "publish"]
    ref: Text
    created_at: DateTime
    summary: Note | None = None
    actor: Text | None = None


class CheckpointList(Message):
    """Checkpoints, oldest first."""

    items: list[Checkpoint]


class Run(Message):
    """One task seen as a run; ``run_id`` is the task's id."""

    run_id: Text
    task_id: Text
    run_sequence: Literal[1]
    status: RunStatus
    current_stage: Literal["plan", "dev", "acceptance"] | None = None
    current_state: TaskStateName
    started_at: DateTime
    ended_at: DateTime | None = None
    last_event_at: DateTime
    projection_version: Count
    source_event_cursor: Text
    risk_level: RiskLevel
    objective: Text
    blocked_reason: Text | None = None
    job_ids: Unique[Text]
    checkpoints: list[Checkpoint]
    created_at: DateTime
    updated_at: DateTime


class RunList(Message):
    """A page of runs, newest change first."""

    items: list[Run]
    total: Count


class TimelineEntry(Message):
    """A transition or an audit event on a run's time line."""

    at: DateTime
    kind: Literal["transition", "audit"]
    event_id: Text
    event_type: Text
    actor_type: Text
    actor_id: Text
    from_state: TaskStateName | None = None
    to_state: TaskStateName | None = None
    job_id: Text | None = None


class Timeline(Message):
    """What happened, oldest first."""

    run_id: Text
    items: list[TimelineEntry]


class AuditSummary(Message):
    """How many audit events of each type, and the newest ten."""

    run_id: Text
    total: Count
    counts: dict[str, Count]
    recent: list[TimelineEntry]


class SummaryMetrics(Message):
    """What a retrospective counts."""

    total_duration_ms: Count
    stage_durations: dict[str, Count]
    job_count: Count
    job_success_count: Count
    job_failure_count: Count
    job_blocked_count: Count
    retry_count: Count
    retries_by_stage: dict[str, Count]
    risk_level: RiskLevel
    forced_high_reasons: list[Text] | None = None
    files_changed: Count | None = None
    lines_added: Count | None = None
    lines_deleted: Count | None = None
    checkpoint_count: Count
    checkpoints_by_stage: dict[str, Count]
    acceptance_result: Text | None = None
    integrate_result: Text | None = None
    publish_result: Text | None = None
    side_effects_detected: list[SideEffectCategory] | None = None
    stale_docs: bool | None = None


class RetrospectiveSource(Message):
    """Which state of the record a retrospective was made from."""

    event_cursor: Text
    task_version: Count


class Retrospective(Message):
    """Metrics of a run, one generation for each time they were asked for."""

    retrospective_id: Text
    run_id: Text
    task_id: Text
    generation: Annotated[int, Field(ge=1)]
    status: Literal["pending", "generating", "completed", "partial", "failed"]
    generated_at: DateTime
    summary_metrics: SummaryMetrics
    source_refs: RetrospectiveSource
    generation_metadata: Metadata


class RetrospectiveList(Message):
    """Retrospectives, newest generation first."""

    items: list[Retrospective]


class BundleRequest(Message):
    """Why the bundle is wanted and how much it should rebuild."""

    purpose: BundlePurpose | None = None
    rebuild_level: RebuildLevel | None = None
    summary: Note | None = None


class BundleSource(Message):
    """Where a part of a bundle came from."""

    typed_ref: TypedRef
    source_kind: Literal["task", "decision", "question", "run", "document", "tracker"]
    selected_raw: bool
    metadata: Metadata | None = None


class TaskSnapshot(Message):
    """The core of a task inside a bundle, in our words and in those of agent-taskstate."""

    task_id: Text
    title: Text
    objective: Text
    typed_ref: TypedRef
    state: TaskStateName
    taskstate_status: Text
    version: Count
    risk_level: RiskLevel


class StateSnapshot(Message):
    """A task's history in numbers, and its newest step."""

    task: TaskSnapshot
    transition_count: Count
    last_transition: StateTransitionEvent | None = None
    run_count: Count
    latest_run: Metadata | None = None


class BundleDiagnostics(Message):
    """What a reader of the bundle should know before trusting it."""

    stale_status: StaleStatus | None = None
    missing: list[Text]
    warnings: list[Text]


class ContextBundle(Message):
    """What a worker needs to go on, built from the record alone; says where each part came from."""

    id: Text
    task_id: Text
    purpose: BundlePurpose
    rebuild_level: RebuildLevel
    summary: Note | None = None
    state_snapshot: StateSnapshot
    diagnostics: BundleDiagnostics
    raw_included: bool
    generator_version: Literal["1.0.0"]
    generated_at: DateTime
    created_at: DateTime
    sources: list[BundleSource]


class BundleList(Message):
    """Context bundles, oldest first."""

    items: list[ContextBundle]


class Health(Message):
    """The server answers, and its file can be read."""

    status: Literal["ok"]
    instance_id: Text
