"""The read requests of the control plane.

Every function takes an open store and returns the response body as JSON text: documents are stored as they go out,
so a list is a join of texts. Nothing here writes, and no read acknowledges anything (seed 004).
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from slipway_lite.canon import encode
from slipway_lite.control import chunks, runs
from slipway_lite.control.messages_base import validate
from slipway_lite.control.messages_docs import GetChunksRequest, ResolveContractsRequest
from slipway_lite.control.projections import stream
from slipway_lite.control.refusals import Refused, not_found
from slipway_lite.control.vocabulary import TASK_STATES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from slipway_lite.store.connection import Store

PAGE_LIMIT = 500
DEFAULT_LIMIT = 100
RECENT = 10
CHUNK_LIMIT = 10

AUDIT_COLUMNS = "event_id, event_type, task_id, job_id, actor_type, actor_id, payload, occurred_at"


def _items(texts: Iterable[str]) -> str:
    return '{"items":[' + ",".join(texts) + "]}"


def task(store: Store, task_id: str) -> str:
    """Task. Raises NOT_FOUND."""
    rows = store.rows("select document from tasks where task_id = ?", (task_id,))
    if not rows:
        raise not_found("task", task_id)
    return str(rows[0][0])


def _require_task(store: Store, task_id: str) -> None:
    if not store.rows("select 1 from tasks where task_id = ?", (task_id,)):
        raise not_found("task", task_id)


def page_of(limit: int | None, offset: int | None) -> tuple[int, int]:
    """(limit, offset) of a list, or INVALID_REQUEST."""
    limit = DEFAULT_LIMIT if limit is None else limit
    offset = 0 if offset is None else offset
    if not 1 <= limit <= PAGE_LIMIT or not 0 <= offset <= 2**53:
        raise Refused("INVALID_REQUEST", f"limit is 1 to {PAGE_LIMIT}, offset is not negative.")
    return limit, offset


def _page(store: Store, limit: int | None, offset: int | None, state: str | None) -> tuple[list[tuple[str]], int]:
    limit, offset = page_of(limit, offset)
    states = [] if state is None else state.split(",")
    if not set(states) <= set(TASK_STATES):
        raise Refused("INVALID_REQUEST", "state is a list of task states, separated by commas.")
    where = f" where state in ({', '.join('?' * len(states))})" if states else ""
    rows = store.rows(
        f"select document from tasks{where} order by updated_at desc, task_id desc limit ? offset ?",
        (*states, limit, offset),
    )
    (total,) = store.rows(f"select count(*) from tasks{where}", states)[0]
    return rows, total


def tasks(store: Store, limit: int | None = None, offset: int | None = None, state: str | None = None) -> str:
    """TaskList, newest change first. ``state`` is a list of states separated by commas."""
    rows, total = _page(store, limit, offset, state)
    return _items(row[0] for row in rows)[:-1] + f',"total":{total}}}'


def transition_events(store: Store, task_id: str) -> str:
    """TransitionEventList: every event of the task, oldest first."""
    rows = store.rows(
        "select document from state_transition_events where stream = ? order by sequence", (stream(task_id),)
    )
    if not rows:
        raise not_found("task", task_id)
    return _items(row[0] for row in rows)


def audit_document(row: Sequence[Any]) -> dict[str, Any]:
    """AuditEvent from a row of :data:`AUDIT_COLUMNS`; on the wire ``run_id`` is the task's id."""
    event_id, event_type, task_id, job_id, actor_type, actor_id, payload, occurred_at = row
    document = {"event_id": event_id, "event_type": event_type, "task_id": task_id, "run_id": task_id}
    if job_id is not None:
        document["job_id"] = job_id
    return document | {
        "actor_type": actor_type,
        "actor_id": actor_id,
        "payload": json.loads(payload),
        "occurred_at": occurred_at,
    }


def _audit_documents(store: Store, task_id: str) -> list[dict[str, Any]]:
    rows = store.rows(
        f"select {AUDIT_COLUMNS} from audit_events where stream = ? order by sequence", (stream(task_id),)
    )
    return [audit_document(row) for row in rows]


def audit_events(store: Store, task_id: str) -> str:
    """AuditEventList in the order of recording."""
    _require_task(store, task_id)
    return encode({"items": _audit_documents(store, task_id)})


def job(store: Store, job_id: str) -> str:
    """JobStatusResponse: the job runs once a worker has given a sign of life."""
    rows = store.rows(
        "select json_extract(e.data, '$.job'), j.closing, j.task_id, l.worker_id, l.lease_expires_at,"
        " l.last_heartbeat_at, json_extract(d.data, '$.result') from worker_jobs j"
        " join journal_events e on e.seq = j.document_seq left join _leases l on l.job_id = j.job_id"
        " left join worker_results r on r.job_id = j.job_id left join journal_events d on d.seq = r.document_seq"
        " where j.job_id = ?",
        (job_id,),
    )
    if not rows:
        raise not_found("job", job_id)
    raw, closing, task_id, worker_id, expires_at, heartbeat_at, result = rows[0]
    document = json.loads(raw) | json.loads(closing or "{}")
    if document["status"] == "pending" and worker_id is not None:
        document["status"] = "running"
    body: dict[str, Any] = {"job_id": job_id, "task_id": task_id, "job": document}
    if result is not None:
        body["latest_result"] = json.loads(result)
    if expires_at is not None:
        document["lease_expires_at"] = body["lease_expires_at"] = expires_at
    if heartbeat_at is not None:
        body["last_heartbeat_at"] = heartbeat_at
    return encode(body)


def _documents(store: Store, table: str, order: str, task_id: str) -> list[str]:
    rows = store.rows(f"select document from {table} where task_id = ? order by {order}", (task_id,))
    return [row[0] for row in rows]


def checkpoints(store: Store, task_id: str) -> str:
    """CheckpointList, oldest first."""
    _require_task(store, task_id)
    return _items(_documents(store, "checkpoints", "created_at, checkpoint_id", task_id))


def context_bundles(store: Store, task_id: str) -> str:
    """BundleList, oldest first."""
    _require_task(store, task_id)
    rows = store.rows(
        "select json_extract(e.data, '$.bundle') from context_bundles b join journal_events e on e.seq = b.document_seq"
        " where b.task_id = ? order by b.document_seq",
        (task_id,),
    )
    return _items(row[0] for row in rows)


def retrospectives(store: Store, task_id: str) -> str:
    """RetrospectiveList, newest generation first."""
    _require_task(store, task_id)
    return _items(_documents(store, "retrospectives", "generation desc", task_id))


def retrospective(store: Store, task_id: str) -> str:
    """The newest Retrospective; NOT_FOUND when none was made yet."""
    _require_task(store, task_id)
    found = _documents(store, "retrospectives", "generation desc", task_id)
    if not found:
        raise not_found("retrospective of", task_id)
    return found[0]


def _run(store: Store, document: dict[str, Any]) -> dict[str, Any]:
    task_id = document["task_id"]
    ((newest,),) = store.rows(
        "select document from state_transition_events where stream = ? order by sequence desc limit 1",
        (stream(task_id),),
    )
    points = [json.loads(text) for text in _documents(store, "checkpoints", "created_at, checkpoint_id", task_id)]
    return runs.run_document(document, json.loads(newest), points)


def run(store: Store, run_id: str) -> str:
    """Run: the task seen as a run."""
    return encode(_run(store, json.loads(task(store, run_id))))


def run_list(store: Store, limit: int | None = None, offset: int | None = None, state: str | None = None) -> str:
    """RunList, newest change first."""
    rows, total = _page(store, limit, offset, state)
    return encode({"items": [_run(store, json.loads(row[0])) for row in rows], "total": total})


def timeline(store: Store, run_id: str) -> str:
    """Timeline: transitions and audit events in the order in which they were recorded."""
    _require_task(store, run_id)
    entries = [
        (seq, runs.transition_entry(json.loads(text)))
        for seq, text in store.rows(
            "select seq, document from state_transition_events where stream = ?", (stream(run_id),)
        )
    ]
    entries += [
        (row[0], runs.audit_entry(audit_document(row[1:])))
        for row in store.rows(f"select seq, {AUDIT_COLUMNS} from audit_events where stream = ?", (stream(run_id),))
    ]
    entries.sort(key=lambda pair: pair[0])
    return encode({"run_id": run_id, "items": [entry for _, entry in entries]})


def audit_summary(store: Store, run_id: str) -> str:
    """AuditSummary; a task without audit events is summed up by its transitions."""
    _require_task(store, run_id)
    entries = [runs.audit_entry(event) for event in _audit_documents(store, run_id)]
    if not entries:
        events = json.loads(transition_events(store, run_id))["items"]
        entries = [runs.transition_entry(event) for event in events]
    counts = Counter(entry["event_type"] for entry in entries)
    return encode(
        {
            "run_id": run_id,
            "total": len(entries),
            "counts": dict(sorted(counts.items())),
            "recent": entries[: -RECENT - 1 : -1],
        }
    )


def get_chunks(store: Store, body: dict[str, Any]) -> str:
    """GetChunksResponse: chunks by id, or those of a document, of its newest version. (control-plane §8.3)"""
    validate(GetChunksRequest, body)
    limit = body.get("limit", CHUNK_LIMIT)
    if "chunk_ids" in body:
        found, missing = [], []
        for chunk_id in body["chunk_ids"]:
            doc_id = chunk_id.removeprefix("chunk:").rpartition(":")[0]
            same = [chunk for chunk in _chunks_of(store, doc_id) if chunk["chunk_id"] == chunk_id]
            found += same
            missing += [] if same else [chunk_id]
        return encode({"chunks": found[:limit], "not_found": missing})
    found = chunks.select(_chunks_of(store, body["doc_id"]), body.get("heading"), body.get("query"))
    return encode({"chunks": found[:limit], "not_found": []})


def _chunks_of(store: Store, doc_id: str) -> list[dict[str, Any]]:
    rows = store.rows(
        "select version, content from documents where doc_id = ? order by sequence desc limit 1", (doc_id,)
    )
    return chunks.chunks(doc_id, *rows[0]) if rows else []


def resolve_contracts(store: Store, body: dict[str, Any]) -> str:
    """ResolveContractsResponse: the contract template of a feature. (control-plane §8.3)"""
    validate(ResolveContractsRequest, body)
    return encode(chunks.contract(body["feature"]))
