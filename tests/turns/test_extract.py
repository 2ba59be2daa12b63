"""Finding the block: the published acceptance, in linear time, and what may be stale (turn-contract §4)."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.turns.extract import (
    FENCE_LEFT_OPEN,
    OPENER_AFTER_BLOCK,
    extract_last_json_block,
    find_last_json_block,
)

REFERENCE = re.compile(r"```json[ \t]*\r?\n([\s\S]*?)\r?\n[ \t]*```")
"""The published rule as one expression: right, and quadratic."""

PIECES = ["```", "```json", "json", "\n", "\r\n", "\r", " ", "\t", "`", "``", "````", "{}", "x", "\u2028", "\f", "\xa0"]


def reference(text: str) -> str | None:
    bodies = REFERENCE.findall(text)
    return bodies[-1] if bodies else None


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("result: ```json\n1\n```", "1"),
        ("````json\n1\n````", "1"),
        ("```json \t\n1\n \t``` and more", "1"),
        ("```json\r\n1\r\n```", "1"),
        ("```json\n1\n```\n```json\n2\n```", "2"),
        ("```json\n\n```", ""),
        ('```json\n{"a": "```"}\n```', '{"a": "```"}'),
        ("~~~\n```json\n1\n```\n~~~", "1"),
    ],
    ids=["inside a line", "four backticks", "spaces", "CRLF", "last wins", "empty", "backticks in a string", "quoted"],
)
def test_a_block_is(text: str, body: str) -> None:
    assert extract_last_json_block(text) == body


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"bare": 1}',
        "```\n1\n```",
        "```JSON\n1\n```",
        "```jsonc\n1\n```",
        "```json5\n1\n```",
        "```json title=x\n1\n```",
        "``` json\n1\n```",
        "~~~json\n1\n~~~",
        "```json 1 ```",
        "```json\n1```",
        "```json\n1\n",
        "```json\r1\r```",
        "```json\xa0\n1\n```",
        "```json\n1\n\f```",
        "```json\n```",
    ],
)
def test_not_a_block(text: str) -> None:
    assert extract_last_json_block(text) is None


def test_an_opener_closes_the_block_before_it_and_is_lost() -> None:
    text = "```json\n1\n```json\n2\n```\n"
    assert find_last_json_block(text) == ("1", OPENER_AFTER_BLOCK)


def test_an_opener_directly_before_a_closer_swallows_text_until_the_next_one() -> None:
    assert extract_last_json_block("```json\n```\ntext\n```") == "```\ntext"


def test_an_unterminated_last_block_leaves_the_previous_one_and_is_noticed() -> None:
    assert find_last_json_block("```json\n1\n```\ntext\n```json\n2\n") == ("1", OPENER_AFTER_BLOCK)


@pytest.mark.parametrize("tail", ["\n```bash\nmake", "\n```json", "\nsee\n  ```"])
def test_a_fence_left_open_after_the_block_is_noticed(tail: str) -> None:
    assert find_last_json_block("```json\n1\n```" + tail) == ("1", FENCE_LEFT_OPEN)


def test_an_only_fence_that_never_closes_is_noticed() -> None:
    assert find_last_json_block("report\n```json\n{") == (None, FENCE_LEFT_OPEN)


@pytest.mark.parametrize("tail", ["", "\nDone.", "\n```bash\nmake\n```\n", "\n```json\n1\n```"])
def test_a_closed_tail_is_not_noticed(tail: str) -> None:
    assert find_last_json_block("```json\n1\n```" + tail) == ("1", None)


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
@settings(deadline=None, max_examples=500)
def test_extraction_equals_the_reference_rule(text: str) -> None:
    assert extract_last_json_block(text) == reference(text)
    assert find_last_json_block(text).body == reference(text)


@pytest.mark.slow
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
@settings(deadline=None, max_examples=100_000)
def test_extraction_equals_the_reference_rule_at_length(text: str) -> None:
    assert extract_last_json_block(text) == reference(text)


@pytest.mark.parametrize("opener", ["x```json\n", "```json\n", "\n```json\n", "```json", "\n", "`", "```json \t"])
def test_five_megabytes_of_openers_cost_linear_time(opener: str) -> None:
    text = (opener * (5_000_000 // len(opener) + 1))[:5_000_000]
    started = time.perf_counter()
    find_last_json_block(text)
    # The bar is 0.5 s on a quiet machine; a quadratic search would take minutes.
    assert time.perf_counter() - started < 2.5
