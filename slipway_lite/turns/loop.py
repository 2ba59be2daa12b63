"""The conductor's loop: sense, judge, decide, send, until something says stop (turn-contract §13).

Everything that touches the world is a callable of :class:`Dependencies`, so the order of the steps, the caps and the
stop codes can be read and tested here without any of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slipway_lite.turns.conductor import (
    SENSOR_DEGRADED,
    check_closeout,
    invocation_from_decision,
    judge_urgency,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from slipway_lite.turns.conductor import SensorReading
    from slipway_lite.turns.decide import WorkflowDecision

ITERATIONS_CAP = 12
PARTIAL_CAP = 3
DEFERRED_CAP = 2
RUN_LOG_PATH = ".agentic-workflow/advance-run.log"

COMPLETE = "ADVANCE: COMPLETE"
BLOCKED = "ADVANCE: BLOCKED"
STOPPED = "ADVANCE: STOPPED"
CONTINUE = "ADVANCE: CONTINUE"

NEVER_SENT = ("merge", "fullauto-merge")
"""Verbs that the conductor refuses whatever was decided: it never merges."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of an invocation; ``deferred``: the host switched its model profile and ran nothing."""

    ok: bool = True
    deferred: bool = False
    stop_code: str = "stop-failed"
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Advance:
    """How a call of the conductor ended; without a ``stop_code`` it may simply be called again."""

    banner: str
    stop_code: str | None
    iterations: int
    message: str

    def as_document(self) -> dict[str, Any]:
        return {
            "banner": self.banner,
            "stopCode": self.stop_code,
            "iterations": self.iterations,
            "message": self.message,
        }


@dataclass(frozen=True, slots=True)
class AdvanceConfig:
    """The conductor's settings; ``sense_again_after_invoke`` allows one more re-sense after each stage, which the
    published loop allows once in a call.
    """

    iterations_cap: int = ITERATIONS_CAP
    sensitive_paths: tuple[str, ...] = ()
    security_paths: tuple[str, ...] = ()
    run_log_path: str = RUN_LOG_PATH
    sense_again_after_invoke: bool = False


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Everything the loop needs from the world.

    ``observe_git`` answers ``(porcelain, ahead)``; a branch without an upstream counts as 1 ahead. ``log`` gets the
    kind and code, the invocation and the iteration; it must not fail. ``prepare`` may answer a decision before
    anything is sensed: discovery and the resolver are the driver's own steps, outside the decider.
    """

    sense: Callable[[], SensorReading]
    decide: Callable[[dict[str, Any]], WorkflowDecision]
    send: Callable[[WorkflowDecision, str], Sent]
    observe_git: Callable[[], tuple[str, int]]
    park: Callable[[], None]
    log: Callable[[str, str, int], None]
    prepare: Callable[[], WorkflowDecision | None] | None = None


def run_conductor_loop(
    world: Dependencies,
    *,
    command_names: Container[str],
    config: AdvanceConfig | None = None,
    attended: bool = True,
    max_invokes: int | None = 1,
) -> Advance:
    """Run the loop until something says stop: one stage a call unless ``max_invokes`` lifts it.

    Every way out has a banner and, but for the limit of invokes, a stop code. ``iterations`` counts the completed
    ones; a run that found nothing to do, or a blocker, counts none.
    """
    return _Loop(world, command_names, config or AdvanceConfig(), attended, max_invokes).run()


class _Loop:
    def __init__(
        self,
        world: Dependencies,
        command_names: Container[str],
        config: AdvanceConfig,
        attended: bool,
        max_invokes: int | None,
    ) -> None:
        self.world = world
        self.command_names = command_names
        self.config = config
        self.attended = attended
        self.max_invokes = max_invokes
        self.iteration = 0
        self.partial_in_a_row = 0
        self.deferred_in_a_row = 0
        self.sensed_again = False
        self.invokes = 0
        self.last_sent = ""

    def run(self) -> Advance:
        for iteration in range(1, self.config.iterations_cap + 1):
            self.iteration = iteration
            ended = self._iterate()
            if ended is not None:
                return ended
            if self.max_invokes is not None and self.invokes >= self.max_invokes:
                return Advance(CONTINUE, None, iteration, f"{self.last_sent} is done; call again to go on.")
        return Advance(STOPPED, "stop-failed", self.config.iterations_cap, "The cap of iterations is reached.")

    def _end(self, banner: str, code: str, iterations: int, message: str) -> Advance:
        self.world.log(f"stop/{code}", "-", self.iteration)
        return Advance(banner, code, iterations, message)

    def _stop(self, code: str, message: str) -> Advance:
        return self._end(STOPPED, code, self.iteration - 1, message)

    def _iterate(self) -> Advance | None:
        """One iteration; ``None`` when the loop goes on."""
        prepared = self.world.prepare() if self.world.prepare else None
        if prepared is not None:
            return self._act(prepared, None)
        reading = self.world.sense()
        envelope = reading.envelope
        if envelope is None:
            return self._stop(SENSOR_DEGRADED, reading.detail)
        if envelope["blockers"]:
            told = "; ".join(f"{blocker['kind']}: {blocker['detail']}" for blocker in envelope["blockers"])
            return self._end(BLOCKED, "stop-blocked", 0, told)
        if not envelope["next"]["recommended"]:
            return self._end(COMPLETE, "stop-nothing-startable", 0, "Nothing is recommended, nothing is blocked.")
        urgency = judge_urgency(envelope)
        if urgency.verdict == "interrupt-now":
            self.world.park()
            self.world.log(f"park/{urgency.verdict}", "-", self.iteration)
            return None
        partial = check_closeout(*self.world.observe_git()) == "partial"
        self.partial_in_a_row = self.partial_in_a_row + 1 if partial else 0
        if self.partial_in_a_row >= PARTIAL_CAP:
            self.world.park()
            return self._stop("stop-failed", "Work was left partial three times in a row and has been parked.")
        decision = self.world.decide(envelope)
        return self._act(decision, envelope["next"].get("continuation"))

    def _act(self, decision: WorkflowDecision, continuation: dict[str, Any] | None) -> Advance | None:
        if decision.kind == "invoke":
            return self._invoke(decision, continuation)
        if decision.kind == "sense" and not self.sensed_again:
            self.sensed_again = True
            return None
        return self._stop(decision.reason_code, decision.detail)

    def _invoke(self, decision: WorkflowDecision, continuation: dict[str, Any] | None) -> Advance | None:
        if decision.intent in NEVER_SENT:
            return self._stop("stop-policy-denied", "The conductor never merges.")
        invocation = invocation_from_decision(
            decision,
            command_names=self.command_names,
            attended=self.attended,
            security=bool(self.config.security_paths),
            sensitive=bool(self.config.sensitive_paths),
            continuation=continuation,
        )
        if invocation.text is None:
            return self._stop(str(invocation.refusal), "The decision cannot be turned into an invocation.")
        sent = self.world.send(decision, invocation.text)
        self.world.log(f"{decision.kind}/{decision.reason_code}", invocation.text, self.iteration)
        if not sent.ok:
            return self._stop(sent.stop_code, sent.detail)
        if not sent.deferred:
            self.deferred_in_a_row = 0
            self.last_sent = invocation.text
            self.invokes += 1
            self.sensed_again = self.sensed_again and not self.config.sense_again_after_invoke
            return None
        self.deferred_in_a_row += 1
        if self.deferred_in_a_row >= DEFERRED_CAP:
            return self._stop("stop-profile-switch-loop", "The host switched its model twice and ran nothing.")
        return None
