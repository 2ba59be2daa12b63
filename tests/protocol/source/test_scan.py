"""The fast scan against examples of each rule of §8.3, and against the slow second implementation."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.protocol.source.scan import second_marker
from tests.protocol.source import plain_scan

LEVEL = "<!-- slipway-level: change/v2 -->"
MANIFEST = "```slipway-manifest"

EXAMPLES = {
    "a level marker in text is found": (f"text\n{LEVEL}\n", 2),
    "a level marker inside a line is found": (f"see {LEVEL} here", 1),
    "a level marker of any version is found": ("<!-- slipway-level: objective/v9", 1),
    "a marker with another name is no level marker": ("<!-- slipway-receipt: change/v2 -->", 0),
    "a manifest fence is found": (f"text\n{MANIFEST}\n{{}}\n```\n", 2),
    "an indented manifest fence is found": (f"      {MANIFEST}  ", 1),
    "a manifest fence with more words opens a code fence": (f"{MANIFEST} x\n{LEVEL}\n```", 0),
    "a code fence hides a level marker": (f"```\n{LEVEL}\n```\n", 0),
    "a code fence hides a manifest fence": (f"~~~\n{MANIFEST}\n~~~\n", 0),
    "an unclosed code fence hides the rest": (f"```\n\n{LEVEL}", 0),
    "a marker in the opening line of a code fence is hidden": (f"~~~ {LEVEL}\n~~~", 0),
    "a marker after the closing fence is found": (f"```\n```\n{LEVEL}", 3),
    "a shorter fence does not close": (f"````\n```\n{LEVEL}\n````", 0),
    "a longer fence closes": (f"```\n`````\n{LEVEL}", 3),
    "the other fence character does not close": (f"```\n~~~\n{LEVEL}\n```", 0),
    "a fence with a tail does not close": (f"```\n``` x\n{LEVEL}\n```", 0),
    "a fence with a blank tail closes": (f"```\n``` \t\n{LEVEL}", 3),
    "backticks in the tail open nothing": (f"``` a`b\n{LEVEL}", 2),
    "backticks in the tail of tildes open": (f"~~~ a`b\n{LEVEL}", 0),
    "four spaces open no fence": (f"    ```\n{LEVEL}", 2),
    "a tab opens no fence": (f"\t```\n{LEVEL}", 2),
    "two characters are no fence": (f"``\n{LEVEL}", 2),
    "a fence in a quote ends with the quote": (f"> ```\n{LEVEL}", 2),
    "a fence in a quote hides inside the quote": (f"> ```\n> {LEVEL}\n", 0),
    "a blank line does not end a fence in a quote": (f"> ```\n\n> {LEVEL}", 0),
    "a fence in a list item ends with the item": (f"- ```\n{LEVEL}", 2),
    "a fence in a list item hides inside the item": (f"- ```\n  {LEVEL}\n", 0),
    "a fence in a continued item opens": (f"- a\n\n  ```\n  {LEVEL}", 0),
    "a deep list item indents by its marker and spaces": (f"10)   ```\n      {LEVEL}\n", 0),
    "a list item with more than four spaces indents by one": (f"-      ```\n  {LEVEL}", 2),
    "an empty list item indents by its marker and one": (f"-\n  ```\n  {LEVEL}", 0),
    "ten digits are no list item": (f"1234567890. ```\n            {LEVEL}", 2),
    "an ordered item other than 1 cannot interrupt a paragraph": (f"text\n2. ```\n   {LEVEL}", 3),
    "an ordered item 1 interrupts a paragraph": (f"text\n1. ```\n   {LEVEL}", 0),
    "an ordered item after a heading is an item": (f"# text\n2. ```\n   {LEVEL}", 0),
    "an ordered item after a thematic break is an item": (f"* * *\n2. ```\n   {LEVEL}", 0),
    "an ordered item after a blank line is an item": (f"text\n\n2. ```\n   {LEVEL}", 0),
    "quote markers alone end a paragraph": (f"> text\n>\n> 2. ```\n>    {LEVEL}", 0),
    "a paragraph in a quote is another paragraph": (f"> text\n2. ```\n   {LEVEL}", 0),
    "a truly blank line leaves a list inside a quote": (f"> - a\n\n>   ```\n> {LEVEL}", 0),
    "quote markers alone keep the list": (f"> - a\n>\n>   ```\n> {LEVEL}", 4),
    "a quote in a list item in a quote": (f"> - > ```\n>   > {LEVEL}", 0),
    "nothing is found in nothing": ("", 0),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_scan(name: str) -> None:
    text, line = EXAMPLES[name]
    assert second_marker(text) == line
    assert plain_scan.second_marker(text) == line


BLANKS = (" ", "  ", "   ", "    ", "\t", "\u00a0", "\x0b")
CONTAINERS = (">", "> ", "-", "- ", "* ", "+   ", "-      ", "1. ", "2. ", "2) ", "10) ", "9.")
TEXTS = ("```", "~~~", "````", "`", "#", "# ", "***", "- - -", "_", "x", "text", LEVEL, MANIFEST)
PIECES = st.sampled_from((*BLANKS, *CONTAINERS, *TEXTS))
LINES = st.lists(PIECES, max_size=7).map("".join)
BODIES = st.lists(LINES, max_size=12).map("\n".join)


@settings(max_examples=400, deadline=None)
@given(BODIES)
def test_scan_equals_the_slow_scan(text: str) -> None:
    assert second_marker(text) == plain_scan.second_marker(text)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None)
@given(BODIES)
def test_scan_equals_the_slow_scan_over_many_bodies(text: str) -> None:
    assert second_marker(text) == plain_scan.second_marker(text)


PILES = {
    "quotes": lambda size: "> " * size,
    "quotes without spaces": lambda size: ">" * size,
    "items": lambda size: "- " * size,
    "ordered items": lambda size: "2. " * size,
    "quotes and items": lambda size: "> - " * size,
    "spaces": lambda size: " " * size,
    "backticks": lambda size: "`" * size,
    "empty items": lambda size: "-\n" * size,
    "open fences": lambda size: "~~~\n" * size,
    "rows of items": lambda size: ("- " * 50 + "\n") * (size // 50),
    "blank lines below deep items": lambda size: "- " * size + "\n" * size,
    "blank lines below deep quoted items": lambda size: "> - " * size + "\n>" * size,
    "text below deep items": lambda size: "- " * size + "x\n" * size,
    "a fence inside deep items": lambda size: "- " * size + "~~~" + "\n \n x" * size,
}


@pytest.mark.parametrize("name", PILES)
def test_scan_takes_linear_time(name: str) -> None:
    def seconds(size: int) -> float:
        text = f"{PILES[name](size)}\n{LEVEL}"
        began = time.perf_counter()
        second_marker(text)
        return time.perf_counter() - began

    assert seconds(100_000) < 100 * max(seconds(5_000), 0.002)  # 20 times the size; a square would be 400
