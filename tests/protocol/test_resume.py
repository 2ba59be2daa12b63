"""What a resume does, row by row of machine-protocol §4.7, §8.7 and §8.8, and what its replays say."""

from __future__ import annotations

from typing import Any

import pytest

from slipway_lite.errors import SlipwayError
from slipway_lite.protocol import next as following
from slipway_lite.protocol import prose
from slipway_lite.protocol.resume import Mode
from tests.protocol.model import RUN_ID, Model
from tests.protocol.outcomes import decision, environment
from tests.protocol.source.change import Change
from tests.protocol.test_commands import refused
from tests.protocol.valid_next import check as check_next

FLY, DIVE = "Must fly.\n", "Must dive.\n"


def bound(**options: Any) -> Model:
    return Model(source=Change().snapshot(), **options)


def stopped(model: Model) -> Model:
    model.stop()
    return model


def amended(model: Model, payload: str) -> Change:
    """The Change with other requirements in a new comment; each payload has a comment of its own."""
    change = Change()
    for _ in range(1 + (payload == DIVE)):
        change = change.amend(2, payload, model.run.requirements_revision or "")
    return change


def fetched(change: Change) -> Mode:
    return Mode(classification=change.classify())


def invalid() -> Change:
    change = Change()
    change.body = ""
    return change


def choice(name: str, candidate: str = "cand-1") -> Mode:
    return Mode(choice=name, candidate=candidate)


def with_candidate(model: Model | None = None, payload: str = FLY, candidate: str = "cand-1") -> Model:
    model = model or stopped(bound())
    assert model.resume(mode=fetched(amended(model, payload)), candidate_id=candidate)
    return model


EVERY_MODE = [
    Mode(pinned=True),
    fetched(Change()),
    choice("pinned"),
    choice("adopt"),
]

# -- what comes first


@pytest.mark.parametrize("mode", [Mode(), *EVERY_MODE])
@pytest.mark.parametrize("source", [None, Change().snapshot()])
def test_an_ended_run_is_never_resumed(mode: Mode, source: dict[str, Any] | None) -> None:
    model = Model(source=source).to_end()
    refused(model, lambda: model.resume(mode=mode), "run_already_ended")


@pytest.mark.parametrize("mode", [Mode(), *EVERY_MODE])
@pytest.mark.parametrize("source", [None, Change().snapshot()])
@pytest.mark.parametrize("paused", [True, False])
def test_only_what_next_calls_a_resume_is_resumed(mode: Mode, source: dict[str, Any] | None, paused: bool) -> None:
    model = Model(source=source)
    if paused:
        model.submit("needs_input", pause=decision())
    refused(model, lambda: model.resume(mode=mode), "run_not_resumable")


@pytest.mark.parametrize("source", [None, Change().snapshot()])
def test_a_lost_reply_is_not_resumed_twice(source: dict[str, Any] | None) -> None:
    model = stopped(Model(source=source))
    mode = Mode(pinned=source is not None)
    assert model.resume(mode=mode) is True
    refused(model, lambda: model.resume(mode=mode), "run_not_resumable")
    refused(model, lambda: model.resume(5, mode=mode), "run_not_resumable")


# -- ad hoc


@pytest.mark.parametrize("mode", EVERY_MODE)
def test_an_ad_hoc_run_takes_no_source_option(mode: Mode) -> None:
    model = stopped(Model())
    refused(model, lambda: model.resume(mode=mode), "source_mode_not_allowed", resume_only=True)


def test_an_ad_hoc_run_is_resumed_from_an_environment_pause() -> None:
    model = Model()
    model.submit("needs_input", pause=environment())
    assert model.resume() is True
    assert model.status()["last_resume_result"] == {"operation": "ad_hoc_resumed", "budget_applied": True}


# -- issue-bound, no candidate


def test_a_bound_run_must_be_told_what_to_do_about_its_source() -> None:
    model = stopped(bound())
    refused(model, model.resume, "source_mode_required", resume_only=True)


@pytest.mark.parametrize("name", ["pinned", "adopt"])
def test_a_choice_without_a_candidate_is_stale(name: str) -> None:
    model = stopped(bound())
    refused(model, lambda: model.resume(mode=choice(name)), "stale_source_candidate")


def test_the_pinned_source_is_kept_on_request() -> None:
    model = stopped(bound())
    pinned = model.status()["pinned_source"]
    assert model.resume(4, Mode(pinned=True)) is True
    status = model.status()
    assert status["pinned_source"] == pinned
    assert status["last_resume_result"] == {"operation": "source_refresh_skipped", "budget_applied": True}
    assert status["observations"] == [prose.SOURCE_OBSERVATIONS["source_refresh_skipped"]]
    assert status["remaining_budget"] == 3
    assert status["current_action"]["brief"] == prose.BRIEFS["source_refresh_skipped"]


def test_an_unchanged_source_is_pinned_afresh_and_the_run_orients() -> None:
    model = stopped(bound())
    change = Change()
    change.title = "[Change] Ship it"
    assert model.resume(mode=fetched(change)) is True
    status = model.status()
    assert status["pinned_source"]["title"] == "[Change] Ship it"
    assert status["last_resume_result"] == {"operation": "source_refreshed", "budget_applied": True}
    assert status["observations"][0].startswith("source_refreshed_non_material:")
    assert status["current_action"]["source"]["source_revision"] == status["pinned_source"]["source_revision"]
    # Actions that were issued before keep the source that they were issued with.
    assert status["actions"][0]["action"]["source"] != status["current_action"]["source"]


@pytest.mark.parametrize("valid", [True, False])
def test_a_changed_source_waits_for_a_choice_and_costs_nothing(valid: bool) -> None:
    model = bound()
    model.submit("needs_input", pause=environment())
    change = amended(model, FLY) if valid else invalid()
    assert model.resume(5, fetched(change)) is True
    status = model.status()
    assert (status["state"], status["pause_reason"]) == ("paused", "decision_required")
    assert status["remaining_budget"] == 7
    assert "current_action" not in status
    assert status["actions"][0]["voided"] is True
    assert status["source_candidate"]["candidate_id"] == "cand-1"
    assert status["source_candidate"]["valid"] is valid
    assert status["last_resume_result"] == {
        "operation": "source_candidate_created",
        "budget_applied": False,
        "candidate_id": "cand-1",
    }


def source_refusal(model: Model, change: Change, code: str, *, anew: bool) -> dict[str, Any]:
    before = model.status()
    with pytest.raises(SlipwayError) as caught:
        model.resume(mode=fetched(change))
    assert (caught.value.code, caught.value.exit_code) == (code, 3)
    run = model.run
    step = following.derive_resume(run)
    if anew:
        step = following.start(run.workspace["id"], run.root, run.initial_budget, run.review_enabled, True)
    assert caught.value.next == check_next(step)
    assert model.status() == before
    assert caught.value.details is not None
    return caught.value.details


@pytest.mark.parametrize("review", [True, False])
def test_another_issue_wants_a_new_run_with_the_same_budget_and_review(review: bool) -> None:
    model = stopped(bound(budget=5, review=review))
    change = Change()
    change.envelope["issue_id"] = "I_9"
    assert source_refusal(model, change, "source_issue_mismatch", anew=True) == {
        "run_id": RUN_ID,
        "state": "stopped",
        "pinned_issue_id": "I_1",
        "refreshed_issue_id": "I_9",
    }


def test_a_fork_of_the_history_wants_a_new_run() -> None:
    model = stopped(bound())
    details = source_refusal(model, Change().amend(2, FLY, "sha256:" + "0" * 64), "source_history_fork", anew=True)
    assert details == {"run_id": RUN_ID, "state": "stopped"}


def test_an_edit_in_place_wants_a_proper_amendment() -> None:
    model = stopped(bound())
    change = Change()
    change.sections[1]["body"] += "And more.\n"
    assert source_refusal(model, change, "source_history_in_place_edit", anew=False) == {
        "run_id": RUN_ID,
        "state": "stopped",
    }


def test_a_65th_url_wants_a_new_run() -> None:
    model = stopped(bound())
    assert model.run.pinned_source is not None
    model.run.pinned_source = model.run.pinned_source | {
        "url_aliases": [f"https://github.com/o/r/issues/{number}" for number in range(1, 65)]
    }
    change = Change()
    change.url, change.number = "https://github.com/other/ship/issues/9", 9
    assert source_refusal(model, change, "source_alias_limit", anew=True) == {"run_id": RUN_ID, "state": "stopped"}


# -- issue-bound, a candidate waits


@pytest.mark.parametrize("mode", [Mode(pinned=True), fetched(Change())])
def test_a_pending_candidate_comes_before_another_fetch(mode: Mode) -> None:
    model = with_candidate()
    refused(model, lambda: model.resume(mode=mode), "source_candidate_pending", resume_only=True)


def test_a_pending_candidate_needs_a_choice() -> None:
    model = with_candidate()
    refused(model, model.resume, "source_choice_required", resume_only=True)


@pytest.mark.parametrize("name", ["pinned", "adopt"])
def test_a_choice_about_another_candidate_is_stale(name: str) -> None:
    model = with_candidate()
    refused(model, lambda: model.resume(mode=choice(name, "cand-9")), "stale_source_candidate")


def test_an_invalid_candidate_cannot_be_adopted() -> None:
    model = stopped(bound())
    model.resume(mode=fetched(invalid()))
    refused(model, lambda: model.resume(mode=choice("adopt")), "invalid_source_candidate_choice", resume_only=True)
    assert model.resume(mode=choice("pinned")) is True


def test_a_candidate_survives_a_stop_and_is_chosen_from_there() -> None:
    model = stopped(with_candidate())
    assert model.status()["source_candidate"]["candidate_id"] == "cand-1"
    assert model.resume(mode=choice("adopt")) is True


@pytest.mark.parametrize(("name", "operation"), [("adopt", "source_amended"), ("pinned", "source_pinned")])
def test_the_exact_choice_resolves_the_candidate_and_orients(name: str, operation: str) -> None:
    model = with_candidate()
    candidate, pinned = model.status()["source_candidate"], model.status()["pinned_source"]
    assert model.resume(3, choice(name)) is True
    status = model.status()
    assert "source_candidate" not in status
    assert status["state"] == "active"
    assert status["remaining_budget"] == 2
    assert status["last_resume_result"] == {
        "operation": operation,
        "budget_applied": True,
        "candidate_id": "cand-1",
    }
    assert status["last_source_choice"] == {
        "candidate_id": "cand-1",
        "choice": name,
        "resulting_action_id": status["current_action"]["action_id"],
        "at": status["updated_at"],
    }
    assert status["current_action"]["brief"] == prose.BRIEFS["source_chosen"]
    if name == "adopt":
        assert status["pinned_source"] == candidate["snapshot"]
    else:
        assert status["pinned_source"]["requirements_revision"] == pinned["requirements_revision"]
        assert status["pinned_source"]["sections"] == pinned["sections"]


@pytest.mark.parametrize("name", ["adopt", "pinned"])
def test_adopting_other_requirements_supersedes_the_answers_under_the_old_ones(name: str) -> None:
    model = bound()
    model.submit("needs_input", pause=decision())
    model.answer("stable")
    scope = model.to_destructive()
    model.answer("", True, scope)
    model.stop()
    with_candidate(model)
    model.resume(mode=choice(name))
    status = model.status()
    decided, confirmed = status["answers"]
    if name == "adopt":
        assert decided["active"] is False
        assert decided["superseded_by"] == "requirements:" + status["pinned_source"]["requirements_revision"]
        assert "stable" not in status["current_action"]["context"]
    else:
        assert decided["active"] is True
        assert "superseded_by" not in decided
        assert "stable" in status["current_action"]["context"]
    assert "superseded_by" not in confirmed


# -- replays of choices (§6.8)


@pytest.mark.parametrize("name", ["adopt", "pinned"])
def test_a_choice_is_replayed_with_its_own_receipt_whatever_came_after(name: str) -> None:
    model = with_candidate()
    model.resume(mode=choice(name))
    first = dict(model.run.choices["cand-1"][1])
    other = "pinned" if name == "adopt" else "adopt"

    def replays() -> None:
        before = model.status()
        assert model.resume(1000, choice(name)) is False
        assert model.status() == before
        assert model.run.choices["cand-1"][1] == first
        refused(model, lambda: model.resume(mode=choice(other)), "source_choice_conflict", resume_only=True)

    replays()
    model.stop()
    replays()
    with_candidate(model, DIVE, "cand-2")
    # While another candidate waits, an older choice is not a replay but the wrong candidate.
    refused(model, lambda: model.resume(mode=choice(name)), "stale_source_candidate")
    model.resume(mode=choice("adopt", "cand-2"))
    replays()
    model.submit("needs_input", pause=decision())
    replays()
    model.answer("go")
    model.to_end()
    replays()
    assert model.status()["last_source_choice"]["candidate_id"] == "cand-2"
    assert set(model.replayed().choices) == {"cand-1", "cand-2"}
    refused(model, lambda: model.resume(mode=choice(name, "cand-9")), "run_already_ended")


def test_a_choice_that_differs_from_an_earlier_one_is_another_candidates_business() -> None:
    model = with_candidate()
    model.resume(mode=choice("pinned"))
    model.stop()
    with_candidate(model, FLY, "cand-2")
    assert model.resume(mode=choice("adopt", "cand-2")) is True
    assert model.resume(mode=choice("pinned", "cand-1")) is False
    assert model.resume(mode=choice("adopt", "cand-2")) is False


# -- the history that a Run accepted


def test_an_accepted_comment_stays_accepted_after_it_was_amended() -> None:
    model = with_candidate()
    model.resume(mode=choice("adopt"))
    model.stop()
    back = Change().amend(2, FLY, model.run.requirements_revision or "")
    back.sections[1] |= {"comment_node_id": "IC_2", "comment_database_id": 102}
    back.sections[1]["body"] += "Edited.\n"
    source_refusal(model, back, "source_history_in_place_edit", anew=False)
