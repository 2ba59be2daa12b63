"""How long a campaign is: bounded in CI, at full length with ``SLIPWAY_CAMPAIGN=full``."""

from __future__ import annotations

import os

FULL = os.environ.get("SLIPWAY_CAMPAIGN") == "full"


def scaled(bounded: int, full: int) -> int:
    """How many rounds this run of the campaign takes."""
    return full if FULL else bounded
