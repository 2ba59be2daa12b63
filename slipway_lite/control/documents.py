"""Documents of a task: what to read, what was read, and whether it has changed since (control-plane §8.1,
§8.2).

A task's ``stale_status`` gets better only by reading: resolve and workers can keep it or make it worse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipway_lite.control.draft import Draft
from slipway_lite.control.events import Change, TaskState
from slipway_lite.control.refs import ack_ref
from slipway_lite.control.refusals import Refused
from slipway_lite.control.result_merge import worse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slipway_lite.control.events import Moment

DEFAULT_DOC_REF = "doc:workflow-cookbook:blueprint"
REGISTRY_LIMIT = 10
TOP_CHUNKS = 2


def resolved_refs(body: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """(doc_refs, chunk_refs) that follow from the request alone: feature, topic, task seed, in this order."""
    docs = [
        f"doc:{kind}:{body[name]}"
        for name, kind in (("feature", "feature"), ("topic", "topic"), ("task_seed", "task"))
        if name in body
    ]
    chunks = [f"chunk:feature:{body['feature']}:1"] if "feature" in body else []
    return docs or [DEFAULT_DOC_REF], chunks


def decide_resolve(
    state: TaskState,
    body: Mapping[str, Any],
    found: Sequence[tuple[str, Sequence[str]]],
    versions: Mapping[str, str],
    moment: Moment,
) -> Change:
    """Put what to read onto the task.

    ``found`` are registered documents that match the request, each with its required chunks; ``versions``
    are the registry's newest versions of acknowledged documents. A status that is stale or unknown stays
    so; a document that the registry does not hold never makes it stale (§13, 13).
    """
    draft = Draft(state, moment)
    docs, chunks = resolved_refs(body)
    docs += [document for document, _ in found[:REGISTRY_LIMIT]]
    chunks += [chunk for _, required in found[:REGISTRY_LIMIT] for chunk in required[:TOP_CHUNKS]]
    known = state.task.get("resolver_refs", {})
    changed = [
        document for document, version in acknowledged(state).items() if versions.get(document, version) != version
    ]
    status = worse(known.get("stale_status"), "stale" if changed else None) or "fresh"
    refs: dict[str, Any] = {
        "doc_refs": list(dict.fromkeys(docs)),
        "chunk_refs": list(dict.fromkeys(chunks)),
        "contract_refs": [],
    }
    if "ack_refs" in known:
        refs["ack_refs"] = known["ack_refs"]
    refs["stale_status"] = status
    draft.put("resolver_refs", refs)
    if changed:
        draft.remember["stale_docs"] = sorted({*state.memory.get("stale_docs", ()), *changed})
    draft.audit("docs.resolved", {"doc_count": len(refs["doc_refs"]), "stale_status": status, "changed": changed})
    return draft.change(
        "docs_resolved",
        lambda _: {
            "typed_ref": state.task["typed_ref"],
            **{name: refs[name] for name in ("doc_refs", "chunk_refs", "contract_refs", "stale_status")},
        },
    )


def acknowledged(state: TaskState) -> dict[str, str]:
    """The newest acknowledged version of each document."""
    return dict(state.memory.get("acks", {}))


def decide_ack(
    state: TaskState, body: Mapping[str, Any], versions: Mapping[str, str], moment: Moment
) -> Change | dict[str, Any]:
    """Record that a version was read; the answer alone when that changes nothing.

    Reading the current version of the last stale document makes the task fresh again.
    """
    if body["task_id"] != state.task_id:
        raise Refused("CONTEXT_MISMATCH", "The acknowledgement belongs to another task.")
    document, version = body["doc_id"], body["version"]
    ref = ack_ref(state.task_id, document, version)
    known = state.task.get("resolver_refs", {})
    acks = {**acknowledged(state), document: version}
    refs = [*known.get("ack_refs", ())]
    if ref not in refs:
        refs.append(ref)
    stale_docs = list(state.memory.get("stale_docs", ()))
    status = known.get("stale_status")
    if versions.get(document, version) == version:
        stale_docs = [name for name in stale_docs if name != document]
        if status in ("stale", "unknown") and not stale_docs:
            status = "fresh"
    draft = Draft(state, moment)
    merged = {**known, "ack_refs": refs}
    if status is not None:
        merged["stale_status"] = status
    answer = {"ack_ref": ref}
    if merged == known and acks == state.memory.get("acks"):
        return answer
    draft.put("resolver_refs", merged)
    draft.remember["acks"] = acks
    draft.remember["stale_docs"] = stale_docs
    draft.documents["link"] = {"kind": "doc_ack", "ack_ref": ref, "doc_id": document, "version": version}
    draft.audit("docs.acknowledged", {"doc_id": document, "version": version})
    return draft.change("docs_acknowledged", lambda _: answer)


def decide_stale_check(
    state: TaskState, body: Mapping[str, Any], versions: Mapping[str, str], moment: Moment
) -> Change | dict[str, Any]:
    """Compare acknowledged documents with the registry's newest ``versions``; the answer alone if nothing
    changes.

    Something stale makes the task stale; everything matching makes it fresh again, if anything was read at
    all.
    """
    acks = acknowledged(state)
    asked = body.get("doc_ids", list(acks))
    stale = [
        item
        for document in (asked if acks else ())
        if (item := _stale_item(state.task_id, document, acks.get(document), versions.get(document), moment))
    ]
    known = state.task.get("resolver_refs", {})
    marked = {*state.memory.get("stale_docs", ()), *(item["doc_id"] for item in stale)}
    marked -= {document for document, version in acks.items() if versions.get(document) == version}
    status = known.get("stale_status")
    if marked:
        status = "stale"
    elif acks and all(versions.get(document) == version for document, version in acks.items()):
        status = "fresh"
    answer = {"task_id": state.task_id, "stale": stale}
    if status == known.get("stale_status") and marked == set(state.memory.get("stale_docs", ())):
        return answer
    draft = Draft(state, moment)
    draft.put("resolver_refs", {**known, "stale_status": status} if status else known)
    draft.remember["stale_docs"] = sorted(marked)
    draft.audit("docs.staleChecked", {"stale": [item["doc_id"] for item in stale], "stale_status": status})
    return draft.change("docs_stale_checked", lambda _: answer)


def _stale_item(
    task_id: str, document: str, read: str | None, current: str | None, moment: Moment
) -> dict[str, Any] | None:
    if current is not None and read in (None, current):
        return None
    return {
        "task_id": task_id,
        "doc_id": document,
        "previous_version": read or "unknown",
        "current_version": current or "missing",
        "reason": "document_missing" if current is None else "version_mismatch",
        "detected_at": moment.now,
    }
