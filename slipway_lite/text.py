"""The scalar text classes of the contracts (machine-protocol §0.2), and cuts that respect UTF-8.

``plain`` text has no Unicode control character; ``md`` text may have TAB, LF and CR. *Blank* means empty after
trimming Unicode White_Space, which is not what :meth:`str.strip` trims (that one also removes U+001C to U+001F).
"""

from __future__ import annotations

import re

WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
# As bytes of UTF-8 the controls are these, and U+0080 to U+009F behind a lead byte C2: megabytes are scanned as bytes.
_LOW_CONTROLS = bytes({*range(0x20), 0x7F})
_LOW_CONTROLS_BUT_LAYOUT = bytes({*_LOW_CONTROLS} - {*b"\t\n\r"})
_HIGH_CONTROL = re.compile(rb"\xc2[\x80-\x9f]")


def trim(text: str) -> str:
    """``text`` without Unicode White_Space at both ends."""
    return text.strip(WHITE_SPACE)


def is_blank(text: str) -> bool:
    return not text.strip(WHITE_SPACE)


def has_white_space(text: str) -> bool:
    return not frozenset(WHITE_SPACE).isdisjoint(text)


_KEY_START = "abcdefghijklmnopqrstuvwxyz0123456789"


def is_key(text: str) -> bool:
    """``key``: 1 to 64 of lower-case letters, digits, dot, underscore and hyphen, the first a letter or digit."""
    return 1 <= len(text) <= 64 and text[0] in _KEY_START and not text.strip(_KEY_START + "._-")


def is_plain(text: str) -> bool:
    """No Unicode control character (category Cc) at all."""
    return text.isprintable() or _is_free_of(text, _LOW_CONTROLS)


def is_md(text: str) -> bool:
    """No Unicode control character other than TAB, LF and CR."""
    return text.isprintable() or _is_free_of(text, _LOW_CONTROLS_BUT_LAYOUT)


def _is_free_of(text: str, controls: bytes) -> bool:
    raw = text.encode()
    if len(raw.translate(None, controls)) != len(raw):
        return False
    return b"\xc2" not in raw or _HIGH_CONTROL.search(raw) is None


def normalize_newlines(text: str) -> str:
    """CRLF becomes LF, then a CR that is left becomes LF."""
    if "\r" not in text:
        return text
    text = text.replace("\r\n", "\n")
    return text.replace("\r", "\n") if "\r" in text else text


def utf8_prefix(text: str, limit: int) -> str:
    """The longest prefix of ``text`` that takes at most ``limit`` bytes of UTF-8."""
    raw = text.encode()
    return text if len(raw) <= limit else raw[:limit].decode("utf-8", "ignore")
