"""Documents, chunks, contracts, tracker links and looks at evidence (control-plane §2.5, §8)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from slipway_lite.control import refs
from slipway_lite.control.messages_base import (
    UNIQUE,
    UNIQUE_ITEMS,
    Count,
    DateTime,
    DocVersion,
    Message,
    Text,
    TypedRef,
    Unique,
)
from slipway_lite.control.messages_task import ExternalRef
from slipway_lite.control.vocabulary import (
    StaleStatus,
)

Topic = Annotated[str, Field(min_length=1, max_length=100)]
DocId = Annotated[str, Field(min_length=1, max_length=500)]


class ResolveDocsRequest(Message):
    """What the task is about; nothing at all asks for the general blueprint."""

    feature: Topic | None = None
    topic: Topic | None = None
    task_seed: Topic | None = None


class ResolveDocsResponse(Message):
    """What to read."""

    typed_ref: TypedRef
    doc_refs: Unique[str]
    chunk_refs: Unique[str]
    contract_refs: Unique[str]
    stale_status: StaleStatus


class AckDocsRequest(Message):
    """This version of this document was read for this task."""

    doc_id: DocId
    version: DocVersion
    task_id: Text


class AckDocsResponse(Message):
    """The acknowledgement's name; the same triple has the same name."""

    ack_ref: Text


class StaleCheckRequest(Message):
    """Which acknowledged documents to compare; all of them when left out."""

    doc_ids: Annotated[list[DocId], Field(max_length=200, json_schema_extra=UNIQUE_ITEMS), UNIQUE] | None = None


class StaleDoc(Message):
    """An acknowledged document that is not what was read."""

    task_id: Text
    doc_id: Text
    previous_version: Text
    current_version: Text
    reason: Literal["version_mismatch", "document_missing"]
    detected_at: DateTime


class StaleCheckResponse(Message):
    """What has to be read again."""

    task_id: Text
    stale: list[StaleDoc]


class IngestDocRequest(Message):
    """A document for the registry; its version is the SHA-256 of its content."""

    doc_id: DocId | None = None
    doc_type: Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[a-z0-9_-]+$")]
    title: Annotated[str, Field(min_length=1, max_length=500)]
    content: Text


class IngestDocResponse(Message):
    """The registered document."""

    doc_id: Text
    version: Text
    status: Literal["ingested", "updated", "unchanged"]
    chunk_count: Count


class GetChunksRequest(Message):
    """Chunks by id, or those of one document, filtered and in order."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["chunk_ids"]}, {"required": ["doc_id"]}]})

    chunk_ids: Annotated[list[Text], Field(max_length=100, json_schema_extra=UNIQUE_ITEMS), UNIQUE] | None = None
    doc_id: DocId | None = None
    heading: Text | None = None
    query: Text | None = None
    limit: Annotated[int, Field(ge=1, le=100)] | None = None

    @model_validator(mode="after")
    def _names_something(self) -> GetChunksRequest:
        if self.chunk_ids is None and self.doc_id is None:
            raise ValueError("name chunk_ids or a doc_id")
        return self


class Chunk(Message):
    """A part of a document under one heading."""

    chunk_id: Text
    doc_id: Text
    version: Text
    ordinal: Count
    heading_path: list[Text] | None = None
    body: Text
    importance: Literal["required", "recommended", "reference"]
    token_estimate: Count


class GetChunksResponse(Message):
    """The chunks found, and the ids that are none."""

    chunks: list[Chunk]
    not_found: list[Text]


class ResolveContractsRequest(Message):
    """Which contract template to fill."""

    feature: Topic


class ResolveContractsResponse(Message):
    """What has to be read, hold and be done for a feature."""

    feature: Text
    required_docs: list[Text]
    acceptance_criteria: list[Text]
    forbidden_patterns: list[Text]
    definition_of_done: list[Text]


class TrackerLinkRequest(Message):
    """Which tracker entity belongs to the task."""

    typed_ref: TypedRef
    connection_ref: Text
    entity_ref: Annotated[str, Field(min_length=1, pattern=refs.ENTITY_REF_PATTERN)]


class TrackerLinkResponse(Message):
    """The two references that the link made."""

    typed_ref: TypedRef
    external_refs: list[ExternalRef]
    sync_event_ref: Text


class EvidenceAckRequest(Message):
    """Who looked at a piece of evidence, and why."""

    reviewed_by: Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
    purpose: Annotated[str, Field(min_length=1, max_length=500)] | None = None


class EvidenceAcknowledgement(Message):
    """The recorded look; every request is a new one."""

    acknowledgement_id: Text
    task_id: Text
    evidence_id: Text
    reviewed_by: Text
    purpose: Text | None = None
    acknowledged_at: DateTime
