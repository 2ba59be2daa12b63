"""The closed vocabularies of the turn contract, in the published order and spelling.

Three documents share them: Envelope v2, SkillOutcome v1 and WorkflowSnapshot v1. Each vocabulary is written once, as
a type, and its tuple of words is taken from it. (turn-contract §1, §2)
"""

from __future__ import annotations

from typing import Literal, get_args

ENVELOPE_CONTRACT = "agentic-workflow/envelope@2"
SKILL_OUTCOME_CONTRACT = "agentic-workflow/skill-outcome"
WORKFLOW_SNAPSHOT_CONTRACT = "agentic-workflow/workflow-snapshot"

Intent = Literal[
    "init-workspace",
    "status",
    "discover-repository-state",
    "resolve-repository-state",
    "design-feature",
    "review-spec",
    "plan-feature",
    "review-plan",
    "plan-fix",
    "triage-issue",
    "execute-phase",
    "review-change",
    "audit-pr",
    "merge",
    "ask-human",
    "stop",
    "none",
]
INTENTS: tuple[str, ...] = get_args(Intent)

# Envelope v2 (§1.1)
EnvelopeState = Literal[
    "OK",
    "CONTINUE",
    "READY_FOR_REVIEW",
    "READY_FOR_AUDIT",
    "MERGE_READY",
    "MERGED",
    "NEEDS_FIXES",
    "BLOCKED",
    "NEEDS_INPUT",
    "FAILED",
    "HALT",
]
ENVELOPE_STATES: tuple[str, ...] = get_args(EnvelopeState)
TERMINAL_STATES = ("NEEDS_INPUT", "FAILED", "HALT")
UnitType = Literal["feature", "fix", "docs", "none"]
UNIT_TYPES: tuple[str, ...] = get_args(UnitType)
PrState = Literal["open", "merged", "none"]
PR_STATES: tuple[str, ...] = get_args(PrState)
CiState = Literal["green", "red", "pending", "none"]
CI_STATES: tuple[str, ...] = get_args(CiState)
VerificationState = Literal["green", "red", "not-run"]
VERIFICATION_STATES: tuple[str, ...] = get_args(VerificationState)
Severity = Literal["high", "med", "low"]
SEVERITIES: tuple[str, ...] = get_args(Severity)
Tier = Literal["strong", "cheap"]
TIERS: tuple[str, ...] = get_args(Tier)
BlockerKind = Literal["dependency", "issue", "gate", "merge-conflict", "substrate", "input"]
BLOCKER_KINDS: tuple[str, ...] = get_args(BlockerKind)
BlockerScope = Literal["unit", "run"]
BLOCKER_SCOPES: tuple[str, ...] = get_args(BlockerScope)

# SkillOutcome v1 (§1.2)
OutcomeStatus = Literal["completed", "continue", "blocked", "needs-input", "failed"]
OUTCOME_STATUSES: tuple[str, ...] = get_args(OutcomeStatus)
DiscoveryKind = Literal["defect", "risk", "opportunity", "environment", "scope-gap", "unknown"]
DISCOVERY_KINDS: tuple[str, ...] = get_args(DiscoveryKind)
DiscoveryScope = Literal["current-unit", "outside-unit", "run"]
DISCOVERY_SCOPES: tuple[str, ...] = get_args(DiscoveryScope)

# WorkflowSnapshot v1 (§1.3)
RepositoryStateWord = Literal["missing", "draft", "frozen", "contradicted", "needs-input", "unknown"]
REPOSITORY_STATES: tuple[str, ...] = get_args(RepositoryStateWord)
SnapshotUnitKind = Literal["feature", "fix"]
SNAPSHOT_UNIT_KINDS: tuple[str, ...] = get_args(SnapshotUnitKind)

# Parse results (§1.4)
Source = Literal["skill-outcome-v1", "envelope-v2-strict", "envelope-v2-compat", "native"]
SOURCES: tuple[str, ...] = get_args(Source)

# Profiles (§2)
ROLES = ("sensor", "planner", "executor", "reviewer", "auditor", "publisher")
REASONING = ("mechanical", "semantic", "critical")
EFFECTS = ("repository-read", "repository-write", "git-write", "forge-read", "forge-write")
CONTEXT_SOURCES = ("repository", "semantic-context", "episodic-memory", "execution-state")
EVIDENCE = (
    "workflow-snapshot",
    "current-candidate",
    "verification",
    "independent-review",
    "audit",
    "issue-state",
    "pull-request-state",
    "pre-execution-review",
)
