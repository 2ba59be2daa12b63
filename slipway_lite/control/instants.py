"""Points in time on the wire: ISO-8601 UTC, milliseconds, a trailing ``Z`` (control-plane, head).

Fixed width, so that text order is time order. Nothing here reads a clock.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def from_micros(timestamp: str) -> str:
    """The wire form of a :func:`slipway_lite.clock.timestamp`, cut to milliseconds."""
    return timestamp[:23] + "Z"


def parse(text: str) -> datetime:
    """The instant that ``text`` names, in UTC.

    Raises :class:`ValueError` for anything but an RFC 3339 date-time with an offset.
    """
    if not _RFC3339.fullmatch(text):
        raise ValueError("not an RFC 3339 date-time with an offset")
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except OverflowError:
        raise ValueError("a date-time outside the years 1 to 9999") from None


def render(instant: datetime) -> str:
    """``instant`` (in UTC) in the wire form."""
    return f"{instant:%Y-%m-%dT%H:%M:%S}.{instant.microsecond // 1000:03d}Z".rjust(24, "0")


def normalised(text: str) -> str:
    """The wire form of any RFC 3339 ``text``; raises :class:`ValueError` as :func:`parse` does."""
    return render(parse(text))


def later(instant: str, seconds: float) -> str:
    """``instant`` (wire form) plus ``seconds``."""
    return render(parse(instant) + timedelta(seconds=seconds))


def milliseconds(instant: str) -> int:
    """Milliseconds since 1970 of an ``instant`` in the wire form."""
    return round(parse(instant).timestamp() * 1000)
