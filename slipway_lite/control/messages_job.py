"""WorkerJob, InstructionEnvelopeV2 and the heartbeat (control-plane §2.2, §2.5, §2.7)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from slipway_lite.control.messages_base import (
    UNIQUE,
    UNIQUE_ITEMS,
    Count,
    DateTime,
    Message,
    Metadata,
    OpenMessage,
    Positive,
    Sha,
    Text,
    TypedRef,
    Unique,
    Uri,
)
from slipway_lite.control.messages_result import WorkerResult
from slipway_lite.control.vocabulary import (
    ApprovalMode,
    Capability,
    ExecutionBackend,
    JobStatus,
    OutputKind,
    RequestedOutput,
    RiskLevel,
    SandboxProfile,
    SideEffectCategory,
    WorkerStage,
    WorkerType,
)


class JobWorkspaceRef(Message):
    """Where the worker runs, with what a container needs."""

    workspace_id: Text
    kind: Literal["container", "volume", "host_path"]
    container_image: str | None = None
    mount_path: str | None = None
    reusable: bool | None = None


class JobRepoRef(Message):
    """The task's repository with what a worker needs to clone it."""

    provider: Literal["github"]
    owner: Text
    name: Text
    default_branch: Text
    clone_url: Uri | None = None
    base_sha: Sha | None = None
    integration_branch: str | None = None


class ApprovalPolicy(Message):
    """Which side effects the job may have (control-plane §7.2)."""

    mode: ApprovalMode
    allowed_side_effect_categories: Unique[SideEffectCategory] | None = None
    operator_approval_required: bool | None = None
    sandbox_profile: SandboxProfile | None = None


class RetryPolicy(Message):
    """How often and how slowly a failure of this stage is tried again (control-plane §7.3)."""

    max_retries: Count
    backoff_base_seconds: Positive | None = None
    max_backoff_seconds: Positive | None = None
    jitter_enabled: bool | None = None


class Reference(Message):
    """Something the worker may look at."""

    kind: Literal["url", "file", "issue", "commit", "doc", "typed_ref"]
    value: Text
    label: str | None = None


class JobResolverRefs(Message):
    """The task's documents as the job sees them."""

    doc_refs: Unique[str] | None = None
    chunk_refs: Unique[str] | None = None
    contract_refs: Unique[str] | None = None


class JobContext(OpenMessage):
    """Facts beside the prompt; open, so that deployments may add to it."""

    objective: str | None = None
    acceptance_criteria: list[str] | None = None
    references: list[Reference] | None = None
    constraints: list[str] | None = None
    resolver_refs: JobResolverRefs | None = None
    tracker_refs: list[Reference] | None = None
    instruction_envelope_ref: str | None = None


class Authority(Message):
    """One instruction and how strong it is: a lower tier wins."""

    tier: Annotated[int, Field(ge=1, le=9)]
    source: Literal["system", "policy", "task", "developer", "user", "tool", "retrieved_doc"]
    instruction: Text


class AllowedTool(Message):
    """A tool the worker may call, with the schema of its arguments."""

    name: Text
    args_schema: dict[str, Any]


class RequiredOutput(Message):
    """What the worker has to hand back."""

    kind: OutputKind
    json_schema: dict[str, Any]


class InstructionEnvelopeV2(Message):
    """The instructions of a job as data: who says what, how strongly, and what must come back."""

    protocol_version: Literal["2.0"]
    job_id: Text
    task_id: Text
    typed_ref: TypedRef
    stage: WorkerStage
    authority: Annotated[list[Authority], Field(min_length=1)]
    objective: Text
    must: Annotated[list[str], Field(max_length=12)]
    must_not: Annotated[list[str], Field(max_length=12)]
    allowed_tools: Annotated[list[AllowedTool], Field(max_length=16)]
    required_output: RequiredOutput


class Timeouts(Message):
    """How long the job may wait and run, in seconds."""

    queue_timeout_sec: Positive | None = None
    run_timeout_sec: Positive | None = None


class WorkerJob(Message):
    """One piece of work for one logical worker; ``execution_backend`` says where it physically runs."""

    job_id: Text
    task_id: Text
    typed_ref: TypedRef
    stage: WorkerStage
    worker_type: WorkerType
    execution_backend: ExecutionBackend | None = None
    executor_instance_id: Text | None = None
    status: JobStatus | None = None
    workspace_ref: JobWorkspaceRef
    input_prompt: Text
    repo_ref: JobRepoRef
    capability_requirements: Annotated[list[Capability], Field(min_length=1, json_schema_extra=UNIQUE_ITEMS), UNIQUE]
    risk_level: RiskLevel
    approval_policy: ApprovalPolicy
    retry_policy: RetryPolicy | None = None
    retry_count: Count | None = None
    loop_fingerprint: Text | None = None
    lease_owner: Text | None = None
    lease_expires_at: DateTime | None = None
    context: JobContext | None = None
    instruction_envelope: InstructionEnvelopeV2 | None = None
    requested_outputs: Unique[RequestedOutput] | None = None
    timeouts: Timeouts | None = None
    metadata: Metadata | None = None


class JobStatusResponse(Message):
    """A job, what came back, and how its lease stands."""

    job_id: Text
    task_id: Text
    job: WorkerJob
    latest_result: WorkerResult | None = None
    lease_expires_at: DateTime | None = None
    last_heartbeat_at: DateTime | None = None


class HeartbeatRequest(Message):
    """A sign of life of the worker that holds the job; ``observed_at`` is information, not a clock."""

    worker_id: Text
    stage: WorkerStage
    progress: dict[str, Any] | None = None
    observed_at: DateTime


class HeartbeatResponse(Message):
    """How long the lease lasts now, and when the next sign of life is due."""

    job_id: Text
    lease_expires_at: DateTime
    next_heartbeat_due_at: DateTime


JOB_FIELDS: tuple[str, ...] = tuple(WorkerJob.model_fields)
"""The key order of every WorkerJob document."""
