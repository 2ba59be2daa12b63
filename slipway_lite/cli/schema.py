"""``slipway schema``: the JSON Schemas of every wire document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from slipway_lite.cli.files import json_document
from slipway_lite.cli.human import shortened
from slipway_lite.cli.noun import noun
from slipway_lite.cli.output import emit, put
from slipway_lite.cli.place import JsonOption
from slipway_lite.errors import UsageError
from slipway_lite.resources import schema_names, schema_text

if TYPE_CHECKING:
    from typing import Any

app = noun("The JSON Schemas of every wire document.")
NameArgument = Annotated[str, typer.Argument(help="A name that `slipway schema list` prints.")]

ERRORS_SHOWN = 20


@app.command("list")
def list_schemas(json: JsonOption = False) -> None:
    """List the schemas by name.

    Example: slipway schema list
    """
    names = schema_names()
    emit({"schemas": names}, json, names)


@app.command()
def show(name: NameArgument) -> None:
    """Print one JSON Schema (draft 2020-12).

    Example: slipway schema show machine-protocol
    """
    put(_text(name))


@app.command()
def validate(
    name: NameArgument,
    file: Annotated[str, typer.Argument(help="A JSON document, - for standard input.")],
    json: JsonOption = False,
) -> None:
    """Say whether a document is what a schema describes.

    Leaves with 3 when it is not. A schema says less than a contract: what depends on other documents only the command
    that takes it can tell.

    Example: slipway status --json | slipway schema validate machine-protocol -
    """
    errors = _errors(_text(name), json_document(file, "invalid_document"))
    report = {"schema": name, "valid": not errors, "errors": errors}
    lines = [f"{error['at']}: {shortened(error['problem'])}" for error in errors]
    emit(report, json, lines or ["The document is what the schema describes."])
    if errors:
        raise typer.Exit(3)


def _text(name: str) -> str:
    if name not in schema_names():
        raise UsageError("unknown_schema", "There is no such schema. `slipway schema list` names them.")
    return schema_text(name)


def _errors(schema: str, document: Any) -> list[dict[str, str]]:
    """The first :data:`ERRORS_SHOWN` places at which ``document`` is not what ``schema`` says, with the keyword."""
    from itertools import islice
    from json import loads

    from jsonschema import Draft202012Validator

    found = Draft202012Validator(loads(schema)).iter_errors(document)
    return [
        {"at": error.json_path, "keyword": str(error.validator), "problem": error.message}
        for error in islice(found, ERRORS_SHOWN)
    ]
