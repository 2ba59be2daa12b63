"""Files below one directory, reached component by component and never through a symbolic link.

A repository may come from anybody, so a path inside it may be a link that leads out of it. Every operation
here opens each directory of the path relative to the one before and refuses links, so that the check and the
use are one step.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import NamedTuple

from slipway_lite.canon import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

#: The largest file that we look into (machine-protocol §0.4).
MANAGED_FILE_LIMIT = 1_048_576

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class UnsafePath(Exception):
    """A path that is not a plain file below the root: a link, another kind of file, or one too large to
    compare.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} {reason}")
        self.path = path
        self.reason = reason


class File(NamedTuple):
    raw: bytes
    sha256: str


class Tree:
    """One directory, held open; every ``path`` is relative to it, with ``/`` between plain names.

    All methods raise :class:`UnsafePath` when a component of the path is a symbolic link, and
    :class:`OSError` for what the system refuses.
    """

    def __init__(self, root: str) -> None:
        self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> Tree:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._root)

    def read(self, path: str) -> File | None:
        """The file as it is, or ``None`` where there is none. Refuses what is not regular or above 1 MiB."""
        parent = self._parent(path)
        if parent is None:
            return None
        try:
            name = _leaf(path)
            try:
                # Looked at before it is opened: opening a device can already do something.
                self._refuse_unless_regular(path, os.stat(name, dir_fd=parent, follow_symlinks=False))
                descriptor = os.open(name, _READ, dir_fd=parent)
            except FileNotFoundError:
                return None
            except OSError as error:
                if error.errno == errno.ELOOP:
                    raise UnsafePath(path, "is a symbolic link") from None
                raise
            with open(descriptor, "rb") as file:
                self._refuse_unless_regular(path, os.fstat(descriptor))
                raw = file.read(MANAGED_FILE_LIMIT + 1)
        finally:
            os.close(parent)
        if len(raw) > MANAGED_FILE_LIMIT:
            raise UnsafePath(path, "is larger than 1 MiB")
        return File(raw, sha256(raw))

    def is_directory(self, path: str) -> bool:
        """Whether ``path`` is a real directory (a link to one is refused)."""
        descriptor = self._open_directory(path)
        if descriptor is None:
            return False
        os.close(descriptor)
        return True

    def is_same_file(self, path: str, other: str) -> bool:
        """Whether both are names of one file, whatever it holds, in one directory."""
        parent = self._parent(path)
        if parent is None:
            return False
        try:
            names = (_leaf(path), _leaf(other))
            return os.path.samestat(*(os.stat(name, dir_fd=parent, follow_symlinks=False) for name in names))
        except FileNotFoundError:
            return False
        finally:
            os.close(parent)

    def write_new(self, path: str, raw: bytes, mode: int) -> None:
        """A new file with exactly ``raw``, on disk before this returns. Raises :class:`FileExistsError`."""
        with self._in_parent(path) as parent:
            descriptor = os.open(_leaf(path), _CREATE, mode, dir_fd=parent)
            with open(descriptor, "wb") as file:
                os.fchmod(descriptor, mode)  # whatever the umask says
                file.write(raw)
                file.flush()
                os.fsync(descriptor)

    def link(self, path: str, new: str) -> None:
        """A second name ``new`` in the directory of ``path``. Raises :class:`FileExistsError`, replaces
        nothing.
        """
        with self._in_parent(path) as parent:
            os.link(_leaf(path), _leaf(new), src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False)

    def rename(self, path: str, new: str) -> None:
        """Give ``path`` the name ``new`` in its directory, replacing what had that name."""
        with self._in_parent(path) as parent:
            os.rename(_leaf(path), _leaf(new), src_dir_fd=parent, dst_dir_fd=parent)

    def remove(self, path: str) -> None:
        """No name ``path`` any more, whether there was one or not."""
        parent = self._parent(path)
        if parent is not None:
            try:
                os.unlink(_leaf(path), dir_fd=parent)
            except FileNotFoundError:
                pass
            finally:
                os.close(parent)

    def make_directory(self, path: str) -> bool:
        """Whether this call made the directory; it is there afterwards."""
        with self._in_parent(path) as parent:
            try:
                os.mkdir(_leaf(path), dir_fd=parent)
            except FileExistsError:
                if not self.is_directory(path):
                    raise UnsafePath(path, "is not a directory") from None
                return False
        return True

    def remove_directory(self, path: str) -> bool:
        """Whether the directory is gone; one that holds anything stays."""
        parent = self._parent(path)
        if parent is None:
            return True
        try:
            os.rmdir(_leaf(path), dir_fd=parent)
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                return False
            raise
        finally:
            os.close(parent)
        return True

    def sync(self, path: str) -> None:
        """The names inside the directory ``path`` are on disk; one that is gone needs nothing."""
        descriptor = self._open_directory(path)
        if descriptor is not None:
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def _parent(self, path: str) -> int | None:
        return self._open_directory(path.rpartition("/")[0])

    @contextmanager
    def _in_parent(self, path: str) -> Iterator[int]:
        parent = self._parent(path)
        if parent is None:
            raise FileNotFoundError(errno.ENOENT, "no such directory", path.rpartition("/")[0])
        try:
            yield parent
        finally:
            os.close(parent)

    def _open_directory(self, path: str) -> int | None:
        """A descriptor of the directory, ``None`` where there is none; refuses links on the way."""
        names = [_plain(name) for name in path.split("/")] if path else []
        current = os.dup(self._root)
        for depth, name in enumerate(names, 1):
            try:
                following = os.open(name, _DIRECTORY, dir_fd=current)
            except FileNotFoundError:
                return None
            except OSError as error:
                # Linux says ENOTDIR for a link here, macOS says ELOOP.
                if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                    raise
                if stat.S_ISLNK(os.stat(name, dir_fd=current, follow_symlinks=False).st_mode):
                    raise UnsafePath("/".join(names[:depth]), "is a symbolic link") from None
                return None
            finally:
                os.close(current)
            current = following
        return current

    @staticmethod
    def _refuse_unless_regular(path: str, status: os.stat_result) -> None:
        if stat.S_ISLNK(status.st_mode):
            raise UnsafePath(path, "is a symbolic link")
        if not stat.S_ISREG(status.st_mode):
            raise UnsafePath(path, "is not a regular file")


def parents(path: str) -> list[str]:
    """The directories above ``path``, outermost first: ``a``, ``a/b`` for ``a/b/c``."""
    names = path.split("/")[:-1]
    return ["/".join(names[: depth + 1]) for depth in range(len(names))]


def reason(error: Exception) -> str:
    """One sentence about a failure; for an :class:`OSError` the system's own words, without the path it
    names.
    """
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text.rstrip(".") + "."


def _leaf(path: str) -> str:
    return _plain(path.rpartition("/")[2])


def _plain(name: str) -> str:
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"not a plain file name: {name!r}")
    return name
