"""The Python API: the same use cases and documents as the command line, with typed, frozen results."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pydantic
import pytest

from slipway_lite import Slipway, SlipwayError, UsageError
from slipway_lite.canon import encode
from slipway_lite.protocol.messages import ProtocolState
from tests import machine_host
from tests.protocol.source.change import Change


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return machine_host.repository(tmp_path / "repository")


@pytest.fixture
def slipway(root: Path) -> Slipway:
    return Slipway.open(str(root))


def outcome(state: ProtocolState, **branches: Any) -> dict[str, Any]:
    assert state.action is not None
    return {
        "contract_version": 2,
        "action_id": state.action.action_id,
        "action_kind": state.action.kind,
        "status": "completed",
        "summary": "Looked.",
        "observations": [],
        "known_issues": [],
        "suggested_actions": [],
        "pause": None,
        "implementation": None,
        "review": None,
    } | branches


def code(caught: pytest.ExceptionInfo[SlipwayError]) -> tuple[str, int]:
    assert caught.value.next is not None
    return caught.value.code, caught.value.exit_code


def test_a_run_goes_from_start_to_end(slipway: Slipway) -> None:
    state = slipway.run("Say hello", budget=4, review=False)
    assert (state.state, state.action and state.action.kind) == ("active", "orient")
    assert state.action is not None
    state = slipway.submit(state.run_id, state.action.action_id, outcome(state))
    assert state.action is not None
    assert state.action.kind == "summarize"
    state = slipway.submit(state.run_id, state.action.action_id, encode(outcome(state)).encode())
    assert state.state == "ended"
    assert state.action is None
    assert [run.id for run in slipway.runs().runs] == [state.run_id]
    assert slipway.status(state.run_id).summary == state.summary


def test_a_result_is_the_document_that_the_command_line_prints(slipway: Slipway, root: Path) -> None:
    run_id = slipway.run("Compare").run_id
    printed = machine_host.invoke("status", run_id, "--root", str(root), "--json")
    assert slipway.status(run_id).document() == printed.document
    listed = machine_host.invoke("status", "--root", str(root), "--json")
    assert slipway.runs().document() == listed.document
    assert json.loads(slipway.status(run_id).to_json()) == printed.document


def test_results_are_frozen(slipway: Slipway) -> None:
    state = slipway.run("Freeze")
    with pytest.raises(pydantic.ValidationError):
        state.state = "ended"


def test_skip_stop_resume_answer_and_confirm(slipway: Slipway) -> None:
    state = slipway.run("Everything else", review=False)
    assert state.action is not None
    pause = {"reason": "decision_required", "question": "Which?", "destructive_request": None}
    action_id = state.action.action_id
    slipway.submit(state.run_id, action_id, outcome(state, status="needs_input", pause=pause))
    state = slipway.answer(state.run_id, action_id, "This one")
    assert state.action is not None
    assert "This one" in state.action.context
    state = slipway.skip(state.run_id, state.action.action_id)
    assert slipway.stop(state.run_id).state == "stopped"
    state = slipway.resume(state.run_id, 3)
    assert (state.resume_operation, state.budget_applied) == ("ad_hoc_resumed", True)
    with pytest.raises(SlipwayError) as caught:
        slipway.confirm_destructive(state.run_id, "nope", "sha256:" + "0" * 64)
    assert code(caught) == ("answer_not_expected", 3)


def test_an_issue_backed_run_gives_its_sections(slipway: Slipway) -> None:
    change = Change()
    state = slipway.run("From an issue", source=change.raw())
    assert state.action is not None
    assert state.action.requirements is not None
    key = state.action.requirements.required_for_action[0]
    material = slipway.material(state.run_id, state.action.action_id, key)
    assert material.section.key == key
    assert slipway.pinned_material(state.run_id, key).section == material.section


@pytest.mark.parametrize("budget", [0, 1001, True, 8.0, "8", None])
def test_a_budget_is_a_whole_number_in_range(slipway: Slipway, budget: Any) -> None:
    with pytest.raises(UsageError) as caught:
        slipway.run("Budget", budget=budget)
    assert code(caught) == ("invalid_budget", 2)
    assert slipway.runs().runs == ()


def test_review_is_a_boolean(slipway: Slipway) -> None:
    with pytest.raises(TypeError, match="review"):
        slipway.run("Review", review="no")  # type: ignore[arg-type]  # what this is about


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"choice": "bogus", "candidate": "c"}, "invalid_source_choice"),
        ({"choice": "adopt"}, "source_choice_requires_candidate"),
        ({"candidate": "c"}, "source_choice_requires_candidate"),
        ({"choice": "adopt", "candidate": ""}, "source_choice_requires_candidate"),
        ({"choice": "adopt", "candidate": "c", "use_pinned_source": True}, "source_mode_conflict"),
    ],
)
def test_source_options_are_those_of_the_command_line(slipway: Slipway, options: Any, expected: str) -> None:
    run_id = slipway.run("Options").run_id
    slipway.stop(run_id)
    with pytest.raises(UsageError) as caught:
        slipway.resume(run_id, **options)
    assert code(caught) == (expected, 2)


@pytest.mark.parametrize("run_id", ["", "a b", "..", "\ud800", "a" * 129])
def test_a_run_id_has_its_grammar(slipway: Slipway, run_id: str) -> None:
    with pytest.raises(UsageError) as caught:
        slipway.submit(run_id, "a", {})
    assert code(caught) == ("invalid_run_id", 2)


@pytest.mark.parametrize("value", [float("nan"), "\ud800", object(), {1, 2}])
def test_an_outcome_that_json_cannot_say_is_invalid(slipway: Slipway, value: Any) -> None:
    state = slipway.run("No JSON")
    assert state.action is not None
    with pytest.raises(UsageError) as caught:
        slipway.submit(state.run_id, state.action.action_id, {**outcome(state), "summary": value})
    assert code(caught) == ("invalid_outcome", 2)


@pytest.mark.parametrize("goal", ["", " \n", "a\x01b", "\ud800"])
def test_a_goal_is_text(slipway: Slipway, goal: str) -> None:
    with pytest.raises(UsageError) as caught:
        slipway.run(goal)
    assert code(caught)[1] == 2


def test_a_worktree_that_is_gone_is_noticed_and_not_made_again(slipway: Slipway, root: Path) -> None:
    shutil.rmtree(root)
    with pytest.raises(SlipwayError) as caught:
        slipway.run("Where?")
    assert code(caught) == ("git_repository_required", 2)
    assert not root.exists()


def test_a_moved_repository_is_another_workspace(slipway: Slipway, root: Path) -> None:
    slipway.run("First")
    moved = root.with_name("moved")
    root.rename(moved)
    with pytest.raises(SlipwayError) as caught:
        slipway.runs()
    assert code(caught) == ("git_repository_required", 2)
    with pytest.raises(SlipwayError) as caught:
        Slipway.open(str(moved)).status(Slipway.open(str(moved)).runs().runs[0].id)
    assert code(caught) == ("workspace_identity_mismatch", 3)
