"""What may happen next, decided from a snapshot and the last validated outcome (turn-contract §11).

The decision is a pure function: the rows of the published table are tried in order and the first that applies wins.
It only ever invokes a transition that the table lists and whose evidence the last outcome carries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slipway_lite.errors import InvalidDocument
from slipway_lite.turns.profiles import PROFILES
from slipway_lite.turns.shapes import check, is_whole
from slipway_lite.turns.snapshot import WORKFLOW_SNAPSHOT

_ALLOWED = {
    "none": "",
    "merge": "",
    "init-workspace": "discover-repository-state",
    "status": (
        "init-workspace discover-repository-state resolve-repository-state design-feature review-spec"
        " plan-feature review-plan plan-fix triage-issue execute-phase review-change audit-pr ask-human stop"
    ),
    "discover-repository-state": (
        "resolve-repository-state design-feature review-spec plan-feature"
        " review-plan plan-fix triage-issue execute-phase review-change audit-pr ask-human stop"
    ),
    "resolve-repository-state": "resolve-repository-state",
    "design-feature": (
        "review-spec plan-feature plan-fix triage-issue execute-phase review-change audit-pr ask-human stop"
    ),
    "review-spec": "plan-feature plan-fix design-feature triage-issue ask-human stop",
    "plan-feature": "review-plan triage-issue execute-phase review-change audit-pr ask-human stop",
    "review-plan": "execute-phase plan-feature plan-fix design-feature triage-issue ask-human stop",
    "plan-fix": "review-plan triage-issue",
    "triage-issue": "execute-phase review-change audit-pr ask-human stop",
    "execute-phase": ("design-feature plan-feature plan-fix triage-issue review-change audit-pr ask-human stop"),
    "review-change": ("plan-feature plan-fix triage-issue execute-phase review-change audit-pr ask-human stop"),
    "audit-pr": "merge execute-phase ask-human stop",
}

TRANSITIONS: dict[str, frozenset[str]] = {skill: frozenset(row.split()) for skill, row in _ALLOWED.items()}
"""Last skill to the intents that may follow it. The sensor's key is its intent, ``status``."""

NEVER_INVOKED = ("status", "ask-human", "stop", "none")
REVIEW_LOOP_CAP = 2
"""Failed reviews in a row, since the last pass, after which a driver must not ask for another one (4.3.0)."""

REASON_CODES = (
    "sense-missing-evidence",
    "sense-initial",
    "sense-stale-revision",
    "sense-unlisted-transition",
    "stop-policy-denied",
    "stop-blocked",
    "stop-needs-input",
    "stop-failed",
    "stop-contradiction",
    "stop-forbidden-transition",
    "stop-review-loop-cap",
    "invoke-proven-transition",
)


class _Absent:
    """The type of :data:`ABSENT`: a key that a request does not have, which is not the same as null."""


ABSENT = _Absent()


@dataclass(frozen=True, slots=True)
class WorkflowDecision:
    """``kind`` is invoke, sense or stop; ``reason_code`` is one of the published reason codes."""

    kind: str
    intent: str
    targets: tuple[Any, ...] | None
    reason_code: str
    evidence_refs: tuple[str, ...]
    detail: str

    def as_document(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "intent": self.intent,
            "targets": None if self.targets is None else list(self.targets),
            "reasonCode": self.reason_code,
            "evidenceRefs": list(self.evidence_refs),
            "detail": self.detail,
        }


def _sense(code: str, detail: str) -> WorkflowDecision:
    return WorkflowDecision("sense", "status", (), code, (), detail)


def _stop(
    code: str,
    detail: str,
    *,
    targets: tuple[Any, ...] | None = (),
    evidence_refs: tuple[str, ...] = (),
    intent: str = "stop",
) -> WorkflowDecision:
    return WorkflowDecision("stop", intent, targets, code, evidence_refs, detail)


def decide_request(request: object) -> WorkflowDecision:
    """The decision for a published request document.

    Its keys are ``snapshot``, ``lastOutcome``, ``lastOutcomeSourceRevision``, ``policy`` and, optional,
    ``reviewLoopCycles``. A request that is no object is answered with a sense, like one that lacks keys.
    """
    fields: dict[str, Any] = request if type(request) is dict else {}
    return decide_workflow_action(
        snapshot=fields.get("snapshot", ABSENT),
        last_outcome=fields.get("lastOutcome", ABSENT),
        last_outcome_source_revision=fields.get("lastOutcomeSourceRevision", ABSENT),
        policy=fields.get("policy", ABSENT),
        review_loop_cycles=fields.get("reviewLoopCycles"),
    )


def decide_workflow_action(
    *,
    snapshot: object = ABSENT,
    last_outcome: Any = ABSENT,
    last_outcome_source_revision: object = ABSENT,
    policy: Any = ABSENT,
    review_loop_cycles: Any = None,
) -> WorkflowDecision:
    """The next action: invoke a skill, sense again, or stop.

    ``snapshot`` is a WorkflowSnapshot v1, ``last_outcome`` a SkillOutcome v1 or ``None``, ``policy`` is
    ``{"allowedIntents": [...], "forgeWriteAuthorized": bool}``. A revision of ``None`` skips the freshness test, an
    absent one is stale. Malformed input gives a sense or a stop, with one exception: a last outcome that is no
    outcome at all raises :class:`InvalidDocument` ``invalid_last_outcome``.
    """
    if any(part is ABSENT for part in (snapshot, last_outcome, policy)):
        return _sense("sense-missing-evidence", "The request lacks its snapshot, its last outcome or its policy.")
    if type(policy) is not dict or not {"allowedIntents", "forgeWriteAuthorized"} <= policy.keys():
        return _stop("stop-policy-denied", "The policy is missing or incomplete.")
    if type(snapshot) is not dict or check(WORKFLOW_SNAPSHOT, snapshot):
        return _sense("sense-missing-evidence", "The snapshot is not a valid WorkflowSnapshot v1.")
    if last_outcome is None:
        return _sense("sense-initial", "No outcome has been recorded yet.")
    if last_outcome_source_revision not in (None, snapshot["sourceRevision"]):
        return _sense("sense-stale-revision", "The last outcome was made at another revision.")
    return _decide_from_outcome(snapshot, _required_outcome(last_outcome), policy, review_loop_cycles)


def _decide_from_outcome(
    snapshot: dict[str, Any], outcome: dict[str, Any], policy: dict[str, Any], cycles: Any
) -> WorkflowDecision:
    skill, proposal, targets = outcome.get("skill"), outcome["next"].get("intent"), outcome["next"].get("targets")
    halted = halted_by(outcome)
    if halted is not None:
        return halted
    contradictions = tuple(row["field"] for row in snapshot["contradictions"])
    if contradictions:
        return _stop(
            "stop-contradiction",
            "The repository state is contradicted; the driver runs resolve-repository-state.",
            targets=contradictions if proposal == "resolve-repository-state" else (),
            evidence_refs=tuple(f"contradiction:{field}" for field in contradictions),
        )
    if _review_loop_is_spent(proposal, cycles):
        return _stop(
            "stop-review-loop-cap",
            "This review failed twice since it last passed; design-feature is the way out.",
            intent="ask-human",
        )
    if type(skill) is not str or type(proposal) is not str or proposal not in TRANSITIONS.get(skill, ()):
        return _sense("sense-unlisted-transition", "The proposed step does not follow the last skill.")
    if proposal == "discover-repository-state" and snapshot["repositoryState"] != "frozen":
        return _sense("sense-missing-evidence", "Discovery is proposed on a state that is not frozen.")
    refused = _lacks_capability(proposal, outcome) or _denied(proposal, policy)
    if refused is not None:
        return refused
    if proposal in NEVER_INVOKED:
        return _stop("stop-forbidden-transition", "The proposed step is not one that a driver invokes.")
    echoed = None if targets is None else tuple(_list(outcome["next"], "targets"))
    if skill == "audit-pr" and len(echoed or ()) != 1:
        return _stop("stop-forbidden-transition", "An audited step needs exactly one target.", targets=echoed)
    provenance = tuple(f"{row['field']}@{row['source']}:{row['line']}" for row in snapshot["provenance"])
    return WorkflowDecision(
        "invoke",
        proposal,
        echoed,
        "invoke-proven-transition",
        (*provenance, *_list(outcome, "evidence_refs")),
        "The transition is listed and its evidence is present.",
    )


# status of the last outcome -> reason code, the list whose entries become targets, the key of each entry
_HALTS = {
    "blocked": ("stop-blocked", "blockers", "id"),
    "needs-input": ("stop-needs-input", "questions", "id"),
    "failed": ("stop-failed", "discoveries", "summary"),
}


def halted_by(outcome: dict[str, Any]) -> WorkflowDecision | None:
    """The stop that an outcome with status blocked, needs-input or failed calls for; ``None`` for any other."""
    status = outcome.get("status")
    if type(status) is not str or status not in _HALTS:
        return None
    code, rows, key = _HALTS[status]
    targets = tuple(row.get(key) if type(row) is dict else None for row in _list(outcome, rows))
    return _stop(code, "The last outcome does not allow an automatic step.", targets=targets)


def _review_loop_is_spent(proposal: Any, cycles: Any) -> bool:
    if not isinstance(cycles, dict) or proposal not in ("review-spec", "review-plan"):
        return False
    failed: Any = cycles.get(proposal.removeprefix("review-"))
    return is_whole(failed) and failed >= REVIEW_LOOP_CAP


def _lacks_capability(proposal: str, outcome: dict[str, Any]) -> WorkflowDecision | None:
    profile = PROFILES.get(proposal)
    if profile is None:
        return None
    if not profile.capabilities.effects:
        return _stop("stop-forbidden-transition", "The profile of the proposed step declares no effects.")
    missing = [word for word in profile.capabilities.required_evidence if word not in _list(outcome, "evidence_refs")]
    if missing:
        return _sense("sense-missing-evidence", f"Evidence is missing: {', '.join(missing)}.")
    return None


def _denied(proposal: str, policy: dict[str, Any]) -> WorkflowDecision | None:
    allowed = policy["allowedIntents"]
    if type(allowed) is not list or proposal not in allowed:
        return _stop("stop-policy-denied", "The policy does not allow the proposed step.")
    if proposal == "merge" and policy["forgeWriteAuthorized"] is False:
        return _stop("stop-policy-denied", "Merging needs forge writes, which the policy does not authorise.")
    return None


def _required_outcome(value: Any) -> dict[str, Any]:
    """``value`` when it can be an outcome at all; contract, version and status words are not checked."""
    if type(value) is dict and type(value.get("next")) is dict:
        return value
    raise _invalid()


def _list(part: dict[str, Any], key: str) -> list[Any]:
    """A list of the last outcome, asked for only where a row of the table needs it."""
    found = part.get(key)
    if type(found) is list:
        return found
    raise _invalid()


def _invalid() -> InvalidDocument:
    return InvalidDocument("The last outcome is not a SkillOutcome.", "$.lastOutcome", code="invalid_last_outcome")
