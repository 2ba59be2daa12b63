"""``slipway docs``: the document registry, and what tasks have read."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from slipway_lite.cli import plane
from slipway_lite.cli.noun import noun
from slipway_lite.cli.output import table
from slipway_lite.cli.place import DatabaseOption, JsonOption, RootOption
from slipway_lite.cli.plane import ANY_VERSION, FileOption, TaskArgument, VersionOption
from slipway_lite.errors import UsageError

app = noun("Documents: register, resolve, acknowledge, compare.")

PathArgument = Annotated[list[str], typer.Argument(metavar="PATH…", help="Text files to register.")]


@app.command()
def ingest(
    paths: PathArgument,
    doc_type: Annotated[str, typer.Option("--type", help="What kind of documents they are.")] = "doc",
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Register documents. The version of each is the SHA-256 of its content.

    Example: slipway docs ingest docs/spec.md --type spec
    """
    made = []
    with plane.open_plane(db, root, make=True) as control:
        for path in paths:
            title = os.path.splitext(os.path.basename(path))[0]
            body = {"doc_type": doc_type, "title": title, "content": _content(path)}
            made.append(control.ingest_doc(body, path=plane.absolute(path)))
    rows = [(item["doc_id"], item["status"], item["chunk_count"], item["version"][:12]) for item in made]
    plane.show({"items": made}, json, table(("document", "status", "chunks", "version"), rows))


def _content(path: str) -> str:
    from slipway_lite.cli.files import read_regular
    from slipway_lite.control.bodies import BODY_LIMIT

    try:
        raw = read_regular(path, BODY_LIMIT)
        text = raw.decode()
    except (OSError, UnicodeDecodeError):
        raise UsageError("unreadable_file", "A document is a regular file of UTF-8 text.") from None
    if len(raw) > BODY_LIMIT:
        raise UsageError("unreadable_file", f"A document has at most {BODY_LIMIT} bytes.")
    return text


@app.command()
def resolve(
    task_id: TaskArgument,
    feature: Annotated[str, typer.Option(help="The feature it is about.")] = "",
    topic: Annotated[str, typer.Option(help="The topic it is about.")] = "",
    task_seed: Annotated[str, typer.Option(help="The task seed it came from.")] = "",
    file: FileOption = "",
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Find out what a task has to read, and put it onto the task.

    Example: slipway docs resolve task_0123 --feature login
    """
    with plane.open_plane(db, root) as control:
        answer = control.resolve_docs(task_id, plane.body(file, feature=feature, topic=topic, task_seed=task_seed))
    lines = [f"read: {ref}" for ref in (*answer["doc_refs"], *answer["chunk_refs"])]
    plane.show(answer, json, [*lines, f"stale status: {answer['stale_status']}"])


@app.command()
def ack(
    task_id: TaskArgument,
    doc_id: Annotated[str, typer.Option("--doc", help="The document that was read.")] = "",
    version: Annotated[str, typer.Option(help="The version that was read.")] = "",
    expected_version: VersionOption = ANY_VERSION,
    file: FileOption = "",
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Record that a version of a document was read for a task.

    Example: slipway docs ack task_0123 --doc doc:spec:login --version 0a1b2c
    """
    body = {"task_id": task_id} | plane.body(file, doc_id=doc_id, version=version)
    with plane.open_plane(db, root) as control:
        answer = control.acknowledge_docs(task_id, body, expected_version=plane.expected(expected_version))
    plane.show(answer, json, plane.facts(answer))


@app.command("stale-check")
def stale_check(
    task_id: TaskArgument,
    doc: Annotated[list[str] | None, typer.Option(help="Only this document; may be given again.")] = None,
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Compare what a task has read with the registry.

    Example: slipway docs stale-check task_0123
    """
    with plane.open_plane(db, root) as control:
        answer = control.check_stale_docs(task_id, plane.body("", doc_ids=doc))
    rows = [(item["doc_id"], item["reason"], item["current_version"][:12]) for item in answer["stale"]]
    plane.show(answer, json, table(("document", "reason", "version now"), rows) if rows else ["Nothing is stale."])
