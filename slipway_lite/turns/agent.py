"""Real commands as the agent and as the sensor: the message on stdin, the reply on stdout."""

from __future__ import annotations

import subprocess

from slipway_lite.errors import SlipwayError
from slipway_lite.turns.conductor import SensorReading, parse_sensor_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SENSOR_SECONDS = 30.0
AGENT_SECONDS = 3600.0
AGENT_ERRORS = ("agent_unavailable", "agent_failed", "agent_timed_out")


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
        it exits with another status than 0, ``agent_timed_out``.
        """
        command = self._resume_command if self._called else self._command
        self._called = True
        try:
            done = subprocess.run(
                command,
                input=message.encode("utf-8", "replace"),
                stdout=subprocess.PIPE,
                cwd=self._root,
                timeout=self._seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise SlipwayError(
                "agent_timed_out", f"The agent command gave no reply within {self._seconds:g} seconds."
            ) from None
        except OSError as error:
            raise SlipwayError(
                "agent_unavailable", f"The agent command cannot be started: {error.strerror}."
            ) from error
        if done.returncode != 0:
            raise SlipwayError("agent_failed", f"The agent command ended with status {done.returncode}.")
        return done.stdout.decode("utf-8", "replace")


def run_sensor(command: Sequence[str], root: str) -> SensorReading:
    """What a sensor command printed. A signal, an exit status of 128 or more, or 30 seconds make it a failure."""
    try:
        done = subprocess.run(
            tuple(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            cwd=root,
            timeout=SENSOR_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return SensorReading(None, f"The sensor printed nothing within {SENSOR_SECONDS:g} seconds.")
    except OSError as error:
        return SensorReading(None, f"The sensor cannot be started: {error.strerror}.")
    if done.returncode < 0 or done.returncode >= 128:
        return SensorReading(None, f"The sensor ended with status {done.returncode}.")
    return parse_sensor_output(done.stdout.decode("utf-8", "replace"))
