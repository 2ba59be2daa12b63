"""Copy the file while it is written to: one snapshot, page by page, with SQLite's own backup.

``VACUUM INTO`` would write every table anew, cannot run inside the snapshot whose head is noted here, and shows no
progress. The pages as they are keep the chain, the schema and even damage for ``slipway db verify`` to find.
Everything is in a backup, ephemeral tables too: started from one, the control plane recovers as after a crash.
"""

from __future__ import annotations

import hashlib
import os

from slipway_lite.errors import SlipwayError
from slipway_lite.store import sqlite
from slipway_lite.store.connection import Store, connect
from slipway_lite.store.draft import CHUNK, whole_file
from slipway_lite.store.journal import head
from slipway_lite.store.reading import read_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slipway_lite.store.projections import Progress

PAGES = 1024
"""How many pages are copied between two signs of progress."""


def backup(path: str, target: str, progress: Progress | None = None) -> dict[str, Any]:
    """Write a consistent copy of the database at ``path``, of whatever schema, to ``target``, which is not there yet.

    Returns ``{"bytes", "sha256", "head": {"seq", "sha256"}}``: the digest of the new file, and the head of its chain.
    ``path`` is only read and left as it was. Raises what ``whole_file`` and ``read_store`` raise, and
    ``backup_not_verified`` when the head of the copy is not that of the snapshot. ``progress`` counts pages.
    """
    with whole_file(target, (path,)) as draft:
        seq, digest = copy(path, draft, progress)
        return {
            "bytes": os.path.getsize(draft),
            "sha256": file_sha256(draft),
            "head": {"seq": seq, "sha256": digest},
        }


def copy(path: str, draft: str, progress: Progress | None = None) -> tuple[int, str]:
    """Copy a snapshot of ``path`` over the file ``draft``, which is nobody else's. Returns the head of its chain."""

    def work(store: Store) -> tuple[int, str]:
        _pages(store, draft, progress)
        return head(store.connection)

    # Pages are copied and no rule of the schema is asked, so a file may be whatever ``db verify`` will make of it.
    found = read_store(path, work, oldest=1, as_it_is=True)
    connection = connect(draft, "immutable=1")
    try:
        if head(connection) != found:
            raise SlipwayError("backup_not_verified", "The copy does not end where the database ended. Try again.")
    except sqlite.DatabaseError as error:
        raise SlipwayError("output_failed", f"The copy cannot be read back: {error}.") from error
    finally:
        connection.close()
    return found


def _pages(store: Store, draft: str, progress: Progress | None) -> None:
    # A read that had to start over finds the pages of its last attempt.
    os.truncate(draft, 0)
    connection = connect(draft, "mode=rw")
    try:
        # Nobody needs half a copy, and the whole is synced before it gets its name.
        connection.execute("pragma journal_mode = off")
        connection.execute("pragma synchronous = off")
        store.connection.backup(
            connection,
            pages=PAGES,
            progress=None if progress is None else lambda _, left, total: progress(total - left, total),
        )
    except sqlite.OperationalError as error:
        if sqlite.is_full(error) or sqlite.is_busy(error):
            raise
        # The error does not say which of the two files failed.
        raise SlipwayError("output_failed", f"The copy could not be made: {error}.") from error
    finally:
        connection.close()


def file_sha256(path: str) -> str:
    """The digest of a file's bytes, as ``sha256sum`` prints it, with the name of the algorithm before it."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return f"sha256:{digest.hexdigest()}"
