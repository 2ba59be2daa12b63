"""The only source of time."""

from __future__ import annotations

import time


def timestamp() -> str:
    """Now as RFC 3339 UTC with six fractional digits: fixed width, so that text order is time order."""
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{nanoseconds // 1000:06d}Z"


def monotonic() -> float:
    """Seconds on a clock that never goes back, for waits and deadlines."""
    return time.monotonic()


def pause(seconds: float) -> None:
    time.sleep(seconds)
