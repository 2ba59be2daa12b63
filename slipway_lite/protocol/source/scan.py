"""A small Markdown model that tells code fences from text (machine-protocol §8.3, scan model).

It answers one question: does a second level marker or manifest stand outside every code fence of the
remainder? A *container* is :data:`QUOTE` or the indent (2 or more) of a list item. Open list items are kept
as one chain of containers that ends in a list item: the contexts of the specification are the parts of that
chain that end in one. Positions walk over a line instead of cutting it, so that the scan stays linear however
deep a body nests.
"""

from __future__ import annotations

import re

from slipway_lite.protocol.source.body import LEVEL_MARKER, MANIFEST_FENCE
from slipway_lite.text import WHITE_SPACE, is_blank, trim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

QUOTE = 0

_QUOTE = re.compile(r" {0,3}> ?")
_LIST = re.compile(r" {0,3}(?:[-+*]|([0-9]{1,9})[.)])(?=( +)|\Z)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)", re.DOTALL)
# Possessive, so that a run of quote markers is taken in one way only and failure costs no backtracking.
_BLANK = re.compile(rf"(?: {{0,3}}+> ?+)*+[{WHITE_SPACE}]*+")
_HEADING = re.compile(r"#{1,6}(?:[ \t]|\Z)")


def second_marker(text: str) -> int:
    """The number, from 1, of the first line outside code fences that repeats a marker or a manifest.

    0 when there is none. ``text`` is what follows the manifest, line endings normalised.
    """
    contexts: list[int] = []
    # Whether a quote is among them. Looking on every blank line would cost the length of the chain each time.
    quoted = False
    paragraph: list[int] | None = None
    fence: tuple[str, list[int]] | None = None
    for number, line in enumerate(_lines(text), 1):
        blank = _BLANK.fullmatch(line) is not None
        if fence is not None:
            at = len(line) if blank else _strip(line, fence[1])
            if at >= 0:
                if _closes(line, at, fence[0]):
                    fence = None
                continue
            fence = None
        if trim(line) == MANIFEST_FENCE:
            return number
        if blank:
            paragraph = None
            if quoted and is_blank(line):
                contexts, quoted = contexts[: contexts.index(QUOTE)], False
            continue
        at, containers = _peel(line, contexts, paragraph)
        run = _opening(line, at)
        if run:
            fence, paragraph = (run, containers), None
        elif LEVEL_MARKER in line:
            return number
        else:
            paragraph = containers if _starts_paragraph(line[at:]) else None
        contexts = _up_to_last_list(containers)
        quoted = QUOTE in contexts
    return 0


def _lines(text: str) -> Iterator[str]:
    """One after the other: as a list, short lines take many times their text."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def _strip(line: str, containers: list[int]) -> int:
    """Where the text of ``line`` begins inside all of ``containers``, or -1 when it leaves one of them."""
    at = 0
    for container in containers:
        at = _enter(line, at, container)
        if at < 0:
            break
    return at


def _enter(line: str, at: int, container: int) -> int:
    if container == QUOTE:
        quote = _QUOTE.match(line, at)
        return quote.end() if quote else -1
    return at + container if line.startswith(" " * container, at) else -1


def _peel(line: str, contexts: list[int], paragraph: list[int] | None) -> tuple[int, list[int]]:
    """Where the text of ``line`` begins and the containers around it: those it continues, then new ones.

    An ordered item that does not start at 1 cannot interrupt a paragraph of the very same containers.
    """
    at = start = depth = 0
    for index, container in enumerate(contexts, 1):
        start = _enter(line, start, container)
        if start < 0:
            break
        if container != QUOTE:
            at, depth = start, index
    containers = contexts[:depth]
    while True:
        quote = _QUOTE.match(line, at)
        if quote:
            containers.append(QUOTE)
            at = quote.end()
            continue
        item = _LIST.match(line, at)
        if item is None:
            return at, containers
        ordinal, spaces = item.groups()
        if ordinal is not None and int(ordinal) != 1 and paragraph == containers:
            return at, containers
        width = len(spaces) if spaces and len(spaces) <= 4 else 1
        containers.append(item.end() + width - at)
        at = min(item.end() + width, len(line))


def _opening(line: str, at: int) -> str:
    """The run of fence characters that opens a code fence at ``at``, or ``""``."""
    fence = _FENCE.match(line, at)
    if fence is None or (fence[1][0] == "`" and "`" in fence[2]):
        return ""
    return fence[1]


def _closes(line: str, at: int, opened: str) -> bool:
    fence = _FENCE.match(line, at)
    return fence is not None and fence[1].startswith(opened) and is_blank(fence[2])


def _starts_paragraph(text: str) -> bool:
    """At most three spaces, then something that is neither an ATX heading nor a thematic break."""
    bare = text.lstrip(" ")
    if not bare or len(text) - len(bare) > 3 or _HEADING.match(bare):
        return False
    rule = bare.replace(" ", "").replace("\t", "")
    return not (len(rule) >= 3 and rule[0] in "*-_" and rule == rule[0] * len(rule))


def _up_to_last_list(containers: list[int]) -> list[int]:
    end = len(containers)
    while end and containers[end - 1] == QUOTE:
        end -= 1
    return containers[:end]
