"""Every path of the API as one table: what it calls, what it takes, what it answers (control-plane §4).

The application, the OpenAPI document and the tests read this table; nothing else names a path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from slipway_lite.control import (
    messages_docs,
    messages_event,
    messages_job,
    messages_read,
    messages_request,
    messages_result,
)
from slipway_lite.control import queries as read
from slipway_lite.control import use_cases as write
from slipway_lite.control import use_cases_docs as docs
from slipway_lite.control.messages_task import Task
from slipway_lite.http.observing import observations
from slipway_lite.observe.messages import ImprovementObservationBundle

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from slipway_lite.control.messages_base import Message

Role = Literal["reader", "operator", "admin"]


@dataclass(frozen=True, slots=True)
class Route:
    """One operation.

    ``call`` is a use case (for a write) or a query (for a read). ``body`` is the model of the request body; with
    ``optional_body`` an empty one stands for ``{}``. ``versioned`` operations honour ``If-Match``. ``errors`` are
    the status codes beside those that every operation may answer with, ``query`` the parameters that a read takes.
    """

    method: Literal["GET", "POST"]
    path: str
    name: str
    call: Callable[..., Any]
    answer: type[Message]
    status: int = 200
    body: type[Message] | None = None
    optional_body: bool = False
    versioned: bool = True
    role: Role = "operator"
    errors: tuple[int, ...] = (400, 404, 409)
    query: tuple[str, ...] = ()

    @property
    def is_write(self) -> bool:
        """Whether the call changes the file."""
        return self.call.__module__ in (write.__name__, docs.__name__)


TASK = "/v1/tasks/{task_id}"
RUN = "/v1/runs/{run_id}"
PAGED = ("limit", "offset", "state")
OBSERVED = ("since", "until", "cursor", "limit")

WRITES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/tasks",
        "createTask",
        write.create_task,
        Task,
        201,
        messages_request.CreateTaskRequest,
        versioned=False,
        errors=(400,),
    ),
    Route(
        "POST",
        f"{TASK}/dispatch",
        "dispatchTask",
        write.dispatch_task,
        messages_job.WorkerJob,
        202,
        messages_request.DispatchRequest,
    ),
    Route(
        "POST",
        f"{TASK}/results",
        "applyResult",
        write.apply_result,
        messages_result.ResultApplyResponse,
        200,
        messages_result.WorkerResult,
    ),
    Route(
        "POST",
        f"{TASK}/acceptance/complete",
        "completeAcceptance",
        write.complete_acceptance,
        messages_request.CompleteAcceptanceResponse,
        200,
        messages_request.CompleteAcceptanceRequest,
    ),
    Route(
        "POST",
        f"{TASK}/acceptance/checklist",
        "tickChecklist",
        write.tick_checklist,
        messages_request.ChecklistResponse,
        200,
        messages_request.ChecklistRequest,
    ),
    Route(
        "POST",
        f"{TASK}/transitions",
        "recordTransition",
        write.record_transition,
        messages_event.StateTransitionEvent,
        200,
        messages_event.TransitionRequest,
    ),
    Route(
        "POST",
        f"{TASK}/integrate",
        "integrateTask",
        write.integrate,
        messages_request.IntegrateResponse,
        202,
        messages_request.IntegrateRequest,
    ),
    Route(
        "POST",
        f"{TASK}/integrate/complete",
        "completeIntegrate",
        write.complete_integrate,
        messages_request.CompleteIntegrateResponse,
        200,
        messages_request.CompleteIntegrateRequest,
    ),
    Route(
        "POST",
        f"{TASK}/publish",
        "publishTask",
        write.publish,
        messages_request.PublishResponse,
        202,
        messages_request.PublishRequest,
    ),
    Route(
        "POST",
        f"{TASK}/publish/approval",
        "issueApproval",
        write.issue_approval,
        messages_request.ApprovalResponse,
        200,
        messages_request.ApprovalRequest,
        optional_body=True,
    ),
    Route(
        "POST",
        f"{TASK}/publish/approve",
        "approvePublish",
        write.approve_publish,
        messages_request.PublishResponse,
        200,
        messages_request.ApproveRequest,
        optional_body=True,
    ),
    Route(
        "POST",
        f"{TASK}/publish/complete",
        "completePublish",
        write.complete_publish,
        messages_request.CompletePublishResponse,
        200,
        messages_request.CompletePublishRequest,
        optional_body=True,
    ),
    Route(
        "POST",
        f"{TASK}/cancel",
        "cancelTask",
        write.cancel_task,
        Task,
        200,
        messages_request.CancelRequest,
        optional_body=True,
        role="admin",
    ),
    Route(
        "POST",
        f"{TASK}/context-bundles",
        "buildContextBundle",
        write.build_bundle,
        messages_read.ContextBundle,
        200,
        messages_read.BundleRequest,
        optional_body=True,
    ),
    Route(
        "POST",
        "/v1/jobs/{job_id}/heartbeat",
        "heartbeatJob",
        write.heartbeat,
        messages_job.HeartbeatResponse,
        200,
        messages_job.HeartbeatRequest,
        versioned=False,
        errors=(400, 404, 409, 410),
    ),
    Route(
        "POST",
        f"{TASK}/evidence/{{evidence_id}}/ack",
        "acknowledgeEvidence",
        write.acknowledge_evidence,
        messages_docs.EvidenceAcknowledgement,
        200,
        messages_docs.EvidenceAckRequest,
        versioned=False,
        errors=(400, 404),
    ),
    Route(
        "POST",
        f"{TASK}/docs/resolve",
        "resolveDocs",
        docs.resolve_docs,
        messages_docs.ResolveDocsResponse,
        200,
        messages_docs.ResolveDocsRequest,
    ),
    Route(
        "POST",
        f"{TASK}/docs/ack",
        "acknowledgeDocs",
        docs.acknowledge_docs,
        messages_docs.AckDocsResponse,
        200,
        messages_docs.AckDocsRequest,
    ),
    Route(
        "POST",
        f"{TASK}/docs/stale-check",
        "checkStaleDocs",
        docs.check_stale_docs,
        messages_docs.StaleCheckResponse,
        200,
        messages_docs.StaleCheckRequest,
        optional_body=True,
    ),
    Route(
        "POST",
        f"{TASK}/tracker/link",
        "linkTracker",
        docs.link_tracker,
        messages_docs.TrackerLinkResponse,
        200,
        messages_docs.TrackerLinkRequest,
    ),
    Route(
        "POST",
        "/v1/docs",
        "ingestDoc",
        docs.ingest_doc,
        messages_docs.IngestDocResponse,
        200,
        messages_docs.IngestDocRequest,
        versioned=False,
        errors=(400,),
    ),
    Route(
        "POST",
        f"{RUN}/retrospective:generate",
        "generateRetrospective",
        write.generate_retrospective,
        messages_read.Retrospective,
        200,
        messages_request.RetrospectiveRequest,
        optional_body=True,
        versioned=False,
        errors=(400, 404),
    ),
)


def _read(
    path: str,
    name: str,
    call: Callable[..., Any],
    answer: type[Message],
    query: tuple[str, ...] = (),
    role: Role = "reader",
) -> Route:
    errors = (400,) if query else (404,)
    return Route("GET", path, name, call, answer, versioned=False, role=role, errors=errors, query=query)


READS: tuple[Route, ...] = (
    _read("/v1/tasks", "listTasks", read.tasks, messages_read.TaskList, PAGED),
    _read(TASK, "getTask", read.task, Task),
    _read(f"{TASK}/events", "listEvents", read.transition_events, messages_event.TransitionEventList),
    _read(f"{TASK}/audit-events", "listAuditEvents", read.audit_events, messages_event.AuditEventList),
    _read(f"{TASK}/checkpoints", "listCheckpoints", read.checkpoints, messages_read.CheckpointList),
    _read(f"{TASK}/context-bundles", "listContextBundles", read.context_bundles, messages_read.BundleList),
    _read(f"{TASK}/retrospectives", "listRetrospectives", read.retrospectives, messages_read.RetrospectiveList),
    _read("/v1/jobs/{job_id}", "getJob", read.job, messages_job.JobStatusResponse),
    _read("/v1/runs", "listRuns", read.run_list, messages_read.RunList, PAGED),
    _read(RUN, "getRun", read.run, messages_read.Run),
    _read(f"{RUN}/timeline", "getTimeline", read.timeline, messages_read.Timeline),
    _read(f"{RUN}/audit-summary", "getAuditSummary", read.audit_summary, messages_read.AuditSummary),
    _read(f"{RUN}/checkpoints", "listRunCheckpoints", read.checkpoints, messages_read.CheckpointList),
    _read(f"{RUN}/retrospective", "getRetrospective", read.retrospective, messages_read.Retrospective),
    _read(
        f"{RUN}/retrospective/history",
        "listRunRetrospectives",
        read.retrospectives,
        messages_read.RetrospectiveList,
    ),
    _read(
        "/v1/improvement/observations",
        "listObservations",
        observations,
        ImprovementObservationBundle,
        OBSERVED,
        role="operator",
    ),
    Route(
        "POST",
        "/v1/chunks:get",
        "getChunks",
        read.get_chunks,
        messages_docs.GetChunksResponse,
        200,
        messages_docs.GetChunksRequest,
        versioned=False,
        role="reader",
        errors=(400,),
    ),
    Route(
        "POST",
        "/v1/contracts:resolve",
        "resolveContracts",
        read.resolve_contracts,
        messages_docs.ResolveContractsResponse,
        200,
        messages_docs.ResolveContractsRequest,
        versioned=False,
        role="reader",
        errors=(400,),
    ),
)

ROUTES: tuple[Route, ...] = (*WRITES, *READS)
