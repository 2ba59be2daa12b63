"""The turn contract: read the machine result of an agent's turn, keep it, and decide what comes next.

Everything public is here and is imported when it is first used.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slipway_lite.turns.compiler import compile_workflow_snapshot as compile_workflow_snapshot
    from slipway_lite.turns.conduct import AdvanceSetup as AdvanceSetup
    from slipway_lite.turns.conduct import advance as advance
    from slipway_lite.turns.conductor import (
        check_closeout as check_closeout,
    )
    from slipway_lite.turns.conductor import (
        decide_from_envelope as decide_from_envelope,
    )
    from slipway_lite.turns.conductor import (
        invocation_from_decision as invocation_from_decision,
    )
    from slipway_lite.turns.conductor import (
        judge_urgency as judge_urgency,
    )
    from slipway_lite.turns.conductor import (
        parse_sensor_output as parse_sensor_output,
    )
    from slipway_lite.turns.conductor import (
        snapshot_from_envelope as snapshot_from_envelope,
    )
    from slipway_lite.turns.continuation import (
        emit_continuation as emit_continuation,
    )
    from slipway_lite.turns.continuation import (
        parse_continuation_argv as parse_continuation_argv,
    )
    from slipway_lite.turns.decide import (
        decide_request as decide_request,
    )
    from slipway_lite.turns.decide import (
        decide_workflow_action as decide_workflow_action,
    )
    from slipway_lite.turns.driver import (
        REPAIR_SENTENCE as REPAIR_SENTENCE,
    )
    from slipway_lite.turns.driver import (
        drive_turn as drive_turn,
    )
    from slipway_lite.turns.driver import (
        drive_turn_async as drive_turn_async,
    )
    from slipway_lite.turns.envelope import (
        is_run_halt as is_run_halt,
    )
    from slipway_lite.turns.envelope import (
        is_terminal as is_terminal,
    )
    from slipway_lite.turns.envelope import (
        next_intent as next_intent,
    )
    from slipway_lite.turns.envelope import (
        outcome_from_envelope as outcome_from_envelope,
    )
    from slipway_lite.turns.envelope import (
        parse_envelope as parse_envelope,
    )
    from slipway_lite.turns.envelope import (
        parse_envelope_v2_strict as parse_envelope_v2_strict,
    )
    from slipway_lite.turns.envelope import (
        validate_envelope as validate_envelope,
    )
    from slipway_lite.turns.extract import extract_last_json_block as extract_last_json_block
    from slipway_lite.turns.loop import run_conductor_loop as run_conductor_loop
    from slipway_lite.turns.messages import (
        Envelope as Envelope,
    )
    from slipway_lite.turns.messages import (
        SkillOutcome as SkillOutcome,
    )
    from slipway_lite.turns.messages import (
        WorkflowSnapshot as WorkflowSnapshot,
    )
    from slipway_lite.turns.observation import (
        observe_worktree as observe_worktree,
    )
    from slipway_lite.turns.observation import (
        replace_repository_state as replace_repository_state,
    )
    from slipway_lite.turns.outcome import validate_skill_outcome as validate_skill_outcome
    from slipway_lite.turns.parse import ParsedTurn as ParsedTurn
    from slipway_lite.turns.parse import parse_turn as parse_turn
    from slipway_lite.turns.profiles import (
        PROFILES as PROFILES,
    )
    from slipway_lite.turns.profiles import (
        profile_of as profile_of,
    )
    from slipway_lite.turns.profiles import (
        render_output_instruction as render_output_instruction,
    )
    from slipway_lite.turns.repository_state import (
        read_repository_state as read_repository_state,
    )
    from slipway_lite.turns.repository_state import (
        render_repository_state as render_repository_state,
    )
    from slipway_lite.turns.service import TurnJournal as TurnJournal
    from slipway_lite.turns.snapshot import validate_workflow_snapshot as validate_workflow_snapshot

_HOME = {
    "PROFILES": "profiles",
    "profile_of": "profiles",
    "render_output_instruction": "profiles",
    "extract_last_json_block": "extract",
    "parse_envelope": "envelope",
    "parse_envelope_v2_strict": "envelope",
    "validate_envelope": "envelope",
    "next_intent": "envelope",
    "is_terminal": "envelope",
    "is_run_halt": "envelope",
    "outcome_from_envelope": "envelope",
    "parse_turn": "parse",
    "ParsedTurn": "parse",
    "validate_skill_outcome": "outcome",
    "validate_workflow_snapshot": "snapshot",
    "compile_workflow_snapshot": "compiler",
    "decide_request": "decide",
    "decide_workflow_action": "decide",
    "emit_continuation": "continuation",
    "parse_continuation_argv": "continuation",
    "parse_sensor_output": "conductor",
    "snapshot_from_envelope": "conductor",
    "decide_from_envelope": "conductor",
    "judge_urgency": "conductor",
    "check_closeout": "conductor",
    "invocation_from_decision": "conductor",
    "run_conductor_loop": "loop",
    "REPAIR_SENTENCE": "driver",
    "drive_turn": "driver",
    "drive_turn_async": "driver",
    "read_repository_state": "repository_state",
    "render_repository_state": "repository_state",
    "observe_worktree": "observation",
    "replace_repository_state": "observation",
    "AdvanceSetup": "conduct",
    "advance": "conduct",
    "TurnJournal": "service",
    "Envelope": "messages",
    "SkillOutcome": "messages",
    "WorkflowSnapshot": "messages",
}
"""Public name to the module that has it."""

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *_HOME]
