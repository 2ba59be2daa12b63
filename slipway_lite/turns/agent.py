"""Real commands as the agent and as the sensor: the message on stdin, the reply on stdout."""

from __future__ import annotations

import subprocess
import threading
from contextlib import suppress
from typing import NamedTuple

from slipway_lite import clock
from slipway_lite.errors import SlipwayError
from slipway_lite.turns.conductor import SensorReading, parse_sensor_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import IO

SENSOR_SECONDS = 30.0
AGENT_SECONDS = 3600.0
AGENT_ERRORS = ("agent_unavailable", "agent_failed", "agent_timed_out")

_LOOK_SECONDS = 0.1
"""How often we look whether the command has ended while its output is still open."""
_DRAIN_SECONDS = 1.0
"""How long we read on after the command ended, for what it left in the pipe."""


class ProcessAgent:
    """An agent that is one command a message; its stderr passes through.

    The first message goes to ``command``. A later one goes to ``resume_command``, which continues the same session,
    or, when there is none, to ``command`` again: then the driver must be told ``same_session=False``.
    """

    def __init__(
        self,
        command: Sequence[str],
        resume_command: Sequence[str] | None = None,
        *,
        root: str | None = None,
        seconds: float = AGENT_SECONDS,
    ) -> None:
        self._command = tuple(command)
        self._resume_command = tuple(resume_command or command)
        self._root = root
        self._seconds = seconds
        self._called = False

    def __call__(self, message: str) -> str:
        """The reply to ``message``; bytes that are no UTF-8 become U+FFFD.

        Raises :class:`SlipwayError`: ``agent_unavailable`` when the command cannot be started, ``agent_failed`` when
        it exits with another status than 0, ``agent_timed_out`` when it runs longer than ``seconds``. The turn ends
        with the command: what its children in the background print after that is not waited for.
        """
        command = self._resume_command if self._called else self._command
        self._called = True
        try:
            ended = _run(command, self._root, message.encode("utf-8", "replace"), self._seconds)
        except subprocess.TimeoutExpired:
            raise SlipwayError(
                "agent_timed_out", f"The agent command gave no reply within {self._seconds:g} seconds."
            ) from None
        except OSError as error:
            raise SlipwayError(
                "agent_unavailable", f"The agent command cannot be started: {error.strerror}."
            ) from error
        if ended.status != 0:
            raise SlipwayError("agent_failed", f"The agent command ended with status {ended.status}.")
        return ended.output.decode("utf-8", "replace")


def run_sensor(command: Sequence[str], root: str) -> SensorReading:
    """What a sensor command printed. A signal, an exit status of 128 or more, or 30 seconds make it a failure."""
    try:
        ended = _run(tuple(command), root, b"", SENSOR_SECONDS)
    except subprocess.TimeoutExpired:
        return SensorReading(None, f"The sensor printed nothing within {SENSOR_SECONDS:g} seconds.")
    except OSError as error:
        return SensorReading(None, f"The sensor cannot be started: {error.strerror}.")
    if ended.status < 0 or ended.status >= 128:
        return SensorReading(None, f"The sensor ended with status {ended.status}.")
    return parse_sensor_output(ended.output.decode("utf-8", "replace"))


class _Ended(NamedTuple):
    status: int
    output: bytes


def _run(command: tuple[str, ...], root: str | None, message: bytes, seconds: float) -> _Ended:
    """Run ``command`` with ``message`` on its standard input until it ends, however long its output stays open.

    A child in the background inherits the output and would hold it open. Raises :class:`OSError` where the command
    cannot be started and :class:`subprocess.TimeoutExpired` after ``seconds``; then the command is killed.
    """
    deadline = clock.monotonic() + seconds
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root) as process:
        # A thread of its own: communicate() sends nothing more once one of its calls has timed out.
        threading.Thread(target=_send, args=(process.stdin, message), daemon=True).start()
        process.stdin = None
        try:
            while True:
                over = process.poll() is not None
                try:
                    output, _ = process.communicate(timeout=_DRAIN_SECONDS if over else _LOOK_SECONDS)
                except subprocess.TimeoutExpired as still:
                    if over:
                        return _Ended(process.returncode, still.output or b"")
                    if clock.monotonic() > deadline:
                        raise
                else:
                    return _Ended(process.returncode, output)
        except BaseException:
            process.kill()
            raise


def _send(pipe: IO[bytes], message: bytes) -> None:
    """Write ``message`` and close; a command that does not read it to its end is no error."""
    with suppress(OSError), pipe:
        pipe.write(message)
