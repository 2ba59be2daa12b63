"""The scalar text classes of machine-protocol §0.2, each code point of them."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite import text

# §0.2, written out again: U+0009-000D, 0020, 0085, 00A0, 1680, 2000-200A, 2028, 2029, 202F, 205F, 3000.
WHITE = {*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
SCALARS = [chr(point) for point in range(sys.maxunicode + 1) if not 0xD800 <= point <= 0xDFFF]


def test_white_space_is_the_unicode_property_and_not_what_str_strip_trims() -> None:
    assert {ord(c) for c in SCALARS if text.is_blank(c)} == WHITE
    assert {ord(c) for c in SCALARS if text.has_white_space(c)} == WHITE
    assert not text.is_blank("\x1c\x1d\x1e\x1f")
    assert text.is_blank("")


def test_plain_refuses_exactly_the_control_category() -> None:
    assert [c for c in SCALARS if not text.is_plain(f"a{c}")] == [c for c in SCALARS if unicodedata.category(c) == "Cc"]


def test_md_allows_tab_lf_and_cr_besides() -> None:
    assert [c for c in SCALARS if text.is_md(c) and not text.is_plain(c)] == ["\t", "\n", "\r"]
    assert all(text.is_md(c) for c in SCALARS if text.is_plain(c))


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [(" \u3000a b\x85\n", "a b"), ("\x1fa\x1f", "\x1fa\x1f"), ("\ufeffa", "\ufeffa"), (" ", "")],
)
def test_trim_takes_white_space_off_both_ends_only(given_text: str, expected: str) -> None:
    assert text.trim(given_text) == expected


def test_newlines_are_normalized_crlf_first() -> None:
    assert text.normalize_newlines("a\r\nb\rc\r\r\nd\n\re\x85\u2028") == "a\nb\nc\n\nd\n\ne\x85\u2028"


@settings(deadline=None)
@given(st.text(), st.integers(0, 40))
def test_utf8_prefix_is_the_longest_one_that_fits(given_text: str, limit: int) -> None:
    prefix = text.utf8_prefix(given_text, limit)
    assert given_text.startswith(prefix)
    assert len(prefix.encode()) <= limit
    if prefix != given_text:
        assert len(given_text[: len(prefix) + 1].encode()) > limit
