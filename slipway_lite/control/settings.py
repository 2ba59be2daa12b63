"""What a deployment may turn: the switches of ``slipway serve`` and the limits of control-plane §7."""

from __future__ import annotations

from dataclasses import dataclass

LEASE_SECONDS = 300
HEARTBEAT_SECONDS = 60
SCAN_SECONDS = 60
INTEGRATE_TIMEOUT_SECONDS = 10 * 60
PUBLISH_TIMEOUT_SECONDS = 15 * 60
APPROVAL_SECONDS = 24 * 60 * 60
FUTURE_SECONDS = 5 * 60
"""How far a client's ``occurred_at`` may lie ahead of our clock before it is refused."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The switches of one control plane. ``lmstudio`` is absent, available or unavailable (control-plane
    §4.3).
    """

    run_system_mode: str = "advisory"
    lease_seconds: int = LEASE_SECONDS
    heartbeat_seconds: int = HEARTBEAT_SECONDS
    worker_limit: int = 20
    total_limit: int = 200
    lmstudio: str = "absent"
