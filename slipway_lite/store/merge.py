"""Many machines' files into one, for analysis: every row once, in one new chain, with the chains it came from.

Each source is copied aside first, brought to the newest schema there, and proved, so that sources are only read. Then
their rows are taken in the order of their times; within a source the order never changes, so neither does that of a
stream. A row that several sources have alike is taken once. What identifies something (a Run, a task, an event …) and
is not alike is a clash; then nothing is made.

What one source was made to forget, another one does not bring back; only of rows that are numbered anew may one come
back that was forgotten in a merged file and not in its source.

Rows in streams that are named by a place or by a title, which two machines may well share, are numbered anew
(:data:`SHARED_STREAMS`). Leases, locks, instances and repositories belong to a machine and stay there.
"""

from __future__ import annotations

import heapq
import os

from slipway_lite.errors import SlipwayError, UsageError
from slipway_lite.store import backup, prune
from slipway_lite.store.clashes import Clashes
from slipway_lite.store.connection import connect, open_store
from slipway_lite.store.draft import whole_file
from slipway_lite.store.journal import payload_sha256
from slipway_lite.store.projections import rebuild_in
from slipway_lite.store.reading import read_store
from slipway_lite.store.tables import APPEND_ONLY
from slipway_lite.store.verify import verify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from slipway_lite.store.journal import Transaction
    from slipway_lite.store.projections import Progress, Projector

    # at, kind, stream, sequence, payload_sha256, prev_sha256, sha256 of one ledger row
    Link = tuple[str, str, str, int, str, str, str]

SHARED_STREAMS = ("worktree:", "document:", "audit:", "file:")
"""Streams whose names several files may share without speaking of the same thing: their rows are numbered anew."""
FILE_STREAM = "file:"
STEP = 1000
"""How many rows are taken between two signs of progress."""

_LINKS = "select seq, at, kind, stream, stream_sequence, payload_sha256, prev_sha256, sha256 from ledger order by seq"
_INSERT_LINK = (
    "insert into merged_rows (file_seq, seq, at, kind, stream, stream_sequence, payload_sha256, prev_sha256, sha256,"
    " merged_seq) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_FORGOTTEN = (
    "select payload_sha256 from ledger where kind = ? and seq not in (select seq from audit_events)"
    " union select payload_sha256 from merged_rows where merged_seq is null"
)


class Source:
    """A proved private copy of one file, open to be read. ``position`` counts from 1, as the files were given."""

    def __init__(self, position: int, path: str, copy: str, head: tuple[int, str]) -> None:
        self.position = position
        self.name = os.path.basename(path).encode("utf-8", "backslashreplace").decode()
        self.head = head
        self.connection = connect(copy, "immutable=1")

    def links(self) -> Iterator[tuple[str, str, int, Source, Link]]:
        """Every ledger row, with what it is ordered by: the newest time so far, the file, and its number there."""
        newest = ""
        for seq, *link in self.connection.execute(_LINKS):
            newest = max(newest, link[0])
            yield newest, self.head[1], seq, self, tuple(link)

    def values(self, kind: str, seq: int) -> tuple[Any, ...] | None:
        """The columns of the payload; ``None`` when it was pruned."""
        found: tuple[Any, ...] | None = self.connection.execute(
            f"select {', '.join(APPEND_ONLY[kind])} from {kind} where seq = ?", (seq,)
        ).fetchone()
        return found


def merge(
    paths: Sequence[str], target: str, projectors: Sequence[Projector], progress: Progress | None = None
) -> dict[str, Any]:
    """Merge the databases at ``paths`` into ``target``, which is not there yet.

    The same files in any order give the same chain. Returns ``{"files": [{"name", "head"}], "ledger_rows", "head",
    "bytes", "sha256"}``. ``progress`` counts the rows of all sources.

    Raises ``merge_needs_two`` (a usage error), ``database_not_found``, ``merge_same_file`` for two files of one head,
    ``merge_source_unsound`` (``details`` is the report of ``verify``), ``merge_conflict`` (``details`` lists the
    clashes), and what ``whole_file`` and ``read_store`` raise. Each names the files by their positions.
    """
    if len(paths) < 2:
        raise UsageError("merge_needs_two", "Give at least two databases to merge.")
    for position, path in enumerate(paths, 1):
        if not os.path.exists(path):
            raise _about(position, SlipwayError("database_not_found", "There is no database at this place."))
    with whole_file(target, paths) as draft:
        sources = []
        try:
            for position, path in enumerate(paths, 1):
                sources.append(_source(position, path, f"{draft}-{position}", projectors))
            _refuse_same(sources)
            with open_store(draft) as store, store.immediate() as tx:
                _Merging(tx, sources).run(progress)
                rebuild_in(tx, store, projectors)
        finally:
            for source in sources:
                source.connection.close()
        report = read_store(draft, lambda store: verify(store, projectors))
        if report["problems"]:
            raise SlipwayError("merge_not_verified", "The merged file is not sound and was not kept.", details=report)
        return {
            "files": [{"name": source.name, "head": _head(source)} for source in sources],
            "ledger_rows": report["ledger_rows"],
            "head": report["head"],
            "bytes": os.path.getsize(draft),
            "sha256": backup.file_sha256(draft),
        }


def _source(position: int, path: str, copy: str, projectors: Sequence[Projector]) -> Source:
    try:
        os.close(os.open(copy, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        head = backup.copy(path, copy)
        open_store(copy).close()
        report = read_store(copy, lambda store: verify(store, projectors))
        if report["problems"]:
            raise SlipwayError("merge_source_unsound", "It is not what was written.", details=report)
    except SlipwayError as error:
        raise _about(position, error) from error.__cause__
    return Source(position, path, copy, head)


def _about(position: int, error: SlipwayError) -> SlipwayError:
    details = None if error.details is None else {"file": position, **error.details}
    return SlipwayError(error.code, f"File {position}: {error.message}", details=details)


def _refuse_same(sources: Sequence[Source]) -> None:
    seen: dict[str, int] = {}
    for source in sources:
        first = seen.setdefault(source.head[1], source.position)
        if first != source.position and source.head[0]:
            raise SlipwayError(
                "merge_same_file",
                f"Files {first} and {source.position} end alike: they are the same. Give each once.",
                details={"files": [first, source.position]},
            )


def _head(source: Source) -> dict[str, Any]:
    return {"seq": source.head[0], "sha256": source.head[1]}


class _Merging:
    """One merge, inside the transaction that makes the new file."""

    def __init__(self, tx: Transaction, sources: Sequence[Source]) -> None:
        self._tx = tx
        self._sources = sorted(sources, key=lambda source: source.head[1])
        self._clashes = Clashes(tx, sources)
        self._file_seqs: dict[str, int] = {}
        tx.execute("create temp table forgotten (payload_sha256 text primary key) without rowid")
        tx.execute("create temp table numbered_anew (content_sha256 text primary key, seq integer) without rowid")

    def run(self, progress: Progress | None) -> None:
        """Take every row. Raises ``merge_conflict`` with every clash, when all rows were looked at."""
        for source in self._sources:
            rows = source.connection.execute(_FORGOTTEN, (prune.TABLE,))
            self._tx.connection.executemany("insert or ignore into temp.forgotten values (?)", rows)
            self._clashes.look_at_owners(source)
        total = sum(source.head[0] for source in self._sources)
        for done, (_, _, seq, source, link) in enumerate(heapq.merge(*(s.links() for s in self._sources)), 1):
            if seq == 1:
                self._file_seqs[source.head[1]] = self._record(source, link[0])
            self._take(source, seq, link)
            if progress is not None and (done % STEP == 0 or done == total):
                progress(done, total)
        self._clashes.refuse()
        for source in self._sources:
            self._carry_over(source)
        for table in ("forgotten", "numbered_anew"):
            self._tx.execute(f"drop table temp.{table}")

    def _record(self, source: Source, at: str) -> int:
        """Say that the rows of ``source`` begin here. ``at`` is its own, so that the new chain has no time in it."""
        stream = FILE_STREAM + source.head[1]
        seq = self._placed(source, "merged_files", stream, 1, at, (source.name, *source.head), "")
        assert seq is not None
        return seq

    def _take(self, source: Source, seq: int, link: Link) -> None:
        at, kind, stream, sequence, payload, prev, digest = link
        values = source.values(kind, seq)
        merged_seq = None
        # What one file was made to forget, another one does not bring back.
        if values is not None and not self._one("select 1 from temp.forgotten where payload_sha256 = ?", payload):
            merged_seq = self._placed(source, kind, stream, sequence, at, values, payload)
        row = (self._file_seqs[source.head[1]], seq, at, kind, stream, sequence, payload, prev, digest, merged_seq)
        self._tx.execute(_INSERT_LINK, row)

    def _placed(
        self, source: Source, kind: str, stream: str, sequence: int, at: str, values: tuple[Any, ...], payload: str
    ) -> int | None:
        """The new ledger row that holds this row: one that is there, or one made now; ``None`` for a clash."""
        if stream.startswith(SHARED_STREAMS):
            content = payload_sha256(kind, stream, 0, at, values)
            known: int | None = self._one("select seq from temp.numbered_anew where content_sha256 = ?", content)
            if known is None and self._clashes.is_free(source, kind, values):
                known = self._tx.append(kind, stream, self._tx.next_sequence(kind, stream), at, *values)
                self._tx.execute("insert into temp.numbered_anew values (?, ?)", (content, known))
            return known
        found = self._tx.execute(
            "select seq, payload_sha256 from ledger where kind = ? and stream = ? and stream_sequence = ?",
            (kind, stream, sequence),
        ).fetchone()
        if found is None:
            is_free = self._clashes.is_free(source, kind, values)
            return self._tx.append(kind, stream, sequence, at, *values) if is_free else None
        seq: int = found[0]
        # The same material, accepted at another time, is the same.
        if found[1] == payload or (kind == "materials" and self._holds(kind, seq, values)):
            return seq
        self._clashes.stream(source, stream, seq)
        return None

    def _holds(self, kind: str, seq: int, values: tuple[Any, ...]) -> bool:
        names = ", ".join(APPEND_ONLY[kind])
        return bool(self._tx.execute(f"select {names} from {kind} where seq = ?", (seq,)).fetchone() == values)

    def _carry_over(self, source: Source) -> None:
        """The chains that ``source`` has from an earlier merge, each told where its rows are now."""
        place = self._file_seqs.get(source.head[1])
        for old, digest in source.connection.execute(
            "select seq, head_sha256 from merged_files order by seq"
        ).fetchall():
            if digest in self._file_seqs:
                continue
            rows = source.connection.execute(
                "select seq, at, kind, stream, stream_sequence, payload_sha256, prev_sha256, sha256, merged_seq"
                " from merged_rows where file_seq = ? order by seq",
                (old,),
            )
            file_seq = self._one("select merged_seq from merged_rows where file_seq = ? and seq = ?", place, old)
            count = 0
            for *link, merged_seq in rows:
                now = self._one("select merged_seq from merged_rows where file_seq = ? and seq = ?", place, merged_seq)
                self._tx.execute(_INSERT_LINK, (file_seq, *link, now))
                count += 1
            if count:
                self._file_seqs[digest] = file_seq

    def _one(self, sql: str, *parameters: Any) -> Any:
        row = self._tx.execute(sql, parameters).fetchone()
        return row[0] if row else None
