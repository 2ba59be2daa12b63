"""The functions of the turn corpus, called with its inputs and answered in its documents.

The published JSON API has camel-case names and one argument object; this module is the only place
that knows both sides. Diagnostics of ours are left out: the corpus compares the published vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from slipway_lite.turns import (
    compiler,
    conductor,
    continuation,
    decide,
    envelope,
    extract,
    loop,
    outcome,
    parse,
    profiles,
)
from slipway_lite.turns.decide import WorkflowDecision
from slipway_lite.turns.snapshot import validate_workflow_snapshot


def _parse_turn(given: dict[str, Any]) -> Any:
    parsed = parse.parse_turn(skill=given["skill"], text=given["text"], context=given.get("context")).as_document()
    kept = [item for item in parsed["diagnostics"] if item["code"] not in parse.TAIL_DIAGNOSTICS]
    return {**parsed, "diagnostics": kept}


def _compile(given: dict[str, Any]) -> Any:
    return compiler.compile_workflow_snapshot(
        source_revision=given.get("sourceRevision"),
        repository=given.get("repository"),
        documents=given.get("documents"),
    ).as_document()


def _decide_from_envelope(given: dict[str, Any]) -> Any:
    return conductor.decide_from_envelope(
        envelope=given["envelope"],
        last_outcome=given["lastOutcome"],
        last_outcome_source_revision=given["lastOutcomeSourceRevision"],
        policy=given["policy"],
    ).as_document()


def _decision(document: dict[str, Any]) -> WorkflowDecision:
    return WorkflowDecision(
        document["kind"],
        document["intent"],
        tuple(document["targets"]),
        document["reasonCode"],
        tuple(document["evidenceRefs"]),
        document["detail"],
    )


def _invocation(given: dict[str, Any]) -> Any:
    options = given["opts"]
    return conductor.invocation_from_decision(
        _decision(given["decision"]),
        command_names=options["commandNames"],
        attended=options["attended"],
        security=options.get("security", False),
        sensitive=options.get("sensitive", False),
        continuation=options.get("continuation"),
    ).as_document()


class _EveryCommand:
    """Loop cases know every verb."""

    def __contains__(self, verb: object) -> bool:
        return True


class _Script:
    """The answers of a loop case: one list a dependency, whose last entry repeats."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._answers = {"git": [{"porcelain": "", "ahead": 0}], "send": [{"ok": True}], **given}
        self._asked: dict[str, int] = {}
        self.sent: list[str] = []
        self.parked = 0

    def answer(self, name: str) -> Any:
        answers = self._answers[name]
        asked = self._asked.get(name, 0)
        self._asked[name] = asked + 1
        return answers[min(asked, len(answers) - 1)]

    def sense(self) -> conductor.SensorReading:
        answer = self.answer("sensor")
        return conductor.SensorReading(answer.get("envelope"), answer.get("detail", ""))

    def send(self, decision: WorkflowDecision, text: str) -> loop.Sent:
        self.sent.append(text)
        answer = self.answer("send")
        return loop.Sent(
            ok=answer["ok"],
            deferred=answer.get("deferred", False),
            stop_code=answer.get("refusal", "stop-failed"),
        )

    def observe_git(self) -> tuple[str, int]:
        answer = self.answer("git")
        return answer["porcelain"], answer["ahead"]

    def park(self) -> None:
        self.parked += 1


def _loop(given: dict[str, Any]) -> Any:
    script = _Script(given)
    config = given.get("config", {})
    result = loop.run_conductor_loop(
        loop.Dependencies(
            sense=script.sense,
            decide=lambda envelope: _decision(script.answer("decide")),
            send=script.send,
            observe_git=script.observe_git,
            park=script.park,
            log=lambda code, invocation, iteration: None,
        ),
        command_names=_EveryCommand(),
        config=loop.AdvanceConfig(
            iterations_cap=config.get("iterationsCap", loop.ITERATIONS_CAP),
            sensitive_paths=tuple(config.get("sensitivePaths", ())),
            security_paths=tuple(config.get("securityPaths", ())),
        ),
        attended=given.get("attended", True),
        max_invokes=given.get("maxInvokes"),
    )
    return {"result": result.as_document(), "sent": script.sent, "parked": script.parked}


_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "parseTurn": _parse_turn,
    "extractLastJsonBlock": lambda given: extract.extract_last_json_block(given["text"]),
    "parseEnvelope": lambda given: envelope.parse_envelope(given["text"]).as_document(),
    "parseEnvelopeV2Strict": lambda given: envelope.parse_envelope_v2_strict(given["text"]).as_document(),
    "validateSkillOutcomeV1": lambda given: outcome.validate_skill_outcome(given["value"]).as_document(),
    "validateWorkflowSnapshotV1": lambda given: validate_workflow_snapshot(given["value"]).as_document(),
    "isTerminal": lambda given: envelope.is_terminal(given["state"]),
    "isRunHalt": lambda given: envelope.is_run_halt(given["envelope"]),
    "nextIntent": lambda given: envelope.next_intent(given["command"]),
    "renderOutputInstruction": lambda given: profiles.render_output_instruction(given["skill"]),
    "profiles": lambda given: [profile.as_document() for profile in profiles.PROFILES.values()],
    "compileWorkflowSnapshot": _compile,
    "decideWorkflowAction": lambda given: decide.decide_request(given).as_document(),
    "decideFromEnvelope": _decide_from_envelope,
    "snapshotFromEnvelope": lambda given: conductor.snapshot_from_envelope(given["envelope"]),
    "judgeUrgency": lambda given: conductor.judge_urgency(given["envelope"]).as_document(),
    "checkCloseout": lambda given: conductor.check_closeout(given["porcelain"], given["ahead"]),
    "invocationFromDecision": _invocation,
    "parseSensorOutput": lambda given: conductor.parse_sensor_output(given["text"]).as_document(),
    "runConductorLoop": _loop,
    "emitContinuation": lambda given: continuation.emit_continuation(
        command=given.get("command") or "",
        convergence=given.get("convergence") or "",
        preconditions=given.get("preconditions", ()),
        evidence=given.get("evidence"),
        sensor_degraded=given.get("sensorDegraded", False),
    ).as_document(),
}


def evaluate(fn: str, given: Any) -> Any:
    """What our function gives for one input of the corpus, as plain JSON values."""
    return _FUNCTIONS[fn](given)
