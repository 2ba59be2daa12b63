"""Who can do what: stages, workers, approval policies and backends (control-plane §7.1, §7.2, §4.3)."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from slipway_lite.control.refusals import Refused

if TYPE_CHECKING:
    from collections.abc import Sequence

REQUIRED: MappingProxyType[str, tuple[str, ...]] = MappingProxyType(
    {"plan": ("plan",), "dev": ("edit_repo", "run_tests"), "acceptance": ("produces_verdict",)}
)
PRESENT: MappingProxyType[str, tuple[str, ...]] = MappingProxyType(
    {
        "codex": ("plan", "edit_repo", "run_tests", "produces_patch", "produces_verdict"),
        "claude_code": (
            "plan",
            "edit_repo",
            "run_tests",
            "produces_patch",
            "produces_verdict",
            "needs_approval",
            "networked",
        ),
        "google_antigravity": ("plan", "produces_verdict"),
    }
)
DEFAULT_WORKER: MappingProxyType[str, str] = MappingProxyType(
    {"plan": "codex", "dev": "codex", "acceptance": "claude_code"}
)
REQUESTED_OUTPUTS: MappingProxyType[str, tuple[str, ...]] = MappingProxyType(
    {
        "plan": ("plan_notes", "artifacts"),
        "dev": ("patch", "tests", "artifacts"),
        "acceptance": ("verdict", "tests", "artifacts"),
    }
)
LMSTUDIO_STAGES = ("plan", "dev")
LMSTUDIO_FALLBACK_STAGES = ("plan",)
"""The only stage that falls back to the external backend by itself (seed 004, dispatch)."""


def missing(stage: str, worker_type: str) -> tuple[str, ...]:
    """What ``worker_type`` lacks for ``stage``, in the order of the matrix."""
    present = PRESENT[worker_type]
    return tuple(capability for capability in REQUIRED[stage] if capability not in present)


def approval_policy(stage: str, risk_level: str) -> dict[str, Any]:
    """The approval policy of a job (control-plane §7.2)."""
    if stage == "plan":
        return {"mode": "deny", "operator_approval_required": False, "sandbox_profile": "read_only"}
    policy: dict[str, Any] = {"mode": "ask"}
    if risk_level == "high":
        policy["allowed_side_effect_categories"] = ["network_access"]
    policy["operator_approval_required"] = risk_level == "high"
    policy["sandbox_profile"] = "workspace_write"
    return policy


def backend(stage: str, risk_levels: Sequence[str], lmstudio: str) -> tuple[str, str | None]:
    """(execution_backend, fallback_reason) for a job.

    ``lmstudio`` is absent, available or unavailable. LM Studio takes only low-risk plan and dev work, by
    the task's own risk and by an override alike; nothing here looks at, or changes, the worker type. Raises
    WORKER_BACKEND_UNAVAILABLE when it is down and the stage has no fallback.
    """
    if lmstudio == "absent" or stage not in LMSTUDIO_STAGES or set(risk_levels) != {"low"}:
        return "external", None
    if lmstudio == "available":
        return "lmstudio", None
    if stage in LMSTUDIO_FALLBACK_STAGES:
        return "external", "worker_backend_unavailable"
    raise Refused("WORKER_BACKEND_UNAVAILABLE", f"LM Studio does not answer, and {stage} has no other backend.")
