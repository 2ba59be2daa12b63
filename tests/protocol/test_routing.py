"""Where a Run goes after an Outcome (machine-protocol §4.3, §4.4), one sentence of the rule a test."""

from __future__ import annotations

from typing import Any

import pytest

from slipway_lite.protocol import prose
from tests.protocol.model import CLEAN, DIRTY, FAILED, Model, git, has, kinds, standing
from tests.protocol.outcomes import (
    activity,
    decision,
    destructive,
    environment,
    implementation,
    review,
    suggestion,
)

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
