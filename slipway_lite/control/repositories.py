"""Which local repositories integrate may work on: configuration, not record (control-plane §4.7, issue of it)."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from slipway_lite import clock
from slipway_lite.control.git import Git, GitFailed
from slipway_lite.control.instants import from_micros
from slipway_lite.control.refusals import Refused, not_found

if TYPE_CHECKING:
    from slipway_lite.store.connection import Store

_NAME = re.compile(r"github:[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}")


def add(store: Store, repository: str, path: str, ci_command: str | None) -> dict[str, Any]:
    """Configure ``github:OWNER/NAME`` to be the repository at ``path``; replaces what was configured for it.

    ``ci_command`` is run by the shell in a worktree of the integration branch. Raises INVALID_REQUEST for a name of
    another form or a path without a repository.
    """
    if not _NAME.fullmatch(repository):
        raise Refused("INVALID_REQUEST", "A repository is named github:OWNER/NAME.")
    found = os.path.abspath(path)
    try:
        Git(found).run("rev-parse", "--git-dir")
    except (GitFailed, OSError):
        raise Refused("INVALID_REQUEST", "There is no git repository at the path.") from None
    with store.immediate() as tx:
        tx.execute(
            "insert or replace into _repositories (repository, path, ci_command, added_at) values (?, ?, ?, ?)",
            (repository, found, ci_command, from_micros(clock.timestamp())),
        )
    return _document((repository, found, ci_command))


def listed(store: Store) -> list[dict[str, Any]]:
    """Every configured repository, by name."""
    rows = store.rows("select repository, path, ci_command from _repositories order by repository")
    return [_document(row) for row in rows]


def find(store: Store, repository: str) -> dict[str, Any] | None:
    """The configuration of one repository, or ``None``."""
    rows = store.rows("select repository, path, ci_command from _repositories where repository = ?", (repository,))
    return _document(rows[0]) if rows else None


def remove(store: Store, repository: str) -> dict[str, Any]:
    """Forget a repository. Raises NOT_FOUND."""
    found = find(store, repository)
    if found is None:
        raise not_found("repository", repository)
    with store.immediate() as tx:
        tx.execute("delete from _repositories where repository = ?", (repository,))
    return found


def _document(row: tuple[str, str, str | None]) -> dict[str, Any]:
    repository, path, ci_command = row
    document = {"repository": repository, "path": path}
    if ci_command is not None:
        document["ci_command"] = ci_command
    return document
