"""The only source of randomness."""

from __future__ import annotations

import os


def uuid4() -> str:
    """A random UUID, version 4, RFC variant, in lower case (importing :mod:`uuid` would cost every start)."""
    raw = bytearray(os.urandom(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
