"""WorkerResult, the one shape in which work comes back (control-plane §2.3)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from slipway_lite.control.messages_base import (
    Count,
    DateTime,
    Message,
    Metadata,
    Note,
    Sha,
    Text,
    TypedRef,
    Uri,
    Whole,
)
from slipway_lite.control.messages_event import StateTransitionEvent
from slipway_lite.control.messages_task import ExternalRef, ResolverRefs, Task
from slipway_lite.control.vocabulary import (
    EscalationKind,
    ExecutionBackend,
    FailureClass,
    NextAction,
    ResultArtifactKind,
    ResultStatus,
    SideEffectCategory,
    TestStatus,
    VerdictOutcome,
)

RESULT_CONDITION: dict[str, Any] = {
    "if": {"properties": {"status": {"const": "succeeded"}}, "required": ["status"]},
    "then": {
        "anyOf": [
            {"required": ["patch_ref"]},
            {"required": ["branch_ref"]},
            {"required": ["verdict"]},
            {"properties": {"artifacts": {"minItems": 1}}, "required": ["artifacts"]},
        ]
    },
}
"""``succeeded`` shows something, in the words of JSON Schema."""


class PatchRef(Message):
    """A change as text, or the address of one."""

    format: Literal["unified_diff", "git_apply_patch", "url"]
    content: Text
    base_sha: Sha | None = None


class BranchRef(Message):
    """A change as a branch."""

    name: Text
    head_sha: Sha | None = None
    remote_url: Uri | None = None


class ResultArtifact(Message):
    """Something the worker left behind."""

    artifact_id: Text
    kind: ResultArtifactKind
    uri: Text
    content_type: str | None = None
    size_bytes: Count | None = None
    description: str | None = None


class WorkerTestResult(Message):
    """One suite and how it went."""

    suite: Text
    status: TestStatus
    passed: Count | None = None
    failed: Count | None = None
    skipped: Count | None = None
    duration_ms: Count | None = None
    artifact_id: str | None = None


class WorkerVerdict(Message):
    """The acceptance worker's verdict."""

    outcome: VerdictOutcome
    reason: Note | None = None
    checklist_completed: bool | None = None
    manual_notes: Note | None = None


class RequestedEscalation(Message):
    """A permission the worker asked for."""

    kind: EscalationKind
    reason: Text
    approved: bool | None = None


class LitellmUsage(Message):
    """Which model answered, and what it cost."""

    model: str | None = None
    provider: str | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cost_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | Count | None = None
    fallback_used: bool | None = None


class Usage(Message):
    """What the work took."""

    runtime_ms: Count
    exit_code: Whole | None = None
    litellm: LitellmUsage | None = None


class RawOutput(Message):
    """Where a raw stream of the worker is kept; never the stream itself."""

    channel: Literal["stdout", "stderr", "json", "event_stream"]
    artifact_id: Text


class ResultTimestamps(Message):
    """When the worker says it started and finished."""

    started_at: DateTime | None = None
    finished_at: DateTime | None = None


class WorkerResult(Message):
    """The normalised result of a job. ``succeeded`` needs a patch, a branch, a verdict or an artifact."""

    model_config = ConfigDict(json_schema_extra={"allOf": [RESULT_CONDITION]})

    job_id: Text
    typed_ref: TypedRef
    status: ResultStatus
    summary: str | None = None
    patch_ref: PatchRef | None = None
    branch_ref: BranchRef | None = None
    artifacts: list[ResultArtifact]
    test_results: list[WorkerTestResult]
    verdict: WorkerVerdict | None = None
    requested_escalations: list[RequestedEscalation]
    usage: Usage
    retry_count: Count | None = None
    failure_class: FailureClass | None = None
    failure_code: Text | None = None
    failure_summary: str | None = None
    loop_fingerprint: Text | None = None
    detected_side_effects: list[SideEffectCategory] | None = None
    execution_backend: ExecutionBackend | None = None
    resolver_refs: ResolverRefs | None = None
    external_refs: list[ExternalRef] | None = None
    context_bundle_ref: str | None = None
    rollback_notes: str | None = None
    raw_outputs: list[RawOutput] | None = None
    timestamps: ResultTimestamps | None = None
    metadata: Metadata | None = None

    @model_validator(mode="after")
    def _succeeded_shows_something(self) -> WorkerResult:
        shown = self.patch_ref or self.branch_ref or self.verdict or self.artifacts
        if self.status == "succeeded" and not shown:
            raise ValueError("a succeeded result needs a patch_ref, a branch_ref, a verdict or an artifact")
        return self


class ResultApplyResponse(Message):
    """What a result did to the task, and what comes next."""

    task: Task
    emitted_events: list[StateTransitionEvent]
    next_action: NextAction
