"""The grammar of machine-protocol §8.3, rules 1 to 4."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.protocol.source.body import first_line, manifest_text
from slipway_lite.protocol.source.codes import InvalidChange
from slipway_lite.text import is_blank
from tests.protocol.source.change import MARKER

FENCE = "```slipway-manifest"

REFUSED = {
    "no line at all": ("", "change_marker_required"),
    "only blank lines": (" \n\u3000\n\t", "change_marker_required"),
    "another first line": (f"hello\n{MARKER}", "change_marker_required"),
    "an objective": ("<!-- slipway-level: objective/v2 -->", "objective_marker"),
    "an objective inside a line": ("x <!-- slipway-level: objective/v9", "objective_marker"),
    "another version": ("<!-- slipway-level: change/v9 -->", "unsupported_marker"),
    "an indented marker": (f" {MARKER}", "unsupported_marker"),
    "a marker with a trailing blank": (f"{MARKER} ", "unsupported_marker"),
    "nothing after the marker": (MARKER, "source_manifest_invalid"),
    "text before the manifest": (f"{MARKER}\ntext\n{FENCE}\n{{}}\n```", "source_manifest_invalid"),
    "an indented manifest fence": (f"{MARKER}\n {FENCE}\n{{}}\n```", "source_manifest_invalid"),
    "a longer manifest fence": (f"{MARKER}\n`{FENCE}\n{{}}\n````", "source_manifest_invalid"),
    "a manifest fence at the end": (f"{MARKER}\n{FENCE}", "source_manifest_invalid"),
    "no closing fence": (f"{MARKER}\n{FENCE}\n{{}}\n", "source_manifest_invalid"),
    "an indented closing fence": (f"{MARKER}\n{FENCE}\n{{}}\n ```", "source_manifest_invalid"),
    "a closing fence with a trailing blank": (f"{MARKER}\n{FENCE}\n{{}}\n``` ", "source_manifest_invalid"),
    "a second level marker": (f"{MARKER}\n{FENCE}\n{{}}\n```\n{MARKER}", "source_manifest_invalid"),
    "a second manifest": (f"{MARKER}\n{FENCE}\n{{}}\n```\n  {FENCE}\n```", "source_manifest_invalid"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_body_is_refused(name: str) -> None:
    body, code = REFUSED[name]
    with pytest.raises(InvalidChange) as caught:
        manifest_text(body)
    assert caught.value.code == code


FOUND = {
    "plain": (f"{MARKER}\n{FENCE}\n{{}}\n```\n", "{}"),
    "blank lines around": (f" \n\n{MARKER}\n\u00a0\n\n{FENCE}\n{{}}\n```", "{}"),
    "several lines": (f"{MARKER}\n{FENCE}\n{{\n\n}}\n```\n```", "{\n\n}"),
    "an empty manifest": (f"{MARKER}\n{FENCE}\n```", ""),
    "one empty line": (f"{MARKER}\n{FENCE}\n\n```", ""),
    "the first closing line counts": (f"{MARKER}\n{FENCE}\n1\n```\n2\n```\n", "1"),
    "longer fences do not close": (f"{MARKER}\n{FENCE}\n1\n````\n```", "1\n````"),
    "a marker in a code fence after it": (f"{MARKER}\n{FENCE}\n1\n```\n~~~\n{MARKER}\n{FENCE}\n~~~", "1"),
    "a receipt marker after it": (f"{MARKER}\n{FENCE}\n1\n```\n<!-- slipway-receipt: x -->", "1"),
    "a marker in the manifest itself": (f"{MARKER}\n{FENCE}\n{MARKER}\n```", MARKER),
}


@pytest.mark.parametrize("name", FOUND)
def test_manifest_is_found(name: str) -> None:
    body, text = FOUND[name]
    assert manifest_text(body) == text


def test_message_names_the_line_of_the_second_marker() -> None:
    with pytest.raises(InvalidChange) as caught:
        manifest_text(f"{MARKER}\n{FENCE}\n1\n```\n\n{MARKER}")
    assert caught.value.message.startswith("Line 2 after the manifest ")


@settings(deadline=None)
@given(st.text(st.sampled_from("a \n\r\t\x0b\x1c\u3000")), st.integers(0, 8))
def test_first_line_equals_a_search_line_by_line(text: str, start: int) -> None:
    start = min(start, len(text))
    at = start
    for line in text[start:].split("\n"):
        if not is_blank(line):
            assert first_line(text, start) == (line, at + len(line) + 1)
            return
        at += len(line) + 1
    assert first_line(text, start) == ("", len(text) + 1)
