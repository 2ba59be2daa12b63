"""What a command may do to a Run, in the order of its checks: machine-protocol §4.2, §4.7 and the table of §6.8."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from slipway_lite.errors import SlipwayError
from slipway_lite.protocol import commands
from slipway_lite.protocol import next as following
from slipway_lite.protocol.resume import Mode
from tests.protocol.model import DIRTY, FAILED, RUN_ID, Model
from tests.protocol.outcomes import decision, destructive, environment, outcome, request
from tests.protocol.source.change import Change
from tests.protocol.valid_next import check as check_next

OTHER = "sha256:" + "0" * 64


def refused(model: Model, attempt: Callable[[], Any], code: str, *, resume_only: bool = False) -> SlipwayError:
    """Assert the refusal with its details and ``next``, and that the Run is as it was."""
    before, events = model.status(), len(model.events)
    with pytest.raises(SlipwayError) as caught:
        attempt()
    error = caught.value
    assert (error.code, error.exit_code) == (code, 3)
    assert error.details == {"run_id": RUN_ID, "state": model.run.state}
    step = following.derive_resume(model.run) if resume_only else following.derive(model.run)
    assert error.next == check_next(step)
    assert (model.status(), len(model.events)) == (before, events)
    _check_message(model, error)
    return error


def _check_message(model: Model, error: SlipwayError) -> None:
    """A refusal says where the Run is, and what it says works is what ``next`` offers."""
    standing = {"active": "is active", "stopped": "is stopped", "ended": "has ended"}
    assert (model.run.pause_reason or standing.get(model.run.state, "")) in error.message
    assert error.next is not None
    possible, offered = following.derive(model.run)["operation"], error.next["operation"]
    stop_first = offered == "resume" and possible not in ("resume", "none")
    assert error.message.endswith(commands.STOP_FIRST if stop_first else commands.WHAT_WORKS[offered])


def sent_in(state: str) -> tuple[Model, dict[str, Any]]:
    """A Run in ``state`` and an Outcome that it accepted on the way, whose record was not voided."""
    model = Model()
    if state == "paused":
        return model, model.to_implement().submit("needs_input", pause=decision())
    document = model.submit()
    if state == "stopped":
        model.stop()
    elif state == "ended":
        model.to_end()
    assert model.run.state == state
    return model, document


STATES = ["active", "paused", "stopped", "ended"]

# -- submit (§4.2)


@pytest.mark.parametrize("state", STATES)
def test_an_identical_submit_succeeds_in_every_state_and_writes_nothing(state: str) -> None:
    model, document = sent_in(state)
    before, events = model.status(), len(model.events)
    assert model.submit_document(document) is False
    assert (model.status(), len(model.events)) == (before, events)


@pytest.mark.parametrize("state", STATES)
def test_another_outcome_for_the_same_action_conflicts_in_every_state(state: str) -> None:
    model, document = sent_in(state)
    refused(model, lambda: model.submit_document(document | {"summary": "other"}), "outcome_conflict")


@pytest.mark.parametrize("state", STATES)
def test_the_same_meaning_in_other_bytes_conflicts(state: str) -> None:
    model, document = sent_in(state)
    refused(model, lambda: model.submit_document(document, OTHER), "outcome_conflict")


def voided_with_outcome(state: str) -> tuple[Model, dict[str, Any]]:
    model = Model()
    document = model.submit("needs_input", pause=decision())
    model.answer("go")
    if state == "paused":
        model.submit("needs_input", pause=decision())
    elif state == "stopped":
        model.stop()
    elif state == "ended":
        model.to_end()
    assert model.run.state == state
    return model, document


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("identical", [True, False])
def test_a_voided_outcome_is_stale_identical_or_not(state: str, identical: bool) -> None:
    model, document = voided_with_outcome(state)
    again = document if identical else document | {"summary": "other"}
    refused(model, lambda: model.submit_document(again), "stale_action")


def test_a_voided_action_without_an_outcome_is_stale_only_while_active_or_paused() -> None:
    model = Model()
    document = outcome("orient", action_id="act-1")
    model.stop()
    refused(model, lambda: model.submit_document(document), "run_not_active")
    model.resume()
    refused(model, lambda: model.submit_document(document), "stale_action")
    model.submit("needs_input", pause=decision())
    refused(model, lambda: model.submit_document(document), "stale_action")


@pytest.mark.parametrize("state", ["paused", "stopped", "ended"])
def test_a_run_that_is_not_active_takes_no_outcome(state: str) -> None:
    model, _ = sent_in(state)
    refused(model, lambda: model.submit_document(outcome("orient", action_id="act-99")), "run_not_active")


def test_a_budget_pause_takes_no_outcome() -> None:
    model = Model(budget=1)
    model.submit()
    refused(model, lambda: model.submit_document(outcome("orient", action_id="act-99")), "run_not_active")


def test_a_skipped_action_without_an_outcome_is_stale() -> None:
    model = Model()
    model.skip()
    refused(model, lambda: model.submit_document(outcome("orient", action_id="act-1")), "stale_action")


def test_an_unknown_action_is_stale() -> None:
    model = Model()
    refused(model, lambda: model.submit_document(outcome("orient", action_id="act-99")), "stale_action")


def test_meaning_is_checked_last_and_says_what_works_without_details() -> None:
    model = Model()
    for document in (outcome("orient", action_id="act-1", summary=" "), outcome("implement", action_id="act-1")):
        with pytest.raises(SlipwayError) as caught:
            model.submit_document(document)
        assert (caught.value.code, caught.value.exit_code) == ("invalid_outcome", 3)
        assert caught.value.details is None
        assert caught.value.next == following.derive(model.run)
    with pytest.raises(SlipwayError) as caught:  # the argument is the Action, the document names another
        commands.submit(model.run, "act-1", outcome("orient", action_id="act-2"), OTHER)
    assert caught.value.code == "invalid_outcome"


# -- supersession (§3.5)


def superseding(model: Model, answered: str) -> Callable[[], Any]:
    pause = decision(supersedes_answer_action_id=answered)
    document = outcome(model.current.kind, "needs_input", action_id=model.current.action_id, pause=pause)
    return lambda: model.submit_document(document)


def with_decision(model: Model | None = None) -> Model:
    model = model or Model()
    model.submit("needs_input", pause=decision())
    model.answer("stable")
    return model


def test_an_active_decision_may_be_superseded() -> None:
    model = with_decision()
    assert superseding(model, "act-1")() is True
    assert model.run.pause_reason == "decision_required"


def test_an_action_without_an_answer_cannot_be_superseded() -> None:
    model = with_decision()
    for other in ("act-99", model.current.action_id):
        refused(model, superseding(model, other), "invalid_decision_supersession")


def test_a_superseded_decision_cannot_be_superseded_again() -> None:
    model = with_decision()
    superseding(model, "act-1")()
    model.answer("beta")
    refused(model, superseding(model, "act-1"), "invalid_decision_supersession")
    assert superseding(model, "act-2")() is True


def test_a_destructive_confirmation_cannot_be_superseded() -> None:
    model = Model()
    scope = model.to_destructive()
    model.answer("fine", confirm=True, scope=scope)
    refused(model, superseding(model, "act-2"), "invalid_decision_supersession")


def test_a_decline_is_a_decision_and_may_be_superseded() -> None:
    model = Model()
    model.to_destructive()
    model.answer("rather not")
    assert superseding(model, "act-2")() is True


def test_a_decision_under_other_requirements_cannot_be_superseded() -> None:
    model = with_decision(Model(source=Change().snapshot()))
    assert model.run.answers[0]["requirements_revision"] == model.run.requirements_revision
    model.run.answers[0]["requirements_revision"] = OTHER  # as an older pin would have left it
    with pytest.raises(SlipwayError) as caught:
        superseding(model, "act-1")()
    assert caught.value.code == "invalid_decision_supersession"
    ad_hoc = with_decision()
    ad_hoc.run.answers[0]["requirements_revision"] = OTHER
    with pytest.raises(SlipwayError) as caught:
        superseding(ad_hoc, "act-1")()
    assert caught.value.code == "invalid_decision_supersession"


def test_the_outcome_itself_is_checked_before_what_it_supersedes() -> None:
    model = Model()
    pause = decision(supersedes_answer_action_id="act-99", question=" ")
    document = outcome("orient", "needs_input", action_id="act-1", pause=pause)
    with pytest.raises(SlipwayError) as caught:
        model.submit_document(document)
    assert caught.value.code == "invalid_outcome"


# -- answer (§4.7)


def answered_in(state: str) -> tuple[Model, str]:
    model = Model()
    model.submit("needs_input", pause=decision())
    model.answer("stable")
    if state == "paused":
        model.submit("needs_input", pause=environment())
    elif state == "stopped":
        model.stop()
    elif state == "ended":
        model.to_end()
    assert model.run.state == state
    return model, "act-1"


@pytest.mark.parametrize("state", STATES)
def test_an_identical_answer_succeeds_in_every_state_and_writes_nothing(state: str) -> None:
    model, action_id = answered_in(state)
    before = model.status()
    assert model.answer("stable", action_id=action_id) is False
    assert model.status() == before


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(
    ("text", "confirm", "scope"),
    [("Stable", False, ""), ("stable\n", False, ""), (None, False, ""), ("stable", True, ""), ("stable", False, OTHER)],
)
def test_another_answer_conflicts_in_every_state(state: str, text: str | None, confirm: bool, scope: str) -> None:
    model, action_id = answered_in(state)
    refused(model, lambda: model.answer(text, confirm, scope, action_id=action_id), "answer_conflict")


@pytest.mark.parametrize("state", ["active", "stopped", "ended"])
def test_a_run_that_is_not_paused_expects_no_answer(state: str) -> None:
    model, _ = sent_in(state)
    refused(model, lambda: model.answer("x", action_id="act-1"), "answer_not_expected")


def test_a_budget_pause_expects_no_answer() -> None:
    model = Model(budget=1)
    model.submit()
    refused(model, lambda: model.answer("x", action_id="act-1"), "answer_not_expected")


@pytest.mark.parametrize("by_git", [True, False])
def test_an_environment_pause_is_not_answered_and_offers_a_resume_only(by_git: bool) -> None:
    model = Model()
    if by_git:
        model.git = FAILED
        model.submit()
    else:
        model.submit("needs_input", pause=environment())
    error = refused(model, lambda: model.answer("x", action_id="act-1"), "answer_not_allowed", resume_only=True)
    assert error.next is not None
    assert [variant["id"] for variant in error.next["variants"]] == ["resume-ad-hoc"]


@pytest.mark.parametrize("action_id", ["act-99", "act-1", "\udcff"], ids=ascii)
def test_an_answer_to_another_action_is_stale(action_id: str) -> None:
    model = Model().to_implement()
    model.submit("needs_input", pause=decision())
    refused(model, lambda: model.answer("x", action_id=action_id), "stale_action")


def test_a_pending_source_candidate_takes_no_answer() -> None:
    model = Model(source=Change().snapshot())
    model.stop()
    change = Change().amend(2, "Must fly.\n", model.run.requirements_revision or "")
    model.resume(mode=Mode(classification=change.classify()))
    assert model.run.pause_reason == "decision_required"
    refused(model, lambda: model.answer("adopt", action_id="act-1"), "stale_action")


@pytest.mark.parametrize(("confirm", "scope"), [(True, OTHER), (True, ""), (False, OTHER), (False, "x")])
def test_a_decision_has_nothing_to_confirm(confirm: bool, scope: str) -> None:
    model = Model()
    model.submit("needs_input", pause=decision())
    refused(model, lambda: model.answer("yes", confirm, scope), "destructive_confirmation_not_expected")


@pytest.mark.parametrize("text", [None, "", " \t\u2028\u3000"])
@pytest.mark.parametrize("waits", [decision(), destructive()])
def test_a_decision_or_a_decline_needs_text(text: str | None, waits: dict[str, Any]) -> None:
    model = Model().to_implement()
    model.submit("needs_input", pause=waits)
    refused(model, lambda: model.answer(text), "answer_required")


@pytest.mark.parametrize("scope", ["", "x", OTHER.upper(), OTHER + "\n", OTHER[:-1]])
def test_a_confirmation_needs_a_digest(scope: str) -> None:
    model = Model()
    model.to_destructive()
    refused(model, lambda: model.answer("yes", True, scope), "destructive_scope_required")


def test_a_confirmation_needs_the_very_digest() -> None:
    model = Model()
    model.to_destructive()
    refused(model, lambda: model.answer("yes", True, OTHER), "destructive_scope_mismatch")


def test_a_digest_without_the_flag_is_refused() -> None:
    model = Model()
    scope = model.to_destructive()
    refused(model, lambda: model.answer("yes", False, scope), "destructive_confirmation_flag_required")


def test_a_destructive_pause_without_its_request_is_refused() -> None:
    model = Model()
    scope = model.to_destructive()
    model.run.pending_request = None  # no event leads here
    refused(model, lambda: model.answer("", True, scope), "destructive_request_missing")


def forged(model: Model, **fields: Any) -> None:
    """Change the request on record, as no event could."""
    assert model.run.pending_request is not None
    model.run.pending_request = model.run.pending_request | fields


def test_a_scope_that_changed_on_record_is_never_granted() -> None:
    model = Model()
    scope = model.to_destructive()
    forged(model, targets=[{"kind": "path", "value": "/"}])
    refused(model, lambda: model.answer("", True, scope), "destructive_scope_changed")


def test_a_request_that_is_not_valid_on_record_is_never_granted() -> None:
    model = Model()
    model.to_destructive()
    invalid = request(targets=())
    forged(model, **invalid)
    refused(model, lambda: model.answer("", True, invalid["scope_sha256"]), "invalid_destructive_request")


def test_a_second_grant_is_never_given() -> None:
    model = Model()
    scope = model.to_destructive()
    model.run.grant = {"scope_sha256": scope}  # no event leaves a grant behind in a pause
    refused(model, lambda: model.answer("", True, scope), "destructive_grant_conflict")


def test_the_text_is_kept_to_the_byte() -> None:
    model = Model()
    model.submit("needs_input", pause=decision())
    text = "\ufeff  stable\r\n\r\n"
    model.answer(text)
    assert model.status()["answers"][0]["text"] == text
    assert model.answer(text, action_id="act-1") is False


def test_a_confirmation_without_budget_is_refused_again_each_time_until_a_resume() -> None:
    model = Model(budget=2)
    scope = model.to_destructive()
    assert model.answer("", True, scope) is True
    before, events = model.status(), len(model.events)
    for _ in range(2):
        refused(model, lambda: model.answer("", True, scope, action_id="act-2"), "budget_exhausted", resume_only=True)
    refused(model, lambda: model.answer("no", action_id="act-2"), "answer_conflict")
    assert (model.status(), len(model.events)) == (before, events)
    model.stop()
    assert model.answer("", True, scope, action_id="act-2") is False
    model.resume()
    assert model.answer("", True, scope, action_id="act-2") is False


def test_a_confirmation_that_was_paid_for_replays_as_a_success() -> None:
    model = Model(budget=3)
    scope = model.to_destructive()
    model.answer("", True, scope)
    assert model.run.remaining_budget == 0
    assert model.answer("", True, scope, action_id="act-2") is False
    # Budget ran out later, and not for this confirmation's Implement: §4.7 refuses it all the same.
    model.submit()
    assert model.run.pause_reason == "budget_exhausted"
    refused(model, lambda: model.answer("", True, scope, action_id="act-2"), "budget_exhausted", resume_only=True)


def test_answer_vectors_of_appendix_a_4() -> None:
    action_id = "11111111-1111-4111-8111-111111111111"
    assert commands.answer_sha256(action_id, False, "", "stable") == (
        "sha256:0d832e93bbbba6ce32efc4b745683fa573747f38653767ae3a15d948e6b0bd57"
    )
    assert commands.answer_sha256(action_id, True, "sha256:" + "a" * 64, "") == (
        "sha256:19181c4d317ef737c58d28298affca84a0b033a703fee2f3ba7253128e106893"
    )


# -- skip and stop (§4.7)


@pytest.mark.parametrize("state", ["stopped", "ended"])
def test_a_run_at_rest_has_nothing_to_skip(state: str) -> None:
    model, _ = sent_in(state)
    refused(model, lambda: model.skip("act-1"), "run_not_skippable")


def test_a_skip_is_never_idempotent() -> None:
    model = Model()
    model.skip("act-1")
    refused(model, lambda: model.skip("act-1"), "stale_action")
    model.skip()
    assert model.run.state == "ended"
    refused(model, lambda: model.skip("act-2"), "run_not_skippable")


def test_a_pause_without_a_current_action_has_nothing_to_skip() -> None:
    model = Model(budget=1)
    model.submit()
    refused(model, lambda: model.skip("act-1"), "stale_action")


def test_an_ended_run_cannot_be_stopped() -> None:
    model = Model().to_end()
    refused(model, model.stop, "run_already_ended")


@pytest.mark.parametrize("state", ["active", "paused", "stopped"])
def test_any_other_run_can_be_stopped_and_each_stop_is_an_event(state: str) -> None:
    model, _ = sent_in(state)
    events = len(model.events)
    assert model.stop() is True
    first = model.status()
    assert model.stop() is True
    assert len(model.events) == events + 2
    assert {**model.status(), "updated_at": ""} == {**first, "updated_at": ""}


def test_an_answer_that_cannot_be_shown_in_a_context_is_refused_and_may_be_sent_again() -> None:
    model = Model()
    model.submit("needs_input", pause=decision())
    before = model.status()
    with pytest.raises(SlipwayError) as caught:
        model.answer("a\x01b")
    assert caught.value.code == "invalid_action"
    assert model.status() == before
    assert model.answer("ab") is True


def test_refusals_do_not_depend_on_what_git_shows() -> None:
    model = Model()
    model.git = DIRTY
    refused(model, lambda: model.skip("act-99"), "stale_action")
    model.git = FAILED
    refused(model, lambda: model.skip("act-99"), "stale_action")
