"""``slipway observations``: self-improvement/v1 documents out of the file."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from typing import IO, TYPE_CHECKING, Annotated, Literal

import typer

from slipway_lite.cli import streams
from slipway_lite.cli.noun import noun
from slipway_lite.cli.place import DatabaseOption, RootOption, existing
from slipway_lite.errors import SlipwayError, UsageError
from slipway_lite.store.reading import read_store

if TYPE_CHECKING:
    from slipway_lite.observe.export import Request
    from slipway_lite.store.connection import Store

app = noun("Observations of gates, evidence and tasks, to analyse and to share.")
CHUNK = 1 << 20


@app.callback()
def observations() -> None:
    """Observations of gates, evidence and tasks, to analyse and to share."""


@app.command()
def export(
    db: DatabaseOption = "",
    root: RootOption = "",
    since: Annotated[str, typer.Option(help="First time of the window, inclusive (RFC 3339).")] = "",
    until: Annotated[str, typer.Option(help="Last time of the window, inclusive (RFC 3339).")] = "",
    cursor: Annotated[str, typer.Option(help="The next_cursor of the page before.")] = "",
    limit: Annotated[int, typer.Option(help="Items on a page, 1 to 500 (default 100).")] = 100,
    whole: Annotated[bool, typer.Option("--all", help="Every page of the window, merged into one.")] = False,
    form: Annotated[
        Literal["json", "ndjson", "csv", "parquet"], typer.Option("--format", help="What to write.")
    ] = "json",
    output: Annotated[str, typer.Option(help="File to write (default: standard output).")] = "",
) -> None:
    """Write a page of observations, or all of them. Nothing that a person or an agent wrote is in it.

    Example: slipway observations export --all --format parquet --output observations.parquet
    """
    from slipway_lite.observe.export import Request

    if whole and cursor:
        raise UsageError("cursor_with_all", "--all starts at the beginning; leave --cursor out.")
    if form == "parquet" and not output and sys.stdout.isatty():
        raise UsageError("output_required", "Parquet is binary. Give --output FILE.")
    request = Request(since or None, until or None, cursor or None, limit, whole=whole)
    path = existing(db, root)
    try:
        _deliver(path, request, form, output)
    except OSError as error:
        raise SlipwayError("output_failed", f"The export could not be written: {error.strerror}.") from error


def _deliver(path: str, request: Request, form: str, output: str) -> None:
    """Write a temporary file, which a read that has to start over can truncate, and hand it over whole.

    What is there and is no file (a device, a fifo) is written to: it must not be replaced.
    """
    is_written_to = os.path.exists(output) and not os.path.isfile(output)
    directory = os.path.dirname(os.path.abspath(output)) if output and not is_written_to else None
    with tempfile.NamedTemporaryFile(prefix=".slipway-export-", dir=directory, delete=False) as draft:
        try:
            read_store(path, lambda store: _write(store, request, form, draft))
            draft.flush()
            if is_written_to:
                draft.seek(0)
                with open(output, "wb") as target:
                    shutil.copyfileobj(draft, target)
                return
            if output:
                os.fsync(draft.fileno())
                os.replace(draft.name, output)
                return
            draft.seek(0)
            while chunk := draft.read(CHUNK):
                streams.write_bytes(1, chunk)
        finally:
            if os.path.exists(draft.name):
                os.unlink(draft.name)


def _write(store: Store, request: Request, form: str, draft: IO[bytes]) -> None:
    from slipway_lite.observe.export import write

    draft.seek(0)
    draft.truncate()
    write(store, request, form, draft)
