from __future__ import annotations

import pytest

from slipway_lite.control import capabilities
from slipway_lite.control.refusals import Refused


def test_every_default_worker_can_do_its_stage() -> None:
    for stage in capabilities.REQUIRED:
        assert capabilities.missing(stage, capabilities.DEFAULT_WORKER[stage]) == ()


def test_antigravity_lacks_what_development_needs() -> None:
    assert capabilities.missing("dev", "google_antigravity") == ("edit_repo", "run_tests")
    assert capabilities.missing("plan", "google_antigravity") == ()
    assert capabilities.missing("acceptance", "google_antigravity") == ()


@pytest.mark.parametrize("risk", ["low", "medium", "high"])
def test_a_plan_may_have_no_side_effect_at_any_risk(risk: str) -> None:
    policy = capabilities.approval_policy("plan", risk)
    assert policy == {"mode": "deny", "operator_approval_required": False, "sandbox_profile": "read_only"}


@pytest.mark.parametrize("stage", ["dev", "acceptance"])
def test_high_risk_work_needs_an_operator(stage: str) -> None:
    assert capabilities.approval_policy(stage, "high") == {
        "mode": "ask",
        "allowed_side_effect_categories": ["network_access"],
        "operator_approval_required": True,
        "sandbox_profile": "workspace_write",
    }
    assert capabilities.approval_policy(stage, "low")["operator_approval_required"] is False


@pytest.mark.parametrize(
    ("stage", "risks", "lmstudio", "expected"),
    [
        ("plan", ("low", "low"), "absent", ("external", None)),
        ("plan", ("low", "low"), "available", ("lmstudio", None)),
        ("dev", ("low", "low"), "available", ("lmstudio", None)),
        ("acceptance", ("low", "low"), "available", ("external", None)),
        ("plan", ("low", "medium"), "available", ("external", None)),
        ("dev", ("high", "low"), "available", ("external", None)),
        ("plan", ("low", "low"), "unavailable", ("external", "worker_backend_unavailable")),
        ("acceptance", ("low", "low"), "unavailable", ("external", None)),
    ],
)
def test_backend_routing(stage: str, risks: tuple[str, str], lmstudio: str, expected: tuple[str, str | None]) -> None:
    assert capabilities.backend(stage, risks, lmstudio) == expected


def test_development_has_no_fallback() -> None:
    with pytest.raises(Refused) as refused:
        capabilities.backend("dev", ("low", "low"), "unavailable")
    assert refused.value.code == "WORKER_BACKEND_UNAVAILABLE"
