"""Standard output and standard error, written as bytes and only reported as written when they are."""

from __future__ import annotations

import os


def guard() -> None:
    """Keep descriptors 0 to 2 taken, so that no database file ever opens as a standard stream that was closed.

    The placeholder for an output stream is read-only: writing to it fails, as it does on a closed stream.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)


def write(descriptor: int, text: str) -> None:
    """Write all of ``text``. Raises :class:`OSError` when the stream does not take it (full, closed, broken pipe)."""
    write_bytes(descriptor, text.encode("utf-8", "backslashreplace"))


def write_bytes(descriptor: int, raw: bytes) -> None:
    """Write all of ``raw``. Raises :class:`OSError` as :func:`write` does."""
    left = memoryview(raw)
    while left:
        left = left[os.write(descriptor, left) :]
