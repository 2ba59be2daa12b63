"""``slipway schema``: the JSON Schemas of every wire document."""

from __future__ import annotations

from typing import Annotated

import typer

from slipway_lite.cli.noun import noun
from slipway_lite.cli.output import emit, put
from slipway_lite.cli.place import JsonOption
from slipway_lite.errors import UsageError
from slipway_lite.resources import schema_names, schema_text

app = noun("The JSON Schemas of every wire document.")


@app.command("list")
def list_schemas(json: JsonOption = False) -> None:
    """List the schemas by name.

    Example: slipway schema list
    """
    names = schema_names()
    emit({"schemas": names}, json, names)


@app.command()
def show(name: Annotated[str, typer.Argument(help="A name that `slipway schema list` prints.")]) -> None:
    """Print one JSON Schema (draft 2020-12).

    Example: slipway schema show machine-protocol
    """
    if name not in schema_names():
        raise UsageError("unknown_schema", "There is no such schema. `slipway schema list` names them.")
    put(schema_text(name))
