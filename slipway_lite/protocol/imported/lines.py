"""The lines of a published journal: bytes to records, torn tail and all (machine-protocol §6.2, §6.4, §6.6). Pure."""

from __future__ import annotations

import json
import re

from slipway_lite.canon import decode
from slipway_lite.errors import InvalidDocument
from slipway_lite.protocol.imported.conform import Misshapen, conform
from slipway_lite.protocol.imported.shapes import RECORD_LINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

RECORD_LIMIT = 4_194_304
"""The most bytes of a record, its line feed included."""

# Values are only passed over, and an integer may be longer than Python makes one of.
_VALUE = json.JSONDecoder(parse_int=str).raw_decode
_BLANK = frozenset(b" \t\r\n")
_SPACE = re.compile(r"[ \t\r\n]*")


class Line:
    """One record: which line it is on, its sequence, time and type, and ``data`` as the text that stands there."""

    __slots__ = ("at", "data", "number", "sequence", "type")

    def __init__(self, number: int, sequence: int, at: str, kind: str, data: str) -> None:
        self.number = number
        self.sequence = sequence
        self.at = at
        self.type = kind
        self.data = data


class CorruptLine(Exception):
    """A line that is no record; ``number`` counts from 1, blank lines included."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(reason)
        self.number = number


def records(readline: Callable[[int], bytes]) -> Iterator[Line]:
    """The records of a journal, numbered 1, 2, 3 …; blank lines do not count. ``readline`` is that of its file.

    A last line without a line feed counts if it decodes, and was never written if it does not. Raises
    :class:`CorruptLine` for any other line that is no record.
    """
    number, expected = 0, 1
    while line := readline(RECORD_LIMIT + 1):
        number += 1
        if len(line) > RECORD_LIMIT or not _BLANK.issuperset(line):
            try:
                found = _decode(line)
            except Misshapen as error:
                if _is_torn(line, readline):
                    return
                raise CorruptLine(number, str(error)) from None
            if found["sequence"] != expected:
                raise CorruptLine(number, f"the sequence is not {expected}")
            yield Line(number, expected, found["at"], found["type"], _text_of_data(line.decode()))
            expected += 1


def _is_torn(line: bytes, readline: Callable[[int], bytes]) -> bool:
    """Whether the line goes on to the end of the file without a line feed."""
    while not line.endswith(b"\n"):
        line = readline(RECORD_LIMIT)
        if not line:
            return True
    return False


def _decode(line: bytes) -> dict[str, Any]:
    if len(line) > RECORD_LIMIT - (not line.endswith(b"\n")):
        raise Misshapen(f"the record is larger than {RECORD_LIMIT} bytes")
    try:
        document = decode(line, RECORD_LIMIT)
    except InvalidDocument as error:
        raise Misshapen(error.message) from None
    found: dict[str, Any] = conform(document, RECORD_LINE)
    return found


def _text_of_data(text: str) -> str:
    """The text of the member ``data`` of a JSON object that was decoded before."""
    position = text.index("{") + 1
    while True:
        name, position = _VALUE(text, _space(text, position))
        start = _space(text, text.index(":", position) + 1)
        _, position = _VALUE(text, start)
        if name == "data":
            return text[start:position]
        position = text.index(",", position) + 1


def _space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    assert found is not None
    return found.end()
