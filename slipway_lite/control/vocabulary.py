"""The closed sets of the control plane (control-plane §1.3), each a ``Literal`` that models and code
share.
"""

from __future__ import annotations

from typing import Literal, get_args

TaskStateName = Literal[
    "queued",
    "planning",
    "planned",
    "developing",
    "dev_completed",
    "accepting",
    "accepted",
    "rework_required",
    "integrating",
    "integrated",
    "publish_pending_approval",
    "publishing",
    "published",
    "cancelled",
    "failed",
    "blocked",
]
RiskLevel = Literal["low", "medium", "high"]
WorkerStage = Literal["plan", "dev", "acceptance"]
WorkerType = Literal["codex", "claude_code", "google_antigravity"]
Capability = Literal[
    "plan", "edit_repo", "run_tests", "needs_approval", "networked", "produces_patch", "produces_verdict"
]
FailureClass = Literal["retryable_transient", "retryable_capacity", "non_retryable_policy", "non_retryable_logic"]
SideEffectCategory = Literal[
    "network_access",
    "workspace_outside_write",
    "protected_path_write",
    "destructive_tool",
    "secret_access",
    "external_release",
]
EscalationKind = Literal[
    "network_access",
    "workspace_outside_write",
    "protected_path_write",
    "destructive_tool",
    "secret_access",
    "human_verdict",
]
NextAction = Literal["dispatch_dev", "dispatch_acceptance", "integrate", "publish", "wait_manual", "none"]
VerdictOutcome = Literal["accept", "reject", "rework", "needs_manual_review"]
ResultStatus = Literal["succeeded", "failed", "blocked"]
JobStatus = Literal["pending", "running", "completed", "failed"]
TestStatus = Literal["passed", "failed", "skipped", "not_run"]
TaskArtifactKind = Literal["log", "report", "screenshot", "trace", "json", "other"]
ResultArtifactKind = Literal["log", "report", "screenshot", "trace", "json", "html", "other"]
ExternalRefKind = Literal[
    "github_issue",
    "github_project_item",
    "release",
    "deployment",
    "tag",
    "tracker_issue",
    "sync_event",
    "entity_link",
]
StaleStatus = Literal["fresh", "stale", "unknown"]
PublishMode = Literal["no_op", "dry_run", "apply"]
PublishTarget = Literal["deployment", "release", "package_publish", "external_api"]
TransitionActor = Literal["control_plane", "worker", "human", "policy_engine"]
WaitingOn = Literal[
    "litellm",
    "worker",
    "human",
    "policy",
    "github",
    "environment",
    "resolver",
    "tracker_bridge",
    "agent_taskstate",
]
ResumeState = Literal["planning", "developing", "accepting", "integrating", "publishing"]
ExecutionBackend = Literal["external", "lmstudio"]
RunMetaStatus = Literal["pending", "running", "succeeded", "failed", "timeout"]
RunStatus = Literal["pending", "running", "succeeded", "failed", "blocked", "cancelled"]
UpdateStrategy = Literal["direct_push", "pull_request", "fast_forward_only"]
PushActor = Literal["bot", "human", "any"]
ApprovalMode = Literal["deny", "ask", "allow"]
SandboxProfile = Literal["read_only", "workspace_write", "full_auto", "custom"]
RequestedOutput = Literal["patch", "branch", "tests", "verdict", "artifacts", "plan_notes", "resolver_refs"]
OutputKind = Literal["plan_intent", "tool_plan", "edit_intent", "test_plan", "acceptance_verdict"]
BundlePurpose = Literal["continue_work", "review_prepare", "resume_after_block", "decision_support", "other"]
RebuildLevel = Literal["L1", "L2", "L3"]
RunSystemMode = Literal["advisory", "enforce"]

TASK_STATES: tuple[str, ...] = get_args(TaskStateName)
SIDE_EFFECTS: tuple[str, ...] = get_args(SideEffectCategory)
STALE_ORDER: tuple[str, ...] = ("fresh", "unknown", "stale")
"""From best to worst: a worker may only move a task to the right (§13, 6)."""
