from __future__ import annotations

from typing import Any

import pytest

from slipway_lite.control import risk
from tests.control.world import PATCH, result_body

CALM = {"test_coverage": True}


@pytest.mark.parametrize("flag", risk.FORCED_HIGH_FLAGS)
def test_each_flag_forces_high(flag: str) -> None:
    assert risk.assess({**CALM, flag: True}) == ("high", [flag])


@pytest.mark.parametrize(
    "path", ["src/auth/login.py", "lib/payment/x", "payments/a", "a/security/b", "iam/x", "app/secrets/k"]
)
def test_a_core_area_forces_high(path: str) -> None:
    assert risk.assess({**CALM, "modified_areas": [path]})[0] == "high"


@pytest.mark.parametrize("path", ["docs/a.md", "src/author.py", "secretsauce/x", "cryptography/x"])
def test_a_name_that_only_looks_like_a_core_area_does_not(path: str) -> None:
    assert risk.assess({**CALM, "modified_areas": [path]}) == ("low", [])


def test_missing_tests_force_high_unless_regression_passed() -> None:
    assert risk.assess({"test_coverage": False}) == ("high", ["no_test_coverage"])
    assert risk.assess({"test_coverage": False, "regression_test_passed": True}) == ("low", [])


@pytest.mark.parametrize("kind", risk.FORCED_HIGH_ESCALATIONS)
def test_a_grave_escalation_forces_high(kind: str) -> None:
    assert risk.assess({**CALM, "escalation_requested": [kind]}) == ("high", [f"escalation_{kind}"])


@pytest.mark.parametrize(
    ("found", "level"),
    [
        ({"config_modified": True}, "medium"),
        ({"dependencies_changed": True}, "medium"),
        ({"file_count": 4}, "low"),
        ({"file_count": 5}, "medium"),
        ({"file_count": 19}, "medium"),
        ({"file_count": 20}, "high"),
        ({"config_modified": True, "file_count": 20}, "medium"),
    ],
)
def test_configuration_then_size(found: dict[str, Any], level: str) -> None:
    assert risk.assess({**CALM, **found})[0] == level


def test_a_persons_override_wins() -> None:
    assert risk.assess({"secrets_referenced": True}, "low") == ("low", ["secrets_referenced"])


def test_factors_of_a_result() -> None:
    body = result_body(
        "j",
        patch_ref=PATCH,
        test_results=[{"suite": "my-regression-suite", "status": "passed"}],
        requested_escalations=[{"kind": "human_verdict", "reason": "r"}],
        detected_side_effects=["secret_access"],
    )
    found = risk.factors(body)
    assert (found["file_count"], found["modified_areas"]) == (1, ["f"])
    assert found["test_coverage"] is True
    assert found["regression_test_passed"] is True
    assert found["secrets_referenced"] is True
    assert risk.factors(result_body("j"))["test_coverage"] is False


@pytest.mark.parametrize(
    ("effects", "level"),
    [([], "low"), (["external_release"], "medium"), (["network_access", "secret_access"], "high")],
)
def test_the_heaviest_side_effect_counts(effects: list[str], level: str) -> None:
    assert risk.impact(effects) == level


def test_the_checklist_grows_with_risk_and_triggers() -> None:
    assert [item["id"] for item in risk.checklist("low")] == ["tests-passed", "no-regressions", "code-compiles"]
    high = {item["id"]: item["required"] for item in risk.checklist("high", ["rollback_notes_required"])}
    assert high["stakeholder-approval"] and high["rollback-plan"] and high["security-review"]
    assert high["docs-updated"] is False
    triggered = [item["id"] for item in risk.checklist("low", ["network_access", "core_area_modified"])]
    assert triggered[-2:] == ["network-approved", "core-review"]


def test_an_empty_checklist_misses_nothing_and_optional_items_never_do() -> None:
    assert risk.missing_items([]) == []
    items = risk.checklist("medium")
    assert "docs-updated" not in risk.missing_items(items)
    assert risk.missing_items([{**item, "checked": True} for item in items]) == []
