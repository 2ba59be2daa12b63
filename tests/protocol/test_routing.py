"""Where a Run goes after each step (machine-protocol §4.3, §4.4, §4.5, §4.7), one sentence of the rule a test."""

from __future__ import annotations

from typing import Any

import pytest

from slipway_lite.protocol import prose
from tests.protocol.model import CLEAN, DIRTY, FAILED, Model, git
from tests.protocol.outcomes import (
    activity,
    decision,
    destructive,
    environment,
    implementation,
    review,
    suggestion,
)


def kinds(model: Model) -> list[str]:
    return [record.kind for record in model.run.records]


def standing(model: Model) -> tuple[str, str | None, str | None, int]:
    run = model.run
    return run.state, run.pause_reason, run.current.kind if run.current else None, run.remaining_budget


def has(token: str, texts: list[str]) -> int:
    return sum(text.startswith(token) for text in texts)


# -- choosing the next Action (§4.4)


def test_without_a_suggestion_summarize_follows_and_then_the_end() -> None:
    model = Model()
    model.submit()
    assert standing(model) == ("active", None, "summarize", 6)
    model.submit()
    assert standing(model) == ("ended", None, None, 6)
    assert kinds(model) == ["orient", "summarize"]


@pytest.mark.parametrize("kind", ["clarify", "implement", "summarize"])
def test_a_suggestion_is_followed_while_the_tree_is_as_at_the_start(kind: str) -> None:
    model = Model()
    model.submit(suggested_actions=[suggestion(kind, " do \n this ")])
    assert model.current.kind == kind
    assert model.status()["current_action"]["brief"] == "do \n this"
    assert model.run.pending == []


def test_clarify_may_suggest_clarify_without_end_but_for_the_budget() -> None:
    model = Model(budget=5)
    while model.run.state == "active":
        model.submit(suggested_actions=[suggestion("clarify")])
    assert kinds(model) == ["orient", *["clarify"] * 4]
    assert model.run.pause_reason == "budget_exhausted"


@pytest.mark.parametrize("kind", ["orient", "clarify", "implement"])
def test_review_is_interposed_once_something_changed(kind: str) -> None:
    model = Model()
    if kind != "orient":
        model.submit(suggested_actions=[suggestion(kind)])
    model.git = DIRTY
    model.submit()
    assert model.current.kind == "review"
    assert model.run.review_pending
    model.submit()
    assert model.current.kind == "summarize"
    assert not model.run.review_pending
    model.submit()
    assert model.run.state == "ended"


def test_a_suggestion_made_in_a_changed_tree_is_preempted_by_review() -> None:
    model = Model()
    model.git = DIRTY
    model.submit(suggested_actions=[suggestion("implement", "write it")])
    assert model.current.kind == "review"
    assert model.run.pending == []
    assert prose.unresolved_suggestion("implement", "preempted by Review", "write it") in model.run.uncertainties
    assert has("unresolved_suggestion:", model.run.uncertainties) == 1


def test_without_review_a_suggestion_is_followed_in_a_changed_tree() -> None:
    model = Model(review=False)
    model.git = DIRTY
    model.submit(suggested_actions=[suggestion()])
    assert model.current.kind == "implement"
    assert not model.run.review_pending
    model.submit()
    assert model.current.kind == "summarize"


def test_the_change_test_is_against_the_start_and_not_the_last_look() -> None:
    model = Model()
    model.git = DIRTY
    model.submit("needs_input", pause=decision())
    model.git = CLEAN
    model.answer("go")
    model.submit(suggested_actions=[suggestion()])
    assert model.current.kind == "implement"
    assert has("observed_since_start:", model.run.observations) == 1
    model.git = DIRTY
    model.submit()
    assert model.current.kind == "review"


def test_dirt_from_before_the_start_is_no_change() -> None:
    model = Model(initial=DIRTY)
    model.submit(suggested_actions=[suggestion()])
    assert model.current.kind == "implement"
    assert has("observed_since_start:", model.run.observations) == 0


@pytest.mark.parametrize("status", ["completed", "partial", "error"])
def test_what_an_implement_reports_never_routes(status: str) -> None:
    model = Model(review=False).to_implement()
    result = {"completed": "not_needed", "partial": "partial", "error": "unable"}[status]
    reported = implementation(result, activities=[activity(exit_code=1)], uncertainties=["doubt"])
    model.submit(status, implementation=reported)
    assert model.current.kind == "summarize"


@pytest.mark.parametrize(("status", "result"), [("completed", "findings_reported"), ("error", "error")])
def test_what_a_review_finds_never_routes(status: str, result: str) -> None:
    model = Model()
    model.git = DIRTY
    model.submit()
    model.submit(status, review=review(result, 2))
    assert model.current.kind == "summarize"


# -- what a submit leaves behind (§4.3)


def test_reports_are_appended_without_removing_duplicates() -> None:
    model = Model().to_implement()
    model.submit(
        observations=["same", "same"],
        known_issues=["issue", "issue"],
        implementation=implementation("not_needed", uncertainties=["u", "u"], activities=[activity(), activity()]),
    )
    assert model.run.observations == ["same", "same"]
    assert model.run.known_issues == ["issue", "issue"]
    assert model.run.uncertainties == ["u", "u"]
    assert model.run.activities == [activity(), activity()]


def test_a_review_adds_its_uncertainties_and_looks_at_nothing() -> None:
    model = Model()
    model.git = DIRTY
    model.submit()
    model.git = FAILED
    model.submit(review=review(uncertainties=["unsure"]))
    assert model.current.kind == "summarize"
    assert "unsure" in model.run.uncertainties
    assert model.run.known_issues == []


def test_a_summarize_looks_once_for_the_end() -> None:
    model = Model()
    model.submit()
    looks = model.run.git_look_count
    model.git = DIRTY
    model.submit()
    assert model.run.git_look_count == looks + 1
    assert model.run.final_git_observed
    assert model.run.current_git == DIRTY
    assert has("observed_since_start:", model.run.observations) == 1
    assert has("attribution_uncertainty:", model.run.uncertainties) == 1


def test_the_tokens_of_a_change_are_added_once() -> None:
    model = Model()
    model.git = DIRTY
    model.submit("needs_input", pause=decision())
    model.answer("go")
    model.git = git("dirtier")
    model.submit("needs_input", pause=decision())
    assert has("observed_since_start:", model.run.observations) == 1
    assert has("attribution_uncertainty:", model.run.uncertainties) == 1


@pytest.mark.parametrize(("kept", "count"), [(127, 1), (128, 2)])
def test_an_observation_is_added_again_once_128_newer_ones_hide_it(kept: int, count: int) -> None:
    model = Model()
    model.git = DIRTY
    model.submit("needs_input", pause=decision())
    model.answer("go")
    model.submit("needs_input", pause=decision(), observations=[f"seen {number}" for number in range(kept)])
    assert has("observed_since_start:", model.run.observations) == count


def test_an_uncertainty_is_added_once_however_many_stand_after_it() -> None:
    model = Model(review=False)
    model.git = DIRTY
    model.submit(suggested_actions=[suggestion()])
    many = [f"doubt {number}" for number in range(300)]
    model.submit(implementation=implementation(uncertainties=many))
    assert has("attribution_uncertainty:", model.run.uncertainties) == 1


def test_the_newest_128_observations_stand_after_one_line_for_the_rest() -> None:
    model = Model()
    model.submit("needs_input", pause=decision(), observations=[f"seen {number}" for number in range(128)])
    assert len(model.status()["observations"]) == 128
    model.answer("go")
    model.submit("needs_input", pause=decision(), observations=["a", "b"])
    shown = model.status()["observations"]
    assert shown[0] == "...[2 earlier observations in journal]"
    assert (shown[1], shown[-1], len(shown)) == ("seen 2", "b", 129)


@pytest.mark.parametrize(
    ("result", "status", "changed", "told"),
    [
        ("applied", "completed", False, True),
        ("applied", "completed", True, False),
        ("partial", "partial", False, True),
        ("partial", "partial", True, False),
        ("not_needed", "completed", True, True),
        ("not_needed", "completed", False, False),
        ("unable", "error", True, True),
        ("unable", "error", False, False),
    ],
)
def test_a_report_that_git_does_not_bear_out_is_a_discrepancy(
    result: str, status: str, changed: bool, told: bool
) -> None:
    model = Model().to_implement()
    model.git = DIRTY if changed else CLEAN
    model.submit(status, implementation=implementation(result))
    found = [text for text in model.run.observations if text.startswith("report_discrepancy:")]
    assert bool(found) is told
    if told:
        assert result in found[0]
        assert ("no difference" in found[0]) is not changed


def test_content_that_was_not_seen_is_an_uncertainty_and_no_change() -> None:
    model = Model(initial=git(complete=False))
    assert has("git_content_observation_incomplete:", model.run.uncertainties) == 1
    model.git = git(complete=False, paths=({"path": "a", "category": "c", "state": "s", "observation": "unreadable"},))
    model.submit()
    assert model.current.kind == "summarize"
    assert has("git_content_observation_incomplete:", model.run.uncertainties) == 1


def test_an_incomplete_look_later_is_an_uncertainty_too() -> None:
    model = Model()
    model.git = git(complete=False, paths=({"path": "a", "category": "c", "state": "s", "observation": "missing"},))
    model.submit()
    assert has("git_content_observation_incomplete:", model.run.uncertainties) == 1


# -- git that cannot be looked at: four places (§4.3, §4.4, §4.7)


def test_a_failure_at_a_submit_pauses_without_a_current_action() -> None:
    model = Model()
    model.git = FAILED
    model.submit(suggested_actions=[suggestion()])
    assert standing(model) == ("paused", "environment_unavailable", None, 7)
    assert model.run.known_issues == [f"Git observation failed: {FAILED}"]
    assert model.run.pending == [suggestion()]
    model.git = CLEAN
    model.resume()
    assert standing(model) == ("active", None, "orient", 6)
    assert model.run.pending == []
    assert "voided" not in model.status()["actions"][0]


@pytest.mark.parametrize("waits", [decision(), environment(), destructive()])
def test_a_failure_at_a_pause_keeps_the_current_action_and_nothing_destructive(waits: dict[str, Any]) -> None:
    model = Model().to_implement()
    model.git = FAILED
    model.submit("needs_input", pause=waits)
    assert standing(model) == ("paused", "environment_unavailable", "implement", 6)
    assert model.run.known_issues == [f"Git observation failed: {FAILED}"]
    assert model.run.pending_request is None
    assert [item["id"] for item in model.status()["next"]["variants"]] == ["resume-ad-hoc", "skip-action"]


def test_a_failure_at_a_skip_pauses_and_says_so() -> None:
    model = Model()
    model.git = FAILED
    model.skip()
    assert standing(model) == ("paused", "environment_unavailable", None, 7)
    assert model.run.known_issues == [f"Git observation failed after action skip: {FAILED}"]
    assert model.run.records[0].skipped


def test_a_failure_at_the_end_ends_all_the_same() -> None:
    model = Model()
    model.submit()
    model.git = FAILED
    model.submit()
    assert model.run.state == "ended"
    assert not model.run.final_git_observed
    assert [text for text in model.run.uncertainties if text.endswith(FAILED)] == [
        f"final Git observation unavailable: {FAILED}"
    ]
    assert prose.SUMMARY["no_git"] in (model.run.summary or "")


def test_a_failure_at_the_end_after_a_skipped_summarize_too() -> None:
    model = Model()
    model.submit()
    model.git = FAILED
    model.skip()
    assert (model.run.state, model.run.final_git_observed) == ("ended", False)
    assert (model.run.summary or "").splitlines()[1] == prose.SUMMARY["no_git"]


# -- budget (§4.5)


def test_the_first_orient_takes_one_of_the_budget() -> None:
    model = Model(budget=8)
    assert standing(model) == ("active", None, "orient", 7)
    assert model.status()["current_action"]["remaining_budget"] == 7
    assert Model(budget=1).run.remaining_budget == 0


def test_pauses_and_replays_cost_nothing() -> None:
    model = Model()
    paused = model.submit("needs_input", pause=decision())
    assert model.run.remaining_budget == 7
    assert model.submit_document(paused) is False
    assert model.run.remaining_budget == 7


def exhausted_by_submit() -> Model:
    model = Model(budget=1)
    model.submit(suggested_actions=[suggestion()])
    return model


def exhausted_by_skip() -> Model:
    model = Model(budget=1)
    model.skip()
    return model


def exhausted_by_review_skip() -> Model:
    model = Model(budget=2)
    model.git = DIRTY
    model.submit()
    model.skip()
    return model


def exhausted_by_answer() -> Model:
    model = Model(budget=1)
    model.submit("needs_input", pause=decision())
    model.answer("go")
    return model


def exhausted_by_decline() -> Model:
    model = Model(budget=2)
    model.to_destructive()
    model.answer("no")
    return model


def exhausted_by_confirmation() -> Model:
    model = Model(budget=2)
    scope = model.to_destructive()
    model.answer("", confirm=True, scope=scope)
    return model


EXHAUSTED = [
    exhausted_by_submit,
    exhausted_by_skip,
    exhausted_by_review_skip,
    exhausted_by_answer,
    exhausted_by_decline,
    exhausted_by_confirmation,
]


@pytest.mark.parametrize("exhaust", EXHAUSTED)
def test_an_action_that_the_budget_does_not_pay_for_pauses(exhaust: Any) -> None:
    model = exhaust()
    assert standing(model) == ("paused", "budget_exhausted", None, 0)
    assert "current_action" not in model.status()
    assert model.run.pending_request is None
    assert model.run.grant is None
    assert [item["id"] for item in model.status()["next"]["variants"]] == ["resume-ad-hoc"]
    assert len(model.run.records) == model.run.initial_budget


@pytest.mark.parametrize("exhaust", EXHAUSTED)
@pytest.mark.parametrize(("budget", "left"), [(0, 2), (1, 0), (1000, 999)])
def test_a_resume_refills_or_replaces_an_empty_budget(exhaust: Any, budget: int, left: int) -> None:
    model = exhaust()
    model.resume(budget)
    assert standing(model) == ("active", None, "orient", left)


@pytest.mark.parametrize(("initial", "left"), [(1, 2), (3, 2), (4, 3), (8, 7)])
def test_a_refill_is_the_initial_budget_and_at_least_three(initial: int, left: int) -> None:
    model = Model(budget=initial)
    while model.run.state == "active":
        model.submit(suggested_actions=[suggestion("clarify")])
    model.resume()
    assert model.run.remaining_budget == left
    assert model.run.initial_budget == initial


def test_what_is_left_of_a_budget_is_kept_without_a_flag() -> None:
    model = Model(budget=8)
    model.stop()
    model.resume()
    assert model.run.remaining_budget == 6
    model.stop()
    model.resume(2)
    assert model.run.remaining_budget == 1


def test_a_confirmation_that_finds_no_budget_voids_the_waiting_action() -> None:
    model = exhausted_by_confirmation()
    record = model.status()["actions"][-1]
    assert (record["action"]["kind"], record["voided"]) == ("implement", True)
    assert [answer["confirm_destructive"] for answer in model.run.answers] == [True]


# -- answers (§4.7)


def test_an_answered_decision_voids_what_waited_and_orients() -> None:
    model = Model()
    model.submit("needs_input", pause=decision(), suggested_actions=[])
    model.answer("stable")
    assert kinds(model) == ["orient", "orient"]
    assert model.run.records[0].voided
    context = model.status()["current_action"]["context"]
    assert "- action act-1 decision:\n  stable\n" in context
    assert "Recent outcome:\n(none)\n" in context
    assert model.status()["current_action"]["brief"] == prose.BRIEFS["decision"]


def test_an_answer_drops_what_was_suggested_silently() -> None:
    model = Model(review=False).to_implement()
    model.run.pending = [suggestion("clarify")]
    model.submit("needs_input", pause=decision())
    model.answer("go")
    assert model.run.pending == []
    assert has("unresolved_suggestion:", model.run.uncertainties) == 0


@pytest.mark.parametrize("text", ["no", "yes", "confirm", "sha256:" + "0" * 64])
def test_text_alone_never_grants_a_destructive_step(text: str) -> None:
    model = Model()
    model.to_destructive()
    model.answer(text)
    assert standing(model) == ("active", None, "orient", 5)
    assert model.run.grant is None
    assert "destructive_authorization" not in model.status()["current_action"]
    assert model.status()["current_action"]["brief"] == prose.BRIEFS["declined"]
    assert model.status()["actions"][1]["voided"] is True
    assert model.status()["answers"][0]["active"] is True


@pytest.mark.parametrize("text", ["", "as agreed", None])
def test_the_exact_digest_grants_exactly_the_scope(text: str | None) -> None:
    model = Model()
    scope = model.to_destructive(targets=(("git_ref", "refs/heads/old"), ("path", "/srv/data")))
    model.answer(text, confirm=True, scope=scope)
    status = model.status()
    assert standing(model) == ("active", None, "implement", 5)
    assert status["current_action"]["destructive_authorization"] == {
        "request_id": "44444444-4444-4444-8444-444444444444",
        "originating_action_id": "act-2",
        "scope_version": 1,
        "scope_sha256": scope,
        "targets": [{"kind": "git_ref", "value": "refs/heads/old"}, {"kind": "path", "value": "/srv/data"}],
        "impact": "Deletes it for good.",
        "confirmed_at": status["answers"][0]["at"],
    }
    assert status["answers"][0]["active"] is False
    assert status["answers"][0]["text"] == (text or "")
    assert "voided" not in status["actions"][1]
    assert "Decisions:\n(none)\n" in status["current_action"]["context"]
    assert "- implement action act-2: " in status["current_action"]["context"]


def test_a_confirmation_drops_pending_suggestions_with_a_note() -> None:
    model = Model()
    scope = model.to_destructive()
    model.run.pending = [suggestion("clarify", "ask")]
    model.answer("", confirm=True, scope=scope)
    assert model.run.pending == []
    assert has("unresolved_suggestion: clarify", model.run.uncertainties) == 1


@pytest.mark.parametrize("step", ["submit", "pause", "skip", "stop", "resume"])
def test_a_grant_lives_until_the_next_step_and_the_record_keeps_its_copy(step: str) -> None:
    model = Model()
    scope = model.to_destructive()
    model.answer("", confirm=True, scope=scope)
    grant = model.run.grant
    assert grant is not None
    if step == "submit":
        model.submit()
    elif step == "pause":
        model.submit("needs_input", pause=decision())
    elif step == "skip":
        model.skip()
    else:
        model.stop()
        if step == "resume":
            model.resume()
    assert model.run.grant is None
    assert model.run.pending_request is None
    assert model.status()["actions"][2]["action"]["destructive_authorization"] == grant


def test_an_authorized_implement_may_ask_for_another_destructive_step() -> None:
    model = Model()
    scope = model.to_destructive()
    model.answer("", confirm=True, scope=scope)
    other = destructive(request_id="55555555-5555-4555-8555-555555555555")
    model.submit("needs_input", pause=other)
    assert model.run.pause_reason == "destructive_confirmation_required"
    assert model.run.pending_request == other["destructive_request"]
    assert model.run.grant is None


def test_a_superseding_decision_takes_effect_when_it_is_answered() -> None:
    model = Model()
    model.submit("needs_input", pause=decision())
    model.answer("stable")
    model.submit("needs_input", pause=decision(supersedes_answer_action_id="act-1"))
    assert model.status()["answers"][0]["active"] is True
    model.answer("beta")
    first, second = model.status()["answers"]
    assert (first["active"], first["superseded_by"]) == (False, "act-2")
    assert list(first)[-3:] == ["active", "superseded_by", "at"]
    assert second["active"] is True
    context = model.status()["current_action"]["context"]
    assert "beta" in context
    assert "stable" not in context


def test_a_superseding_decision_that_is_skipped_supersedes_nothing() -> None:
    model = Model()
    model.submit("needs_input", pause=decision())
    model.answer("stable")
    model.submit("needs_input", pause=decision(supersedes_answer_action_id="act-1"))
    model.skip()
    assert model.status()["answers"][0]["active"] is True
    assert "stable" in model.status()["current_action"]["context"]


# -- skip (§4.7)


@pytest.mark.parametrize("kind", ["orient", "clarify", "implement"])
@pytest.mark.parametrize(
    ("changed", "enabled", "following"),
    [(False, True, "summarize"), (True, True, "review"), (True, False, "summarize")],
)
def test_skipping_work_looks_at_git_and_reviews_or_reports(
    kind: str, changed: bool, enabled: bool, following: str
) -> None:
    model = Model(review=enabled)
    if kind != "orient":
        model.submit(suggested_actions=[suggestion(kind)])
    model.git = DIRTY if changed else CLEAN
    left = model.run.remaining_budget
    model.skip()
    assert standing(model) == ("active", None, following, left - 1)
    expected = prose.BRIEFS["review_after_skip" if following == "review" else "action_skipped"]
    assert model.status()["current_action"]["brief"].startswith(expected)


def test_skipping_a_review_reports_that_nobody_reviewed() -> None:
    model = Model()
    model.git = DIRTY
    model.submit()
    model.skip()
    assert standing(model) == ("active", None, "summarize", 5)
    assert not model.run.review_pending
    assert model.status()["current_action"]["brief"].startswith(prose.BRIEFS["review_skipped"])
    record = model.status()["actions"][1]
    assert record["review_projection"] == {"result": "not_run", "findings": [], "uncertainties": []}
    assert record["skipped"] is True


def test_skipping_a_summarize_ends_with_the_short_summary() -> None:
    model = Model()
    model.submit()
    model.skip()
    assert standing(model) == ("ended", None, None, 6)
    assert (model.run.summary or "").splitlines() == [
        prose.SUMMARY["skip_1"],
        prose.SUMMARY["same"],
        prose.SUMMARY["skip_2"],
    ]


@pytest.mark.parametrize("waits", [decision(), environment(), destructive()])
def test_a_paused_action_can_be_skipped_and_keeps_what_it_asked(waits: dict[str, Any]) -> None:
    model = Model().to_implement()
    model.submit("needs_input", pause=waits)
    model.skip()
    assert model.current.kind == "summarize"
    record = model.status()["actions"][1]
    assert record["outcome"]["pause"] == waits
    assert record["skipped"] is True
    assert model.run.pending_request is None
    assert "- implement action act-2: " in model.status()["current_action"]["context"]


def test_a_skip_drops_pending_suggestions_with_a_note() -> None:
    model = Model()
    model.run.pending = [suggestion("clarify", "ask")]
    model.skip()
    assert has("unresolved_suggestion: clarify", model.run.uncertainties) == 1
    assert model.run.pending == []


# -- stop and resume (§4.7)


@pytest.mark.parametrize("exhaust", EXHAUSTED)
def test_a_paused_run_can_be_stopped_and_resumed(exhaust: Any) -> None:
    model = exhaust()
    model.stop()
    assert standing(model) == ("stopped", None, None, 0)
    model.resume()
    assert standing(model) == ("active", None, "orient", 2)


def test_a_stop_voids_the_current_action_and_keeps_suggestions() -> None:
    model = Model()
    model.git = FAILED
    model.submit(suggested_actions=[suggestion()])
    model.stop()
    assert model.status()["pending_actions"] == [suggestion()]
    model.git = CLEAN
    model.resume()
    assert "pending_actions" not in model.status()
    model.stop()
    assert model.status()["actions"][1]["voided"] is True
    assert "current_action" not in model.status()


def test_stopping_again_changes_nothing_but_the_event_count() -> None:
    model = Model()
    model.stop()
    before = model.status()
    model.stop()
    assert model.status() | {"updated_at": 0} == before | {"updated_at": 0}
    assert len(model.events) == 3


def test_a_resume_records_its_receipt_and_orients_afresh() -> None:
    model = Model()
    model.submit("needs_input", pause=environment())
    model.resume()
    status = model.status()
    assert status["last_resume_result"] == {"operation": "ad_hoc_resumed", "budget_applied": True}
    assert status["actions"][0]["voided"] is True
    assert (status["current_action"]["kind"], status["current_action"]["brief"]) == ("orient", prose.BRIEFS["resumed"])
    assert "Recent outcome:\n(none)\n" in status["current_action"]["context"]
