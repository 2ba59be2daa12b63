"""RunSystemPacket and the report of its gate (control-plane §2.8, §2.9)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from slipway_lite.control.messages_base import Count, Message, Text, Whole
from slipway_lite.control.messages_task import ExternalRef, ResolverRefs
from slipway_lite.control.vocabulary import (
    ResultStatus,
    RunSystemMode,
    SideEffectCategory,
    TaskStateName,
    WorkerStage,
    WorkerType,
)

Digest = Annotated[str, Field(pattern=r"^fnv1a32:[0-9a-f]{8}$")]
GatefieldVerdict = Literal["pass", "warn", "hold", "block"]
StateGateVerdict = Literal["allow", "revise", "needs_approval", "require_human", "stale_blocked", "deny"]


class PacketRun(Message):
    """Which run, task and job the packet is about."""

    run_ref: Text
    task_ref: Text
    job_ref: Text
    task_id: Text
    job_id: Text
    stage: WorkerStage
    worker_type: WorkerType
    result_status: ResultStatus


class ContractRefs(Message):
    """The contracts that belong to the run, by reference."""

    intent_contract_ref: Text
    task_seed_ref: Text
    acceptance_ref: Text | None = None
    evidence_ref: Text


class EvidenceCandidate(Message):
    """What could become evidence: digests of what went in and came out, and what it took."""

    kind: Literal["Evidence"]
    state: Literal["Published"]
    taskSeedId: Text
    inputHash: Digest
    outputHash: Digest
    runtimeMs: Count
    exitCode: Whole | None = None


class AgentProtocols(Message):
    """For agent-protocols."""

    flow: Text
    evidence_candidate: EvidenceCandidate


class AgentTaskstate(Message):
    """For agent-taskstate: the task before the transition."""

    task_ref: Text
    run_ref: Text
    current_state: TaskStateName
    context_bundle_ref: str | None = None
    resolver_refs: ResolverRefs | None = None
    external_refs: list[ExternalRef] | None = None


class TestSummary(Message):
    """How many suites ended how."""

    __test__ = False

    passed: Count
    failed: Count
    skipped: Count
    not_run: Count


class ToolPlanSummary(Message):
    """What the result said about its tool plan."""

    execution_verdict: Literal["dry_run", "failed", "applied", "executed", "skipped"]
    dry_run: bool
    operations: str | int | float | bool | None = None
    workspace_root: str | int | float | bool | None = None
    artifact_paths: str | int | float | bool | None = None
    errors: str | int | float | bool | None = None
    acceptance_gate_required: bool


class DecisionInput(Message):
    """What the gate decides on."""

    run_id: Text
    artifact_count: Count
    test_summary: TestSummary
    requested_escalation_count: Count
    side_effects: list[SideEffectCategory]
    has_patch: bool
    has_branch: bool
    worker_status: ResultStatus
    tool_plan: ToolPlanSummary | None = None


class AgentGatefield(Message):
    """For agent-gatefield."""

    profile: Literal["standard"]
    decision_input: DecisionInput


class AssessmentInput(Message):
    """What the integrated verdict rests on."""

    run_ref: Text
    task_ref: Text
    evidence_refs: list[Text]
    decision_packet_ref: Text | None = None
    context_bundle_ref: str | None = None
    expected_verdicts: list[StateGateVerdict]


class AgentStateGate(Message):
    """For agent-state-gate."""

    assessment_input: AssessmentInput


class RunSystemPacket(Message):
    """What neighbouring systems may know about a result; advice, unless the mode is enforce."""

    schema_version: Literal["1.0"]
    mode: RunSystemMode
    run: PacketRun
    contract_refs: ContractRefs
    agent_protocols: AgentProtocols
    agent_taskstate: AgentTaskstate
    agent_gatefield: AgentGatefield
    agent_state_gate: AgentStateGate
    invariants: Annotated[list[Text], Field(min_length=5, max_length=5)]


class GatefieldReport(Message):
    """The single gate's verdict."""

    verdict: GatefieldVerdict
    reasons: list[Text]


class StateGateReport(Message):
    """The integrated verdict."""

    verdict: StateGateVerdict
    reasons: list[Text]


class ManualReport(Message):
    """Whether a person has to look."""

    required: bool
    reason: Text | None = None


class QegReport(Message):
    """Go or no go, and why."""

    profile: Literal["standard"]
    expected_verdict: Literal["go", "conditional_go", "no_go"]
    blockers: list[Text]
    residual_risks: list[Text]


class RunSystemGate(Message):
    """The gate's report: a pure function of the packet."""

    schema_version: Literal["1.0"]
    mode: RunSystemMode
    gatefield: GatefieldReport
    agent_state_gate: StateGateReport
    manual_bb: ManualReport
    qeg: QegReport
    blocks_shipyard_transition: bool
