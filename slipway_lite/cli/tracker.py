"""``slipway tracker``: tie tracker entities to tasks."""

from __future__ import annotations

from typing import Annotated

import typer

from slipway_lite.cli import plane
from slipway_lite.cli.noun import noun
from slipway_lite.cli.place import DatabaseOption, JsonOption, RootOption
from slipway_lite.cli.plane import FileOption, TaskArgument

app = noun("Trackers: tie an entity to a task.")


@app.callback()
def tracker() -> None:
    """Trackers: tie an entity to a task."""


@app.command()
def link(
    task_id: TaskArgument,
    entity: Annotated[str, typer.Option(help="KIND:VALUE, such as github_issue:42.")] = "",
    connection: Annotated[str, typer.Option(help="The tracker connection it belongs to.")] = "",
    typed_ref: Annotated[str, typer.Option("--typed-ref", help="The task's typed_ref (default: what it is).")] = "",
    file: FileOption = "",
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Tie a tracker entity to a task.

    Example: slipway tracker link task_0123 --entity github_issue:42 --connection github
    """
    with plane.open_plane(db, root) as control:
        body = plane.body(file, entity_ref=entity, connection_ref=connection, typed_ref=typed_ref)
        if "typed_ref" not in body:
            body["typed_ref"] = control.get_task(task_id)["typed_ref"]
        answer = control.link_tracker(task_id, body)
    lines = [f"{reference['kind']}: {reference['value']}" for reference in answer["external_refs"]]
    plane.show(answer, json, lines)
