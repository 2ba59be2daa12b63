"""Finds the published material that tests compare with; it is read by path and never part of the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def published(*parts: str) -> Path:
    """A file below the shared folder: ``SLIPWAY_SHARED``, else ``../shared`` beside the repository.

    The calling test is skipped, with a reason that is counted, where the folder is absent.
    """
    beside = Path(__file__).resolve().parents[2] / "shared"
    path = Path(os.environ.get("SLIPWAY_SHARED", beside)).joinpath(*parts)
    if not path.exists():
        pytest.skip(f"published material is absent: {'/'.join(parts)}")
    return path
