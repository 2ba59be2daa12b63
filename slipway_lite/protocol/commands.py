"""Decide what a command does to a Run: an event to write, a replay, or a refusal (machine-protocol §4.2, §4.7). Pure.

Each function takes the Run as it is and the facts of the request, checks in the order of the specification, and
returns the kind and the data of the event to append; ``None`` means that the same request was accepted before, so
that the Run as it is now is the answer and nothing is written. A refusal is a :class:`SlipwayError` that carries the
``next`` and the run-state details of the Run it was refused on.
"""

from __future__ import annotations

from slipway_lite.canon import framed, is_digest
from slipway_lite.errors import SlipwayError
from slipway_lite.protocol import next as following
from slipway_lite.protocol import rules
from slipway_lite.protocol.rules import DECISION, DESTRUCTIVE, ENVIRONMENT, validate
from slipway_lite.text import is_blank, is_md

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slipway_lite.protocol.run import Run

    Event = tuple[str, dict[str, Any]]

WHAT_WORKS = {
    "action": "Hand in the Outcome of its current Action, or skip that Action.",
    "answer": "Answer the question of its current Action, or skip that Action.",
    "resume": "Resume it.",
    "none": "Start a new Run for further work.",
}
STOP_FIRST = "Stop it first; a stopped Run can be resumed."


def standing(run: Run) -> str:
    """One clause on where ``run`` is, for a person."""
    if run.state == "paused":
        return f"The Run is paused ({run.pause_reason})"
    return {"active": "The Run is active", "stopped": "The Run is stopped", "ended": "The Run has ended"}[run.state]


def refusal(run: Run, code: str, why: str, *, resume_only: bool = False, bare: bool = False) -> SlipwayError:
    """A refusal that says where the Run is, why, and what works now, in agreement with its ``next``."""
    step = following.derive(run)
    works = WHAT_WORKS[step["operation"]]
    if resume_only and step["operation"] not in ("resume", "none"):
        works = STOP_FIRST
    if resume_only:
        step = following.derive_resume(run)
    return SlipwayError(
        code,
        f"{standing(run)}: {why} {works}",
        details=None if bare else {"run_id": run.run_id, "state": run.state},
        next=step,
    )


def answer_sha256(action_id: str, confirm: bool, scope_sha256: str, text: str) -> str:
    """The digest that identifies an answer (§3.7); how the text came in is not part of it."""
    return framed("slipway-answer/v1", action_id, "true" if confirm else "false", scope_sha256, text)


def submit(run: Run, action_id: str, outcome: dict[str, Any], payload_sha256: str) -> Event | None:
    """``outcome_submitted`` for an Outcome of the exact shape and the digest of its raw bytes."""
    record = run.by_id.get(action_id)
    if record is not None and record.outcome is not None:
        if record.voided:
            raise refusal(run, "stale_action", "this Action was voided, so its Outcome no longer counts.")
        if record.outcome_payload_sha256 == payload_sha256:
            return None
        raise refusal(run, "outcome_conflict", "this Action already has another Outcome, and the first one stands.")
    if run.state in ("stopped", "ended"):
        raise refusal(run, "run_not_active", "it takes no Outcome.")
    if record is not None and record.voided:
        raise refusal(run, "stale_action", "this Action was voided, so it takes no Outcome.")
    if run.state != "active":
        raise refusal(run, "run_not_active", "it takes no Outcome until that is settled.")
    if run.current is None or run.current.action_id != action_id:
        raise refusal(run, "stale_action", "this is not its current Action.")
    try:
        validate(outcome, action_id, run.current.kind)
    except SlipwayError as error:
        error.next = following.derive(run)
        raise
    _check_supersession(run, outcome)
    data = {"action_id": action_id, "outcome": outcome, "outcome_payload_sha256": payload_sha256}
    return "outcome_submitted", data


def _check_supersession(run: Run, outcome: dict[str, Any]) -> None:
    """§3.5: only an active decision of the current requirements can be superseded."""
    superseded = (outcome["pause"] or {}).get("supersedes_answer_action_id")
    if superseded is None:
        return
    answer = run.answer_for(superseded)
    if (
        answer is None
        or not answer["active"]
        or answer["confirm_destructive"]
        or answer.get("requirements_revision") != run.requirements_revision
    ):
        raise refusal(
            run,
            "invalid_decision_supersession",
            "the answer that the pause wants to supersede is no active decision.",
        )


def answer(run: Run, action_id: str, text: str | None, confirm: bool, scope_sha256: str) -> Event | None:
    """``answer_recorded`` for a decision, a decline, or a destructive confirmation."""
    recorded = run.answer_for(action_id)
    if recorded is not None:
        if recorded["payload_sha256"] != answer_sha256(action_id, confirm, scope_sha256, text or ""):
            raise refusal(run, "answer_conflict", "this Action already has another answer, and the first one stands.")
        if recorded["confirm_destructive"]:
            refuse_unaffordable(run)
        return None
    if run.state != "paused":
        raise refusal(run, "answer_not_expected", "it waits for no answer.")
    if run.pause_reason == ENVIRONMENT:
        raise refusal(
            run,
            "answer_not_allowed",
            "an unavailable environment is mended and then resumed from, not answered.",
            resume_only=True,
        )
    if run.pause_reason not in (DECISION, DESTRUCTIVE):
        raise refusal(run, "answer_not_expected", "it waits for no answer.")
    if run.current is None or run.current.action_id != action_id:
        raise refusal(run, "stale_action", "this is not the Action that waits for an answer.")
    if run.pause_reason == DECISION:
        if confirm or scope_sha256:
            raise refusal(
                run,
                "destructive_confirmation_not_expected",
                "it waits for a decision; there is nothing to confirm.",
            )
    elif confirm or scope_sha256:
        _check_confirmation(run, confirm, scope_sha256)
    if not confirm and is_blank(text or ""):
        raise refusal(run, "answer_required", "the answer is blank.")
    if not confirm and not is_md(text or ""):
        # Even where no budget is left for the next Action: on record it would spoil the context of every later one.
        raise refusal(run, "invalid_action", "the answer would carry a control character into the context.", bare=True)
    data = {
        "action_id": action_id,
        "text": text or "",
        "confirm_destructive": confirm,
        "payload_sha256": answer_sha256(action_id, confirm, scope_sha256, text or ""),
    }
    if confirm:
        data["scope_sha256"] = scope_sha256
    return "answer_recorded", data


def _check_confirmation(run: Run, confirm: bool, scope_sha256: str) -> None:
    if not confirm:
        raise refusal(
            run,
            "destructive_confirmation_flag_required",
            "a scope digest counts only with --confirm-destructive.",
        )
    if not is_digest(scope_sha256):
        raise refusal(
            run,
            "destructive_scope_required",
            "a confirmation names its scope as sha256: and 64 hexadecimal digits.",
        )
    request = run.pending_request
    if request is None:
        raise refusal(run, "destructive_request_missing", "no destructive request is on record.")
    # What is about to be destroyed is checked once more, however it got on record.
    if request["scope_sha256"] != rules.scope_sha256(request):
        raise refusal(run, "destructive_scope_changed", "the scope on record is not the one that its digest names.")
    if rules.scope_problem(request) is not None:
        raise refusal(run, "invalid_destructive_request", "the destructive request on record is not valid.")
    if run.grant is not None:
        raise refusal(run, "destructive_grant_conflict", "another destructive grant is on record.")
    if request["scope_sha256"] != scope_sha256:
        raise refusal(run, "destructive_scope_mismatch", "the digest is not that of the requested scope.")


def refuse_unaffordable(run: Run) -> None:
    """A confirmation that found no budget is on record all the same, and says so each time (§4.7)."""
    if run.state == "paused" and run.pause_reason == "budget_exhausted" and not run.remaining_budget:
        raise refusal(
            run,
            "budget_exhausted",
            "the confirmation is on record, but no budget is left for the Implement.",
            resume_only=True,
        )


def skip(run: Run, action_id: str) -> Event:
    """``action_skipped`` for the current Action; never idempotent."""
    if run.state not in ("active", "paused"):
        raise refusal(run, "run_not_skippable", "there is nothing to skip.")
    if run.current is None or run.current.action_id != action_id:
        raise refusal(run, "stale_action", "this is not its current Action.")
    return "action_skipped", {"action_id": action_id}


def stop(run: Run) -> Event:
    """``run_stopped``; stopping again is another event with the same answer."""
    if run.state == "ended":
        raise refusal(run, "run_already_ended", "there is nothing to stop.")
    return "run_stopped", {}
