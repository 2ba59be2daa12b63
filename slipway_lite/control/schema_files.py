"""The JSON Schemas of the control plane, as they lie in ``schemas/``.

``python -m slipway_lite.control.schema_files schemas`` writes them anew; a test holds files and models together.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slipway_lite.control import (
    messages_docs,
    messages_event,
    messages_job,
    messages_read,
    messages_request,
    messages_result,
    messages_run_system,
    messages_task,
)
from slipway_lite.control.messages_base import WireSchema
from slipway_lite.control.states import PAIRS
from slipway_lite.resources import schema_id

if TYPE_CHECKING:
    from slipway_lite.control.messages_base import Message

DIALECT = "https://json-schema.org/draft/2020-12/schema"

ENTITIES: dict[str, type[Message]] = {
    "task": messages_task.Task,
    "worker-job": messages_job.WorkerJob,
    "worker-result": messages_result.WorkerResult,
    "state-transition-event": messages_event.StateTransitionEvent,
    "audit-event": messages_event.AuditEvent,
    "instruction-envelope-v2": messages_job.InstructionEnvelopeV2,
    "run-system-packet": messages_run_system.RunSystemPacket,
    "run-system-gate": messages_run_system.RunSystemGate,
    "heartbeat-request": messages_job.HeartbeatRequest,
    "heartbeat-response": messages_job.HeartbeatResponse,
    "create-task-request": messages_request.CreateTaskRequest,
    "dispatch-request": messages_request.DispatchRequest,
    "result-apply-response": messages_result.ResultApplyResponse,
    "complete-acceptance-request": messages_request.CompleteAcceptanceRequest,
    "complete-acceptance-response": messages_request.CompleteAcceptanceResponse,
    "integrate-request": messages_request.IntegrateRequest,
    "integrate-response": messages_request.IntegrateResponse,
    "publish-request": messages_request.PublishRequest,
    "publish-response": messages_request.PublishResponse,
    "job-status-response": messages_job.JobStatusResponse,
    "resolve-docs-request": messages_docs.ResolveDocsRequest,
    "resolve-docs-response": messages_docs.ResolveDocsResponse,
    "ack-docs-request": messages_docs.AckDocsRequest,
    "ack-docs-response": messages_docs.AckDocsResponse,
    "stale-check-response": messages_docs.StaleCheckResponse,
    "tracker-link-request": messages_docs.TrackerLinkRequest,
    "tracker-link-response": messages_docs.TrackerLinkResponse,
    "evidence-ack-request": messages_docs.EvidenceAckRequest,
    "evidence-acknowledgement": messages_docs.EvidenceAcknowledgement,
    "checkpoint": messages_read.Checkpoint,
    "run": messages_read.Run,
    "retrospective": messages_read.Retrospective,
    "context-bundle": messages_read.ContextBundle,
    "error-response": messages_request.ErrorResponse,
}
"""Every document with a schema file of its own, by the name of the file."""


def schema(name: str) -> dict[str, Any]:
    """The schema called ``name``."""
    document: dict[str, Any] = {"$schema": DIALECT, "$id": schema_id(name)}
    document |= ENTITIES[name].model_json_schema(schema_generator=WireSchema)
    if name == "state-transition-event":
        document["oneOf"] = [
            {"properties": {"from_state": {"const": from_state}, "to_state": {"const": to_state}}}
            for from_state, to_state in PAIRS
        ]
    return document


def text(name: str) -> str:
    """The file of the schema called ``name``."""
    return json.dumps(schema(name), ensure_ascii=False, indent=2) + "\n"


def main(directory: str) -> None:
    """Write every schema below ``directory``."""
    for name in ENTITIES:
        (Path(directory) / f"{name}.schema.json").write_text(text(name), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
