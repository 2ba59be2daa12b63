"""``slipway audit``: everything that happened, for the owner of the file."""

from __future__ import annotations

from typing import Annotated

import typer

from slipway_lite.canon import encode
from slipway_lite.cli import plane
from slipway_lite.cli.human import visible
from slipway_lite.cli.noun import noun
from slipway_lite.cli.output import emit, table
from slipway_lite.cli.place import DatabaseOption, JsonOption, RootOption, database, existing
from slipway_lite.control.instants import parse
from slipway_lite.errors import UsageError
from slipway_lite.store.connection import open_store
from slipway_lite.store.reading import read_store

app = noun("Audit events: everything that happened, Runs and tasks alike.")

IMPORT_LIMIT = 1 << 30


@app.command("list")
def list_events(
    db: DatabaseOption = "",
    root: RootOption = "",
    task: Annotated[str, typer.Option(help="Only those of this task.")] = "",
    run: Annotated[str, typer.Option(help="Only those of this Run.")] = "",
    event_type: Annotated[str, typer.Option("--type", help="Only those of this event type.")] = "",
    since: Annotated[str, typer.Option(help="First time, inclusive (RFC 3339).")] = "",
    until: Annotated[str, typer.Option(help="Last time, inclusive (RFC 3339).")] = "",
    cursor: Annotated[int, typer.Option(help="The next_cursor of the page before.", min=0)] = 0,
    limit: Annotated[int, typer.Option(help="How many, 1 to 500.")] = 50,
    json: JsonOption = False,
) -> None:
    """List audit events, newest first.

    Example: slipway audit list --type run.outcomeRefused
    """
    from slipway_lite.observe.audit import Filter, events

    wanted = Filter(task or None, run or None, event_type or None, since or None, until or None)
    page = read_store(existing(db, root), lambda store: events(store, wanted, cursor or None, limit))
    rows = [
        (item["occurred_at"], item["event_type"], item.get("run_id") or item.get("task_id", ""), item["event_id"])
        for item in page["items"]
    ]
    more = [f"More: --cursor {page['next_cursor']}"] if "next_cursor" in page else []
    emit(page, json, [*table(("when", "what", "of", "event"), rows), *more])


@app.command()
def show(
    event_id: Annotated[str, typer.Argument(help="An event that `slipway audit list` names.")],
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Print one audit event with its payload.

    Example: slipway audit show audit_0123456789abcdef0123456789abcdef --json
    """
    from slipway_lite.observe.audit import event

    document = read_store(existing(db, root), lambda store: event(store, event_id))
    lines = (
        f"{name}: {visible(value if isinstance(value, str) else encode(value))}" for name, value in document.items()
    )
    emit(document, json, lines)


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


@app.command()
def prune(
    before: Annotated[str, typer.Option(help="Forget what was recorded before this time, a year ago or more.")],
    db: DatabaseOption = "",
    root: RootOption = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    json: JsonOption = False,
) -> None:
    """Delete audit events of more than 365 days ago. The chain stays whole, and the pruning is audited.

    The newest event of each Run and task stays.

    Example: slipway audit prune --before 2025-01-01T00:00:00Z --dry-run
    """
    from slipway_lite.observe.projection import ObservationProjector
    from slipway_lite.store import prune as pruning

    try:
        moment = f"{parse(before):%Y-%m-%dT%H:%M:%S.%f}Z"
    except ValueError:
        raise UsageError("invalid_time", "--before takes an RFC 3339 time with an offset.") from None
    path = existing(db, root)
    if dry_run:
        document = read_store(path, lambda store: pruning.count_prunable(store, moment))
    else:
        with open_store(path) as store:
            document = pruning.prune(store, moment, [ObservationProjector()])
    document = {"dry_run": dry_run, **document}
    emit(document, json, [f"{document['count']} audit events {'would go' if dry_run else 'are gone'}."])
