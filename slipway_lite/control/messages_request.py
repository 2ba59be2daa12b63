"""The bodies of the write requests that move a task, and their answers (control-plane §2.5, §4)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from slipway_lite.control.messages_base import (
    UNIQUE,
    UNIQUE_ITEMS,
    Count,
    DateTime,
    LongText,
    Message,
    Note,
    Sha,
    Text,
    Title,
    TypedRef,
)
from slipway_lite.control.messages_result import BranchRef, PatchRef
from slipway_lite.control.messages_task import (
    ChecklistItem,
    ExternalRef,
    Name,
    PublishPlan,
    RepoPolicy,
    RepoRef,
    Verdict,
)
from slipway_lite.control.vocabulary import PublishMode, RiskLevel, WorkerStage, WorkerType


class CreateTaskRequest(Message):
    """A new task; it starts ``queued`` at version 0."""

    title: Title
    objective: LongText
    typed_ref: TypedRef
    repo_ref: RepoRef
    description: Annotated[str, Field(max_length=10000)] | None = None
    risk_level: RiskLevel | None = None
    labels: Annotated[list[Name], Field(max_length=20, json_schema_extra=UNIQUE_ITEMS), UNIQUE] | None = None
    publish_plan: PublishPlan | None = None
    external_refs: list[ExternalRef] | None = None
    repo_policy: RepoPolicy | None = None


class DispatchRequest(Message):
    """Which stage comes next, and optionally by whom and at which version."""

    target_stage: WorkerStage
    worker_selection: WorkerType | None = None
    override_risk_level: RiskLevel | None = None
    expected_version: Count | None = None


class CheckedItem(Message):
    """A tick on the manual checklist; unknown ids are ignored."""

    id: Text
    checked_by: Text | None = None
    notes: Note | None = None


class CompleteAcceptanceRequest(Message):
    """Ticks and, if a person decides otherwise than the worker, a verdict."""

    checked_items: list[CheckedItem] | None = None
    verdict: Verdict | None = None


class CompleteAcceptanceResponse(Message):
    """The task is accepted."""

    task_id: Text
    state: Literal["accepted"]
    checklist_complete: bool
    verdict_outcome: Literal["accept"]


class ChecklistRequest(Message):
    """Ticks made ahead of time."""

    checked_items: Annotated[list[CheckedItem], Field(min_length=1)]


class ChecklistResponse(Message):
    """The checklist as it stands, and which required items are open."""

    task_id: Text
    manual_checklist: list[ChecklistItem]
    checklist_complete: bool
    missing: list[Text]


class IntegrateRequest(Message):
    """What to integrate: exactly one of a branch and a patch, as objects or as plain names."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["branch_ref"]}, {"required": ["patch_ref"]}]})

    expected_state: Literal["accepted"]
    base_sha: Sha
    branch_ref: Text | BranchRef | None = None
    patch_ref: Text | PatchRef | None = None
    expected_version: Count | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> IntegrateRequest:
        if (self.branch_ref is None) == (self.patch_ref is None):
            raise ValueError("exactly one of branch_ref and patch_ref")
        return self


class IntegrateResponse(Message):
    """The task is integrating."""

    task_id: Text
    state: Literal["integrating"]
    integration_branch: Text
    run_id: Text | None = None


class CompleteIntegrateRequest(Message):
    """How the checks of the integration branch went."""

    checks_passed: bool
    integration_head_sha: Sha | None = None
    main_updated_sha: Sha | None = None
    current_base_sha: Sha | None = None
    is_fast_forward: bool | None = None
    has_conflicts: bool | None = None


class CompleteIntegrateResponse(Message):
    """Where the integration ended: ``integrated`` or ``blocked``."""

    task_id: Text
    state: Literal["integrated", "blocked"]
    integration_branch: Text | None = None
    integration_head_sha: Sha | None = None
    requires_pr: bool
    can_fast_forward: bool
    policy_warnings: list[Text] | None = None
    needs_rebase: bool | None = None


class PublishRequest(Message):
    """Start to publish. The key makes a repeated request the same request, in every mode."""

    mode: PublishMode
    idempotency_key: Annotated[str, Field(min_length=1, max_length=100)]
    approval_token: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    expected_version: Count | None = None


class PublishResponse(Message):
    """The task is publishing, or waits for an approval."""

    task_id: Text
    state: Literal["publishing", "publish_pending_approval"]
    publish_run_id: Text


class ApprovalRequest(Message):
    """Issue an approval token; there is nothing to say."""


class RetrospectiveRequest(Message):
    """Make the next generation of a retrospective. ``force`` changes nothing: every request makes one."""

    force: bool | None = None


class ApproveRequest(Message):
    """Approve a pending publish; without a token only an authenticated operator may."""

    approval_token: Annotated[str, Field(min_length=1, max_length=200)] | None = None


class ApprovalResponse(Message):
    """An approval token. It is shown this once; only its hash is kept."""

    task_id: Text
    approval_token: Text
    expires_at: DateTime


class CompletePublishRequest(Message):
    """What publishing made outside; ``apply`` has to name at least one thing."""

    external_refs: list[ExternalRef] | None = None
    rollback_notes: str | None = None


class CompletePublishResponse(Message):
    """The task is published."""

    task_id: Text
    state: Literal["published"]
    external_refs: list[ExternalRef]
    rollback_notes: str | None = None
    completed_at: DateTime


class CancelRequest(Message):
    """Stop a task for good."""

    reason: Annotated[str, Field(min_length=1, max_length=500)] | None = None


class ErrorResponse(Message):
    """The one shape of every error."""

    code: Text
    message: Text
    details: dict[str, object] | None = None
