"""Writing documents of a working tree: below its root, and never through a symbolic link.

A repository may come from anybody, so ``docs/workflow`` or a document in it may be a link that leads out of the tree.
Each directory of a path is opened relative to the one before, links refused, so that the check and the use are one
step; a new version has a name of its own until it takes the place of the old one.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress

from slipway_lite import ids
from slipway_lite.errors import SlipwayError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Not blocking: a named pipe in the place of a log must not hold up the work.
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def write_document(root: str, path: str, content: str) -> None:
    """Write one document under ``root`` whole or not at all, with the directories that it needs.

    ``path`` has ``/`` between plain names. Raises :class:`SlipwayError`: ``document_behind_link`` when a part of the
    path is a symbolic link, the document itself included; ``document_unwritable`` for what the system refuses.
    """
    try:
        with _directory_of(root, path) as (parent, name):
            _refuse_link(parent, name)
            draft = f".{name}.{ids.uuid4()}"
            try:
                with open(os.open(draft, _CREATE, 0o666, dir_fd=parent), "wb") as file:
                    file.write(content.encode())
                os.rename(draft, name, src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(draft, dir_fd=parent)
                raise
    except OSError as error:
        raise SlipwayError("document_unwritable", f"The document cannot be written: {error.strerror}.") from error


def append_line(root: str, path: str, line: str) -> bool:
    """Append one line to a log under ``root``; whether it worked, because a log never blocks the work.

    Nothing is written behind a symbolic link, or into anything but a regular file.
    """
    try:
        with _directory_of(root, path) as (parent, name):
            descriptor = os.open(name, _APPEND, 0o666, dir_fd=parent)
            with open(descriptor, "ab") as file:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    return False
                file.write(f"{line}\n".encode("utf-8", "backslashreplace"))
    except (OSError, SlipwayError):
        return False
    return True


@contextmanager
def _directory_of(root: str, path: str) -> Iterator[tuple[int, str]]:
    """The directory of ``path``, made if need be and held open, and the last name of the path."""
    *directories, name = path.split("/")
    current = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for directory in directories:
            following = _step_into(current, directory)
            os.close(current)
            current = following
        yield current, name
    finally:
        os.close(current)


def _step_into(parent: int, name: str) -> int:
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=parent)
    try:
        return os.open(name, _DIRECTORY, dir_fd=parent)
    except OSError as error:
        # Linux says ENOTDIR for a link here, macOS says ELOOP.
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            _refuse_link(parent, name)
        raise


def _refuse_link(parent: int, name: str) -> None:
    try:
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise SlipwayError(
            "document_behind_link",
            "The document, or a directory on the way to it, is a symbolic link; nothing was written.",
        )
