"""The forms in which a repository-state document writes its labelled values (turn-contract §9, §10).

Two readers exist in the wild. The published compiler takes a plain ``Status: word`` line only; the sensor script also
takes a bold line and a two-column table row. One function reads for both, told which forms count.
"""

from __future__ import annotations

from typing import NamedTuple

from slipway_lite.turns.ecma import DOT, LINE_END, LINE_START, S, pattern, trim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PUBLISHED_FORMS = ("colon",)
ALL_FORMS = ("colon", "bold", "table")

_COLON = pattern(rf"{LINE_START}Status:{S}*({DOT}+){LINE_END}", ignore_case=True)
_TRAILING_PARENTHESIS = pattern(r"[ \t]*\([^()]*\)\Z")


class Reading(NamedTuple):
    """A status word in lower case, the form it was found in, and the text that locates its line.

    ``form`` is ``None`` when no form matched; the needle is then the published one, ``Status:``.
    """

    word: str
    form: str | None
    needle: str = "Status:"


def read_status(content: str, forms: Sequence[str]) -> Reading:
    """The first status of ``content`` in the first of ``forms`` that yields one.

    A colon line counts as written: back-ticks, a full stop or a parenthesis make its word another word, as published.
    The other two forms lose them, as the sensor script reads them.
    """
    if "colon" in forms:
        match = _COLON.search(content)
        if match is not None:
            word = trim(match[1]).lower()
            return Reading(word if forms == PUBLISHED_FORMS else plain_value(word), "colon")
    for form in forms:
        if form != "colon":
            labelled = read_label(content, ("Status",), form)
            if labelled is not None:
                value, line = labelled
                return Reading(value.lower(), form, line)
    return Reading("", None)


def read_label(content: str, labels: Sequence[str], form: str) -> tuple[str, str] | None:
    """The value of the first label that ``content`` writes in ``form``, and the line that holds it."""
    lines = content.split("\n")
    for label in labels:
        for line in lines:
            value = _BY_FORM[form](line, label.lower())
            if value is not None:
                return plain_value(value), line
    return None


def _bold(line: str, label: str) -> str | None:
    text = trim(line)
    head, colon, value = text.replace("**", "").partition(":")
    return trim(value) if "**" in text and colon and trim(head).lower() == label else None


def _colon(line: str, label: str) -> str | None:
    head, colon, value = line.partition(":")
    return trim(value) if colon and head.lower() == label else None


def _table(line: str, label: str) -> str | None:
    cells = [trim(cell) for cell in trim(line).strip("|").split("|")]
    return cells[1] if "|" in line and len(cells) == 2 and plain_value(cells[0]).lower() == label else None


_BY_FORM = {"colon": _colon, "bold": _bold, "table": _table}


def plain_value(value: str) -> str:
    """``value`` without back-ticks, asterisks, a trailing parenthesis and a trailing full stop."""
    bare = trim(value.replace("`", "").replace("*", ""))
    return trim(_TRAILING_PARENTHESIS.sub("", bare)).removesuffix(".")
