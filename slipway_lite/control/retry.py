"""Failures: what class they are, whether they are tried again, when, and by whom (control-plane §7.3)."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

MAX_RETRIES: MappingProxyType[str, int] = MappingProxyType(
    {"plan": 2, "dev": 3, "acceptance": 1, "integrate": 2, "publish": 1}
)
BACKOFF_BASE_SECONDS = 2
MAX_BACKOFF_SECONDS = 60
MAX_REWORK_ATTEMPTS = 2

RETRYABLE = ("retryable_transient", "retryable_capacity")

FAILURE_CODES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "retryable_transient",
        ("network_error", "connection_error", "connection_refused", "dns_failure", "service_unavailable"),
    ),
    (
        "retryable_capacity",
        ("rate_limit", "timeout", "quota_exceeded", "capacity_exceeded", "too_many_requests"),
    ),
    (
        "non_retryable_policy",
        (
            "policy_violation",
            "unauthorized",
            "forbidden",
            "sandbox_violation",
            "permission_denied",
            "authorization_error",
        ),
    ),
    (
        "non_retryable_logic",
        ("invalid_input", "parse_error", "logic_error", "assertion_failed", "validation_error"),
    ),
)
"""Substrings of a failure code, in the order in which they are looked for."""

FAILOVER_CHAIN = ("codex", "claude_code", "google_antigravity")

FINAL_STATE: MappingProxyType[tuple[str, str], str] = MappingProxyType(
    {
        ("plan", "spent"): "blocked",
        ("plan", "non_retryable_policy"): "blocked",
        ("plan", "non_retryable_logic"): "rework_required",
        ("dev", "spent"): "rework_required",
        ("dev", "non_retryable_policy"): "blocked",
        ("dev", "non_retryable_logic"): "rework_required",
        ("acceptance", "spent"): "rework_required",
        ("acceptance", "non_retryable_policy"): "rework_required",
        ("acceptance", "non_retryable_logic"): "rework_required",
    }
)
"""Where a failure ends that is not tried again: retries spent, or a class that never is (§13, 9)."""


def classify(failure_code: str | None, summary: str | None) -> str:
    """The failure class of a result that names none: by its code, else by its summary, else transient."""
    text = (failure_code or summary or "").lower()
    for failure_class, parts in FAILURE_CODES:
        if any(part in text for part in parts):
            return failure_class
    return "retryable_transient"


def policy(stage: str) -> dict[str, Any]:
    """The retry_policy that stands on a job of ``stage``."""
    return {
        "max_retries": MAX_RETRIES[stage],
        "backoff_base_seconds": BACKOFF_BASE_SECONDS,
        "max_backoff_seconds": MAX_BACKOFF_SECONDS,
        "jitter_enabled": True,
    }


def backoff_seconds(retry_count: int, jitter: float | None = None) -> float:
    """Seconds before retry number ``retry_count`` + 1: 2, 4, 8, 16, 32, 60, 60 …

    With ``jitter`` in [0, 1) that fraction of it, so that many workers do not come back at once.
    """
    full = float(min(BACKOFF_BASE_SECONDS ** min(retry_count + 1, 16), MAX_BACKOFF_SECONDS))
    return full if jitter is None else full * jitter


def next_worker(worker_type: str, tried: tuple[str, ...]) -> str | None:
    """Who plans instead of ``worker_type``: the next of the chain that has not failed at this plan yet."""
    position = FAILOVER_CHAIN.index(worker_type)
    for candidate in FAILOVER_CHAIN[position + 1 :]:
        if candidate not in tried:
            return candidate
    return None
