"""What Actions cost, and every way to run out (machine-protocol §4.5), and what stop and resume do (§4.7)."""

from __future__ import annotations

from typing import Any

import pytest

from slipway_lite.protocol import prose
from tests.protocol.model import CLEAN, DIRTY, FAILED, Model, standing
from tests.protocol.outcomes import (
    decision,
    environment,
    suggestion,
)

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
