"""``slipway db backup`` and ``slipway db merge``: new files out of files that stay as they are."""

from __future__ import annotations

from typing import Annotated

import typer

from slipway_lite.cli.output import emit, progress
from slipway_lite.cli.place import DatabaseOption, JsonOption, RootOption, existing


def backup(
    file: Annotated[str, typer.Argument(help="The new file; nothing is ever replaced.")],
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Write a consistent copy, also while others write.

    It gets its name when it is whole and on the disk. Prints its SHA-256 and the head of its chain, to write down
    elsewhere. To restore, stop what writes, remove the old file with its -wal and -shm, and put this one in its place.

    Example: slipway db backup /mnt/backup/slipway-monday.db
    """
    from slipway_lite.store.backup import backup as copy

    document = copy(existing(db, root), file, progress("copied"))
    newest = document["head"]
    emit(
        document, json, [f"{document['sha256']}  {document['bytes']} bytes", f"head {newest['seq']}:{newest['sha256']}"]
    )


def merge(
    files: Annotated[list[str], typer.Argument(help="Two or more databases.")],
    output: Annotated[str, typer.Option("--output", "-o", help="The new file; nothing is ever replaced.")],
    json: JsonOption = False,
) -> None:
    """Merge the files of many machines into one, for analysis.

    Every row keeps where it came from, and `db verify` proves each source's own chain too. Ids that stand for
    different things in different files are refused with a list.

    Example: slipway db merge laptop.db server.db -o both.db
    """
    from slipway_lite.observe.projection import projectors
    from slipway_lite.store.merge import merge as combine

    document = combine(files, output, projectors(), progress("merged"))
    newest = document["head"]
    emit(
        document,
        json,
        [
            f"{len(document['files'])} files, {document['ledger_rows']} rows of the ledger",
            f"{document['sha256']}  {document['bytes']} bytes",
            f"head {newest['seq']}:{newest['sha256']}",
        ],
    )
