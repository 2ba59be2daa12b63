"""Finding the machine result in a reply: the last fenced ``json`` block, in time linear in the text.

The published rule is one regular expression, global, leftmost and lazy: three backticks and ``json``, spaces
or tabs, LF or CRLF; then the shortest text up to LF or CRLF, spaces or tabs, three backticks. Run as one
expression it is quadratic on openers without closers; searched for in two steps it accepts the same and is
linear.

The rule has two edges that can hand a stale result to a driver, so :func:`find_last_json_block` says when the
text after the accepted block looks like one of them. (turn-contract §4)
"""

from __future__ import annotations

import re
from typing import NamedTuple

_NEEDLE = "```json"
_AFTER_NEEDLE = re.compile(r"[ \t]*\r?\n")
_OPENER = re.compile(r"```json[ \t]*\r?\n")
_CLOSER = re.compile(r"\r?\n[ \t]*```")
_FENCE_LINE = re.compile(r"\n[ \t]*```")

OPENER_AFTER_BLOCK = "opener-after-block"
FENCE_LEFT_OPEN = "fence-left-open"


class Extraction(NamedTuple):
    """The body of the accepted block, or ``None``; and what stands open after it.

    ``tail`` is :data:`OPENER_AFTER_BLOCK` when a json fence is opened after the accepted block, or by the
    very backticks that closed it: what that fence holds was not read. It is :data:`FENCE_LEFT_OPEN` when any
    other fence is left open after the block, or when the only json fence never closes. Otherwise ``None``.
    """

    body: str | None
    tail: str | None


def extract_last_json_block(text: str) -> str | None:
    """The body of the last fenced ``json`` block of ``text``, or ``None``."""
    span = _last_span(text)
    return None if span is None else text[span[0] : span[1]]


def find_last_json_block(text: str) -> Extraction:
    """The same block as :func:`extract_last_json_block`, and whether a stale one may have won."""
    span = _last_span(text)
    if span is None:
        return Extraction(None, FENCE_LEFT_OPEN if _has_opener(text) else None)
    start, end, after = span
    return Extraction(text[start:end], _tail(text, after))


def _last_span(text: str) -> tuple[int, int, int] | None:
    """Start and end of the last body, and where its closing backticks end."""
    found = None
    at = text.find(_NEEDLE)
    while at >= 0:
        opener = _AFTER_NEEDLE.match(text, at + len(_NEEDLE))
        if opener is None:
            at = text.find(_NEEDLE, at + len(_NEEDLE))
            continue
        closer = _CLOSER.search(text, opener.end())
        if closer is None:
            break
        found = opener.end(), closer.start(), closer.end()
        at = text.find(_NEEDLE, closer.end())
    return found


def _has_opener(text: str) -> bool:
    return _NEEDLE in text and _OPENER.search(text) is not None


def _tail(text: str, after: int) -> str | None:
    closing = after - 3
    if text.find(_NEEDLE, closing) >= 0 and _OPENER.search(text, closing):
        return OPENER_AFTER_BLOCK
    fences = _FENCE_LINE.findall(text[after:])
    return FENCE_LEFT_OPEN if len(fences) % 2 else None
