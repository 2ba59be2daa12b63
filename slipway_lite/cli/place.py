"""Which database our own commands mean: ``--db``, the environment, this repository's file, or the user's."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from slipway_lite.errors import SlipwayError
from slipway_lite.protocol.workspace import discover
from slipway_lite.store.location import locate

DatabaseOption = Annotated[str, typer.Option("--db", help="Database file (default: see `slipway db path`).")]
RootOption = Annotated[str, typer.Option("--root", help="Worktree to look from (default: the current directory).")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def database(db: str, root: str) -> tuple[str, str]:
    """The path of the database and the rule that chose it (architecture §1).

    Raises ``git_repository_required`` when ``root`` is given and no worktree.
    """
    if db or os.environ.get("SLIPWAY_DB"):
        return locate(os.environ, None, db)
    try:
        return locate(os.environ, discover(root).git_common_dir)
    except SlipwayError:
        if root:
            # Named and not there: another file would not be what was meant.
            raise
        return locate(os.environ, None)


def existing(db: str, root: str) -> str:
    """The path of a database that is there. Raises ``database_not_found``."""
    path, _ = database(db, root)
    if not os.path.exists(path):
        raise SlipwayError(
            "database_not_found",
            "There is no database at this place yet; `slipway db path` says which and why. The first write makes it.",
        )
    return path
