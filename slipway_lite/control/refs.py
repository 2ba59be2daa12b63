"""References: typed_ref, acknowledgements, documents, chunks, tracker entities (control-plane §1.1, §1.2,
§8).
"""

from __future__ import annotations

import re

TYPED_REF_PATTERN = r"^[a-z0-9_-]+:[a-z0-9_-]+:[a-z0-9_-]+:[^\n\r\u2028\u2029]+$"
TYPED_REF_LIMIT = 500
ENTITY_REF_PATTERN = r"^([^:]+|[^:]*:[\s\S]+)$"
"""A kind and what it names, or one word: never a kind alone (§8.4)."""
_TYPED_REF = re.compile(TYPED_REF_PATTERN[1:-1])
_NOT_SLUG = re.compile(r"[^a-z0-9]+")
_NOT_SEGMENT = re.compile(r"[^A-Za-z0-9_.-]")

ENTITY_KINDS = ("github_issue", "github_project_item", "tracker_issue")
"""Kinds that an ``entity_ref`` keeps; every other becomes ``entity_link`` (control-plane §8.4)."""


def is_typed_ref(text: str) -> bool:
    """``<domain>:<entity_type>:<provider>:<entity_id>``, exactly.

    ``fullmatch`` and an explicit class: with ``$`` and ``.`` a trailing line feed, CR, U+2028 and U+2029
    would pass (control-plane §1.2).
    """
    return len(text) <= TYPED_REF_LIMIT and _TYPED_REF.fullmatch(text) is not None


def segment(text: str) -> str:
    """``text`` as an id inside a reference: whatever is not ``[A-Za-z0-9_.-]`` becomes ``_`` (§2.8)."""
    return _NOT_SEGMENT.sub("_", text)


def ack_ref(task_id: str, doc_id: str, version: str) -> str:
    """The name of an acknowledgement. It can be read back: neither a task id nor a version has a colon (§8.2)."""
    return f"ack:{task_id}:{doc_id}:{version}"


def doc_id(doc_type: str, title: str) -> str:
    """``doc:<type>:<slug>``: lower case, runs of other characters become one dash, none at the edges
    (§1.1).
    """
    return f"doc:{doc_type}:{_NOT_SLUG.sub('-', title.lower()).strip('-')}"


def chunk_id(document: str, ordinal: int) -> str:
    return f"chunk:{document}:{ordinal:03d}"


def entity(entity_ref: str) -> tuple[str, str]:
    """(kind, value) of the external reference that an ``entity_ref`` stands for (§8.4)."""
    kind, colon, value = entity_ref.partition(":")
    if not colon:
        return "entity_link", entity_ref
    return (kind if kind in ENTITY_KINDS else "entity_link"), value


def repo_key(repo_ref: dict[str, str]) -> str:
    """``provider:owner/name``: how locks, fingerprints and the repository table name a repository."""
    return f"{repo_ref['provider']}:{repo_ref['owner']}/{repo_ref['name']}"
