"""Structured ``next``: every row of machine-protocol §5.2, every variant of §5.3, and §5.4 by a second checker."""

from __future__ import annotations

from typing import Any

import pytest

from slipway_lite.protocol import next as following
from slipway_lite.protocol.documents import error_document
from slipway_lite.protocol.resume import Mode
from tests.protocol.model import FAILED, ROOT, RUN_ID, WORKSPACE, Model
from tests.protocol.outcomes import decision, environment
from tests.protocol.source.change import Change
from tests.protocol.valid_next import check

IDENTITY = WORKSPACE["id"]
BUDGET = {"name": "budget", "type": "string", "flag": "--budget", "required": False}


def file_input(name: str, required: bool = True) -> dict[str, Any]:
    return {"name": f"{name}_file", "type": "path", "flag": f"--{name}-file", "required": required}


def on_action(operation: str, action_id: str, *more: str) -> list[str]:
    return ["slipway", "protocol", operation, "--run", RUN_ID, "--action", action_id, "--root", ROOT, *more]


def resume_argv(*more: str) -> list[str]:
    return ["slipway", "protocol", "resume", RUN_ID, "--root", ROOT, *more]


def derived(model: Model) -> dict[str, Any]:
    return check(following.derive(model.run), IDENTITY)


def shape(step: dict[str, Any]) -> tuple[str, list[tuple[str, list[str], list[dict[str, Any]]]]]:
    return step["operation"], [(item["id"], item["base_argv"], item["inputs"]) for item in step["variants"]]


def skip(action_id: str) -> tuple[str, list[str], list[dict[str, Any]]]:
    return "skip-action", on_action("skip", action_id), []


AD_HOC = ("resume-ad-hoc", resume_argv(), [BUDGET])
BOUND = [
    ("refresh-source", resume_argv(), [file_input("source"), BUDGET]),
    ("use-pinned-source", resume_argv("--use-pinned-source"), [BUDGET]),
]


def test_row_1_nothing_follows_an_ended_run() -> None:
    model = Model().to_end()
    assert shape(derived(model)) == ("none", [])
    assert shape(following.derive_resume(model.run)) == ("none", [])


def bound() -> Model:
    return Model(source=Change().snapshot())


def with_candidate(valid: bool) -> Model:
    model = bound()
    model.stop()
    change = Change()
    if valid:
        change = change.amend(2, "Must fly.\n", model.run.requirements_revision or "")
    else:
        change.body = ""
    model.resume(mode=Mode(classification=change.classify()))
    return model


@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize("valid", [False, True])
def test_row_2_a_candidate_waits_for_a_choice_paused_or_stopped(valid: bool, stopped: bool) -> None:
    model = with_candidate(valid)
    if stopped:
        model.stop()
    expected = [("keep-pinned", resume_argv("--source-choice", "pinned", "--candidate", "cand-1"), [BUDGET])]
    if valid:
        expected.append(("adopt", resume_argv("--source-choice", "adopt", "--candidate", "cand-1"), [BUDGET]))
    assert shape(derived(model)) == ("resume", expected)
    assert following.derive_resume(model.run) == following.derive(model.run)


def test_row_3_an_active_run_takes_an_outcome_or_a_skip() -> None:
    model = Model()
    assert shape(derived(model)) == (
        "action",
        [
            ("submit-outcome-file", on_action("submit", "act-1"), [file_input("outcome")]),
            ("submit-outcome-stdin", on_action("submit", "act-1", "--outcome-stdin"), []),
            skip("act-1"),
        ],
    )


def test_row_4_a_decision_takes_an_answer_or_a_skip() -> None:
    model = Model()
    model.submit("needs_input", pause=decision())
    assert shape(derived(model)) == (
        "answer",
        [("answer-decision", on_action("answer", "act-1"), [file_input("text")]), skip("act-1")],
    )


def test_row_5_a_destructive_pause_is_confirmed_declined_or_skipped() -> None:
    model = Model()
    scope = model.to_destructive()
    confirm = on_action("answer", "act-2", "--confirm-destructive", "--scope-sha256", scope)
    assert shape(derived(model)) == (
        "answer",
        [
            ("confirm-destructive", confirm, [file_input("text", required=False)]),
            ("decline-or-feedback", on_action("answer", "act-2"), [file_input("text")]),
            skip("act-2"),
        ],
    )


def test_row_6_an_environment_pause_of_the_host_is_resumed_or_skipped() -> None:
    model = Model()
    model.submit("needs_input", pause=environment())
    assert shape(derived(model)) == ("resume", [AD_HOC, skip("act-1")])
    model = bound()
    model.submit("needs_input", pause=environment())
    assert shape(derived(model)) == ("resume", [*BOUND, skip("act-1")])


def test_row_7_stopped_exhausted_and_git_failure_are_resumed() -> None:
    stopped, exhausted, failed = Model(), Model(budget=1), Model()
    stopped.stop()
    exhausted.submit()
    failed.git = FAILED
    failed.submit()
    assert failed.run.pause_reason == "environment_unavailable"
    for model in (stopped, exhausted, failed):
        assert shape(derived(model)) == ("resume", [AD_HOC])
    model = bound()
    model.stop()
    assert shape(derived(model)) == ("resume", BOUND)


def test_the_resume_only_derivation_ignores_a_current_action() -> None:
    model = Model()
    assert shape(following.derive_resume(model.run)) == ("resume", [AD_HOC])
    model.submit("needs_input", pause=environment())
    assert shape(following.derive_resume(model.run)) == ("resume", [AD_HOC])
    assert shape(following.derive_resume(bound().run)) == ("resume", BOUND)


@pytest.mark.parametrize("review", [True, False])
@pytest.mark.parametrize("with_source", [True, False])
@pytest.mark.parametrize(("budget", "shown"), [(1, "1"), (1000, "1000"), (0, "8"), (1001, "8"), (-5, "8")])
def test_a_start_never_holds_the_goal_and_mends_the_budget(
    budget: int, shown: str, with_source: bool, review: bool
) -> None:
    step = check(following.start(IDENTITY, ROOT, budget, review, with_source), IDENTITY)
    argv = ["slipway", "run", "--budget", shown, "--json", "--root", ROOT, *([] if review else ["--no-review"])]
    inputs = [file_input("goal"), *([file_input("source")] if with_source else [])]
    assert shape(step) == ("start", [("start-with-source" if with_source else "retry-run", argv, inputs)])


@pytest.mark.parametrize("budget", [None, 5])
def test_a_refused_refresh_fixes_the_budget_that_was_given(budget: int | None) -> None:
    step = check(following.refresh_source(IDENTITY, ROOT, RUN_ID, budget))
    given = ["--budget", "5"] if budget else []
    assert shape(step) == (
        "resume",
        [("refresh-source", resume_argv(*given), [file_input("source"), *([] if budget else [BUDGET])])],
    )


@pytest.mark.parametrize("stdin", [True, False])
def test_an_unread_outcome_is_submitted_again_the_same_way(stdin: bool) -> None:
    step = check(following.submit_again(IDENTITY, ROOT, RUN_ID, "act-9", stdin))
    more = ["--outcome-stdin"] if stdin else []
    identifier = "submit-outcome-stdin" if stdin else "submit-outcome-file"
    inputs = [] if stdin else [file_input("outcome")]
    assert shape(step) == ("action", [(identifier, on_action("submit", "act-9", *more), inputs)])


def test_commands_look_at_runs() -> None:
    assert shape(check(following.inspect_run(IDENTITY, ROOT, RUN_ID))) == (
        "command",
        [("inspect-run", ["slipway", "status", RUN_ID, "--root", ROOT], [])],
    )
    for identifier in ("inspect-runs", "list-runs"):
        assert shape(check(following.inspect_runs(IDENTITY, ROOT, identifier))) == (
            "command",
            [(identifier, ["slipway", "status", "--root", ROOT], [])],
        )
    assert shape(check(following.none(IDENTITY))) == ("none", [])


def test_no_two_documents_share_an_input() -> None:
    one, other = following.derive(Model().run), following.derive(Model().run)
    one["variants"][0]["inputs"][0]["required"] = False
    assert other["variants"][0]["inputs"][0]["required"] is True


@pytest.mark.parametrize(
    "action_id",
    ["FILE", " 'FILE' ", "<answer>", '"<x y>"', "--", "--root", "--outcome-file", "\udcff", "a\0b", ""],
    ids=ascii,
)
def test_a_next_that_an_id_of_the_caller_breaks_degrades_to_none(action_id: str) -> None:
    step = following.submit_again(IDENTITY, ROOT, RUN_ID, action_id, stdin=False)
    assert not following.is_valid(step)
    error = error_document("invalid_outcome", "No.", step, 2, None)
    assert error["next"] == following.none(IDENTITY)


def test_a_run_called_file_is_not_looked_at_by_a_command_that_hosts_must_refuse() -> None:
    assert not following.is_valid(following.inspect_run(IDENTITY, ROOT, "FILE"))
    assert following.is_valid(following.inspect_run(IDENTITY, ROOT, "file"))


@pytest.mark.parametrize("action_id", ["act-1", "File", "<answer", "--outcome", "-", "a b", "é\U0001f600"])
def test_any_other_id_is_left_in_the_next(action_id: str) -> None:
    step = following.submit_again(IDENTITY, ROOT, RUN_ID, action_id, stdin=False)
    error = error_document("invalid_outcome", "No.", step, 2, {"b": 1, "a": 2})
    assert error["next"] == step
    assert list(error) == ["contract_version", "code", "message", "next", "exit_code", "details"]
    assert list(error["details"]) == ["a", "b"]
