"""ECMAScript's text classes, because the published turn tools match with ECMAScript regular expressions.

Python's own classes differ where it hurts: :meth:`str.strip` removes U+001C to U+001F and U+0085, ``\\s`` misses the
byte order mark, ``.`` runs over CR and U+2028, ``$`` stops before a last LF, ``\\d`` takes full-width digits. Every
pattern of this package is built from the classes below and compiled with :data:`re.ASCII`. (turn-contract §16.4)
"""

from __future__ import annotations

import re

SPACE = "\t\n\x0b\x0c\r \xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000\ufeff"
"""What ``\\s`` matches and ``trim()`` removes."""

S = f"[{SPACE}]"
"""``\\s`` as a piece of a pattern."""

DOT = "[^\n\r\u2028\u2029]"
"""``.`` as a piece of a pattern: anything but the four line terminators."""

LINE_START = "(?<![^\n\r\u2028\u2029])"
"""``^`` with the m flag: the start of the text, or right after a line terminator."""

LINE_END = "(?![^\n\r\u2028\u2029])"
"""``$`` with the m flag: the end of the text, or right before a line terminator."""


def trim(text: str) -> str:
    """``text`` without ECMAScript white space at both ends."""
    return text.strip(SPACE)


def pattern(source: str, *, ignore_case: bool = False) -> re.Pattern[str]:
    """``source`` compiled with ASCII digits, ASCII word boundaries and ASCII-only letter case."""
    return re.compile(source, re.ASCII | re.IGNORECASE if ignore_case else re.ASCII)


def number_text(value: float) -> str:
    """A JSON number as ECMAScript prints it, as far as a unit number goes: ``12.0`` is ``12``."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return str(value)
