"""Write observations out: a bundle as JSON, one document a line, a table as CSV or Parquet. Streams; keeps no page."""

from __future__ import annotations

import csv
import io
from typing import IO, TYPE_CHECKING, Any

from slipway_lite.canon import encode
from slipway_lite.control.instants import parse
from slipway_lite.errors import SlipwayError
from slipway_lite.observe.observations import KINDS, Item, Window, page, select, sequence, whole_head

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from slipway_lite.store.connection import Store

TABLE = (
    "kind", "observation_id", "occurred_at", "task_id", "gate_id", "owner", "policy_revision", "decision",
    "effective_action", "transition_changed", "risk", "override", "evidence_id", "evidence_type", "disposition",
    "reviewed_by", "purpose", "retrospective_id", "job_count", "job_success_count", "job_failure_count",
    "job_blocked_count", "retry_count", "checkpoint_count", "risk_level", "source_event_id",
)  # fmt: skip
"""The columns of a table: one row an item of any kind, empty where a column is not of its kind."""
COUNTS = frozenset(name for name in TABLE if name.endswith("_count"))
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""How a cell starts that some spreadsheet calculates, the full-width forms of these signs included."""
BATCH = 5000


class Request:
    """What to export: a page (``cursor``, ``limit``), or with ``whole`` everything in the window."""

    def __init__(
        self,
        since: str | None = None,
        until: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        *,
        whole: bool = False,
    ) -> None:
        self.since = since
        self.until = until
        self.cursor = cursor
        self.limit = limit
        self.whole = whole

    def items(self, store: Store) -> Iterable[Item]:
        """The items in order. Raises as :func:`page` does."""
        if self.whole:
            return sequence(store, Window.of(self.since, self.until))
        return select(store, self.since, self.until, self.cursor, self.limit)[1]


def write(store: Store, request: Request, form: str, out: IO[bytes]) -> None:
    """Write what ``request`` asks for to ``out`` as ``form``, one of :data:`FORMS`.

    Raises as :func:`page` does, and ``pyarrow_required`` where Parquet cannot be written.
    """
    FORMS[form](store, request, out)


def _write_json(store: Store, request: Request, out: IO[bytes]) -> None:
    if not request.whole:
        out.write(encode(page(store, request.since, request.until, request.cursor, request.limit)).encode() + b"\n")
        return
    window = Window.of(request.since, request.until)
    # The lists of a bundle stand one after the other, so each kind is read in a pass of its own.
    out.write(encode(whole_head(store, window)).encode()[:-1])
    for kind in KINDS:
        out.write(f',"{kind.member}":['.encode())
        documents = (encode(item.document()) for item in sequence(store, window, kinds=(kind,)))
        for number, batch in enumerate(_batches(documents)):
            out.write((b"," if number else b"") + ",".join(batch).encode())
        out.write(b"]")
    out.write(b"}\n")


def _write_ndjson(store: Store, request: Request, out: IO[bytes]) -> None:
    """One document a line, under the name of its schema."""
    for item in request.items(store):
        out.write(encode({"schema": item.kind.schema, "document": item.document()}).encode() + b"\n")


def _write_csv(store: Store, request: Request, out: IO[bytes]) -> None:
    text = io.TextIOWrapper(out, "utf-8", newline="", write_through=True)
    writer = csv.DictWriter(text, TABLE, lineterminator="\n")
    writer.writeheader()
    for item in request.items(store):
        writer.writerow({name: _cell(value) for name, value in table_row(item).items()})
    text.detach()


def _cell(value: Any) -> Any:
    """``value`` so that a spreadsheet takes a text for text and not for a formula; numbers stay numbers."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _write_parquet(store: Store, request: Request, out: IO[bytes]) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        text = "Parquet needs pyarrow: install slipway-lite[export]."
        raise SlipwayError("pyarrow_required", text) from None
    time = pyarrow.timestamp("us", "UTC")
    types = {"occurred_at": time, **dict.fromkeys(COUNTS, pyarrow.int64())}
    schema = pyarrow.schema(
        [(name, types.get(name, pyarrow.string())) for name in TABLE], {"slipway_schema": "self-improvement/v1"}
    )
    with parquet.ParquetWriter(out, schema) as writer:
        for batch in _batches(table_row(item) for item in request.items(store)):
            for row in batch:
                row["occurred_at"] = parse(row["occurred_at"])
            writer.write_table(pyarrow.Table.from_pylist(batch, schema))


def table_row(item: Item) -> dict[str, Any]:
    """One item as a row of :data:`TABLE`."""
    values = dict(zip(item.kind.columns, item.row, strict=True))
    return {"kind": item.kind.prefix, **{name: values.get(name) for name in TABLE[1:]}}


def _batches(items: Iterable[Any]) -> Iterator[list[Any]]:
    batch = []
    for item in items:
        batch.append(item)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


FORMS: dict[str, Callable[[Store, Request, IO[bytes]], None]] = {
    "json": _write_json,
    "ndjson": _write_ndjson,
    "csv": _write_csv,
    "parquet": _write_parquet,
}
