"""Files that come with the package: JSON Schemas and the Datasette metadata.

In an installed package they lie beside this module; in a checkout they lie at its top level.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent
_SUFFIX = ".schema.json"


def resource(name: str) -> Path:
    """The path of a packaged file or folder, ``schemas`` or ``datasette-metadata.yml``."""
    installed = _PACKAGE / name
    return installed if installed.exists() else _PACKAGE.parent / name


def schema_id(name: str) -> str:
    """The ``$id`` of the schema called ``name``."""
    return f"https://slipway-lite.dev/schemas/{name}{_SUFFIX}"


def schema_names() -> list[str]:
    """The names of all schemas, sorted."""
    return sorted(path.name.removesuffix(_SUFFIX) for path in resource("schemas").glob("*" + _SUFFIX))


def schema_text(name: str) -> str:
    """The JSON Schema called ``name``, as it stands in the file. Raises :class:`FileNotFoundError`."""
    return (resource("schemas") / (name + _SUFFIX)).read_text("utf-8")
