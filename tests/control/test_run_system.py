from __future__ import annotations

from typing import Any

import pytest

from slipway_lite.control import run_system
from tests.control.world import PATCH, REPO, TYPED_REF, result_body

TASK: dict[str, Any] = {
    "task_id": "task 1",
    "typed_ref": TYPED_REF,
    "state": "planning",
    "repo_ref": REPO,
    "resolver_refs": {"doc_refs": ["a"]},
    "external_refs": [],
    "detected_side_effects": ["network_access"],
}
JOB = {"job_id": "job:1", "stage": "plan", "worker_type": "codex", "input_prompt": "PLAN task: t"}


def packet(mode: str = "advisory", job: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
    task = {**TASK, "detected_side_effects": []}
    return run_system.packet(task, job or JOB, result_body("job:1", **members), mode)


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        ("", "811c9dc5"),
        ("a", "e40c292c"),
        ("plan created", "e68d0f02"),
        ("PLAN task: t", "2ab8f8b7"),
        ("succeeded", "6b166ff2"),
        ("あ", "c7252b85"),
        ("😀", "cb31c4b8"),
    ],
)
def test_fnv1a32_works_on_utf16_code_units(text: str, digest: str) -> None:
    assert run_system.fnv1a32(text) == f"fnv1a32:{digest}"


def test_the_packet_names_everything_by_clean_references() -> None:
    found = packet(summary="plan created")
    assert found["run"] == {
        "run_ref": "agent-taskstate:run:local:job_1",
        "task_ref": TYPED_REF,
        "job_ref": "shipyard-cp:worker_job:codex:job_1",
        "task_id": "task 1",
        "job_id": "job:1",
        "stage": "plan",
        "worker_type": "codex",
        "result_status": "succeeded",
    }
    assert found["contract_refs"] == {
        "intent_contract_ref": "agent-protocols:intent_contract:local:task_1",
        "task_seed_ref": "agent-protocols:task_seed:local:job_1",
        "evidence_ref": "agent-protocols:evidence:local:job_1-succeeded",
    }
    evidence = found["agent_protocols"]["evidence_candidate"]
    assert (evidence["inputHash"], evidence["outputHash"]) == ("fnv1a32:2ab8f8b7", "fnv1a32:e68d0f02")
    assert evidence["runtimeMs"] == 7
    assert found["agent_taskstate"]["current_state"] == "planning"
    assert found["agent_taskstate"]["resolver_refs"] == {"doc_refs": ["a"]}
    assert len(found["invariants"]) == 5


def test_without_a_summary_the_status_is_hashed_and_acceptance_has_a_reference_of_its_own() -> None:
    found = packet(job=JOB | {"stage": "acceptance"})
    assert found["agent_protocols"]["evidence_candidate"]["outputHash"] == "fnv1a32:6b166ff2"
    assert found["contract_refs"]["acceptance_ref"] == "agent-protocols:acceptance:local:job_1"


def test_the_results_own_references_win() -> None:
    found = packet(resolver_refs={"doc_refs": ["b"]}, context_bundle_ref="bundle:x")
    assert found["agent_taskstate"]["resolver_refs"] == {"doc_refs": ["b"]}
    assert found["agent_state_gate"]["assessment_input"]["context_bundle_ref"] == "bundle:x"


def test_the_decision_input_counts_entries_not_cases() -> None:
    tests = [{"suite": "a", "status": "passed", "passed": 99}, {"suite": "b", "status": "failed", "failed": 5}]
    found = packet(test_results=tests, patch_ref=PATCH)["agent_gatefield"]["decision_input"]
    assert found["test_summary"] == {"passed": 1, "failed": 1, "skipped": 0, "not_run": 0}
    assert (found["artifact_count"], found["has_patch"], found["has_branch"]) == (1, True, False)
    assert "tool_plan" not in found


def test_the_tasks_side_effects_stand_in_for_the_results() -> None:
    found = run_system.packet(TASK, JOB, result_body("job:1"), "advisory")
    assert found["agent_gatefield"]["decision_input"]["side_effects"] == ["network_access"]
    found = run_system.packet(TASK, JOB, result_body("job:1", detected_side_effects=[]), "advisory")
    assert found["agent_gatefield"]["decision_input"]["side_effects"] == []


@pytest.mark.parametrize(
    ("metadata", "verdict", "gate_required"),
    [
        ({"tool_plan_execution_verdict": "executed", "tool_plan_dry_run": True}, "executed", False),
        ({"tool_plan_execution_verdict": "nonsense", "tool_plan_dry_run": True}, "dry_run", False),
        ({"tool_plan_status": "failed"}, "failed", True),
        ({"tool_plan_errors": "boom"}, "failed", True),
        ({"tool_plan_applied": True}, "applied", True),
        ({"tool_plan_executed": True}, "executed", False),
        ({"tool_plan_operations": 3}, "skipped", False),
    ],
)
def test_the_verdict_of_a_tool_plan(metadata: dict[str, Any], verdict: str, gate_required: bool) -> None:
    found = run_system.tool_plan(result_body("j", metadata=metadata))
    assert found is not None
    assert (found["execution_verdict"], found["acceptance_gate_required"]) == (verdict, gate_required)


def test_no_tool_plan_key_no_tool_plan() -> None:
    assert run_system.tool_plan(result_body("j", metadata={"other": 1})) is None


@pytest.mark.parametrize(
    ("members", "gatefield", "state_gate", "expected", "manual"),
    [
        ({}, "pass", "allow", "go", False),
        ({"status": "failed"}, "block", "deny", "no_go", True),
        ({"status": "blocked"}, "block", "deny", "no_go", True),
        ({"test_results": [{"suite": "a", "status": "failed"}]}, "hold", "revise", "no_go", False),
        (
            {"requested_escalations": [{"kind": "human_verdict", "reason": "x"}]},
            "hold",
            "needs_approval",
            "conditional_go",
            True,
        ),
        ({"detected_side_effects": ["network_access"]}, "warn", "needs_approval", "conditional_go", True),
        ({"metadata": {"tool_plan_status": "failed"}}, "block", "deny", "no_go", True),
        ({"metadata": {"tool_plan_operations": 1}}, "warn", "revise", "conditional_go", False),
        ({"metadata": {"tool_plan_dry_run": True}}, "warn", "revise", "conditional_go", False),
        ({"metadata": {"tool_plan_applied": True}}, "hold", "needs_approval", "conditional_go", True),
        (
            {"metadata": {"tool_plan_execution_verdict": "executed", "tool_plan_errors": "e"}},
            "hold",
            "revise",
            "no_go",
            False,
        ),
    ],
)
def test_the_gate_takes_the_worst_of_every_rule_that_matches(
    members: dict[str, Any], gatefield: str, state_gate: str, expected: str, manual: bool
) -> None:
    report = run_system.gate(packet(**members))
    assert report["gatefield"]["verdict"] == gatefield
    assert report["agent_state_gate"]["verdict"] == state_gate
    assert report["qeg"]["expected_verdict"] == expected
    assert report["manual_bb"]["required"] is manual
    assert report["blocks_shipyard_transition"] is False
    enforced = run_system.gate(packet("enforce", **members))
    assert enforced["blocks_shipyard_transition"] is (gatefield in ("hold", "block") or state_gate != "allow")


def test_two_rules_keep_both_reasons() -> None:
    report = run_system.gate(packet(status="failed", test_results=[{"suite": "a", "status": "failed"}]))
    assert len(report["gatefield"]["reasons"]) == len(report["qeg"]["blockers"]) == 2


def test_the_audit_payload_of_the_gate() -> None:
    payload = run_system.gate_payload(run_system.gate(packet("enforce", status="failed")))
    assert payload["gate_id"] == "run-system"
    assert payload["gate_owner"] == "shipyard-cp"
    assert payload["policy_revision"] == "1.0"
    assert (payload["decision"], payload["effective_action"]) == ("block", "block")
    assert (payload["transition_changed"], payload["risk"]) == (True, "no_go")
    assert payload["override"] == {"applied": False}
