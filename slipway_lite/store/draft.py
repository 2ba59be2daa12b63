"""A new file that gets its name only when it is whole: written aside, synced, then linked without replacing anything.

Killed at any moment there is no file of that name, or all of it; what may stay behind is a directory
``.slipway-draft-…`` beside it, which can be deleted.
"""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from slipway_lite.errors import SlipwayError, UsageError
from slipway_lite.store import sqlite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PREFIX = ".slipway-draft-"
BESIDE = ("", "-wal", "-shm", "-journal")
"""What SQLite keeps beside a database; a new file of such a name would be taken for a part of it."""
CHUNK = 1 << 20
_FULL = (errno.ENOSPC, errno.EDQUOT)
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


@contextmanager
def whole_file(target: str, sources: Iterable[str]) -> Iterator[str]:
    """The path of an empty file (0600) to fill, in a directory of its own; a clean exit gives it the name ``target``.

    Raises ``output_is_source`` (a usage error) when ``target`` is one of ``sources`` or a file that SQLite keeps beside
    one, ``output_exists``, ``output_directory_missing``, ``disk_full``, and ``output_failed`` for anything else that
    the file system refuses; then nothing is left behind.
    """
    target = os.path.abspath(target)
    _refuse_sources(target, sources)
    if os.path.lexists(target):
        raise _exists()
    directory = os.path.dirname(target)
    if not os.path.isdir(directory):
        raise SlipwayError("output_directory_missing", "The directory of the new file is not there. Make it first.")
    try:
        with TemporaryDirectory(prefix=PREFIX, dir=directory, ignore_cleanup_errors=True) as place:
            draft = os.path.join(place, "draft.db")
            os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            yield draft
            _sync(draft)
            _publish(draft, target)
        _keep(directory, target)
    except OSError as error:
        if error.errno in _FULL:
            raise _disk_full() from error
        raise _failed(error.strerror or str(error)) from error
    except SlipwayError as error:
        cause = error.__cause__
        if isinstance(cause, sqlite.DatabaseError) and sqlite.is_full(cause):
            raise _disk_full() from error
        if isinstance(cause, sqlite.DatabaseError) and sqlite.is_write_failure(cause):
            raise _failed(str(cause)) from error
        raise


def _refuse_sources(target: str, sources: Iterable[str]) -> None:
    resolved = os.path.realpath(target)
    for source in sources:
        if resolved in [os.path.realpath(source) + suffix for suffix in BESIDE]:
            raise UsageError("output_is_source", "The new file would be the database itself, or a part of it.")


def _publish(draft: str, target: str) -> None:
    try:
        os.link(draft, target)
    except FileExistsError as error:
        raise _exists() from error
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # A file system without hard links, such as that of a memory stick. Renaming replaces, so look first.
        if os.path.lexists(target):
            raise _exists() from error
        os.rename(draft, target)


def _keep(directory: str, target: str) -> None:
    """Make the new name durable; a name of which that is not known is taken away again."""
    try:
        _sync(directory)
    except PermissionError:
        return  # Nobody can sync a directory that may not be read.
    except OSError:
        os.unlink(target)
        raise


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _exists() -> SlipwayError:
    return SlipwayError("output_exists", "There is a file of that name, and nothing replaces it. Give another name.")


def _failed(reason: str) -> SlipwayError:
    return SlipwayError("output_failed", f"The new file could not be written: {reason}.")


def _disk_full() -> SlipwayError:
    return SlipwayError("disk_full", "The disk of the new file is full; nothing was left there.")
