"""The notations of a labelled value (turn-contract §9, §10)."""

from __future__ import annotations

import pytest

from slipway_lite.turns.status_forms import ALL_FORMS, PUBLISHED_FORMS, plain_value, read_label, read_status


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("Status: frozen", "frozen"),
        ("status: FROZEN", "frozen"),
        ("Status:\xa0 frozen \t", "frozen"),
        ("Status:\n\n frozen\nmore", "frozen"),
        ("a\rStatus: frozen\rb", "frozen"),
        ("Status: draft\nStatus: frozen", "draft"),
        ("Status: `frozen`", "`frozen`"),
        ("Status: frozen.", "frozen."),
        ("Status: frozen (see C001)", "frozen (see c001)"),
        (" Status: frozen", ""),
        ("ſtatus: frozen", ""),
        ("**Status:** frozen", ""),
        ("| Status | frozen |", ""),
        ("Status:", ""),
        ("", ""),
    ],
)
def test_the_published_form_is_a_plain_line_at_column_zero(content: str, word: str) -> None:
    assert read_status(content, PUBLISHED_FORMS).word == word


@pytest.mark.parametrize(
    ("content", "word", "form"),
    [
        ("Status: frozen", "frozen", "colon"),
        ("Status: `frozen`.", "frozen", "colon"),
        ("Status: frozen (see C001)", "frozen", "colon"),
        ("**Status:** frozen", "frozen", "bold"),
        ("**Status: `frozen`**", "frozen", "bold"),
        ("| Field | Value |\n|---|---|\n| Status | `Frozen` |", "frozen", "table"),
        ("| **Status** | frozen (see C1) |", "frozen", "table"),
        ("| Status | frozen |\nStatus: draft", "draft", "colon"),
        ("| a | Status | frozen |", "", None),
        ("The Status is frozen", "", None),
    ],
)
def test_all_forms_are_read_when_asked_for_and_the_form_is_recorded(content: str, word: str, form: str | None) -> None:
    reading = read_status(content, ALL_FORMS)
    assert (reading.word, reading.form) == (word, form)


def test_the_needle_of_a_reading_locates_its_line() -> None:
    assert read_status("a\n| Status | frozen |", ALL_FORMS).needle == "| Status | frozen |"
    assert read_status("Status: frozen", ALL_FORMS).needle == "Status:"


def test_the_first_label_that_is_there_wins() -> None:
    content = "Snapshot: S1\nSnapshot id: S2"
    assert read_label(content, ("Snapshot ID", "Snapshot"), "colon") == ("S2", "Snapshot id: S2")
    assert read_label(content, ("Source revision",), "colon") is None


@pytest.mark.parametrize(
    ("value", "plain"), [("`a`", "a"), ("**a**", "a"), (" a (b) ", "a"), ("a.", "a"), ("a (b) c", "a (b) c"), ("", "")]
)
def test_a_plain_value_loses_its_decoration(value: str, plain: str) -> None:
    assert plain_value(value) == plain
