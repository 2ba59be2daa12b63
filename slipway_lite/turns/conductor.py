"""The pure parts of ``advance``: reading the sensor, deciding from it, judging urgency, mapping a decision.

The conductor is deterministic code, never a worker: it has no profile and emits no SkillOutcome. The loop that uses
these parts is :mod:`slipway_lite.turns.loop`. (turn-contract §13)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from slipway_lite.turns.block import decode_block
from slipway_lite.turns.decide import WorkflowDecision, decide_workflow_action
from slipway_lite.turns.ecma import SPACE, S
from slipway_lite.turns.envelope import ENVELOPE
from slipway_lite.turns.shapes import check
from slipway_lite.turns.snapshot import workflow_snapshot
from slipway_lite.turns.vocabulary import INTENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

SENSOR_DEGRADED = "sensor-degraded"

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
        return {"verdict": self.verdict} if self.issue is None else {"verdict": self.verdict, "issue": self.issue}


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


# -- the sensor --

_LOOSE_OPENER = re.compile(rf"```json{S}*")


def parse_sensor_output(text: str) -> SensorReading:
    """The envelope that a sensor printed: bare JSON first, then its last fence by a looser rule than a turn's.

    Any white space or none may stand after the tag and before the closing backticks. Unknown keys pass, because
    sensors add ``next.reason`` and the like. An envelope with degradations is a refusal.
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
        return SensorReading(None, f"The sensor's envelope is not valid: {errors[0].code} at {errors[0].path}.")
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
        body = text[opener.end() : end].rstrip(SPACE)
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
    except Exception:  # whatever a malformed envelope breaks, a conductor must come to a stop with a code
        return WorkflowDecision(
            "stop", "ask-human", (), "stop-failed", (), "The envelope or the last outcome is malformed."
        )


def as_sensed(outcome: Any) -> Any:
    """``outcome`` with the sensor's skill name turned into its table key and the word ``envelope`` as evidence."""
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
    command_names: Container[str],
    attended: bool = True,
    security: bool = False,
    sensitive: bool = False,
    continuation: dict[str, Any] | None = None,
) -> Invocation:
    """The text ``/skill:<verb> targets…`` for an invoke decision, or why it cannot be sent."""
    verb = decision.intent
    if decision.kind != "invoke" or verb not in command_names:
        return Invocation(None, "no-decision-available")
    if continuation and any(item.get("satisfied") is not True for item in continuation.get("preconditions", [])):
        return Invocation(None, "precondition-uncheckable")
    text = " ".join([f"/skill:{verb}", *map(str, decision.targets or ())])
    level = None if attended else 3 if security else 2 if sensitive and verb.startswith("review-") else None
    return Invocation(text if level is None else f"{text} --adversarial {level}", None, level)
