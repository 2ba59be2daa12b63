"""The only source of time."""

from __future__ import annotations

import sys
import time

_COARSE_REALTIME = 5
"""``CLOCK_REALTIME_COARSE`` of Linux, which :mod:`time` has no name for."""


def timestamp() -> str:
    """Now as RFC 3339 UTC with six fractional digits: fixed width, so that text order is time order."""
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{nanoseconds // 1000:06d}Z"


def monotonic() -> float:
    """Seconds on a clock that never goes back, for waits and deadlines."""
    return time.monotonic()


def pause(seconds: float) -> None:
    time.sleep(seconds)


def file_time() -> int:
    """The earliest time, in nanoseconds since 1970, with which a file that is written from now on can be stamped."""
    return time.clock_gettime_ns(_COARSE_REALTIME) if sys.platform == "linux" else time.time_ns()
