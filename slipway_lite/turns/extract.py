"""Finding the machine result in a reply: the last fenced ``json`` block, in time linear in the text.

The published rule is one regular expression, global, leftmost and lazy: three backticks and ``json``, spaces or tabs,
LF or CRLF; then the shortest text up to LF or CRLF, spaces or tabs, three backticks. Run as one expression it is
quadratic on openers without closers; searched for in two steps it accepts the same and is linear.

The rule has two edges that can hand a stale result to a driver, so :func:`find_last_json_block` says when the text
after the accepted block looks like one of them. (turn-contract §4)
"""

from __future__ import annotations

import re
from typing import NamedTuple

_BACKTICKS = "```"
_NEEDLE = "```json"
_AFTER_NEEDLE = re.compile(r"[ \t]*\r?\n")
_OPENER = re.compile(r"```json[ \t]*\r?\n")
# Its optional CR is looked for afterwards: an optional first character makes a search ten times slower.
_CLOSER = re.compile(r"\n[ \t]*```")

OPENER_AFTER_BLOCK = "opener-after-block"
FENCE_LEFT_OPEN = "fence-left-open"


class Extraction(NamedTuple):
    """The body of the accepted block, or ``None``; and what stands open after it.

    ``tail`` is :data:`OPENER_AFTER_BLOCK` when a json fence opens after the accepted block, or is opened by the very
    backticks that closed it: what that fence holds was not read. It is :data:`FENCE_LEFT_OPEN` when any other fence
    is left open after the block, or the only json fence never closes. Otherwise ``None``.
    """

    body: str | None
    tail: str | None


class _Scan(NamedTuple):
    """Where the last body starts and ends, where its closing backticks end; whether an opener never closes.

    The places are -1 when there is no body.
    """

    start: int
    end: int
    after: int
    unclosed: bool


def extract_last_json_block(text: str) -> str | None:
    """The body of the last fenced ``json`` block of ``text``, or ``None``."""
    scan = _scan(text)
    return None if scan.after < 0 else text[scan.start : scan.end]


def find_last_json_block(text: str) -> Extraction:
    """The same block as :func:`extract_last_json_block`, and whether a stale one may have won."""
    scan = _scan(text)
    if scan.after < 0:
        return Extraction(None, FENCE_LEFT_OPEN if scan.unclosed else None)
    return Extraction(text[scan.start : scan.end], _tail(text, scan))


def _scan(text: str) -> _Scan:
    start = end = after = -1
    at = text.find(_NEEDLE)
    while at >= 0:
        at += len(_NEEDLE)
        opener = _AFTER_NEEDLE.match(text, at)
        if opener is not None:
            closer = _CLOSER.search(text, opener.end())
            if closer is None:
                return _Scan(start, end, after, True)
            start, end, after = opener.end(), closer.start(), closer.end()
            if text.startswith("\r", end - 1) and end > start:
                end -= 1
            at = after
        at = text.find(_NEEDLE, at)
    return _Scan(start, end, after, False)


def _tail(text: str, scan: _Scan) -> str | None:
    if scan.unclosed or _OPENER.match(text, scan.after - len(_BACKTICKS)):
        return OPENER_AFTER_BLOCK
    fences = sum(1 for _ in _CLOSER.finditer(text, scan.after))
    return FENCE_LEFT_OPEN if fences % 2 else None
