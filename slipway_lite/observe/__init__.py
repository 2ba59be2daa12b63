"""Reads over the one file: observations, gate analysis, exports, search, Datasette, frames for notebooks.

Nothing here changes what happened. The public names are loaded when they are first used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slipway_lite.observe.analysis import analyze_gates
    from slipway_lite.observe.gates import DEFAULT

__all__ = ["DEFAULT", "analyze_gates"]

_HOMES = {
    "DEFAULT": "slipway_lite.observe.gates",
    "analyze_gates": "slipway_lite.observe.analysis",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
