"""``slipway db import-jsonl``: Runs that the published command line recorded."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from slipway_lite.cli.output import emit, progress
from slipway_lite.cli.place import DatabaseOption, JsonOption, RootOption, database
from slipway_lite.store.location import refuse_redirection


def import_jsonl(
    directory: Annotated[
        str, typer.Argument(metavar="DIR", help="Its `slipway` directory, `runs` in it, or one Run (default: here).")
    ] = "",
    check: Annotated[bool, typer.Option("--check", help="Only verify them and say what would be imported.")] = False,
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Bring in Runs of the published Go slipway.

    Whole or not at all: every journal is verified first. DIR is left as it is. Doing it again imports what is new.

    Example: slipway db import-jsonl --check
    """
    from slipway_lite.protocol.imported.directories import published_place
    from slipway_lite.protocol.imported.service import import_journals
    from slipway_lite.protocol.workspace import discover

    path, rule = database(db, root)
    if rule == "repository":
        refuse_redirection(path)
    place = directory or published_place(discover(root).git_common_dir)
    report = import_journals(place, path, check=check, progress=progress("verified"))
    emit(report, json, _lines(report))


def _lines(report: dict[str, Any]) -> list[str]:
    would = "would be " if report["check"] else ""
    lines = [
        f"{run['run_id']}  {'' if run['result'] == 'unchanged' else would}{run['result']}  "
        f"{run['imported_events']} of {run['events']} events"
        for run in report["runs"]
    ]
    return [*lines, f"{report['imported_events']} events of {report['imported_runs']} Runs {would or 'were '}imported."]
