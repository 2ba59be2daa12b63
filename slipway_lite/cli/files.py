"""Read what a command is handed: private files opened safely, and standard input (machine-protocol §1.4)."""

from __future__ import annotations

import os
import select
import stat

from slipway_lite.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def read_regular(path: str, limit: int) -> bytes:
    """At most ``limit`` + 1 bytes of a regular file that is no symlink itself. Raises :class:`OSError` otherwise.

    Reading one byte more than allowed lets the caller tell "exactly at the limit" from "over it".
    """
    seen = os.lstat(path)
    if not stat.S_ISREG(seen.st_mode):
        raise OSError("not a regular file")
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        opened = os.fstat(descriptor)
        if not stat.S_ISREG(opened.st_mode) or (opened.st_dev, opened.st_ino) != (seen.st_dev, seen.st_ino):
            raise OSError("replaced while it was opened")
        return read_descriptor(descriptor, limit)
    finally:
        os.close(descriptor)


def read_descriptor(descriptor: int, limit: int) -> bytes:
    """At most ``limit`` + 1 bytes from an open descriptor."""
    chunks = []
    left = limit + 1
    while left > 0:
        try:
            chunk = os.read(descriptor, min(left, 1 << 20))
        except BlockingIOError:
            # Somebody made the stream non-blocking; what is not there yet is not the end.
            select.select([descriptor], [], [])
            continue
        if not chunk:
            break
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def json_document(path: str, code: str) -> Any:
    """The JSON document in the file at ``path``, or on standard input for ``-``.

    Raises ``unreadable_file``, or :class:`InvalidDocument` with ``code``.
    """
    from slipway_lite.observe.analysis import DOCUMENT_LIMIT, read_document

    try:
        raw = read_descriptor(0, DOCUMENT_LIMIT) if path == "-" else read_regular(path, DOCUMENT_LIMIT)
    except OSError as error:
        raise UsageError("unreadable_file", f"A document cannot be read: {error.strerror or error}.") from None
    return read_document(raw, code)
