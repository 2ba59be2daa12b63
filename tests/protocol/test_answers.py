"""Where an answer or a skip takes a Run, and how long a grant lives (machine-protocol §4.7)."""

from __future__ import annotations

from typing import Any

import pytest

from slipway_lite.errors import SlipwayError
from slipway_lite.protocol import prose
from tests.protocol.model import CLEAN, DIRTY, Model, has, kinds, standing
from tests.protocol.outcomes import (
    decision,
    destructive,
    environment,
    suggestion,
)

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


@pytest.mark.parametrize("budget", [1, 8])
def test_an_answer_with_a_control_character_is_refused_with_and_without_budget(budget: int) -> None:
    model = Model(budget=budget)
    model.submit("needs_input", pause=decision(), suggested_actions=[])
    before = model.status()
    with pytest.raises(SlipwayError) as caught:
        model.answer("bell\x07")
    assert caught.value.code == "invalid_action"
    assert caught.value.exit_code == 3
    assert caught.value.next == before["next"]
    assert model.status() == before
    model.answer("tab\tand\nline are fine")
    assert model.run.answers[0]["active"]


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
