"""What the page of one Run shows: from the public views, and for the owner from the tables as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipway_lite.store.connection import Store

if TYPE_CHECKING:
    from slipway_lite.store.sqlite import Connection

RUN = (
    "run_id", "state", "pause_reason", "initial_budget", "remaining_budget", "action_count", "review_enabled",
    "changed_since_start", "has_source", "created_at", "updated_at", "seconds",
)  # fmt: skip
EVENT = ("seq", "occurred_at", "event_type", "actor_type", "action_id", "code", "pause_reason")
ACTION = (
    "action_id", "ordinal", "kind", "status", "pause_reason", "implementation_result", "review_result", "attempts",
    "files_changed_count", "seconds", "has_host_brief",
)  # fmt: skip
ACTIVITY = ("action_id", "kind", "command", "exit_code")
CLAIM = ("action_id", "path", "git")
FINDING = ("action_id", "location")
ANSWER = ("action_id", "confirm_destructive", "active", "waited_seconds")
TITLES = {
    "run.started": "The Run was started",
    "run.actionIssued": "An Action was issued",
    "run.outcomeAccepted": "An Outcome was accepted",
    "run.outcomeRefused": "An Outcome was refused",
    "run.answerRefused": "An answer was refused",
    "run.requestRefused": "A request was refused",
    "run.decisionAnswered": "A person answered",
    "run.destructiveConfirmed": "A person confirmed a destructive step",
    "run.actionSkipped": "The Action was skipped",
    "run.paused": "The Run was paused",
    "run.resumed": "The Run was resumed",
    "run.stopped": "The Run was stopped",
    "run.ended": "The Run ended",
    "run.sourceRefreshed": "The source was fetched again, unchanged",
    "run.sourceRefreshSkipped": "The Run went on with the pinned source",
    "run.sourceCandidateCreated": "The source has changed; a person has to choose",
    "run.sourceAdopted": "The changed source was adopted",
    "run.sourceKept": "The pinned source was kept",
    "run.imported": "The Run up to here was imported",
    "turn.parsed": "A turn was parsed",
    "turn.failed": "A turn could not be parsed",
}
BAD = frozenset({"run.outcomeRefused", "run.answerRefused", "run.requestRefused", "turn.failed"})


def context(connection: Connection, run_id: str, is_full: bool) -> dict[str, Any] | None:
    """The template's values for one Run; ``None`` when there is no such Run. Texts are there only for the owner.

    All of them are of one moment, whoever writes meanwhile.
    """
    with Store(connection, "").snapshot():
        return _context(connection, run_id, is_full)


def _context(connection: Connection, run_id: str, is_full: bool) -> dict[str, Any] | None:
    runs = _rows(connection, RUN, "shown_runs", run_id)
    if not runs:
        return None
    actions = {row["action_id"]: row for row in _rows(connection, ACTION, "shown_actions", run_id)}
    for name, columns, view in (
        ("activities", ACTIVITY, "shown_activities"),
        ("claims", CLAIM, "shown_claims"),
        ("findings", FINDING, "shown_findings"),
        ("answers", ANSWER, "shown_answers"),
    ):
        for row in _rows(connection, columns, view, run_id):
            if row["action_id"] in actions:
                actions[row["action_id"]].setdefault(name, []).append(row)
    run = runs[0]
    if is_full:
        _add_texts(connection, run, actions)
    return {"run": run, "events": _events(connection, run_id, actions)}


def _rows(connection: Connection, columns: tuple[str, ...], view: str, run_id: str) -> list[dict[str, Any]]:
    order = "" if view == "shown_runs" else " order by ordinal"
    sql = f"select {', '.join(columns)} from {view} where run_id = ?{order}"
    return [dict(zip(columns, row, strict=True)) for row in connection.execute(sql, (run_id,))]


def _events(connection: Connection, run_id: str, actions: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The audited steps in order, each with what was reported in it."""
    sql = (
        "select seq, occurred_at, event_type, actor_type, json_extract(payload, '$.action_id'),"
        " json_extract(payload, '$.code'), json_extract(payload, '$.pause_reason')"
        " from audit_events where stream = ? order by sequence"
    )
    events = []
    for row in connection.execute(sql, (f"run:{run_id}",)):
        event = dict(zip(EVENT, row, strict=True))
        event["title"] = TITLES.get(event["event_type"], event["event_type"])
        event["is_bad"] = event["event_type"] in BAD
        event["action"] = actions.get(event["action_id"])
        events.append(event)
    return events


def _add_texts(connection: Connection, run: dict[str, Any], actions: dict[str, dict[str, Any]]) -> None:
    """The exact texts, for the owner's own eyes."""
    key = (run["run_id"],)
    run["goal"], run["summary"] = connection.execute("select goal, summary from runs where run_id = ?", key).fetchone()
    sql = "select action_id, summary, question, host_brief from run_actions where run_id = ?"
    for action_id, summary, question, brief in connection.execute(sql, key):
        actions[action_id] |= {"summary": summary, "question": question, "brief": brief}
    for action_id, text in connection.execute("select action_id, text from run_answers where run_id = ?", key):
        actions[action_id]["answer"] = text
    sql = "select action_id, location, summary, detail from run_findings where run_id = ? order by ordinal"
    for action_id, location, summary, detail in connection.execute(sql, key):
        texts = actions[action_id].setdefault("finding_texts", [])
        texts.append({"location": location, "summary": summary, "detail": detail})
