"""Fold one event into a Run: routing, budget, review interposition (machine-protocol §4.3 to §4.7). Pure.

An event holds facts (what the host handed in, what git showed, the ids and times that were drawn); where the Run
goes from there is decided here and nowhere else, for the command that writes the event and for every later replay.
"""

from __future__ import annotations

from slipway_lite.protocol import prose
from slipway_lite.protocol.context import decision_item, outcome_item
from slipway_lite.protocol.difference import changed_from
from slipway_lite.protocol.rules import scope_sha256
from slipway_lite.protocol.run import Record, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

BUDGET_REFILL = 3
# After these kinds git is looked at; Review and Summarize succeed without.
OBSERVED_KINDS = frozenset({"orient", "clarify", "implement"})


def start(run_id: str, at: str, data: dict[str, Any]) -> Run:
    """The Run after its ``run_started`` event, its first Orient issued."""
    run = Run(run_id, at, data)
    run.looked(at, "observed", run.initial_git)
    if not run.initial_git["content_observation_complete"]:
        run.doubt_once(prose.OBSERVATION_INCOMPLETE)
    _issue(run, "orient", prose.BRIEFS["start"], data, at)
    return run


def apply(run: Run, kind: str, at: str, data: dict[str, Any]) -> None:
    """Fold one later event of ``kind`` into ``run``. Raises :class:`KeyError` for a kind that does not exist."""
    run.forget_touched()
    run.updated_at = at
    if kind in EVENTS:
        EVENTS[kind](run, at, data)
    else:
        from slipway_lite.protocol.fold_source import SOURCE_EVENTS

        SOURCE_EVENTS[kind](run, kind, at, data)


def _submitted(run: Run, at: str, data: dict[str, Any]) -> None:
    record, outcome = run.by_id[data["action_id"]], data["outcome"]
    record.outcome, record.outcome_at = outcome, at
    record.outcome_payload_sha256 = data["outcome_payload_sha256"]
    run.touched_records.add(record.ordinal)
    run.reported = record
    run.outcome_items[record.action_id] = outcome_item(record.kind, record.action_id, outcome)
    run.observations += outcome["observations"]
    run.known_issues += outcome["known_issues"]
    if outcome["implementation"]:
        run.uncertainties += outcome["implementation"]["uncertainties"]
        run.activities += outcome["implementation"]["activities"]
    if outcome["review"]:
        run.uncertainties += outcome["review"]["uncertainties"]
        run.finding_count += len(outcome["review"]["findings"])
    run.pending_request = run.grant = None
    if outcome["status"] == "needs_input":
        if _observe(run, record.kind, outcome, data, at):
            pause(run, outcome["pause"]["reason"])
            run.pending_request = outcome["pause"]["destructive_request"]
        return
    run.pending += outcome["suggested_actions"]
    run.current = None
    if _observe(run, record.kind, outcome, data, at):
        _route(run, record.kind, data, at)


def _observe(run: Run, kind: str, outcome: dict[str, Any], data: dict[str, Any], at: str) -> bool:
    """Take in what git showed; False when it could not be looked at, which pauses the Run."""
    if kind not in OBSERVED_KINDS:
        return True
    if not _look(run, data["git"], prose.GIT_FAILED, at):
        return False
    run.review_pending = run.review_enabled and run.changed
    if outcome["implementation"]:
        result = outcome["implementation"]["result"]
        if (result in ("applied", "partial")) != run.changed:
            run.observe_once(prose.report_discrepancy(result, run.changed))
    return True


def _look(run: Run, git: dict[str, Any], failure: str, at: str) -> bool:
    if "failure" in git:
        run.looked(at, "failed", None)
        run.pending_request = run.grant = None
        pause(run, "environment_unavailable")
        run.known_issues.append(failure + git["failure"])
        return False
    _saw(run, git, at)
    return True


def _saw(run: Run, git: dict[str, Any], at: str) -> None:
    """``git`` is ``{"observation": …}``, or ``{"unchanged": true}`` where it equals the one before."""
    if "observation" in git:
        run.current_git = git["observation"]
        run.changed = changed_from(run.current_git, run.initial_git)
    run.looked(at, "observed" if "observation" in git else "unchanged", run.current_git)
    if not run.current_git["content_observation_complete"]:
        run.doubt_once(prose.OBSERVATION_INCOMPLETE)
    if run.changed:
        run.observe_once(prose.OBSERVED_SINCE_START)
        run.doubt_once(prose.ATTRIBUTION_UNCERTAINTY)


def pause(run: Run, reason: str) -> None:
    run.state, run.pause_reason = "paused", reason


def _route(run: Run, kind: str, data: dict[str, Any], at: str) -> None:
    """Choose what follows a reported Action (§4.4)."""
    if kind == "review":
        run.review_pending = False
    if run.review_pending and kind in OBSERVED_KINDS:
        _drop_pending(run, prose.PREEMPTED_BY_REVIEW)
        _issue(run, "review", "", data, at)
    elif run.pending:
        suggestion = run.pending.pop(0)
        _issue(run, suggestion["kind"], suggestion["brief"], data, at, host_brief=True)
    elif kind != "summarize":
        _issue(run, "summarize", "", data, at)
    else:
        _end(run, data, at)


def _drop_pending(run: Run, reason: str) -> None:
    for suggestion in run.pending:
        run.doubt_once(prose.unresolved_suggestion(suggestion["kind"], reason, suggestion["brief"]))
    run.pending = []


def _issue(run: Run, kind: str, brief: str, data: dict[str, Any], at: str, *, host_brief: bool = False) -> None:
    """Issue an Action for one unit of budget, or pause where none is left (§4.5)."""
    if not (run.grant and run.pending_request and kind == "implement"):
        run.pending_request = run.grant = None
    if run.remaining_budget < 1:
        run.pending_request = run.grant = run.current = None
        pause(run, "budget_exhausted")
        return
    record = Record(run, data["next_action_id"], kind, brief, host_brief, run.grant, at)
    run.remaining_budget -= 1
    run.state, run.pause_reason = "active", None
    run.records.append(record)
    run.by_id[record.action_id] = run.current = record
    run.touched_records.add(record.ordinal)


def _end(run: Run, data: dict[str, Any], at: str, *, summarize_skipped: bool = False) -> None:
    from slipway_lite.protocol.summary import final_summary, skipped_summary

    run.pending_request = run.grant = run.current = None
    git = data["git"]
    run.final_git_observed = "failure" not in git
    if run.final_git_observed:
        _saw(run, git, at)
    else:
        run.looked(at, "failed", None)
        run.doubt_once(prose.FINAL_OBSERVATION_UNAVAILABLE + git["failure"])
    run.state, run.pause_reason = "ended", None
    run.summary = skipped_summary(run) if summarize_skipped else final_summary(run)


def _void_current(run: Run) -> None:
    """The outstanding Action will not be reported any more, and what it asked leaves the context."""
    if run.current is not None:
        run.current.voided = True
        run.touched_records.add(run.current.ordinal)
        run.outcome_items.pop(run.current.action_id, None)
        run.current = None


def _answered(run: Run, at: str, data: dict[str, Any]) -> None:
    record = run.by_id[data["action_id"]]
    assert record.outcome is not None
    pause = record.outcome["pause"]
    answer: dict[str, Any] = {
        "action_id": record.action_id,
        "text": data["text"],
        "confirm_destructive": data["confirm_destructive"],
    }
    if data["confirm_destructive"]:
        answer["scope_sha256"] = data["scope_sha256"]
    answer["payload_sha256"] = data["payload_sha256"]
    if run.pinned_source is not None:
        answer["source_revision"] = run.pinned_source["source_revision"]
        answer["requirements_revision"] = run.pinned_source["requirements_revision"]
    answer["active"] = not data["confirm_destructive"]
    if data["confirm_destructive"]:
        _confirmed(run, record, answer, data, at)
        return
    superseded = pause.get("supersedes_answer_action_id")
    if superseded is not None:
        supersede(run, superseded, record.action_id)
    _record_answer(run, answer, at)
    _void_current(run)
    run.pending = []
    declined = pause["reason"] == "destructive_confirmation_required"
    _issue(run, "orient", prose.BRIEFS["declined" if declined else "decision"], data, at)


def _record_answer(run: Run, answer: dict[str, Any], at: str) -> None:
    run.answers.append(answer | {"at": at})
    run.touched_answers.add(len(run.answers))
    if answer["active"] and answer["text"]:
        run.decision_items[answer["action_id"]] = decision_item(answer["action_id"], answer["text"])


def supersede(run: Run, action_id: str, by: str) -> None:
    """Deactivate an answer; its decision leaves the context of later Actions."""
    for number, answer in enumerate(run.answers, 1):
        if answer["action_id"] == action_id and answer["active"]:
            at = answer.pop("at")
            answer |= {"active": False, "superseded_by": by, "at": at}
            run.touched_answers.add(number)
            run.decision_items.pop(action_id, None)


def _confirmed(run: Run, record: Record, answer: dict[str, Any], data: dict[str, Any], at: str) -> None:
    """A grant for exactly the requested scope, and the Implement that may use it (§4.7).

    Raises :class:`ValueError` when the scope on record is not the confirmed one, which no command writes (§2.1).
    """
    request = run.pending_request
    assert request is not None
    if scope_sha256(request) != data["scope_sha256"]:
        raise ValueError("the scope on record is not the confirmed one")
    _record_answer(run, answer, at)
    if run.remaining_budget < 1:
        _void_current(run)
        run.pending_request = run.grant = None
        pause(run, "budget_exhausted")
        return
    _drop_pending(run, prose.DESTRUCTIVE_CONFIRMED)
    run.grant = {
        "request_id": request["request_id"],
        "originating_action_id": record.action_id,
        "scope_version": 1,
        "scope_sha256": request["scope_sha256"],
        "targets": request["targets"],
        "impact": request["impact"],
        "confirmed_at": at,
    }
    _issue(run, "implement", prose.BRIEFS["confirmed"], data, at)


def _skipped(run: Run, at: str, data: dict[str, Any]) -> None:
    record = run.by_id[data["action_id"]]
    record.skipped = True
    run.touched_records.add(record.ordinal)
    _drop_pending(run, prose.ACTION_SKIPPED)
    run.pending_request = run.grant = run.current = None
    if record.kind == "review":
        run.review_pending = False
        _issue(run, "summarize", prose.BRIEFS["review_skipped"], data, at)
    elif record.kind == "summarize":
        _end(run, data, at, summarize_skipped=True)
    elif _look(run, data["git"], prose.GIT_FAILED_AFTER_SKIP, at):
        run.review_pending = run.review_enabled and run.changed
        if run.review_pending:
            _issue(run, "review", prose.BRIEFS["review_after_skip"], data, at)
        else:
            _issue(run, "summarize", prose.BRIEFS["action_skipped"], data, at)


def _stopped(run: Run, at: str, data: dict[str, Any]) -> None:
    _void_current(run)
    run.pending_request = run.grant = None
    run.state, run.pause_reason = "stopped", None


def resume_with(run: Run, brief: str, data: dict[str, Any], at: str) -> None:
    """Clear outstanding work, apply the budget rule, and orient afresh (§4.5, §4.7)."""
    clear_outstanding(run)
    if data["budget"]:
        run.remaining_budget = data["budget"]
    elif not run.remaining_budget:
        run.remaining_budget = max(run.initial_budget, BUDGET_REFILL)
    _issue(run, "orient", brief, data, at)


def clear_outstanding(run: Run) -> None:
    _void_current(run)
    run.pending = []
    run.pending_request = run.grant = None


def _resumed(run: Run, at: str, data: dict[str, Any]) -> None:
    run.last_resume_result = {"operation": "ad_hoc_resumed", "budget_applied": True}
    resume_with(run, prose.BRIEFS["resumed"], data, at)


EVENTS: dict[str, Callable[[Run, str, dict[str, Any]], None]] = {
    "outcome_submitted": _submitted,
    "answer_recorded": _answered,
    "action_skipped": _skipped,
    "run_stopped": _stopped,
    "run_resumed": _resumed,
}
"""What each event after ``run_started`` does (§6.2); those of a source are in ``fold_source``."""
