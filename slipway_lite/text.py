"""The scalar text classes of the contracts (machine-protocol §0.2), and cuts that respect UTF-8.

``plain`` text has no Unicode control character; ``md`` text may have TAB, LF and CR. *Blank* means empty after
trimming Unicode White_Space, which is not what :meth:`str.strip` trims (that one also removes U+001C to U+001F).
"""

from __future__ import annotations

WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_CONTROLS = frozenset(map(chr, [*range(0x20), *range(0x7F, 0xA0)]))
_CONTROLS_BUT_LAYOUT = _CONTROLS - frozenset("\t\n\r")


def trim(text: str) -> str:
    """``text`` without Unicode White_Space at both ends."""
    return text.strip(WHITE_SPACE)


def is_blank(text: str) -> bool:
    return not text.strip(WHITE_SPACE)


def has_white_space(text: str) -> bool:
    return not frozenset(WHITE_SPACE).isdisjoint(text)


def is_plain(text: str) -> bool:
    """No Unicode control character (category Cc) at all."""
    return text.isprintable() or _CONTROLS.isdisjoint(text)


def is_md(text: str) -> bool:
    """No Unicode control character other than TAB, LF and CR."""
    return text.isprintable() or _CONTROLS_BUT_LAYOUT.isdisjoint(text)


def normalize_newlines(text: str) -> str:
    """CRLF becomes LF, then a CR that is left becomes LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def utf8_prefix(text: str, limit: int) -> str:
    """The longest prefix of ``text`` that takes at most ``limit`` bytes of UTF-8."""
    raw = text.encode()
    return text if len(raw) <= limit else raw[:limit].decode("utf-8", "ignore")
