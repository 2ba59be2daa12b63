"""Fold imported events into a Run, so that everything that reads or continues one works on it. Pure.

What the published command line wrote is taken as it is: its briefs, contexts and prose are never derived again. What
our read tables need besides (looks at git, whether a brief was the host's) is read out of the difference.
"""

from __future__ import annotations

from slipway_lite.protocol import next as following
from slipway_lite.protocol.context import decision_item, outcome_item
from slipway_lite.protocol.difference import changed_from
from slipway_lite.protocol.fold import OBSERVED_KINDS
from slipway_lite.protocol.imported import delta as deltas
from slipway_lite.protocol.imported.conform import Misshapen
from slipway_lite.protocol.imported.invariants import check, check_start
from slipway_lite.protocol.run import Record, Run
from slipway_lite.protocol.source.refresh import remember
from slipway_lite.text import trim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slipway_lite.protocol.imported.delta import Delta, State


class Imported:
    """One imported Run while its events are folded, each checked against the state that the one before left."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._run: Run | None = None
        self._state = deltas.BLANK
        self.facts: dict[str, Any] = {}
        """Of the last event: the ``data`` of an event of ours that says the same, as far as an audit needs it."""

    def fold(self, kind: str, at: str, raw: str) -> Run:
        """The Run after one more event, whose ``data`` is the text ``raw``.

        It is the same object each time. Raises :class:`Misshapen` for an event that does not follow from those before;
        the Run is of no use then.
        """
        delta, before = deltas.decode_delta(raw), self._state
        if (kind == "run_started") != (self._run is None) or ("initialize" in delta) != (self._run is None):
            raise Misshapen("a Run is started by its first record and by no other")
        if delta["run_id"] != self._run_id:
            raise Misshapen("the record belongs to another Run")
        if self._run is None:
            check_start(delta)
            start = delta["initialize"]
            self._run = Run(self._run_id, start["created_at"], start)
        run = self._run
        run.forget_touched()
        after = deltas.follow(before, delta)
        check(run, kind, before, after)
        self.facts = _facts(run, kind, _take_in(run, kind, at, delta, before, after))
        if not following.is_valid(following.derive(run)):
            raise Misshapen("what works next cannot be said as a command line")
        self._state = after
        run.imported_count += 1
        return run


def _facts(run: Run, kind: str, subject: Record | None) -> dict[str, Any]:
    if kind == "answer_recorded":
        return run.answers[-1]
    if subject is None:
        return {}
    return {
        "action_id": subject.action_id,
        "outcome": subject.outcome,
        "outcome_payload_sha256": subject.outcome_payload_sha256,
    }


def _take_in(run: Run, kind: str, at: str, delta: Delta, before: State, after: State) -> Record | None:
    """Bring ``run`` from ``before`` to ``after``; the record that the event reports on or skips, if any."""
    run.updated_at = delta["updated_at"]
    run.state, run.pause_reason = after["state"], after["pause_reason"] or None
    run.review_pending, run.remaining_budget = after["review_pending"], after["remaining_budget"]
    run.final_git_observed, run.summary = after["final_git_observed"], after["summary"] or None
    if after["current_git"] is not before["current_git"]:
        run.current_git = after["current_git"]
        run.changed = changed_from(run.current_git, run.initial_git)
    if after["pinned_source"] is not before["pinned_source"]:
        run.pinned_source = after["pinned_source"]
        run.accepted_sections = remember(run.accepted_sections, after["pinned_source"])
    run.source_candidate = after["source_candidate"]
    run.last_source_choice, run.last_resume_result = after["last_source_choice"], after["last_resume_result"]
    run.pending_request, run.grant = after["pending_destructive_request"], after["destructive_grant"]
    for name in ("observations", "known_issues", "uncertainties", "activities", "answers", "pending"):
        setattr(run, name, list(after[name]))
    run.choices = {
        item["receipt"]["candidate_id"]: (item["receipt"], item["result"])
        for item in after["source_choice_resolutions"]
    }
    subject = _records(run, kind, at, before, after)
    current = after["current_action"]
    run.current = None if current is None else run.by_id[current["action_id"]]
    run.touched_answers.update(item["index"] + 1 for item in delta.get("answer_updates", ()))
    run.touched_answers.update(range(len(before["answers"]) + 1, len(after["answers"]) + 1))
    _keep_items(run)
    _look(run, kind, at, delta, subject)
    return subject


def _records(run: Run, kind: str, at: str, before: State, after: State) -> Record | None:
    """Take in what the event did to records: the one that it reports on or skips, if any."""
    subject: Record | None = None
    for number, document in enumerate(after["actions"], 1):
        if number > len(before["actions"]):
            _issue(run, kind, at, document["action"], subject, before)
            continue
        if document is before["actions"][number - 1]:
            continue
        record = run.records[number - 1]
        if "outcome" in document and record.outcome is None:
            _report(run, record, document, at)
        if (kind == "outcome_submitted" and run.reported is record) or ("skipped" in document and not record.skipped):
            subject = record
        record.voided, record.skipped = "voided" in document, "skipped" in document
        run.touched_records.add(number)
    return subject


def _report(run: Run, record: Record, document: dict[str, Any], at: str) -> None:
    outcome = document["outcome"]
    record.outcome, record.outcome_at = outcome, at
    record.outcome_payload_sha256 = document["outcome_payload_sha256"]
    run.reported = record
    run.finding_count += len((outcome["review"] or {}).get("findings", ()))


def _issue(run: Run, kind: str, at: str, action: dict[str, Any], subject: Record | None, before: State) -> None:
    brief, host_brief = action["brief"], False
    if kind == "outcome_submitted" and subject is not None and subject.outcome is not None:
        for suggestion in [*before["pending"], *subject.outcome["suggested_actions"]][:1]:
            if suggestion["kind"] == action["kind"] and brief.startswith(trim(suggestion["brief"])):
                brief, host_brief = suggestion["brief"], True
    authorization = action.get("destructive_authorization")
    record = Record(run, action["action_id"], action["kind"], brief, host_brief, authorization, at)
    record.issued, record.remaining_budget = action, action["remaining_budget"]
    record.decisions = record.outcomes = ()
    run.records.append(record)
    run.by_id[record.action_id] = record
    run.touched_records.add(record.ordinal)


def _keep_items(run: Run) -> None:
    """The context items of Actions that are yet to be issued (§4.6)."""
    decisions, outcomes = run.decision_items, run.outcome_items
    run.decision_items = {
        answer["action_id"]: decisions.get(answer["action_id"]) or decision_item(answer["action_id"], answer["text"])
        for answer in run.answers
        if answer["active"]
        and answer["text"]
        and not answer["confirm_destructive"]
        and answer.get("requirements_revision") == run.requirements_revision
    }
    run.outcome_items = {
        record.action_id: outcomes.get(record.action_id) or outcome_item(record.kind, record.action_id, record.outcome)
        for record in run.records
        if record.outcome is not None and not record.voided
    }


def _look(run: Run, kind: str, at: str, delta: Delta, subject: Record | None) -> None:
    """The look at git that the event tells of, if any (§4.3, §4.7, §4.8)."""
    if kind == "run_started":
        run.looked(at, "observed", run.initial_git)
        return
    ended = run.state == "ended"
    if not ended and (subject is None or subject.kind not in OBSERVED_KINDS):
        return
    if _failed(run, delta):
        run.looked(at, "failed", None)
    else:
        run.looked(at, "observed" if "current_git" in delta else "unchanged", run.current_git)


def _failed(run: Run, delta: Delta) -> bool:
    """A look that failed at the end is said by a flag; before, by a pause and one known issue more than reported."""
    if run.state == "ended":
        return not run.final_git_observed
    outcome = run.reported.outcome if run.reported is not None else None
    told = len(outcome["known_issues"]) if outcome is not None else 0
    return run.pause_reason == "environment_unavailable" and len(delta.get("known_issues_append", ())) > told
