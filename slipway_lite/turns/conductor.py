"""The pure parts of ``advance``: reading the sensor, judging urgency, mapping a decision, and the loop
itself.

The conductor is deterministic code, never a worker: it has no profile and emits no SkillOutcome. Everything
that touches the world is a callable of :class:`Dependencies`. (turn-contract §13)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from slipway_lite.turns.block import decode_block
from slipway_lite.turns.decide import WorkflowDecision, decide_workflow_action
from slipway_lite.turns.ecma import S
from slipway_lite.turns.envelope import ENVELOPE
from slipway_lite.turns.shapes import check
from slipway_lite.turns.snapshot import workflow_snapshot
from slipway_lite.turns.vocabulary import INTENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ITERATIONS_CAP = 12
PARTIAL_CAP = 3
DEFERRED_CAP = 2
RUN_LOG_PATH = ".agentic-workflow/advance-run.log"

COMPLETE = "ADVANCE: COMPLETE"
BLOCKED = "ADVANCE: BLOCKED"
STOPPED = "ADVANCE: STOPPED"
CONTINUE = "ADVANCE: CONTINUE"

SENSOR_DEGRADED = "sensor-degraded"
NEVER_SENT = ("merge", "fullauto-merge")
"""Verbs that the conductor refuses whatever was decided: it never merges."""

ALLOW_ALL: dict[str, Any] = {"allowedIntents": list(INTENTS), "forgeWriteAuthorized": True}
"""What a policy of null means."""


@dataclass(frozen=True, slots=True)
class SensorReading:
    envelope: dict[str, Any] | None
    detail: str = ""

    @property
    def ok(self) -> bool:
        return self.envelope is not None

    def as_document(self) -> dict[str, Any]:
        if self.ok:
            return {"ok": True, "envelope": self.envelope}
        return {"ok": False, "refusal": SENSOR_DEGRADED, "detail": self.detail}


@dataclass(frozen=True, slots=True)
class Urgency:
    """``verdict`` is no-urgent, finish-first or interrupt-now; ``issue`` is the first urgent one."""

    verdict: str
    issue: Any = None

    def as_document(self) -> dict[str, Any]:
        return (
            {"verdict": self.verdict}
            if self.issue is None
            else {"verdict": self.verdict, "issue": self.issue}
        )


@dataclass(frozen=True, slots=True)
class Invocation:
    """The text to send, with the adversarial level it asks for; or the refusal of a continuation."""

    text: str | None
    refusal: str | None = None
    adversarial: int | None = None

    def as_document(self) -> dict[str, Any]:
        if self.text is None:
            return {"ok": False, "refusal": self.refusal}
        found: dict[str, Any] = {"ok": True, "invocation": self.text}
        return found if self.adversarial is None else {**found, "adversarial": self.adversarial}


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of an invocation; ``deferred`` when the host switched its model profile instead of running
    it.
    """

    ok: bool = True
    deferred: bool = False
    stop_code: str = "stop-failed"
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Advance:
    """How a call of the conductor ended. ``stop_code`` is ``None`` only where it may simply be called
    again.
    """

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
    iterations_cap: int = ITERATIONS_CAP
    sensitive_paths: tuple[str, ...] = ()
    security_paths: tuple[str, ...] = ()
    run_log_path: str = RUN_LOG_PATH


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Everything the loop needs from the world.

    ``observe_git`` answers ``(porcelain, ahead)``; a branch without an upstream counts as 1 ahead. ``log``
    gets the kind and code, the invocation and the iteration; it must not fail.
    """

    sense: Callable[[], SensorReading]
    decide: Callable[[dict[str, Any]], WorkflowDecision]
    send: Callable[[WorkflowDecision, str], Sent]
    observe_git: Callable[[], tuple[str, int]]
    park: Callable[[], None]
    log: Callable[[str, str, int], None]


# -- the sensor --

_LOOSE_OPENER = re.compile(rf"```json{S}*")
_LOOSE_CLOSER = re.compile(rf"{S}*```")


def parse_sensor_output(text: str) -> SensorReading:
    """The envelope that a sensor printed: bare JSON first, then its last fence by a looser rule than a
    turn's.

    Any white space or none may stand after the tag and before the closing backticks. Unknown keys pass,
    because sensors add ``next.reason`` and the like. An envelope with degradations is a refusal.
    """
    value, problem = decode_block(text)
    if problem is not None:
        body = _last_loose_block(text)
        if body is None:
            return SensorReading(None, "The sensor printed neither JSON nor a fenced json block.")
        value, problem = decode_block(body)
    if problem is not None:
        return SensorReading(None, problem.message)
    errors = check(ENVELOPE, value, strict=False)
    if errors:
        return SensorReading(
            None, f"The sensor's envelope is not valid: {errors[0].code} at {errors[0].path}."
        )
    detail = value.get("detail")
    if type(detail) is dict and detail.get("degradations"):
        return SensorReading(None, "The sensor reports degradations.")
    return SensorReading(value)


def _last_loose_block(text: str) -> str | None:
    body = None
    opener = _LOOSE_OPENER.search(text)
    while opener is not None:
        end = text.find("```", opener.end())
        if end < 0:
            break
        body = text[opener.end() : end].rstrip()
        opener = _LOOSE_OPENER.search(text, end + 3)
    return body


# -- deciding from an envelope --


def snapshot_from_envelope(envelope: dict[str, Any]) -> dict[str, Any]:
    """The snapshot that a sensor envelope stands for, exactly as published.

    Its provenance and contradictions stand at line 0, which is not valid in a WorkflowSnapshot v1:
    :func:`decide_from_envelope` clears the one and lifts the other.
    """
    detail = envelope.get("detail")
    told = detail.get("repository_state") if type(detail) is dict else None
    state = told if type(told) is dict else {}
    status = state.get("status") or "unknown"
    revision = state.get("source_revision") or envelope["summary"]
    unit, phase, source = envelope["unit"], envelope["phase"], envelope["skill"]
    return workflow_snapshot(
        source_revision=revision,
        repository={
            "branch": unit["branch"] or "",
            "headSha": envelope["pr"]["head_sha"] or revision,
            "dirty": False,
        },
        repository_state=status,
        unit={"kind": "fix" if unit["type"] == "fix" else "feature", "id": unit["id"] or "", "status": ""},
        phase={**phase, "names": []},
        provenance=[{"field": "envelope", "source": source, "line": 0}],
        contradictions=[
            {
                "field": "repository_state",
                "source": source,
                "line": 0,
                "detail": "The sensor reports a contradicted repository state.",
            }
        ]
        if status == "contradicted"
        else [],
        unknowns=[],
    )


def decide_from_envelope(
    *,
    envelope: Any,
    last_outcome: Any,
    last_outcome_source_revision: Any,
    policy: Any,
) -> WorkflowDecision:
    """The decision over what a sensor saw; a policy of ``None`` allows every intent and forge writes.

    Malformed parts never raise: they end in ``stop-failed`` with the intent ``ask-human``.
    """
    if envelope is None:
        return WorkflowDecision("sense", "status", (), "sense-missing-evidence", (), "There is no envelope.")
    try:
        snapshot = snapshot_from_envelope(envelope)
        snapshot["provenance"] = []
        snapshot["contradictions"] = [{**row, "line": 1} for row in snapshot["contradictions"]]
        detail = envelope.get("detail")
        return decide_workflow_action(
            snapshot=snapshot,
            last_outcome=as_sensed(last_outcome),
            last_outcome_source_revision=last_outcome_source_revision,
            policy=ALLOW_ALL if policy is None else policy,
            review_loop_cycles=detail.get("review_loop_cycles") if type(detail) is dict else None,
        )
    except Exception:
        return WorkflowDecision(
            "stop", "ask-human", (), "stop-failed", (), "The envelope or the last outcome is malformed."
        )


def as_sensed(outcome: Any) -> Any:
    """``outcome`` with the sensor's skill name turned into its table key and the word ``envelope`` as
    evidence.
    """
    if outcome is None:
        return None
    skill = "status" if outcome["skill"] == "workflow-status" else outcome["skill"]
    return {**outcome, "skill": skill, "evidence_refs": [*outcome["evidence_refs"], "envelope"]}


def judge_urgency(envelope: dict[str, Any]) -> Urgency:
    """Whether an urgent issue interrupts the unit at hand."""
    detail = envelope.get("detail")
    urgent = detail.get("urgent") if type(detail) is dict else None
    issues = urgent.get("issues") if type(urgent) is dict else None
    if type(urgent) is not dict or type(issues) is not list or not issues:
        return Urgency("no-urgent")
    listed = [issue for issue in issues if type(issue) is dict]
    number = listed[0].get("number") if listed else None
    facts = urgent.get("interruptibility")
    waits = any(issue.get("label") == "fix-next" for issue in listed)
    if not waits and type(facts) is dict and facts.get("dirty") is False:
        return Urgency("interrupt-now", number)
    return Urgency("finish-first", number)


def check_closeout(porcelain: str, ahead: int) -> str:
    """``partial`` when work lies uncommitted or unpushed, else ``clean``."""
    return "partial" if porcelain or ahead > 0 else "clean"


def invocation_from_decision(
    decision: WorkflowDecision,
    *,
    command_names: Sequence[str],
    attended: bool = True,
    security: bool = False,
    sensitive: bool = False,
    continuation: dict[str, Any] | None = None,
) -> Invocation:
    """The text ``/skill:<verb> targets…`` for an invoke decision, or why it cannot be sent."""
    verb = decision.intent
    if verb not in command_names:
        return Invocation(None, "no-decision-available")
    if continuation and any(
        item.get("satisfied") is not True for item in continuation.get("preconditions", [])
    ):
        return Invocation(None, "precondition-uncheckable")
    text = " ".join([f"/skill:{verb}", *map(str, decision.targets or ())])
    level = None if attended else 3 if security else 2 if sensitive and verb.startswith("review-") else None
    return Invocation(text if level is None else f"{text} --adversarial {level}", None, level)


# -- the loop --


@dataclass(slots=True)
class _Counters:
    partial: int = 0
    sensed: bool = False
    deferred: int = 0
    invokes: int = field(default=0)


def run_conductor_loop(
    world: Dependencies,
    *,
    command_names: Sequence[str],
    config: AdvanceConfig | None = None,
    attended: bool = True,
    max_invokes: int | None = 1,
) -> Advance:
    """Sense, judge, decide and send until something says stop; one stage a call unless ``max_invokes`` lifts
    it.

    Every way out has a banner and, but for the limit of invokes, a stop code.
    """
    config = config or AdvanceConfig()
    counters = _Counters()
    for iteration in range(1, config.iterations_cap + 1):
        ended = _iterate(world, config, counters, iteration, command_names, attended)
        if ended is not None:
            return ended
        if max_invokes is not None and counters.invokes >= max_invokes:
            return Advance(CONTINUE, None, iteration, "One stage is done; call again to go on.")
    return Advance(STOPPED, "stop-failed", config.iterations_cap, "The cap of iterations is reached.")


def _iterate(
    world: Dependencies,
    config: AdvanceConfig,
    counters: _Counters,
    iteration: int,
    command_names: Sequence[str],
    attended: bool,
) -> Advance | None:
    """One iteration; ``None`` when the loop goes on."""

    def stop(code: str, message: str) -> Advance:
        world.log(f"stop/{code}", "-", iteration)
        return Advance(STOPPED, code, iteration - 1, message)

    reading = world.sense()
    envelope = reading.envelope
    if envelope is None:
        return stop(SENSOR_DEGRADED, reading.detail)
    if envelope["blockers"]:
        told = "; ".join(f"{blocker['kind']}: {blocker['detail']}" for blocker in envelope["blockers"])
        return Advance(BLOCKED, "stop-blocked", 0, told)
    if not envelope["next"]["recommended"]:
        return Advance(
            COMPLETE, "stop-nothing-startable", 0, "Nothing is recommended and nothing is blocked."
        )
    urgency = judge_urgency(envelope)
    if urgency.verdict == "interrupt-now":
        world.park()
        world.log(f"park/{urgency.verdict}", "-", iteration)
        return None
    counters.partial = counters.partial + 1 if check_closeout(*world.observe_git()) == "partial" else 0
    if counters.partial >= PARTIAL_CAP:
        world.park()
        return stop("stop-failed", "Work was left partial three times in a row and has been parked.")
    decision = world.decide(envelope)
    if decision.kind == "sense":
        if counters.sensed:
            return stop(decision.reason_code, decision.detail)
        counters.sensed = True
        return None
    if decision.kind == "stop":
        return stop(decision.reason_code, decision.detail)
    return _invoke(world, config, counters, iteration, command_names, attended, envelope, decision, stop)


def _invoke(
    world: Dependencies,
    config: AdvanceConfig,
    counters: _Counters,
    iteration: int,
    command_names: Sequence[str],
    attended: bool,
    envelope: dict[str, Any],
    decision: WorkflowDecision,
    stop: Callable[[str, str], Advance],
) -> Advance | None:
    if decision.intent in NEVER_SENT:
        return stop("stop-policy-denied", "The conductor never merges.")
    invocation = invocation_from_decision(
        decision,
        command_names=command_names,
        attended=attended,
        security=bool(config.security_paths),
        sensitive=bool(config.sensitive_paths),
        continuation=envelope["next"].get("continuation"),
    )
    if invocation.text is None:
        return stop(str(invocation.refusal), "The decision cannot be turned into an invocation.")
    sent = world.send(decision, invocation.text)
    world.log(f"{decision.kind}/{decision.reason_code}", invocation.text, iteration)
    if not sent.ok:
        return stop(sent.stop_code, sent.detail)
    counters.deferred = counters.deferred + 1 if sent.deferred else 0
    if counters.deferred >= DEFERRED_CAP:
        return stop("stop-profile-switch-loop", "The host switched its model profile twice and ran nothing.")
    if not sent.deferred:
        counters.invokes += 1
    return None
