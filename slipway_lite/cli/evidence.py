"""``slipway evidence``: who looked at what."""

from __future__ import annotations

from typing import Annotated

import typer

from slipway_lite.cli import plane
from slipway_lite.cli.noun import noun
from slipway_lite.cli.place import DatabaseOption, JsonOption, RootOption
from slipway_lite.cli.plane import TaskArgument

app = noun("Evidence: record that somebody looked at it.")


@app.callback()
def evidence() -> None:
    """Evidence: record that somebody looked at it."""


@app.command()
def ack(
    task_id: TaskArgument,
    evidence_id: Annotated[str, typer.Argument(metavar="EVIDENCE", help="The evidence's id.")],
    reviewed_by: Annotated[str, typer.Option(help="Who looked.")],
    purpose: Annotated[str, typer.Option(help="What for.")] = "",
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Record a look at a piece of evidence; every call is a new one.

    Example: slipway evidence ack task_0123 art_log --reviewed-by ann --purpose release
    """
    body = plane.body("", reviewed_by=reviewed_by, purpose=purpose)
    with plane.open_plane(db, root) as control:
        answer = control.acknowledge_evidence(task_id, evidence_id, body)
    plane.show(answer, json, plane.facts(answer))
