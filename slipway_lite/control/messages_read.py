"""The read models over a task: lists, runs, retrospectives, bundles (control-plane §2.6, §8.5)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from slipway_lite.control.messages_base import (
    Count,
    DateTime,
    Message,
    Metadata,
    Note,
    Text,
    TypedRef,
    Unique,
)
from slipway_lite.control.messages_event import StateTransitionEvent
from slipway_lite.control.messages_task import Task
from slipway_lite.control.vocabulary import (
    BundlePurpose,
    RebuildLevel,
    RiskLevel,
    RunStatus,
    SideEffectCategory,
    StaleStatus,
    TaskStateName,
)


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
