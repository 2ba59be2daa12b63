"""The executable hand-off (turn-contract §12)."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.turns.continuation import REFUSALS, emit_continuation, parse_continuation_argv, render_argv
from slipway_lite.turns.envelope import validate_envelope
from tests.turns.documents import envelope


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("/review-plan 59", ["/review-plan", "59"]),
        ("  a\t b\xa0c\n", ["a", "b", "c"]),
        ("'a b' \"c d\"", ["a b", "c d"]),
        ("a'b c'd", ["ab cd"]),
        ('"it\'s"', ["it's"]),
        ("a\\ b", ["a\\", "b"]),
    ],
)
def test_a_command_is_split_at_white_space_with_quotes_and_no_escapes(command: str, words: list[str]) -> None:
    assert parse_continuation_argv(command).as_document() == {"ok": True, "argv": words}


@pytest.mark.parametrize(
    ("command", "refusal"),
    [
        ("", "no-decision-available"),
        (" \t", "no-decision-available"),
        ("a ''", "no-decision-available"),
        ("a 'b", "rendering-failed"),
        ('a "', "rendering-failed"),
    ],
)
def test_a_command_without_words_or_with_an_open_quote_is_refused(command: str, refusal: str) -> None:
    assert parse_continuation_argv(command).as_document() == {"ok": False, "refusal": refusal}
    assert emit_continuation(command=command, convergence="c").refusal == refusal


def emitted(**changes: Any) -> Any:
    return emit_continuation(**{"command": "/execute-phase '12 a'", "convergence": "done", **changes}).as_document()


def test_an_emitted_continuation_is_valid_in_an_envelope() -> None:
    checks = [{"id": "clean", "check": "git status", "satisfied": False}]
    proof = {"artifact": "SPEC.md", "digest": "a" * 64}
    found = emitted(preconditions=checks, evidence=proof)
    assert found == {
        "ok": True,
        "continuation": {
            "argv": ["/execute-phase", "12 a"],
            "rendering": "/execute-phase '12 a'",
            "preconditions": checks,
            "convergence": "done",
            "evidence": proof,
        },
    }
    next_ = {**envelope()["next"], "continuation": found["continuation"]}
    assert validate_envelope(envelope(next=next_)).ok
    assert "evidence" not in emitted()["continuation"], "absence, never null"


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"sensor_degraded": True, "command": "'"}, "sensor-degraded"),
        ({"convergence": ""}, "no-decision-available"),
        ({"convergence": " \u3000"}, "no-decision-available"),
        ({"preconditions": [{"id": "a", "check": "", "satisfied": True}]}, "precondition-uncheckable"),
        ({"preconditions": [{"id": "", "check": "b", "satisfied": True}]}, "precondition-uncheckable"),
        ({"preconditions": [{"id": "a", "check": "b"}]}, "precondition-uncheckable"),
        ({"preconditions": [{"id": "a", "check": "b", "satisfied": 1}]}, "precondition-uncheckable"),
    ],
)
def test_the_refusals_are_closed(changes: dict[str, Any], refusal: str) -> None:
    assert emitted(**changes) == {"ok": False, "refusal": refusal}
    assert refusal in REFUSALS


def test_renderings() -> None:
    assert render_argv(["a@b", "c d", "e'f"]) == "a@b 'c d' 'e'\"'\"'f'"
    assert render_argv(["a", "c d", 'e"f', "g\\h"], windows=True) == 'a "c d" "e""f" g\\h'


@given(st.lists(st.text(min_size=1), min_size=1, max_size=5))
@settings(deadline=None, max_examples=200)
def test_a_posix_rendering_is_read_back_by_a_posix_shell_reader(argv: list[str]) -> None:
    assert shlex.split(render_argv(argv)) == argv


@given(st.lists(st.text(st.characters(exclude_characters="'"), min_size=1), min_size=1, max_size=5))
@settings(deadline=None, max_examples=200)
def test_a_rendering_without_single_quotes_is_read_back_by_our_own_reader(argv: list[str]) -> None:
    assert parse_continuation_argv(render_argv(argv)).words == tuple(argv)
