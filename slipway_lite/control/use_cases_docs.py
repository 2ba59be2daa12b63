"""The write requests about documents and trackers (control-plane §8, §13.13)."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from slipway_lite.control import chunks, documents, refs, tracker
from slipway_lite.control import messages_docs as messages
from slipway_lite.control.events import Change, TaskState
from slipway_lite.control.messages_base import validate
from slipway_lite.control.rules import require_version

if TYPE_CHECKING:
    from slipway_lite.control.records import Records
    from slipway_lite.control.settings import Settings

Body = dict[str, Any]


def ingest_doc(records: Records, settings: Settings, body: Body, path: str | None = None) -> Body:
    """Register a document; the same content again changes nothing. ``path`` says where it was read from."""
    validate(messages.IngestDocRequest, body)
    doc_id = body.get("doc_id") or refs.doc_id(body["doc_type"], body["title"])
    version = hashlib.sha256(body["content"].encode("utf-8", "surrogatepass")).hexdigest()
    known = records.versions([doc_id]).get(doc_id)
    if known != version:
        stream = f"document:{doc_id}"
        records.tx.append(
            "documents",
            stream,
            records.tx.next_sequence("documents", stream),
            records.at,
            doc_id,
            body["doc_type"],
            body["title"],
            path,
            version,
            body["content"],
        )
    return {
        "doc_id": doc_id,
        "version": version,
        "status": "ingested" if known is None else "unchanged" if known == version else "updated",
        "chunk_count": len(chunks.split(body["content"])),
    }


def resolve_docs(
    records: Records, settings: Settings, task_id: str, body: Body, expected_version: int | None = None
) -> Body:
    """What to read for a task. (control-plane §8.1)"""
    validate(messages.ResolveDocsRequest, body)
    state = _task_at(records, task_id, expected_version)
    words = [body[name] for name in ("feature", "topic") if name in body]
    found = [(doc_id, _required_chunks(records, doc_id)) for doc_id in _matching(records, words)]
    versions = records.versions(documents.acknowledged(state))
    return _answer(records, state, documents.decide_resolve(state, body, found, versions, records.moment))


def _matching(records: Records, words: list[str]) -> list[str]:
    """Registered documents whose id or title has one of ``words``, newest registration first."""
    found: dict[str, None] = {}
    for word in words:
        rows = records.tx.execute(
            "select doc_id from documents where instr(lower(doc_id), lower(?1)) or instr(lower(title), lower(?1))"
            " group by doc_id order by max(seq) desc limit ?2",
            (word, documents.REGISTRY_LIMIT),
        )
        found |= dict.fromkeys(row[0] for row in rows)
    return list(found)


def _required_chunks(records: Records, doc_id: str) -> list[str]:
    version, content = records.tx.execute(
        "select version, content from documents where doc_id = ? order by sequence desc limit 1", (doc_id,)
    ).fetchone()
    return [chunk["chunk_id"] for chunk in chunks.chunks(doc_id, version, content) if chunk["importance"] == "required"]


def acknowledge_docs(
    records: Records, settings: Settings, task_id: str, body: Body, expected_version: int | None = None
) -> Body:
    """A version was read; the same again takes no version step. (control-plane §8.2, §13.16)"""
    validate(messages.AckDocsRequest, body)
    state = _task_at(records, task_id, expected_version)
    versions = records.versions([body["doc_id"]])
    return _answer(records, state, documents.decide_ack(state, body, versions, records.moment))


def check_stale_docs(
    records: Records, settings: Settings, task_id: str, body: Body, expected_version: int | None = None
) -> Body:
    """What has to be read again. (control-plane §8.2)"""
    validate(messages.StaleCheckRequest, body)
    state = _task_at(records, task_id, expected_version)
    versions = records.versions({*documents.acknowledged(state), *body.get("doc_ids", ())})
    return _answer(records, state, documents.decide_stale_check(state, body, versions, records.moment))


def link_tracker(
    records: Records, settings: Settings, task_id: str, body: Body, expected_version: int | None = None
) -> Body:
    """Tie a tracker entity to a task. (control-plane §8.4)"""
    validate(messages.TrackerLinkRequest, body)
    state = _task_at(records, task_id, expected_version)
    return _answer(records, state, tracker.decide_link(state, body, records.moment))


def _task_at(records: Records, task_id: str, expected_version: int | None) -> TaskState:
    state = records.task(task_id)
    require_version(state, expected_version)
    return state


def _answer(records: Records, state: TaskState, decided: Change | Body) -> Body:
    if isinstance(decided, Change):
        return dict(decided.answer(records.write(state, decided).task))
    return decided
