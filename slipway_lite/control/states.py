"""The state machine of a task: the 53 transitions that seed 004 lists, and what follows from them.

Nothing else in the package names a pair of states: dispatch, ``/transitions``, the CHECK constraint of the
transition table, the JSON Schema and the tests all read :data:`TRANSITIONS`. (seed 004 "許可遷移の API 正本",
control-plane §3.1)
"""

from __future__ import annotations

from types import MappingProxyType

TRANSITIONS: MappingProxyType[str, tuple[str, ...]] = MappingProxyType(
    {
        "queued": ("queued", "planning", "cancelled", "failed"),
        "planning": ("planned", "rework_required", "blocked", "cancelled", "failed"),
        "planned": ("developing", "cancelled", "failed"),
        "developing": ("dev_completed", "rework_required", "blocked", "cancelled", "failed"),
        "dev_completed": ("accepting", "cancelled", "failed"),
        "accepting": ("accepted", "rework_required", "blocked", "cancelled", "failed"),
        "rework_required": ("developing", "cancelled", "failed"),
        "accepted": ("integrating", "cancelled", "failed"),
        "integrating": ("integrated", "blocked", "cancelled", "failed"),
        "integrated": ("publish_pending_approval", "publishing", "cancelled", "failed"),
        "publish_pending_approval": ("publishing", "cancelled", "failed"),
        "publishing": ("published", "blocked", "cancelled", "failed"),
        "blocked": (
            "planning",
            "developing",
            "accepting",
            "integrating",
            "publishing",
            "cancelled",
            "failed",
        ),
        "published": (),
        "cancelled": (),
        "failed": (),
    }
)

PAIRS: tuple[tuple[str, str], ...] = tuple(
    (from_state, to_state) for from_state, targets in TRANSITIONS.items() for to_state in targets
)
TERMINAL: frozenset[str] = frozenset(state for state, targets in TRANSITIONS.items() if not targets)
WORKING: tuple[str, ...] = tuple(state for state, targets in TRANSITIONS.items() if "blocked" in targets)
"""The states from which ``blocked`` can be entered, which are the states that it can be left for."""

STAGE_OF: MappingProxyType[str, str] = MappingProxyType(
    {"planning": "plan", "developing": "dev", "accepting": "acceptance"}
)
"""The worker stage that runs while a task is in a working state; integrate and publish are no worker
stages.
"""

DISPATCH: MappingProxyType[tuple[str, str], str] = MappingProxyType(
    {
        ("queued", "plan"): "planning",
        ("planned", "dev"): "developing",
        ("rework_required", "dev"): "developing",
        ("dev_completed", "acceptance"): "accepting",
    }
)
"""(state, target_stage) that a dispatch may start from, and the state it leads to (control-plane §4.3)."""

AGENT_TASKSTATE: MappingProxyType[str, str] = MappingProxyType(
    {
        "queued": "proposed",
        "planning": "in_progress",
        "planned": "ready",
        "developing": "in_progress",
        "dev_completed": "review",
        "accepting": "in_progress",
        "accepted": "review",
        "rework_required": "review",
        "integrating": "in_progress",
        "integrated": "ready",
        "publish_pending_approval": "blocked",
        "publishing": "in_progress",
        "published": "done",
        "cancelled": "cancelled",
        "failed": "cancelled",
        "blocked": "blocked",
    }
)
"""Our sixteen states in the seven words of agent-taskstate, for context bundles (control-plane §8.5)."""


def is_allowed(from_state: str, to_state: str) -> bool:
    """Whether the seed lists ``from_state -> to_state``."""
    return to_state in TRANSITIONS.get(from_state, ())
