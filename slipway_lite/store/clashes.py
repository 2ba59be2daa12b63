"""Ids that several files have for different things: collected while they are merged, and told all at once."""

from __future__ import annotations

from slipway_lite.errors import SlipwayError
from slipway_lite.store.tables import APPEND_ONLY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from slipway_lite.store.journal import Transaction
    from slipway_lite.store.merge import Source

UNIQUE = {
    "turns": "turn_id",
    "state_transition_events": "event_id",
    "audit_events": "event_id",
    "retrospectives": "retrospective_id",
    "materials": "material_sha256",
}
"""The column of an append-only table that no two rows may have alike."""

OWNED = {
    "worker_jobs": "job_id",
    "checkpoints": "checkpoint_id",
    "context_bundles": "bundle_id",
    "doc_acks": "ack_ref",
    "sync_events": "sync_event_ref",
}
"""The id in a projection that belongs to one task."""

STREAMS = {"run:": "run_id", "task:": "task_id", "material:": "material_sha256"}
"""What a stream is named by."""

LISTED = 1000
"""More clashes than these are counted and not listed."""


class Clashes:
    """The clashes of one merge, in a temporary table, so that many cost no memory."""

    def __init__(self, tx: Transaction, sources: Iterable[Source]) -> None:
        self._tx = tx
        self._positions = {source.head[1]: source.position for source in sources}
        tx.execute(
            "create temp table owners (name text, id text, task_id text, position integer, primary key (name, id))"
        )
        tx.execute("create temp table clashes (name text, id text, positions text, primary key (name, id))")

    def look_at_owners(self, source: Source) -> None:
        """Find the ids of jobs and the like that belong to one task here and to another one there."""
        for table, name in OWNED.items():
            for found, task_id in source.connection.execute(f"select {name}, task_id from {table}"):
                row = self._tx.execute(
                    "select task_id, position from temp.owners where name = ? and id = ?", (name, found)
                ).fetchone()
                if row is None:
                    owner = (name, found, task_id, source.position)
                    self._tx.execute("insert into temp.owners values (?, ?, ?, ?)", owner)
                elif row[0] != task_id:
                    self._add(name, found, row[1], source.position)

    def is_free(self, source: Source, kind: str, values: tuple[Any, ...]) -> bool:
        """Whether no other row has the id of this one; where one has, that is a clash."""
        name = UNIQUE.get(kind)
        if name is None:
            return True
        found = values[APPEND_ONLY[kind].index(name)]
        row = self._tx.execute(f"select seq from {kind} where {name} = ?", (found,)).fetchone()
        if row is not None:
            self._add(name, found, self._position(row[0]), source.position)
        return row is None

    def stream(self, source: Source, stream: str, seq: int) -> None:
        """``stream`` goes on differently in ``source`` than with row ``seq``."""
        prefix = stream[: stream.find(":") + 1]
        name = STREAMS.get(prefix)
        found = stream.removeprefix(prefix) if name else stream
        self._add(name or "stream", found, self._position(seq), source.position)

    def refuse(self) -> None:
        """Raise ``merge_conflict`` when there is any clash."""
        (count,) = self._tx.execute("select count(*) from temp.clashes").fetchone()
        if not count:
            self._tx.execute("drop table temp.owners")
            self._tx.execute("drop table temp.clashes")
            return
        rows = self._tx.execute(
            "select name, id, positions from temp.clashes order by name, id limit ?", (LISTED,)
        ).fetchall()
        listed = [
            {"name": name, "id": found, "files": sorted(map(int, positions.split()))} for name, found, positions in rows
        ]
        raise SlipwayError(
            "merge_conflict",
            f"Ids that stand for different things in different files: {count}. The first is a {listed[0]['name']} in "
            f"files {' and '.join(map(str, listed[0]['files']))}. Nothing was made.",
            details={"count": count, "clashes": listed},
        )

    def _position(self, seq: int) -> int:
        """The file that the new row ``seq`` was taken from."""
        (found,) = self._tx.execute(
            "select f.head_sha256 from merged_rows m join merged_files f on f.seq = m.file_seq where m.merged_seq = ?",
            (seq,),
        ).fetchone()
        return self._positions[found]

    def _add(self, name: str, found: str, first: int, second: int) -> None:
        known = self._tx.execute("select positions from temp.clashes where name = ? and id = ?", (name, found))
        row = known.fetchone()
        positions = {*(map(int, row[0].split()) if row else ()), first, second}
        self._tx.execute(
            "insert or replace into temp.clashes values (?, ?, ?)", (name, found, " ".join(map(str, sorted(positions))))
        )
