"""Text for people: nothing of a Run steers a terminal, questions are cut, choices say what is missing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipway_lite.cli.human import QUESTION_LENGTH, as_status_json, choices, harmless, shortened, visible
from slipway_lite.protocol import next as following
from slipway_lite.protocol.rules import scope_sha256
from tests.machine_host import Document, Host, git, invoke, repository, suggest, whole_run


def text(*argv: str, stdin: bytes = b"") -> str:
    reply = invoke(*argv, stdin=stdin)
    assert (reply.status, reply.err) == (0, b"")
    return reply.out.decode()


def assert_harmless(shown: str) -> None:
    assert all(character.isprintable() or character == "\n" for character in shown), shown


# -- the functions


@given(st.text())
def test_visible_is_one_printable_line(given_text: str) -> None:
    assert visible(given_text).isprintable()


def test_visible_collapses_white_space_and_replaces_the_rest() -> None:
    assert visible("a\tb\r\nc  d") == "a b c d"
    assert visible("a\x1b[1mb\x7f") == "a\ufffd[1mb\ufffd"
    assert visible("naïve 日本語 😀") == "naïve 日本語 😀"


@pytest.mark.parametrize("length", [0, 1, QUESTION_LENGTH - 1, QUESTION_LENGTH])
def test_a_short_line_stays(length: int) -> None:
    assert shortened("é" * length) == "é" * length


def test_a_long_line_is_cut_to_200_code_points_with_an_ellipsis() -> None:
    cut = shortened("é" * 201)
    assert len(cut) == QUESTION_LENGTH == 200 and cut == "é" * 199 + "…"


@given(st.text())
def test_status_json_escapes_html_and_nothing_else(given_text: str) -> None:
    line = as_status_json({"text": given_text})
    assert json.loads(line) == {"text": given_text} and line.count("\n") == 1
    assert not set("&<>") & set(line)


def variant(identifier: str, argv: list[str], *inputs: Document) -> Document:
    return following.document("command", "sha256:x", following.variant(identifier, argv, *inputs))


def test_a_choice_without_missing_inputs_is_a_command_to_copy() -> None:
    step = variant("look", ["slipway", "status", "--root", "/a b/it's"], following.BUDGET)
    assert choices(step) == ["Next choices:", "  - look: slipway status --root '/a b/it'\"'\"'s'"]


def test_a_choice_with_missing_inputs_names_them() -> None:
    surface = {"name": "surface", "type": "enum", "flag": "--surface", "required": True, "choices": ["ide", "cli"]}
    step = variant("go", ["slipway"], following.GOAL_FILE, following.BUDGET, surface)
    assert choices(step) == [
        "Next choices:",
        "  - go: needs goal_file (path via --goal-file), surface (enum via --surface) choices=ide|cli",
    ]


def test_no_choice_is_no_line() -> None:
    assert choices(following.none("sha256:x")) == []


# -- the commands


def test_run_says_state_goal_budget_action_and_choices(root: Path) -> None:
    shown = text("run", "Make it better", "--budget", "5", "--root", str(root))
    run_id = json.loads(invoke("status", "--json", "--root", str(root)).out)["runs"][0]["id"]
    for line in (
        f"Run: +{run_id}",
        "State: +active",
        "Goal: +Make it better",
        "Budget: +4 of 5 left",
        "Action: +orient [0-9a-f-]{36}",
        "Next choices:",
        "  - submit-outcome-file: needs outcome_file",
    ):
        assert re.search(f"^{line}", shown, re.MULTILINE), (line, shown)


def test_stop_is_one_line_and_choices(root: Path) -> None:
    host = Host(root)
    lines = text("stop", "--root", str(root)).splitlines()
    assert lines[0] == f"Run {host.run_id} is stopped."
    assert lines[1:] == ["Next choices:", f"  - resume-ad-hoc: slipway protocol resume {host.run_id} --root {root}"]


def test_status_of_a_waiting_run_shows_its_question_on_one_line(root: Path) -> None:
    host = Host(root)
    host.ask("Which\none?\n" + "x" * 300)
    shown = text("status", host.run_id, "--root", str(root))
    (asked,) = [line for line in shown.splitlines() if line.startswith("Asked:")]
    question = asked.removeprefix("Asked:").strip()
    assert len(question) == 200 and question.startswith("Which one? x") and question.endswith("…")
    assert "State:   paused (decision_required)" in shown
    assert "  - answer-decision: needs text_file (path via --text-file)" in shown


def test_status_of_a_run_that_is_over_shows_its_summary_and_no_choice(root: Path) -> None:
    host = whole_run(root)
    shown = text("status", host.run_id, "--root", str(root))
    assert "Summary:" in shown and "  Review findings:" in shown and "Next choices:" not in shown


def test_status_list(root: Path, tmp_path: Path) -> None:
    assert text("status", "--root", str(root)).startswith("No Runs yet.")
    first, second = Host(root, "First"), Host(root, "Second", "--budget", "3")
    sibling = tmp_path / "sibling"
    git(root, "worktree", "add", "--quiet", "--detach", str(sibling))
    assert text("status", "--root", str(root)).splitlines() == [
        f"{first.run_id}  active  remaining=7  First",
        f"{second.run_id}  active  remaining=2  Second",
    ]
    assert text("status", "--root", str(sibling)).splitlines() == [
        f"{first.run_id}  active  foreign=true  workspace={root}  First",
        f"{second.run_id}  active  foreign=true  workspace={root}  Second",
    ]


@pytest.mark.parametrize("name", ["repo", "re\x1b[31mpo", "re\npo", "re\u202epo"])
def test_nothing_of_a_run_steers_a_terminal(tmp_path: Path, name: str) -> None:
    root = repository(tmp_path / name)
    host = Host(root, "goal \u202eback\u200b\r\n\tx")
    here = ["--root", str(root)]
    for argv in (["status"], ["status", host.run_id]):
        assert_harmless(text(*argv, *here))
    host.ask("Which?\rno\u202e")
    assert_harmless(text("status", host.run_id, *here))
    assert_harmless(text("stop", host.run_id, *here))
    assert_harmless(text("run", "second", *here))


def test_a_summary_steers_no_terminal(root: Path) -> None:
    host = Host(root, "goal", "--no-review")
    host.submit(summary="a\rb\u2028\u202ec")
    host.submit(summary="d\re\u200b")
    assert host.state["state"] == "ended"
    assert_harmless(text("status", host.run_id, "--root", str(root)))


def test_errors_are_json_without_the_json_flag(root: Path) -> None:
    reply = invoke("stop", "--root", str(root))
    assert (reply.status, reply.code) == (2, "run_id_required")


def test_a_confirmation_is_offered_with_everything_it_would_permit(root: Path) -> None:
    host = Host(root, "Clean up", "--no-review")
    host.submit(suggested_actions=suggest("implement"))
    request = {
        "request_id": "11111111-1111-4111-8111-111111111111",
        "targets": [{"kind": "git_ref", "value": "refs/heads/old"}, {"kind": "path", "value": "build\u202eout"}],
        "impact": "Deletes both\nfor good.",
    }
    request["scope_sha256"] = scope_sha256(request)
    pause = {"reason": "destructive_confirmation_required", "question": "Delete?", "destructive_request": request}
    host.submit("needs_input", implementation=None, pause=pause)
    shown = text("status", host.run_id, "--root", str(root))
    assert_harmless(shown)
    for line in ("git_ref refs/heads/old", "path build\ufffdout", "Deletes both for good.", request["scope_sha256"]):
        assert line in shown


def test_the_brief_of_the_current_action_is_shown(root: Path) -> None:
    host = Host(root, "Say more")
    assert host.action["brief"] in text("status", host.run_id, "--root", str(root))


def test_spaces_of_other_scripts_stay_in_a_command_to_copy() -> None:
    assert harmless("/srv/日本\u3000語/a\u00a0b\x1b[0m") == "/srv/日本\u3000語/a\u00a0b\ufffd[0m"
