"""Where the rows of a merged file come from, and the proof that each source is in it as it was.

``merged_files`` has the name and the head of every source, ``merged_rows`` its whole chain. Two things are checked:
that the chain ends at that head, and that the row of this file which is said to hold a source's row does hold it, by
digesting its columns with the number and time that they had in the source.
"""

from __future__ import annotations

from slipway_lite.store import prune
from slipway_lite.store.journal import ledger_sha256, payload_sha256
from slipway_lite.store.tables import APPEND_ONLY, GENESIS_SHA256, MERGED_ROWS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from slipway_lite.store.connection import Store

    # table, row, what is wrong with it
    Fault = tuple[str, str, str]

_CHAINS = (
    "select file_seq, seq, at, kind, stream, stream_sequence, payload_sha256, prev_sha256, sha256, merged_seq"
    " from merged_rows order by file_seq, seq"
)


def has_link(store: Store, seq: int, digest: str) -> bool:
    """Whether row ``seq`` of a merged file had this digest: a head that was noted of it before the merge."""
    found = store.connection.execute("select 1 from merged_rows where seq = ? and sha256 = ?", (seq, digest))
    return found.fetchone() is not None


def faults(store: Store) -> Iterator[Fault]:
    """What is wrong with the provenance of this file; nothing where no file was merged into it."""
    heads = {
        seq: (head_seq, digest)
        for seq, head_seq, digest in store.connection.execute("select seq, head_seq, head_sha256 from merged_files")
    }
    ends: dict[int, tuple[int, str]] = {}
    yield from _chains(store, ends)
    for file_seq in ends.keys() - heads.keys():
        yield MERGED_ROWS, f"{file_seq}/1", "belongs to no merged file"
    proved = {heads.get(file_seq) for file_seq, end in ends.items() if heads.get(file_seq) == end}
    for file_seq, head in heads.items():
        # A file that was merged twice, under two names, has one chain.
        if head not in proved:
            yield "merged_files", str(file_seq), "has no chain that ends at its head"
    if ends:
        for table in APPEND_ONLY:
            yield from _rows(store, table)


def _chains(store: Store, ends: dict[int, tuple[int, str]]) -> Iterator[Fault]:
    """Recompute every chain; ``ends`` gets where each of them ends."""
    forgotten = prune.pruned_of_merged(store)
    for file_seq, seq, at, kind, stream, sequence, payload, prev, digest, merged_seq in store.connection.execute(
        _CHAINS
    ):
        before, previous = ends.get(file_seq, (0, GENESIS_SHA256))
        row = f"{file_seq}/{seq}"
        if (seq, prev) != (before + 1, previous):
            yield MERGED_ROWS, row, "does not continue the row before it"
        try:
            if digest != ledger_sha256(seq, at, kind, stream, sequence, payload, prev):
                yield MERGED_ROWS, row, "was changed"
        except UnicodeEncodeError:
            yield MERGED_ROWS, row, "was changed"
        if kind not in APPEND_ONLY:
            yield MERGED_ROWS, row, "is of a kind that does not exist"
        if merged_seq is None and (kind != prune.TABLE or (stream, at) not in forgotten):
            yield MERGED_ROWS, row, "has no row in this file, and no pruning accounts for that"
        ends[file_seq] = (seq, digest)


def _rows(store: Store, table: str) -> Iterator[Fault]:
    """Whether the rows of ``table`` are what the merged files had. ``verify`` judges payloads that are gone."""
    names = ", ".join(f"p.{name}" for name in APPEND_ONLY[table])
    for (
        file_seq,
        seq,
        at,
        stream,
        sequence,
        payload,
        found_kind,
        found_seq,
        found_stream,
        *values,
    ) in store.connection.execute(
        "select m.file_seq, m.seq, m.at, m.stream, m.stream_sequence, m.payload_sha256, l.kind, p.seq, p.stream,"
        f" {names} from merged_rows m left join ledger l on l.seq = m.merged_seq"
        f" left join {table} p on p.seq = m.merged_seq where m.kind = ? and m.merged_seq is not null",
        (table,),
    ):
        row = f"{file_seq}/{seq}"
        if found_kind != table:
            yield MERGED_ROWS, row, "is said to be in a row that is of another kind"
        elif found_seq is not None and not _is(payload, found_stream, stream, table, sequence, at, tuple(values)):
            yield MERGED_ROWS, row, "is not what the row of this file holds"


def _is(
    payload: str,
    found_stream: str,
    stream: str,
    table: str,
    sequence: int,
    at: str,
    values: tuple[str | int | None, ...],
) -> bool:
    try:
        return found_stream == stream and payload == payload_sha256(table, stream, sequence, at, values)
    except UnicodeEncodeError:
        return False
