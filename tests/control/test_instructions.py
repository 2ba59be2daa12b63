from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from slipway_lite.control import instruction_schemas, instructions
from slipway_lite.control.capabilities import REQUIRED, approval_policy
from slipway_lite.control.messages_job import InstructionEnvelopeV2
from slipway_lite.control.refusals import Refused
from tests.control.world import REPO, TYPED_REF

TASK: dict[str, Any] = {
    "task_id": "t",
    "title": "T",
    "typed_ref": TYPED_REF,
    "objective": "Do it",
    "repo_ref": REPO,
    "external_refs": [],
}


def envelope(stage: str, risk: str = "medium", **members: Any) -> dict[str, Any]:
    job = {
        "job_id": "j",
        "stage": stage,
        "risk_level": risk,
        "approval_policy": approval_policy(stage, risk),
        "capability_requirements": list(REQUIRED[stage]),
    }
    return instructions.compile_envelope(TASK | members, job)


@pytest.mark.parametrize("stage", REQUIRED)
@pytest.mark.parametrize("risk", ["low", "medium", "high"])
def test_every_envelope_is_one(stage: str, risk: str) -> None:
    InstructionEnvelopeV2.model_validate(envelope(stage, risk))


@pytest.mark.parametrize(
    ("stage", "kind", "tools"),
    [
        ("plan", "plan_intent", ["read_file", "search_repo", "list_files", "get_issue"]),
        ("dev", "tool_plan", ["apply_patch_intent", "run_test_suite", "write_file", "run_command"]),
        ("acceptance", "acceptance_verdict", ["check_verdict"]),
    ],
)
def test_output_kind_and_tools_follow_stage_and_capabilities(stage: str, kind: str, tools: list[str]) -> None:
    found = envelope(stage)
    assert found["required_output"]["kind"] == kind
    assert [tool["name"] for tool in found["allowed_tools"]] == tools


def test_authority_stands_in_tier_order_and_documents_are_evidence() -> None:
    sources = [(entry["tier"], entry["source"]) for entry in envelope("plan")["authority"]]
    assert sources == [(1, "system"), (2, "policy"), (3, "task"), (4, "developer")]
    for members in ({"resolver_refs": {"doc_refs": ["d"]}}, {"external_refs": [{"kind": "tag", "value": "v"}]}):
        last = envelope("plan", **members)["authority"][-1]
        assert (last["tier"], last["source"]) == (7, "retrieved_doc")


def test_high_risk_adds_two_obligations() -> None:
    assert len(envelope("dev", "high")["must"]) == len(envelope("dev")["must"]) + 2


def test_must_not_lists_the_side_effects_that_the_policy_does_not_allow() -> None:
    assert [line for line in envelope("dev")["must_not"] if "kinds" in line] == []
    (high,) = [line for line in envelope("dev", "high")["must_not"] if "kinds" in line]
    assert "network_access" not in high
    assert "secret_access" in high
    plan = envelope("plan")["must_not"]
    assert "Have any side effect." in plan
    assert "network_access, workspace_outside_write" in plan[-1]


def test_rendering_keeps_every_section_and_says_none_for_empty_ones() -> None:
    text = instructions.render(envelope("dev") | {"must_not": [], "allowed_tools": []})
    headings = [line for line in text.splitlines() if line.startswith("[")]
    assert headings == [
        "[protocol]",
        "[job]",
        "[authority]",
        "[objective]",
        "[must]",
        "[must_not]",
        "[allowed_tools]",
        "[required_output]",
    ]
    assert "[must_not]\nNone" in text
    assert "[allowed_tools]\nNone" in text


def test_the_envelope_is_preferred_then_the_prompt_byte_for_byte_then_the_context() -> None:
    found = envelope("plan")
    assert instructions.prompt_of({"instruction_envelope": found, "input_prompt": "p"}) == instructions.render(found)
    assert instructions.prompt_of({"input_prompt": " p\r\n"}) == " p\r\n"
    context = {"objective": "o", "acceptance_criteria": ["a"], "constraints": ["c"]}
    assert instructions.prompt_of({"context": context}) == "Objective: o\nMust hold: a\nConstraint: c"


@pytest.mark.parametrize(
    "job",
    [
        {"metadata": {"instruction_envelope_version": "2.0"}, "input_prompt": "p"},
        {},
        {"context": {"other": 1}},
    ],
)
def test_a_job_without_its_envelope_or_with_nothing_to_say_is_refused_before_execution(job: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        instructions.prompt_of(job)
    assert refused.value.code == "INVALID_REQUEST"


def test_the_schemas_inside_are_schemas() -> None:
    for schema in (*instruction_schemas.ARGS_SCHEMAS.values(), *instruction_schemas.OUTPUT_SCHEMAS.values()):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["additionalProperties"] is False
    assert set(instruction_schemas.ARGS_SCHEMAS) == set(instructions.TOOL_NEEDS)
