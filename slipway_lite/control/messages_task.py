"""Task and the parts that stand in it (control-plane §2.1)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from slipway_lite.control.messages_base import (
    Count,
    DateTime,
    Message,
    Positive,
    Sha,
    Text,
    TypedRef,
    Unique,
)
from slipway_lite.control.vocabulary import (
    Capability,
    ExternalRefKind,
    FailureClass,
    PublishMode,
    PublishTarget,
    PushActor,
    ResumeState,
    RiskLevel,
    RunMetaStatus,
    SideEffectCategory,
    StaleStatus,
    TaskArtifactKind,
    TaskStateName,
    UpdateStrategy,
    VerdictOutcome,
    WaitingOn,
    WorkerStage,
)

Name = Annotated[str, Field(min_length=1, max_length=100)]


class RepoRef(Message):
    """Where the task's repository is; only GitHub coordinates are known to the contract."""

    provider: Literal["github"]
    owner: Name
    name: Name
    default_branch: Name
    base_sha: Sha | None = None


class RepoPolicy(Message):
    """How main may be moved: filled with the default at integrate."""

    update_strategy: UpdateStrategy
    main_push_actor: PushActor
    require_ci_pass: bool
    integration_branch_prefix: Text | None = None
    protected_branches: list[Text] | None = None
    allowed_merge_methods: list[Literal["merge", "squash", "rebase"]] | None = None


class WorkspaceRef(Message):
    """The place a worker works in."""

    workspace_id: Text
    kind: Literal["container", "volume", "host_path"]
    reusable: bool | None = None


class Verdict(Message):
    """What acceptance says about the work."""

    outcome: VerdictOutcome
    reason: Annotated[str, Field(max_length=5000)] | None = None
    manual_notes: Annotated[str, Field(max_length=5000)] | None = None


class PublishPlan(Message):
    """How the task is to be published, and the warnings of the policy check."""

    mode: PublishMode | None = None
    idempotency_key: str | None = None
    targets: Unique[PublishTarget] | None = None
    approval_required: bool | None = None
    policy_warnings: list[Text] | None = None


class BlockedContext(Message):
    """Why a task is blocked and where it resumes; present only while it is blocked."""

    resume_state: ResumeState
    reason: Text
    waiting_on: WaitingOn | None = None
    capability_missing: Unique[Capability] | None = None
    lock_conflict: str | None = None
    loop_fingerprint: str | None = None
    orphaned_run: bool | None = None


class IntegrationState(Message):
    """What integrate knows about the branch it builds and the main line it moves."""

    run_id: str | None = None
    integration_branch: str | None = None
    integration_head_sha: Sha | None = None
    main_updated_sha: Sha | None = None
    checks_passed: bool | None = None
    original_base_sha: Sha | None = None
    lock_id: str | None = None
    lease_expires_at: DateTime | None = None


class ArtifactRef(Message):
    """An artifact of any result, by id and kind."""

    artifact_id: Text
    kind: TaskArtifactKind


class ExternalRef(Message):
    """Something outside that belongs to the task."""

    kind: ExternalRefKind
    value: Text
    connection_ref: str | None = None


class RunMeta(Message):
    """Progress of one integrate or publish run."""

    run_id: Text
    started_at: DateTime
    status: RunMetaStatus
    progress: Annotated[int, Field(ge=0, le=100)]
    timeout_at: DateTime
    completed_at: DateTime | None = None
    error: str | None = None
    external_refs: list[ExternalRef] | None = None


class ChecklistItem(Message):
    """One line of the manual checklist."""

    id: Text
    description: Text
    required: bool
    checked: bool | None = None
    checked_by: str | None = None
    checked_at: DateTime | None = None
    notes: str | None = None


class ResolverRefs(Message):
    """Documents, chunks, acknowledgements and contracts that belong to the task."""

    doc_refs: Unique[str] | None = None
    chunk_refs: Unique[str] | None = None
    ack_refs: Unique[str] | None = None
    contract_refs: Unique[str] | None = None
    stale_status: StaleStatus | None = None


class LatestJobIds(Message):
    """The newest job of each stage."""

    plan: str | None = None
    dev: str | None = None
    acceptance: str | None = None


class RetryCounts(Message):
    """Retries used so far, by stage, over all jobs of the stage."""

    plan: Count | None = None
    dev: Count | None = None
    acceptance: Count | None = None


class AcceptanceGateContext(Message):
    """Set when a dev result changed the workspace through a tool plan: acceptance has to look at it."""

    required: bool
    source_job_id: Text
    reason: Text
    artifact_ids: list[Text]
    created_at: DateTime


class ReworkContext(Message):
    """What the next dev job is told about the failure before it."""

    source_job_id: Text
    stage: WorkerStage
    attempt: Positive
    max_attempts: Positive
    reason: Text
    failure_summary: str | None = None
    test_failure_summary: Annotated[str, Field(max_length=4000)] | None = None
    artifact_ids: list[Text]
    created_at: DateTime


class Task(Message):
    """The one record of a task that the control plane keeps; only it changes ``state``."""

    task_id: Text
    title: Annotated[str, Field(min_length=1, max_length=500)]
    objective: Annotated[str, Field(min_length=1, max_length=5000)]
    typed_ref: TypedRef
    description: Annotated[str, Field(max_length=10000)] | None = None
    state: TaskStateName
    version: Count
    risk_level: RiskLevel
    repo_ref: RepoRef
    repo_policy: RepoPolicy | None = None
    active_job_id: str | None = None
    latest_job_ids: LatestJobIds | None = None
    last_verdict: Verdict | None = None
    workspace_ref: WorkspaceRef | None = None
    publish_plan: PublishPlan | None = None
    blocked_context: BlockedContext | None = None
    integration: IntegrationState | None = None
    integration_run: RunMeta | None = None
    publish_run: RunMeta | None = None
    artifacts: list[ArtifactRef]
    manual_checklist: list[ChecklistItem] | None = None
    resolver_refs: ResolverRefs | None = None
    labels: Unique[Name]
    external_refs: list[ExternalRef]
    context_bundle_ref: str | None = None
    rollback_notes: str | None = None
    retry_counts: RetryCounts | None = None
    last_failure_class: FailureClass | None = None
    detected_side_effects: list[SideEffectCategory] | None = None
    loop_fingerprint: str | None = None
    acceptance_gate_context: AcceptanceGateContext | None = None
    rework_context: ReworkContext | None = None
    files_changed: Count | None = None
    lines_added: Count | None = None
    lines_deleted: Count | None = None
    created_at: DateTime
    updated_at: DateTime
    completed_at: DateTime | None = None


TASK_FIELDS: tuple[str, ...] = tuple(Task.model_fields)
"""The key order of every Task document."""
