"""The audit events of a Run: what each of its journal events means to somebody who reads the whole file. Pure.

One table then tells the story of Runs, turns and tasks alike. A payload holds ids, kinds, results, counts and digests,
never a text that a person or a host wrote.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from slipway_lite.protocol.run import Record, Run

    Audit = tuple[str, str, str, dict[str, Any]]

HOST = ("worker", "host")
PERSON = ("human", "operator")
SYSTEM = ("system", "slipway-lite")

NAMES: dict[str, tuple[str, tuple[str, str]]] = {
    "run_started": ("run.started", PERSON),
    "outcome_submitted": ("run.outcomeAccepted", HOST),
    "answer_recorded": ("run.decisionAnswered", PERSON),
    "action_skipped": ("run.actionSkipped", HOST),
    "run_stopped": ("run.stopped", PERSON),
    "run_resumed": ("run.resumed", PERSON),
    "source_refreshed": ("run.sourceRefreshed", PERSON),
    "source_refresh_skipped": ("run.sourceRefreshSkipped", PERSON),
    "source_candidate_created": ("run.sourceCandidateCreated", HOST),
    "source_amended": ("run.sourceAdopted", PERSON),
    "source_pinned": ("run.sourceKept", PERSON),
}
"""Journal event → audit event and who acts; a confirmation has a name of its own, see :func:`events`."""


def events(run: Run, kind: str, data: dict[str, Any]) -> Iterator[Audit]:
    """(event type, actor type, actor id, payload) for the journal event that was just folded into ``run``."""
    name, actor = NAMES[kind]
    if data.get("confirm_destructive"):
        name = "run.destructiveConfirmed"
    yield name, *actor, _payload(run, kind, data)
    issued = run.current if run.state == "active" else None
    if issued is not None and issued.outcome is None and issued.ordinal in run.touched_records:
        yield "run.actionIssued", *SYSTEM, _issued(issued)
    if run.state == "paused":
        yield "run.paused", *SYSTEM, {"pause_reason": run.pause_reason}
    elif run.state == "ended":
        yield "run.ended", *SYSTEM, {"changed_since_start": run.changed, "final_git_observed": run.final_git_observed}


REFUSALS = {"submit": "run.outcomeRefused", "answer": "run.answerRefused"}
"""The names of refusals by operation; any other one is ``run.requestRefused``."""


def refused(run: Run, operation: str, action_id: str | None, code: str) -> Audit:
    """The audit event of a request that was well-formed and refused; an Action id is kept if the Run knows it."""
    payload = {"operation": operation, "code": code}
    if action_id is not None and action_id in run.by_id:
        payload["action_id"] = action_id
    return REFUSALS.get(operation, "run.requestRefused"), *(PERSON if operation == "answer" else HOST), payload


def _issued(record: Record) -> dict[str, Any]:
    return {
        "action_id": record.action_id,
        "ordinal": record.ordinal,
        "kind": record.kind,
        "remaining_budget": record.remaining_budget,
        "is_granted": record.authorization is not None,
    }


def _payload(run: Run, kind: str, data: dict[str, Any]) -> dict[str, Any]:
    if kind == "run_started":
        return {
            "initial_budget": run.initial_budget,
            "review_enabled": run.review_enabled,
            "requirements_revision": run.requirements_revision,
        }
    if kind == "outcome_submitted":
        return _outcome(run.by_id[data["action_id"]], data)
    if kind == "answer_recorded":
        names = ("action_id", "scope_sha256", "payload_sha256")
        return {name: data[name] for name in names if name in data}
    if kind == "action_skipped":
        return {"action_id": data["action_id"], "kind": run.by_id[data["action_id"]].kind}
    if kind.startswith("source_"):
        return {"requirements_revision": run.requirements_revision}
    return {"remaining_budget": run.remaining_budget}


def _outcome(record: Record, data: dict[str, Any]) -> dict[str, Any]:
    outcome = data["outcome"]
    implementation, review = outcome["implementation"] or {}, outcome["review"] or {}
    return {
        "action_id": record.action_id,
        "kind": record.kind,
        "status": outcome["status"],
        "result": implementation.get("result") or review.get("result"),
        "activity_count": len(implementation.get("activities", ())),
        "file_count": len(implementation.get("files_changed", ())),
        "finding_count": len(review.get("findings", ())),
        "outcome_payload_sha256": data["outcome_payload_sha256"],
    }
