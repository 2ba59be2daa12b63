"""The closed vocabularies of the turn contract, in the published order and spelling.

Three documents share them: Envelope v2, SkillOutcome v1 and WorkflowSnapshot v1 (turn-contract §1, §2).
"""

from __future__ import annotations

ENVELOPE_CONTRACT = "agentic-workflow/envelope@2"
SKILL_OUTCOME_CONTRACT = "agentic-workflow/skill-outcome"
WORKFLOW_SNAPSHOT_CONTRACT = "agentic-workflow/workflow-snapshot"

INTENTS = (
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
)

# Envelope v2 (§1.1)
ENVELOPE_STATES = (
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
)
TERMINAL_STATES = ("NEEDS_INPUT", "FAILED", "HALT")
UNIT_TYPES = ("feature", "fix", "docs", "none")
PR_STATES = ("open", "merged", "none")
CI_STATES = ("green", "red", "pending", "none")
VERIFICATION_STATES = ("green", "red", "not-run")
SEVERITIES = ("high", "med", "low")
TIERS = ("strong", "cheap")
BLOCKER_KINDS = ("dependency", "issue", "gate", "merge-conflict", "substrate", "input")
BLOCKER_SCOPES = ("unit", "run")

# SkillOutcome v1 (§1.2)
OUTCOME_STATUSES = ("completed", "continue", "blocked", "needs-input", "failed")
DISCOVERY_KINDS = ("defect", "risk", "opportunity", "environment", "scope-gap", "unknown")
DISCOVERY_SCOPES = ("current-unit", "outside-unit", "run")

# WorkflowSnapshot v1 (§1.3)
REPOSITORY_STATES = ("missing", "draft", "frozen", "contradicted", "needs-input", "unknown")
SNAPSHOT_UNIT_KINDS = ("feature", "fix")

# Parse results (§1.4)
SOURCES = ("skill-outcome-v1", "envelope-v2-strict", "envelope-v2-compat", "native")

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
