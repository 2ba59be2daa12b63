"""Typed, frozen views of the wire documents of machine-protocol §2, for Python callers.

One truth, two views: a message is made from the very dict that the command line prints, and :meth:`Message.document`
gives that dict back. Field names and order are the contract's; a field that does not apply is ``None`` here and
absent on the wire.
"""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict

from slipway_lite.canon import encode

Kind = Literal["orient", "clarify", "implement", "review", "summarize"]
State = Literal["active", "paused", "stopped", "ended"]
PauseReason = Literal[
    "decision_required", "destructive_confirmation_required", "environment_unavailable", "budget_exhausted"
]


class Message(BaseModel):
    """A frozen view of one wire object. Unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @classmethod
    def of(cls, document: dict[str, Any]) -> Self:
        """The view of a wire object."""
        return cls.model_validate(document)

    def document(self) -> dict[str, Any]:
        """The wire object, keys in wire order, absent fields left out."""
        return self.model_dump(mode="json", exclude_unset=True)

    def to_json(self) -> str:
        """The wire object as the command line prints it, without the line feed."""
        return encode(self.document())


class Input(Message):
    """One value that a variant still needs (§5.1)."""

    name: str
    type: Literal["string", "path", "enum", "digest"]
    flag: str
    required: bool
    choices: tuple[str, ...] | None = None


class Variant(Message):
    """One way on, as an argv array (§5.1)."""

    id: str
    base_argv: tuple[str, ...]
    inputs: tuple[Input, ...]


class Next(Message):
    """What works now (§5)."""

    operation: Literal["action", "answer", "resume", "start", "command", "none"]
    workspace_identity: str
    variants: tuple[Variant, ...]


class Target(Message):
    kind: Literal["path", "git_ref", "external_resource", "data_domain"]
    value: str


class DestructiveRequest(Message):
    """An exact scope that a host wants confirmed (§3.6)."""

    request_id: str
    targets: tuple[Target, ...]
    impact: str
    scope_sha256: str


class DestructiveAuthorization(Message):
    """A grant for exactly one confirmed scope (§2.1)."""

    request_id: str
    originating_action_id: str
    scope_version: Literal[1]
    scope_sha256: str
    targets: tuple[Target, ...]
    impact: str
    confirmed_at: str


class ActionSource(Message):
    kind: Literal["change_issue"]
    canonical_url: str
    issue_id: str
    source_revision: str
    manifest_revision: str
    requirements_revision: str


class CatalogSection(Message):
    key: str
    role: str
    title: str
    section_revision: str
    material_sha256: str
    bytes: int


class Reader(Message):
    operation: Literal["read_material"]
    base_argv: tuple[str, ...]
    input: Input


class Requirements(Message):
    requirements_revision: str
    sections: tuple[CatalogSection, ...]
    required_for_action: tuple[str, ...]
    reader: Reader


class Action(Message):
    """One unit of host work (§2.1)."""

    contract_version: Literal[2]
    run_id: str
    action_id: str
    kind: Kind
    goal: str
    brief: str
    context: str
    source: ActionSource | None = None
    requirements: Requirements | None = None
    destructive_authorization: DestructiveAuthorization | None = None
    remaining_budget: int


class Suggestion(Message):
    kind: Literal["clarify", "implement", "summarize"]
    brief: str


class Pause(Message):
    reason: str
    question: str
    destructive_request: DestructiveRequest | None
    supersedes_answer_action_id: str | None = None


class Activity(Message):
    kind: Literal["test", "typecheck", "build", "lint"]
    command: str
    exit_code: int
    summary: str


class Implementation(Message):
    result: Literal["applied", "partial", "not_needed", "unable"]
    files_changed: tuple[str, ...]
    activities: tuple[Activity, ...]
    uncertainties: tuple[str, ...]
    attempts: int


class Finding(Message):
    location: str
    summary: str
    detail: str


class Review(Message):
    result: Literal["no_findings_reported", "findings_reported", "inconclusive", "error", "not_run"]
    findings: tuple[Finding, ...]
    uncertainties: tuple[str, ...]


class Outcome(Message):
    """What a host reported about one Action (§3.2)."""

    contract_version: Literal[2]
    action_id: str
    action_kind: Kind
    status: Literal["completed", "needs_input", "partial", "error"]
    summary: str
    observations: tuple[str, ...]
    known_issues: tuple[str, ...]
    suggested_actions: tuple[Suggestion, ...]
    pause: Pause | None
    implementation: Implementation | None
    review: Review | None


class Parent(Message):
    repository_id: str
    issue_id: str
    canonical_url: str


class Provenance(Message):
    comment_node_id: str
    comment_database_id: int
    url: str
    author_id: str
    observed_updated_at: str


class PinnedSection(Message):
    key: str
    role: str
    title: str
    body_sha256: str
    section_revision: str
    material_sha256: str
    bytes: int
    provenance: Provenance


class PinnedSource(Message):
    """The accepted source of an issue-bound Run (§2.7)."""

    source_version: Literal[2]
    parser_version: Literal[2]
    manifest_version: Literal[2]
    profile: Literal["change/v2"]
    provider: Literal["github"]
    host: Literal["github.com"]
    repository_id: str
    issue_id: str
    issue_number: int
    canonical_url: str
    url_aliases: tuple[str, ...]
    source_revision: str
    manifest_revision: str
    requirements_revision: str
    parent_requirements_revision: str | None = None
    title: str
    parent: Parent | None = None
    sections: tuple[PinnedSection, ...]


class SourceCandidate(Message):
    """A changed source that waits for a choice (§2.8)."""

    candidate_id: str
    valid: bool
    classification: Literal["valid", "invalid"]
    classification_code: str
    classification_error: str | None = None
    source_version: Literal[2]
    parser_version: Literal[2]
    provider: Literal["github"]
    host: Literal["github.com"]
    repository_id: str
    issue_id: str
    issue_number: int
    canonical_url: str
    url_aliases: tuple[str, ...]
    observation_sha256: str | None = None
    source_revision: str | None = None
    requirements_revision: str | None = None
    title: str | None = None
    parent: Parent | None = None
    snapshot: PinnedSource | None = None
    created_at: str


class ProtocolState(Message):
    """The reply to every mutation (§2.2)."""

    contract_version: Literal[2]
    run_id: str
    state: State
    pause_reason: PauseReason | None = None
    summary: str | None = None
    action: Action | None = None
    next: Next
    pinned_source: PinnedSource | None = None
    source_candidate: SourceCandidate | None = None
    resume_operation: str | None = None
    budget_applied: bool | None = None


class WorkspaceIdentity(Message):
    version: Literal[1]
    worktree_root: str
    git_dir: str
    git_common_dir: str
    id: str


class PathObservation(Message):
    path: str
    category: str
    state: str
    observation: str
    size: int | None = None
    modified_unix_nano: int | None = None
    content_sha256: str | None = None
    content_fingerprint_kind: str | None = None


class GitObservation(Message):
    """What git showed at one moment (§7.6)."""

    version: Literal[1]
    head: str
    index_fingerprint: str
    status_fingerprint: str
    snapshot_hash: str
    path_count: int
    path_fingerprint: str
    details_truncated: bool
    content_observation_complete: bool
    content_bytes_hashed: int
    content_byte_limit: int
    content_byte_limit_exceeded: bool
    content_deadline_exceeded: bool
    dirty_files: tuple[str, ...]
    path_observations: tuple[PathObservation, ...]


class Record(Message):
    """An issued Action and what happened to it (§2.3)."""

    action: Action
    outcome: Outcome | None = None
    outcome_payload_sha256: str | None = None
    review_projection: Review | None = None
    voided: bool | None = None
    skipped: bool | None = None


class Answer(Message):
    action_id: str
    text: str
    confirm_destructive: bool
    scope_sha256: str | None = None
    payload_sha256: str
    source_revision: str | None = None
    requirements_revision: str | None = None
    active: bool
    superseded_by: str | None = None
    at: str


class SourceChoice(Message):
    candidate_id: str
    choice: Literal["pinned", "adopt"]
    resulting_action_id: str
    at: str


class ResumeResult(Message):
    operation: str
    budget_applied: bool
    candidate_id: str | None = None


class RunStatus(Message):
    """Everything on record about one Run (§2.3)."""

    contract_version: Literal[2]
    id: str
    goal: str
    workspace: str
    workspace_identity: WorkspaceIdentity
    state: State
    pause_reason: PauseReason | None = None
    review_enabled: bool
    review_pending: bool
    initial_budget: int
    remaining_budget: int
    initial_git: GitObservation
    current_git: GitObservation
    final_git_observed: bool
    pinned_source: PinnedSource | None = None
    source_candidate: SourceCandidate | None = None
    last_source_choice: SourceChoice | None = None
    last_resume_result: ResumeResult | None = None
    current_action: Action | None = None
    actions: tuple[Record, ...]
    pending_actions: tuple[Suggestion, ...] = ()
    answers: tuple[Answer, ...] = ()
    observations: tuple[str, ...] = ()
    known_issues: tuple[str, ...] = ()
    uncertainties: tuple[str, ...] = ()
    activities: tuple[Activity, ...] = ()
    summary: str | None = None
    pending_destructive_request: DestructiveRequest | None = None
    destructive_grant: DestructiveAuthorization | None = None
    created_at: str
    updated_at: str
    next: Next


class ForeignRun(Message):
    """A Run of a sibling worktree, as its first record tells it (§2.4)."""

    contract_version: Literal[2]
    created_at: str
    goal: str
    id: str
    next: Next
    state: State
    workspace: str
    workspace_foreign: Literal[True]
    workspace_identity: WorkspaceIdentity


class UnavailableRun(Message):
    id: str
    code: Literal["run_journal_invalid", "run_busy", "run_unavailable"]
    detail: str


class StatusList(Message):
    """The Runs of a repository (§2.5)."""

    contract_version: Literal[2]
    runs: tuple[RunStatus | ForeignRun, ...]
    unavailable_runs: tuple[UnavailableRun, ...]


class Section(Message):
    key: str
    role: str
    title: str
    section_revision: str
    markdown: str


class ActionMaterial(Message):
    """One section of the requirements, read for the current Action (§2.6)."""

    contract_version: Literal[2]
    message_type: Literal["action_material"]
    run_id: str
    action_id: str
    requirements_revision: str
    section: Section


class PinnedMaterial(Message):
    """One section of the pinned source, read for inspection (§2.6)."""

    contract_version: Literal[2]
    message_type: Literal["pinned_material"]
    run_id: str
    run_state: State
    source_revision: str
    requirements_revision: str
    section: Section
