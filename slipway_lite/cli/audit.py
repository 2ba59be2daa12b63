"""``slipway audit``: the audit events of the file."""

from __future__ import annotations

from typing import Annotated

import typer

from slipway_lite.cli import plane
from slipway_lite.cli.noun import noun
from slipway_lite.cli.place import DatabaseOption, JsonOption, RootOption, database
from slipway_lite.errors import UsageError
from slipway_lite.store.connection import open_store

app = noun("Audit events: bring in those of another store.")

IMPORT_LIMIT = 1 << 30


@app.callback()
def audit() -> None:
    """Audit events: bring in those of another store."""


@app.command("import")
def import_events(
    file: Annotated[str, typer.Argument(metavar="FILE.jsonl", help="Audit events, one JSON object a line.")],
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Bring in the audit events of another store. They come from shipyard-cp, whole or not at all.

    Example: slipway audit import audit.jsonl
    """
    from slipway_lite.cli.files import read_regular
    from slipway_lite.control.importing import import_audit

    try:
        raw = read_regular(file, IMPORT_LIMIT)
    except OSError:
        raise UsageError("unreadable_file", "The file cannot be read.") from None
    if len(raw) > IMPORT_LIMIT:
        raise UsageError("unreadable_file", f"The file has at most {IMPORT_LIMIT} bytes.")
    with open_store(database(db, root)[0]) as store:
        done = import_audit(store, raw)
    plane.show(done, json, plane.facts(done))
