"""Bytes before objects: the strict JSON decoder, the one JSON writer, and every kind of digest.

The decoder takes what machine-protocol §3.1 rules 1 to 3 and 5 take and nothing else: one JSON value in UTF-8
without a byte order mark, no duplicate key at any depth (compared after unescaping), no ``NaN``, nothing but
white space after it. Numbers that are not plain integers of 64 bits come back as :class:`NotAnInteger`, so that
a typed walk can refuse them where they stand.
"""

from __future__ import annotations

import hashlib
import json
import re

from slipway_lite.errors import InvalidDocument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
DEPTH_LIMIT = 100
"""How deep containers may stand in each other: far beyond every contract, far below any interpreter's recursion limit.

Whatever walks a decoded value may recurse.
"""
COUNTED = 1 << 16
VALUES_FLOOR = 64 * 1024 * 1024
VALUE_BYTES = 80
"""About what a small value takes as an object, its place in a container included."""
ASKED_FROM = 9 << 19
"""Characters below which no text can take much more than the floor, so that nobody has to count its values."""
# Possessive: megabytes of text are taken in one way only, without a stack to go back on.
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?')
SURROGATE_ESCAPE = re.compile(r"\\u[dD]")
"""Finds every escape of half a character, and now and then something that only looks like one."""
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")


class NotAnInteger(str):
    """The source text of a JSON number that is no plain integer within signed 64 bits."""

    __slots__ = ()


def decode(raw: bytes, limit: int) -> Any:
    """The one JSON value in ``raw``.

    Raises :class:`InvalidDocument` when ``raw`` is longer than ``limit`` bytes, is not UTF-8, starts with a byte
    order mark, is blank, repeats a key, nests too deep, or holds anything else than one JSON value. A lone
    surrogate escape becomes U+FFFD. (machine-protocol §3.1)
    """
    if len(raw) > limit:
        raise InvalidDocument(f"The document is larger than {limit} bytes.")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise InvalidDocument("The document is not valid UTF-8.") from None
    if text.startswith("\ufeff"):
        raise InvalidDocument("The document starts with a byte order mark.")
    if not text.strip(" \t\r\n"):
        raise InvalidDocument("The document is empty.")
    if is_too_dense(text):
        raise InvalidDocument("The document holds more values than its size warrants.")
    lone = SURROGATE_ESCAPE.search(text) is not None
    pairs = _scrubbed_object if lone else _object
    try:
        value = json.loads(
            text,
            object_pairs_hook=pairs,
            parse_float=NotAnInteger,
            parse_int=_integer,
            parse_constant=_constant,
        )
        value = _scrub(value) if lone else value
    except InvalidDocument:
        raise
    except RecursionError:
        raise InvalidDocument("The document nests too deep.") from None
    except ValueError as error:
        raise InvalidDocument(f"The document is not one JSON value: {_reason(error)}.") from None
    # To count the brackets of megabytes takes longer than to walk the few values that they hold.
    if (len(raw) > COUNTED or raw.count(b"[") + raw.count(b"{") > DEPTH_LIMIT) and _is_too_deep(value):
        raise InvalidDocument("The document nests too deep.")
    return value


def is_too_dense(text: str) -> bool:
    """Whether the values of a JSON ``text`` take more memory than five times its length and :data:`VALUES_FLOOR`.

    Megabytes of ``[{},{},…]`` take thirty times their length. What contracts call megabytes is text with few values.
    """
    most = (5 * len(text) + VALUES_FLOOR) // VALUE_BYTES
    if len(text) < ASKED_FROM or _marks(text) <= most:
        return False
    return _marks(text) - sum(_marks(found[0]) for found in _STRING.finditer(text)) > most


def _marks(text: str) -> int:
    return text.count(",") + text.count("[") + text.count("{")


def _is_too_deep(value: Any) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEPTH_LIMIT):
        inside = (item.values() if isinstance(item, dict) else item for item in level)
        level = [child for children in inside for child in children if child and isinstance(child, dict | list)]
        if not level:
            return False
    return True


def has_half_a_pair(text: str) -> bool:
    """Whether JSON that decodes has a lone surrogate escape, which :func:`decode` replaces."""
    if SURROGATE_ESCAPE.search(text) is None:
        return False
    try:
        # Numbers are not asked for: one may be too long or too large to be one.
        encode(json.loads(text, parse_int=str, parse_float=str)).encode()
    except UnicodeEncodeError:
        return True
    return False


def _reason(error: ValueError) -> str:
    """What the parser found and where, without the text it found."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.lower()} at line {error.lineno} column {error.colno}"
    return "a number is too long"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise InvalidDocument("An object repeats a key.")
    return value


def _scrubbed_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return _object([(key.translate(_SURROGATES), value) for key, value in pairs])


def _scrub(value: Any) -> Any:
    if isinstance(value, str):
        return value if isinstance(value, NotAnInteger) else value.translate(_SURROGATES)
    if isinstance(value, list):
        return [_scrub(item) for item in value]
    if isinstance(value, dict):
        return {key: _scrub(item) for key, item in value.items()}
    return value


def _integer(text: str) -> Any:
    value = int(text) if len(text) <= 20 else INT64_MAX + 1
    return value if INT64_MIN <= value <= INT64_MAX else NotAnInteger(text)


def _constant(name: str) -> NoReturn:
    raise InvalidDocument(f"{name} is not JSON.")


_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False, allow_nan=False)


def encode(value: Any) -> str:
    """Compact JSON in the key order of ``value``: non-ASCII raw, U+2028 and U+2029 escaped (§0.3)."""
    text = _COMPACT.encode(value)
    if "\u2028" in text or "\u2029" in text:
        text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return text


def encode_canonical(value: Any) -> str:
    """Compact JSON with sorted keys: equal values give equal text, whatever their key order."""
    return json.dumps(
        value,
        ensure_ascii=False,
        separators=(",", ":"),
        sort_keys=True,
        check_circular=False,
        allow_nan=False,
    )


def sha256(raw: bytes) -> str:
    """``sha256:`` and 64 hexadecimal digits over the bytes as they are."""
    return "sha256:" + hashlib.sha256(raw).hexdigest()


def framed(*fields: str | bytes) -> str:
    """The framed digest of machine-protocol §8.5.

    Each field, text or its bytes, is fed as its UTF-8 byte length, an unsigned 64-bit big-endian number, and its
    bytes, so that no two different lists of fields share their bytes. The first field names the domain.
    """
    parts = []
    for field in fields:
        raw = field.encode() if isinstance(field, str) else field
        parts.append(len(raw).to_bytes(8, "big"))
        parts.append(raw)
    return "sha256:" + hashlib.sha256(b"".join(parts)).hexdigest()


def is_digest(text: str) -> bool:
    """``sha256:`` and exactly 64 lower-case hexadecimal digits."""
    return len(text) == 71 and text.startswith("sha256:") and not text[7:].strip("0123456789abcdef")
