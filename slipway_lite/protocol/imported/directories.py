"""Read the published command line's Run directories, and leave them as they are (machine-protocol §6.1, §6.7).

Nothing is created, repaired or followed: each directory is held under the shared lock of §6.7 while it is read, so that
a mutation that is under way is waited for, and a symbolic link below the place that was named is refused.
"""

from __future__ import annotations

import fcntl
import os
import stat

from slipway_lite import clock
from slipway_lite.errors import SlipwayError
from slipway_lite.protocol.inputs import is_run_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

NAMESPACE = "slipway"
RUNS = "runs"
JOURNAL = "journal.jsonl"
MATERIALS = "materials"
LOCK_SECONDS = 5.0
LOCK_POLL_SECONDS = 0.025
JOURNAL_LIMIT = 1 << 30
"""The most bytes of a journal; ours, so that a file without an end is refused instead of read."""
MATERIAL_LIMIT = 262_144
"""The most bytes of one material (§0.4)."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK the writer of a fifo would be waited for.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Unreadable(Exception):
    """A Run directory that cannot be read. The message is a clause about it, without paths."""


def published_place(git_common_dir: str) -> str:
    """Where the published command line keeps the Runs of a repository (§6.1)."""
    return os.path.join(git_common_dir, NAMESPACE)


class Place:
    """Where the Runs are: the repository's ``slipway`` directory, its ``runs``, or the directory of one Run.

    ``run_ids`` are those in it, sorted; names that are no Run id do not count. Raises ``journal_directory_not_found``.
    """

    def __init__(self, named: str) -> None:
        try:
            path = os.path.realpath(named)
            if os.path.lexists(os.path.join(path, JOURNAL)):
                path, name = os.path.split(path)
                if not is_run_id(name):
                    raise _not_found("it has a journal, and a name that is no Run id")
                names = [name]
            else:
                if os.path.lexists(os.path.join(path, RUNS)):
                    path = os.path.join(path, RUNS)
                names = sorted(os.listdir(path))
            self.descriptor = os.open(path, _DIRECTORY)
        except OSError as error:
            raise _not_found(str(error.strerror)) from error
        except ValueError as error:
            raise _not_found("its path holds NUL") from error
        self.run_ids = [name for name in names if is_run_id(name)]

    def __enter__(self) -> Place:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)


def _not_found(why: str) -> SlipwayError:
    return SlipwayError(
        "journal_directory_not_found",
        f"The directory of journals cannot be read: {why}. Name the `slipway` directory of a repository's common git "
        "directory, its `runs`, or the directory of one Run.",
    )


class RunDirectory:
    """The directory of one Run, under its shared lock for as long as the ``with`` block lasts.

    A mutation that holds it is waited for ``seconds``. Raises :class:`Unreadable`.
    """

    def __init__(self, place: Place, run_id: str, seconds: float = LOCK_SECONDS) -> None:
        self._place = place
        self._run_id = run_id
        self._seconds = seconds

    def __enter__(self) -> RunDirectory:
        try:
            self._descriptor = os.open(self._run_id, _DIRECTORY, dir_fd=self._place.descriptor)
        except OSError as error:
            raise Unreadable(f"it is no directory that can be read: {error.strerror}") from None
        try:
            self._lock()
        except BaseException:
            os.close(self._descriptor)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def _lock(self) -> None:
        deadline = clock.monotonic() + self._seconds
        while True:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if clock.monotonic() >= deadline:
                    raise Unreadable("it is in use; try again when its command has ended") from None
                clock.pause(LOCK_POLL_SECONDS)
            except OSError as error:
                raise Unreadable(f"its lock cannot be taken: {error.strerror}") from None

    def journal(self) -> BinaryIO:
        """The journal, open for reading from its start."""
        return _opened(self._descriptor, JOURNAL, JOURNAL_LIMIT)

    def material(self, digest: str) -> bytes:
        """The material with this digest, as it is stored."""
        try:
            directory = os.open(MATERIALS, _DIRECTORY, dir_fd=self._descriptor)
        except OSError as error:
            raise Unreadable(f"its {MATERIALS} cannot be read: {error.strerror}") from None
        try:
            with _opened(directory, digest.removeprefix("sha256:"), MATERIAL_LIMIT) as file:
                return file.read()
        finally:
            os.close(directory)


def _opened(directory: int, name: str, limit: int) -> BinaryIO:
    """A regular file of at most ``limit`` bytes, and no other kind of entry."""
    try:
        descriptor = os.open(name, _FILE, dir_fd=directory)
    except OSError as error:
        raise Unreadable(f"{name} cannot be read: {error.strerror}") from None
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode) and found.st_size <= limit:
        return open(descriptor, "rb")
    os.close(descriptor)
    raise Unreadable(f"{name} is no regular file of at most {limit} bytes")
