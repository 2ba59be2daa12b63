"""Run git the way machine-protocol §7.1 says: no shell, no fsmonitor, no inherited repository variables.

Several commands run side by side; importing :mod:`subprocess` would cost more than they do.
"""

from __future__ import annotations

import os
import select
import signal

from slipway_lite import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

COMMAND_SECONDS = 30.0
STREAM_LIMIT = 16 * 1024 * 1024
_CHUNK = 1 << 18

REMOVED_VARIABLES = frozenset(
    {
        "GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE",
        "GIT_INDEX_VERSION", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH",
        "GIT_NAMESPACE", "GIT_REPLACE_REF_BASE", "GIT_NO_REPLACE_OBJECTS", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE",
        "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS",
        "GIT_CONFIG_COUNT", "GIT_PREFIX", "GIT_OPTIONAL_LOCKS",
    }
)  # fmt: skip
REMOVED_PREFIXES = ("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")


# No monitor is started, and a stash adds no header to the records of a status (§7.1, §7.3).
_SETTINGS = ("-c", "core.fsmonitor=false", "-c", "status.showStash=false")


class GitError(Exception):
    """Git could not be run, failed, said too much or took too long; ``str(error)`` is one plain clause."""


class GitDeadline(GitError):
    """Git took longer than :data:`COMMAND_SECONDS`."""


def environment() -> dict[str, str]:
    """Our environment without the variables that would point git elsewhere, optional locks off."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not (upper := name.upper()).startswith("GIT_")
        or (upper not in REMOVED_VARIABLES and not upper.startswith(REMOVED_PREFIXES))
    }
    kept["GIT_OPTIONAL_LOCKS"] = "0"
    return kept


class Git:
    """One git process that was started; :func:`wait` collects its answer."""

    __slots__ = ("arguments", "chunks", "deadline", "pid", "sizes", "status", "streams")

    def __init__(self, root: str, *arguments: str) -> None:
        """Start ``git -C root arguments``. Raises :class:`GitError` when git cannot be started."""
        self.arguments = arguments
        self.deadline = clock.monotonic() + COMMAND_SECONDS
        self.status: int | None = None
        self.chunks: tuple[list[bytes], list[bytes]] = ([], [])
        self.sizes = [0, 0]
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        self.streams = [out_read, err_read]
        try:
            self.pid = os.posix_spawnp(
                "git",
                ["git", *_SETTINGS, "-C", root, *arguments],
                environment(),
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_DUP2, out_write, 1),
                    (os.POSIX_SPAWN_DUP2, err_write, 2),
                ],
                # A host that ignores SIGPIPE must not make git ignore it too.
                setsigdef=[signal.SIGPIPE],
            )
        except (OSError, ValueError) as error:
            for stream in self.streams:
                os.close(stream)
            raise GitError("git could not be started") from error
        finally:
            os.close(out_write)
            os.close(err_write)

    @property
    def stdout(self) -> bytes:
        return b"".join(self.chunks[0])

    @property
    def stderr(self) -> bytes:
        return b"".join(self.chunks[1])

    def abandon(self) -> None:
        """Kill and reap a process whose answer is no longer wanted."""
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self._reap()

    def _reap(self) -> None:
        for stream in self.streams:
            if stream >= 0:
                os.close(stream)
        self.streams = [-1, -1]
        _, status = os.waitpid(self.pid, 0)
        self.status = os.waitstatus_to_exitcode(status)

    def _end(self) -> None:
        """Reap a process that has closed its streams, which it may do long before it ends."""
        while os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if clock.monotonic() > self.deadline:
                raise GitDeadline("git took too long")
            clock.pause(0.0001)
        self._reap()

    def _read(self, which: int) -> None:
        chunk = os.read(self.streams[which], _CHUNK)
        if not chunk:
            os.close(self.streams[which])
            self.streams[which] = -1
            return
        self.sizes[which] += len(chunk)
        if self.sizes[which] > STREAM_LIMIT:
            raise GitError(f"git {self.arguments[0]} printed more than {STREAM_LIMIT} bytes")
        self.chunks[which].append(chunk)


def wait(processes: Sequence[Git]) -> None:
    """Collect the whole output and the exit status of every process, side by side.

    Raises :class:`GitDeadline` or :class:`GitError` (output over 16 MiB); no process outlives the call then.
    """
    try:
        while waiting := {
            stream: (process, which)
            for process in processes
            for which, stream in enumerate(process.streams)
            if stream >= 0
        }:
            poll = select.poll()
            for stream in waiting:
                poll.register(stream, select.POLLIN)
            left = min(process.deadline for process, _ in waiting.values()) - clock.monotonic()
            ready = poll.poll(max(0, left) * 1000)
            if not ready:
                raise GitDeadline("git took too long")
            for stream, _ in ready:
                process, which = waiting[stream]
                process._read(which)
        for process in processes:
            if process.status is None:
                process._end()
    except GitError:
        for process in processes:
            process.abandon()
        raise


def answer(process: Git) -> bytes:
    """The output of a finished process; raises :class:`GitError` when it failed."""
    if process.status != 0:
        raise GitError(f"git {process.arguments[0]} failed with status {process.status}")
    return process.stdout
