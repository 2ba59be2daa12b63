"""Request bodies: bytes to a plain document, strictly."""

from __future__ import annotations

from typing import Any

from slipway_lite.canon import NotAnInteger, decode
from slipway_lite.control.refusals import Refused
from slipway_lite.errors import InvalidDocument

BODY_LIMIT = 1 << 20
"""Bytes of a request body (control-plane §13.15)."""


def decode_body(raw: bytes) -> Any:
    """The document in ``raw``.

    Raises :class:`Refused`: BODY_TOO_LARGE, or INVALID_REQUEST for anything but one strict JSON value.
    """
    if len(raw) > BODY_LIMIT:
        raise too_large()
    try:
        return _with_floats(decode(raw, BODY_LIMIT))
    except InvalidDocument as error:
        raise Refused("INVALID_REQUEST", error.message) from None


def too_large() -> Refused:
    """413 for a body over the cap."""
    return Refused("BODY_TOO_LARGE", f"A body has at most {BODY_LIMIT} bytes.")


def _with_floats(value: Any) -> Any:
    """``value`` itself with its other numbers as floats, or as integers when they are whole: JSON knows one kind.

    Refuses a number that no float holds.
    """
    if isinstance(value, NotAnInteger):
        number = float(value)
        if number in (float("inf"), float("-inf")):
            raise Refused("INVALID_REQUEST", "A number is too large.")
        return int(number) if number.is_integer() and abs(number) < 2**63 else number
    if isinstance(value, dict):
        for key, item in value.items():
            value[key] = _with_floats(item)
    elif isinstance(value, list):
        value[:] = map(_with_floats, value)
    return value
