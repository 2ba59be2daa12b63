"""slipway-lite: one SQLite file that remembers what coding agents did.

The public names are loaded when they are first used, so that a start stays cheap.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slipway_lite.api import Slipway
    from slipway_lite.control.service import ControlPlane
    from slipway_lite.errors import InvalidDocument, SlipwayError, UsageError
    from slipway_lite.observe.copies import merge_files

__version__ = "0.1.0"
__all__ = ["ControlPlane", "InvalidDocument", "Slipway", "SlipwayError", "UsageError", "__version__", "merge_files"]

_HOMES = {
    "ControlPlane": "slipway_lite.control.service",
    "InvalidDocument": "slipway_lite.errors",
    "Slipway": "slipway_lite.api",
    "SlipwayError": "slipway_lite.errors",
    "UsageError": "slipway_lite.errors",
    "merge_files": "slipway_lite.observe.copies",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
