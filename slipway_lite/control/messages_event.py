"""StateTransitionEvent and AuditEvent: the two logs of a task (control-plane §2.4, §5.1)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from slipway_lite.control.messages_base import DateTime, Message, Metadata, Text, TypedRef, Unique
from slipway_lite.control.messages_task import ExternalRef, ResolverRefs
from slipway_lite.control.vocabulary import TaskStateName, TransitionActor

Reason = Annotated[str, Field(min_length=1, max_length=5000)]


class StateTransitionEvent(Message):
    """One step of a task from a state to a state that the seed allows."""

    event_id: Text
    task_id: Text
    event_type: Literal["state_transition"]
    typed_ref: TypedRef
    from_state: TaskStateName
    to_state: TaskStateName
    actor_type: TransitionActor
    actor_id: Text
    reason: Reason
    job_id: str | None = None
    run_id: str | None = None
    artifact_ids: Unique[Text] | None = None
    resolver_refs: ResolverRefs | None = None
    external_refs: list[ExternalRef] | None = None
    context_bundle_ref: str | None = None
    metadata: Metadata | None = None
    occurred_at: DateTime


class TransitionRequest(Message):
    """The same as a request: ``event_type`` and ``typed_ref`` are filled in when they are left out (§2.4)."""

    event_id: Annotated[str, Field(min_length=1, max_length=200)]
    task_id: Text
    event_type: Literal["state_transition"] | None = None
    typed_ref: TypedRef | None = None
    from_state: TaskStateName
    to_state: TaskStateName
    actor_type: TransitionActor
    actor_id: Text
    reason: Reason
    job_id: str | None = None
    run_id: str | None = None
    artifact_ids: Unique[Text] | None = None
    resolver_refs: ResolverRefs | None = None
    external_refs: list[ExternalRef] | None = None
    context_bundle_ref: str | None = None
    metadata: Metadata | None = None
    occurred_at: DateTime


class TransitionEventList(Message):
    """Every transition of a task, oldest first."""

    items: list[StateTransitionEvent]


class AuditEvent(Message):
    """Something worth keeping for 365 days; ``payload`` depends on ``event_type`` (control-plane §5.2)."""

    event_id: Text
    event_type: Text
    task_id: Text
    run_id: Text | None = None
    job_id: Text | None = None
    actor_type: Literal["control_plane", "worker", "human", "policy_engine", "system"]
    actor_id: Text
    payload: dict[str, Any]
    occurred_at: DateTime


class AuditEventList(Message):
    """Audit events of one task in the order of recording."""

    items: list[AuditEvent]


EVENT_FIELDS: tuple[str, ...] = tuple(StateTransitionEvent.model_fields)
"""The key order of every StateTransitionEvent document."""
