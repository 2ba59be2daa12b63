"""The context of an Action: its items, its shape, and the greedy selection of machine-protocol §4.6.

The selection is compared with a slow one that renders the whole text and measures it, for every try.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.protocol import context
from slipway_lite.protocol.context import Item, decision_item, outcome_item, render
from tests.protocol.outcomes import outcome

ROOMY = 262_144
HEADINGS = ("Decisions:", "Recent outcome:", "Earlier outcomes:")
LABELS = ("decisions", "recent outcomes", "earlier outcomes")
SHORT = {'"': 2, "\\": 2, "\n": 2, "\r": 2, "\t": 2, "\b": 2, "\f": 2, "\u2028": 6, "\u2029": 6}


def json_string_bytes(text: str) -> int:
    """The rule of §4.6, character by character."""
    return 2 + sum(SHORT.get(c) or (6 if c < " " else len(c.encode())) for c in text)


def marker(text: str) -> str:
    raw = text.encode()
    return f"...[truncated original_bytes={len(raw)} sha256={hashlib.sha256(raw).hexdigest()}]"


class Slow:
    """§4.6 read aloud: select, render everything, measure, and take it back where it does not fit."""

    def __init__(self, decisions: list[str], outcomes: list[str], limit: int, plain_limit: int) -> None:
        self.classes = [decisions, outcomes[-1:], outcomes[:-1]]
        self.selected: dict[tuple[int, int], str] = {}
        self.limit = limit
        self.plain_limit = plain_limit

    def render(self) -> str:
        text = ""
        for which, members in enumerate(self.classes):
            text += HEADINGS[which] + "\n"
            chosen = [self.selected[which, n] for n in range(len(members)) if (which, n) in self.selected]
            text += "".join(chosen)
            left = len(members) - len(chosen)
            if not members:
                text += "(none)\n"
            elif left:
                text += f"[omitted {LABELS[which]}: {left}]\n"
        return text

    def fits(self) -> bool:
        text = self.render()
        return len(text.encode()) <= self.plain_limit and json_string_bytes(text) <= self.limit

    def priority(self) -> Iterator[tuple[int, int]]:
        for which, members in enumerate(self.classes):
            yield from ((which, number) for number in reversed(range(len(members))))

    def result(self) -> str | None:
        if not self.fits():
            return None
        for place in self.priority():
            item = self.classes[place[0]][place[1]]
            self.selected[place] = item
            if self.fits():
                continue
            note = marker(item) + "\n"
            self.selected[place] = note
            if not self.fits():
                del self.selected[place]
                break
            longest = len(item)
            while self.selected[place] != item[:longest] + note:
                self.selected[place] = item[:longest] + note
                if self.fits():
                    break
                longest -= 1
                self.selected[place] = note
            break
        return self.render()


PIECES = st.text(alphabet='ab"\\\n\t\r\x01\u2028\u2029é€\U0001f600 ', max_size=120)
# A real item is never shorter than the line that says that one item was omitted: it names an Action.
ITEMS = PIECES.map(lambda text: f"- orient action 44444444-4444: {text}\n")


@settings(deadline=None, max_examples=300)
@given(
    st.lists(ITEMS, max_size=4),
    st.lists(ITEMS, max_size=5),
    st.integers(60, 900),
    st.integers(60, 700),
)
def test_the_selection_is_that_of_a_slow_reading_of_the_rule(
    decisions: list[str], outcomes: list[str], limit: int, plain_limit: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(context, "CONTEXT_LIMIT", plain_limit)
        rendered = render([Item(text) for text in decisions], [Item(text) for text in outcomes], limit)
    assert rendered == Slow(decisions, outcomes, limit, plain_limit).result()


@pytest.mark.slow
@settings(deadline=None, max_examples=5000)
@given(
    st.lists(ITEMS, max_size=6),
    st.lists(ITEMS, max_size=8),
    st.integers(60, 1600),
    st.integers(60, 1200),
)
def test_the_selection_is_that_of_a_slow_reading_of_the_rule_for_long(
    decisions: list[str], outcomes: list[str], limit: int, plain_limit: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(context, "CONTEXT_LIMIT", plain_limit)
        rendered = render([Item(text) for text in decisions], [Item(text) for text in outcomes], limit)
    assert rendered == Slow(decisions, outcomes, limit, plain_limit).result()


@settings(deadline=None)
@given(PIECES)
def test_an_item_knows_both_of_its_sizes(text: str) -> None:
    item = Item(text)
    assert (item.raw, item.encoded) == (len(text.encode()), json_string_bytes(text) - 2)


def test_without_items_each_class_says_none() -> None:
    assert render([], [], ROOMY) == "Decisions:\n(none)\nRecent outcome:\n(none)\nEarlier outcomes:\n(none)\n"


def test_the_last_outcome_is_the_recent_one_and_the_rest_stand_oldest_first() -> None:
    decisions = [decision_item("act-1", "one"), decision_item("act-2", "two")]
    outcomes = [outcome_item("orient", f"act-{n}", outcome("orient", summary=f"sum {n}")) for n in (1, 2, 3)]
    assert render(decisions, outcomes, ROOMY) == (
        "Decisions:\n- action act-1 decision:\n  one\n- action act-2 decision:\n  two\n"
        "Recent outcome:\n- orient action act-3: sum 3\n"
        "Earlier outcomes:\n- orient action act-1: sum 1\n- orient action act-2: sum 2\n"
    )


def test_a_decision_is_indented_line_by_line_with_lf_only() -> None:
    assert decision_item("act-1", "a\r\nb\rc\n\nd").text == "- action act-1 decision:\n  a\n  b\n  c\n  \n  d\n"


def test_an_outcome_shows_its_summary_as_it_is_and_its_issues_indented() -> None:
    document = outcome("implement", summary="one\r\ntwo", known_issues=["a\rb", "", "c"])
    assert outcome_item("implement", "act-7", document).text == (
        "- implement action act-7: one\ntwo\n  Known issues:\n  - a\n    b\n  - \n  - c\n"
    )


def test_truncation_marker_vector_of_appendix_a_4() -> None:
    assert context.truncation_marker("hello") == (
        "...[truncated original_bytes=5 sha256=2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824]"
    )


@pytest.mark.parametrize("character", ["x", '"', "\u2028", "é", "\U0001f600", "\x01"])
def test_a_context_of_any_text_fills_its_limits_and_no_more(character: str) -> None:
    items = [Item(f"- {n} " + character * 40_000 + "\n") for n in range(5)]
    rendered = render(items[:2], items[2:], ROOMY)
    assert rendered is not None
    raw, encoded = len(rendered.encode()), json_string_bytes(rendered)
    assert raw <= context.CONTEXT_LIMIT == 131_072
    assert encoded <= ROOMY
    assert json.loads(json.dumps(rendered)) == rendered
    # One more character would not have fitted.
    width = max(len(character.encode()) / context.CONTEXT_LIMIT, (json_string_bytes(character) - 2) / ROOMY)
    assert max(raw / context.CONTEXT_LIMIT, encoded / ROOMY) > 1 - 2 * width
    assert rendered.startswith("Decisions:\n")
    assert rendered.count("...[truncated original_bytes=") == 1


def test_nothing_after_the_truncated_item_is_considered() -> None:
    huge, small = Item("x" * 200_000), Item("small\n")
    rendered = render([small, huge], [small, small], ROOMY)
    assert rendered is not None
    assert "small" not in rendered
    assert "[omitted decisions: 1]\n" in rendered
    assert "Recent outcome:\n[omitted recent outcomes: 1]\n" in rendered
    assert rendered.endswith("Earlier outcomes:\n[omitted earlier outcomes: 1]\n")


def test_a_skeleton_that_does_not_fit_is_no_context() -> None:
    skeleton = render([], [], ROOMY)
    assert skeleton is not None
    room = json_string_bytes(skeleton)
    assert render([], [], room) == skeleton
    assert render([], [], room - 1) is None
    # With members, the skeleton is what is left when all of them are omitted.
    assert render([Item("x" * 500)], [], room + 10) is None
