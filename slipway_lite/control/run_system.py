"""RunSystemPacket and its gate: what neighbouring systems may know about a result (control-plane §2.8,
§2.9).

The packet is made from the task *before* the transition. The gate only advises, unless the mode is
``enforce``.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from slipway_lite.control.refs import segment

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA_VERSION = "1.0"
FLOW = "IntentContract -> TaskSeed -> Acceptance -> PublishGate -> Evidence"
EXPECTED_VERDICTS = ("allow", "revise", "needs_approval", "require_human", "stale_blocked", "deny")
GATEFIELD_ORDER = ("pass", "warn", "hold", "block")
INVARIANTS = (
    "The control plane alone changes a task's state.",
    "agent-taskstate owns task identity and context bundles.",
    "agent-protocols owns the shapes of evidence and acceptance.",
    "agent-gatefield owns a single gate decision.",
    "agent-state-gate owns the integrated verdict and the human queue.",
)
TOOL_PLAN_VERDICTS = ("dry_run", "failed", "applied", "executed", "skipped")

RULES: tuple[tuple[str, str, str, bool, bool, bool], ...] = (
    ("worker_failed", "block", "deny", True, False, True),
    ("tests_failed", "hold", "revise", True, False, False),
    ("escalation_requested", "hold", "needs_approval", False, True, True),
    ("side_effects_detected", "warn", "needs_approval", False, True, True),
    ("tool_plan_failed", "block", "deny", True, False, True),
    ("tool_plan_skipped", "warn", "revise", False, True, False),
    ("tool_plan_dry_run", "warn", "revise", False, True, False),
    ("tool_plan_acceptance_gate_required", "hold", "needs_approval", False, False, True),
    ("tool_plan_errors", "hold", "revise", True, False, False),
)
"""condition, gatefield verdict, state-gate verdict, blocker?, residual risk?, manual? (control-plane §2.9)"""

REASONS: MappingProxyType[str, str] = MappingProxyType(
    {
        "worker_failed": "the worker did not succeed",
        "tests_failed": "a test suite failed",
        "escalation_requested": "the worker asked for a permission",
        "side_effects_detected": "side effects were detected",
        "tool_plan_failed": "the tool plan failed",
        "tool_plan_skipped": "the tool plan was skipped",
        "tool_plan_dry_run": "the tool plan was only a dry run",
        "tool_plan_acceptance_gate_required": "the tool plan changed the workspace",
        "tool_plan_errors": "the tool plan reported errors",
    }
)


def fnv1a32(text: str) -> str:
    """``fnv1a32:`` and eight hexadecimal digits, over UTF-16 code units (an emoji counts as two)."""
    value = 0x811C9DC5
    raw = text.encode("utf-16-le", "surrogatepass")
    for unit in memoryview(raw).cast("H") if raw else ():
        value = ((value ^ unit) * 0x01000193) & 0xFFFFFFFF
    return f"fnv1a32:{value:08x}"


def packet(task: Mapping[str, Any], job: Mapping[str, Any], result: Mapping[str, Any], mode: str) -> dict[str, Any]:
    """The RunSystemPacket of a valid result; ``task`` is the document before the transition."""
    job_id, task_id = segment(job["job_id"]), segment(task["task_id"])
    run_ref = f"agent-taskstate:run:local:{job_id}"
    task_ref = task["typed_ref"] or f"agent-taskstate:task:local:{task_id}"
    seed_ref = f"agent-protocols:task_seed:local:{job_id}"
    evidence_ref = f"agent-protocols:evidence:local:{job_id}-{result['status']}"
    contract_refs = {
        "intent_contract_ref": f"agent-protocols:intent_contract:local:{task_id}",
        "task_seed_ref": seed_ref,
        "evidence_ref": evidence_ref,
    }
    if job["stage"] == "acceptance":
        contract_refs["acceptance_ref"] = f"agent-protocols:acceptance:local:{job_id}"
    evidence: dict[str, Any] = {
        "kind": "Evidence",
        "state": "Published",
        "taskSeedId": seed_ref,
        "inputHash": fnv1a32(job["input_prompt"]),
        "outputHash": fnv1a32(result.get("summary") or result["status"]),
        "runtimeMs": result["usage"]["runtime_ms"],
    }
    if "exit_code" in result["usage"]:
        evidence["exitCode"] = result["usage"]["exit_code"]
    taskstate: dict[str, Any] = {"task_ref": task_ref, "run_ref": run_ref, "current_state": task["state"]}
    for name in ("context_bundle_ref", "resolver_refs", "external_refs"):
        value = result.get(name, task.get(name))
        if value is not None:
            taskstate[name] = value
    assessment: dict[str, Any] = {"run_ref": run_ref, "task_ref": task_ref, "evidence_refs": [evidence_ref]}
    if "context_bundle_ref" in taskstate:
        assessment["context_bundle_ref"] = taskstate["context_bundle_ref"]
    assessment["expected_verdicts"] = list(EXPECTED_VERDICTS)
    return {
        "schema_version": SCHEMA_VERSION,
        "mode": mode,
        "run": {
            "run_ref": run_ref,
            "task_ref": task_ref,
            "job_ref": f"shipyard-cp:worker_job:{job['worker_type']}:{job_id}",
            "task_id": task["task_id"],
            "job_id": job["job_id"],
            "stage": job["stage"],
            "worker_type": job["worker_type"],
            "result_status": result["status"],
        },
        "contract_refs": contract_refs,
        "agent_protocols": {"flow": FLOW, "evidence_candidate": evidence},
        "agent_taskstate": taskstate,
        "agent_gatefield": {"profile": "standard", "decision_input": _decision_input(task, job, result)},
        "agent_state_gate": {"assessment_input": assessment},
        "invariants": list(INVARIANTS),
    }


def _decision_input(task: Mapping[str, Any], job: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    statuses = [entry["status"] for entry in result["test_results"]]
    decision: dict[str, Any] = {
        "run_id": job["job_id"],
        "artifact_count": len(result["artifacts"]),
        "test_summary": {name: statuses.count(name) for name in ("passed", "failed", "skipped", "not_run")},
        "requested_escalation_count": len(result["requested_escalations"]),
        "side_effects": result.get("detected_side_effects", task.get("detected_side_effects", [])),
        "has_patch": "patch_ref" in result,
        "has_branch": "branch_ref" in result,
        "worker_status": result["status"],
    }
    summary = tool_plan(result)
    if summary is not None:
        decision["tool_plan"] = summary
    return decision


def tool_plan(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """What ``metadata.tool_plan_*`` says about the tool plan of a result, or ``None`` when it says nothing.

    The verdict is the explicit one if it is a known word; else the first that holds of dry run, failed,
    applied, executed; else skipped.
    """
    said = {
        key.removeprefix("tool_plan_"): value
        for key, value in result.get("metadata", {}).items()
        if key.startswith("tool_plan_")
    }
    if not said:
        return None
    verdict = said.get("execution_verdict")
    if verdict not in TOOL_PLAN_VERDICTS:
        if said.get("dry_run") is True:
            verdict = "dry_run"
        elif said.get("status") == "failed" or said.get("errors"):
            verdict = "failed"
        elif said.get("applied") is True:
            verdict = "applied"
        elif said.get("executed") is True:
            verdict = "executed"
        else:
            verdict = "skipped"
    summary: dict[str, Any] = {"execution_verdict": verdict, "dry_run": said.get("dry_run") is True}
    for name in ("operations", "workspace_root", "artifact_paths", "errors"):
        if said.get(name):
            summary[name] = said[name]
    summary["acceptance_gate_required"] = said.get("applied") is True or verdict == "failed"
    return summary


def packet_payload(document: Mapping[str, Any]) -> dict[str, Any]:
    """The payload of ``run.systemPacketPrepared``: the packet without its schema version."""
    return {name: value for name, value in document.items() if name != "schema_version"}


def gate(document: Mapping[str, Any]) -> dict[str, Any]:
    """The RunSystemGate report of a packet: every rule that matches raises both scales to the worst seen."""
    decision = document["agent_gatefield"]["decision_input"]
    plan = decision.get("tool_plan", {})
    holds = {
        "worker_failed": decision["worker_status"] != "succeeded",
        "tests_failed": decision["test_summary"]["failed"] > 0,
        "escalation_requested": decision["requested_escalation_count"] > 0,
        "side_effects_detected": bool(decision["side_effects"]),
        "tool_plan_failed": plan.get("execution_verdict") == "failed",
        "tool_plan_skipped": plan.get("execution_verdict") == "skipped",
        "tool_plan_dry_run": plan.get("dry_run") is True,
        "tool_plan_acceptance_gate_required": plan.get("acceptance_gate_required") is True,
        "tool_plan_errors": bool(plan.get("errors")),
    }
    matched = [rule for rule in RULES if holds[rule[0]]]
    gatefield = max([GATEFIELD_ORDER.index(rule[1]) for rule in matched], default=0)
    state_gate = max([EXPECTED_VERDICTS.index(rule[2]) for rule in matched], default=0)
    reasons = [REASONS[rule[0]] for rule in matched]
    blockers = [REASONS[rule[0]] for rule in matched if rule[3]]
    residual = [REASONS[rule[0]] for rule in matched if rule[4]]
    manual = [REASONS[rule[0]] for rule in matched if rule[5]]
    expected = "no_go" if blockers else "conditional_go" if residual or manual else "go"
    manual_bb: dict[str, Any] = {"required": bool(manual)}
    if manual:
        manual_bb["reason"] = "; ".join(manual)
    return {
        "schema_version": SCHEMA_VERSION,
        "mode": document["mode"],
        "gatefield": {"verdict": GATEFIELD_ORDER[gatefield], "reasons": reasons},
        "agent_state_gate": {"verdict": EXPECTED_VERDICTS[state_gate], "reasons": reasons},
        "manual_bb": manual_bb,
        "qeg": {
            "profile": "standard",
            "expected_verdict": expected,
            "blockers": blockers,
            "residual_risks": residual,
        },
        "blocks_shipyard_transition": document["mode"] == "enforce" and (gatefield >= 2 or state_gate > 0),
    }


def gate_payload(report: Mapping[str, Any]) -> dict[str, Any]:
    """The payload of ``run.systemGateEvaluated``."""
    blocks = report["blocks_shipyard_transition"]
    return {
        "gate_id": "run-system",
        "gate_owner": "shipyard-cp",
        "policy_revision": report["schema_version"],
        "decision": report["gatefield"]["verdict"],
        "effective_action": "block" if blocks else "continue",
        "transition_changed": blocks,
        "risk": report["qeg"]["expected_verdict"],
        "override": {"applied": False},
        **{
            name: report[name]
            for name in (
                "mode",
                "gatefield",
                "agent_state_gate",
                "manual_bb",
                "qeg",
                "blocks_shipyard_transition",
            )
        },
    }
