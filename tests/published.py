"""Finds the published material that tests compare with; it is read by path and never part of the project."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

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


def driver() -> ModuleType:
    """The published driver of the machine protocol, which holds the sources of the recorded scenarios."""
    spec = importlib.util.spec_from_file_location("drive", published("conformance", "machine", "drive.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["drive"] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module
