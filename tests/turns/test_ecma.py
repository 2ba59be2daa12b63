"""ECMAScript's text classes where Python's differ (turn-contract §16.4)."""

from __future__ import annotations

import re

import pytest

from slipway_lite.turns.ecma import DOT, LINE_END, LINE_START, SPACE, S, number_text, pattern, trim


@pytest.mark.parametrize("character", ["\xa0", "\ufeff", "\u2028", "\u2029", "\u3000", "\t", "\r", "\v"])
def test_trim_removes(character: str) -> None:
    assert trim(f"{character}x{character}") == "x"
    assert re.fullmatch(S, character)


@pytest.mark.parametrize("character", ["\x1c", "\x1f", "\x85", "\u200b", "\u180e"])
def test_trim_keeps_what_only_python_or_old_unicode_calls_white_space(character: str) -> None:
    assert trim(f"{character}x{character}") == f"{character}x{character}"
    assert character not in SPACE


@pytest.mark.parametrize("character", ["\n", "\r", "\u2028", "\u2029"])
def test_the_dot_stops_at_a_line_terminator_and_a_line_starts_after_it(character: str) -> None:
    assert not re.match(DOT, character)
    assert re.findall(f"{LINE_START}b{LINE_END}", f"a{character}b{character}") == ["b"]


@pytest.mark.parametrize("character", ["\x85", "\v", "\f"])
def test_the_dot_passes_what_splitlines_splits_at(character: str) -> None:
    assert re.match(DOT, character)
    assert re.findall(f"{LINE_START}b", f"a{character}b") == []


def test_digits_boundaries_and_letter_case_are_ascii() -> None:
    assert not pattern(r"\d").match("１")
    assert pattern(r"P1\b").match("P1あ")
    assert not pattern("status", ignore_case=True).match("ſtatus")
    assert pattern("status", ignore_case=True).match("STATUS")


@pytest.mark.parametrize(("number", "text"), [(12.0, "12"), (12, "12"), (12.5, "12.5"), (-0.0, "0"), (1e21, "1e+21")])
def test_a_number_prints_as_in_ecmascript(number: float, text: str) -> None:
    assert number_text(number) == text
