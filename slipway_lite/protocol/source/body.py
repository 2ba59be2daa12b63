"""The body of a Change issue: level marker, manifest fence, remainder (machine-protocol §8.3).

All functions take text whose line endings are normalised; a line ends at LF and nowhere else.
"""

from __future__ import annotations

import re

from slipway_lite.protocol.source.codes import InvalidChange
from slipway_lite.text import WHITE_SPACE

CHANGE_MARKER = "<!-- slipway-level: change/v2 -->"
LEVEL_MARKER = "<!-- slipway-level:"
MANIFEST_FENCE = "```slipway-manifest"
_CLOSING_FENCE = re.compile("^```$", re.MULTILINE)


def first_line(text: str, start: int = 0) -> tuple[str, int]:
    """The first line from ``start`` on that is not blank, and the index where the line after it begins.

    ``("", len(text) + 1)`` when there is none.
    """
    rest = text[start:].lstrip(WHITE_SPACE)
    at = len(text) - len(rest)
    end = text.find("\n", at)
    end = end if end >= 0 else len(text)
    begin = max(text.rfind("\n", start, at) + 1, start)
    return (text[begin:end] if rest else ""), end + 1


def manifest_text(body: str) -> str:
    """The lines between the manifest fence and its end, joined with LF.

    Raises :class:`InvalidChange`: ``change_marker_required``, ``objective_marker`` or ``unsupported_marker``
    by the first line that is not blank; ``source_manifest_invalid`` when the manifest fence is not the next
    one, never closes, or when a second marker or manifest stands outside a code fence after it.
    """
    marker, start = first_line(body)
    if marker != CHANGE_MARKER:
        raise _wrong_marker(marker)
    fence, start = first_line(body, start)
    if fence != MANIFEST_FENCE:
        raise InvalidChange("source_manifest_invalid", "The manifest fence does not follow the level marker.")
    closing = _CLOSING_FENCE.search(body, start)
    if closing is None:
        raise InvalidChange("source_manifest_invalid", "The manifest fence is never closed.")
    remainder = body[closing.end() + 1 :]
    # The scan is only worth its time, and its import, where it could find something.
    if LEVEL_MARKER in remainder or MANIFEST_FENCE in remainder:
        from slipway_lite.protocol.source.scan import second_marker

        line = second_marker(remainder)
        if line:
            raise InvalidChange(
                "source_manifest_invalid",
                f"Line {line} after the manifest is a second marker or manifest outside a code fence.",
            )
    return body[start : max(closing.start() - 1, start)]


def _wrong_marker(line: str) -> InvalidChange:
    if "slipway-level: objective/" in line:
        return InvalidChange("objective_marker", "The issue is an Objective; a Run needs a Change.")
    if "slipway-level:" in line:
        return InvalidChange("unsupported_marker", "The level marker is not exactly the one of change/v2.")
    return InvalidChange("change_marker_required", "The issue body does not start with the level marker of change/v2.")
