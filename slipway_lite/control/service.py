"""The control plane as one object: every request of seed 004 over one file.

CLI, HTTP and Python call the same use cases with the same bodies and get the same documents. A write is one
immediate transaction; a refusal that leaves audit events commits them before it is raised.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slipway_lite.control import queries, repository, upkeep, use_cases, use_cases_docs
from slipway_lite.control.records import Records
from slipway_lite.control.refusals import Refused
from slipway_lite.control.settings import Settings
from slipway_lite.store.connection import Store, open_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from slipway_lite.store.journal import Transaction

    UseCase = Callable[..., dict[str, Any]]

Document = dict[str, Any]


class ControlPlane:
    """Tasks, jobs and what becomes of them, in the file of ``store``.

    ``instance_id`` names this control plane on the jobs that it dispatches. A ``local`` one is the file's own, the
    same for every process that opens the file to do a single thing; a ``served`` one lives and dies with a process.
    """

    def __init__(self, store: Store, settings: Settings, instance_id: str) -> None:
        self.store = store
        self.settings = settings
        self.instance_id = instance_id

    @classmethod
    def open(cls, path: str, settings: Settings | None = None) -> ControlPlane:
        """The control plane of the file at ``path``, made if need be. Raises as :func:`open_store` does."""
        store = open_store(path)
        return cls(store, settings or Settings(), upkeep.local_instance(store))

    def close(self) -> None:
        """Close the file."""
        self.store.close()

    def __enter__(self) -> ControlPlane:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def attempt(self, tx: Transaction, use_case: UseCase, *args: Any, **options: Any) -> Document | Refused:
        """Run ``use_case`` inside a transaction that it shares with others, in its own savepoint.

        A refusal is returned, not raised, with its audit events written; what the use case wrote before it is gone.
        A use case whose refusals are audited takes the task's id first.
        """
        records = Records(tx, self.instance_id)
        try:
            with tx.savepoint():
                return use_case(records, self.settings, *args, **options)
        except Refused as refused:
            if refused.audit:
                records.audit(args[0], refused.audit)
            return refused

    def perform(self, use_case: UseCase, *args: Any, **options: Any) -> Document:
        """Run ``use_case`` in a transaction of its own; returns when its effect is durable.

        Raises Refused: everything is rolled back then, and the refusal's audit events are committed by themselves.
        """
        try:
            with self.store.immediate() as tx:
                return use_case(Records(tx, self.instance_id), self.settings, *args, **options)
        except Refused as refused:
            if refused.audit:
                with self.store.immediate() as tx:
                    Records(tx, self.instance_id).audit(args[0], refused.audit)
            raise

    def _read(self, query: Callable[..., str], *args: Any) -> Document:
        with self.store.snapshot():
            text = query(self.store, *args)
        document: Document = json.loads(text)
        return document

    def create_task(self, body: Document) -> Document:
        """Task at version 0, queued."""
        return self.perform(use_cases.create_task, body)

    def get_task(self, task_id: str) -> Document:
        """Task, or NOT_FOUND."""
        return self._read(queries.task, task_id)

    def list_tasks(self, limit: int | None = None, offset: int | None = None, state: str | None = None) -> Document:
        """TaskList, newest change first."""
        return self._read(queries.tasks, limit, offset, state)

    def dispatch(self, task_id: str, body: Document, *, expected_version: int | None = None) -> Document:
        """WorkerJob of the next stage."""
        return self.perform(use_cases.dispatch_task, task_id, body, expected_version)

    def apply_result(self, task_id: str, body: Document, *, expected_version: int | None = None) -> Document:
        """ResultApplyResponse."""
        return self.perform(use_cases.apply_result, task_id, body, expected_version)

    def complete_acceptance(self, task_id: str, body: Document, *, expected_version: int | None = None) -> Document:
        """CompleteAcceptanceResponse."""
        return self.perform(use_cases.complete_acceptance, task_id, body, expected_version)

    def tick_checklist(self, task_id: str, body: Document, *, expected_version: int | None = None) -> Document:
        """ChecklistResponse."""
        return self.perform(use_cases.tick_checklist, task_id, body, expected_version)

    def record_transition(self, task_id: str, body: Document, *, expected_version: int | None = None) -> Document:
        """The recorded StateTransitionEvent."""
        return self.perform(use_cases.record_transition, task_id, body, expected_version)

    def integrate(self, task_id: str, body: Document, *, expected_version: int | None = None) -> Document:
        """IntegrateResponse. :meth:`run_integration` does the work when the repository is configured."""
        return self.perform(use_cases.integrate, task_id, body, expected_version)

    def run_integration(self, task_id: str) -> Document | None:
        """Integrate on the configured repository and record how it went; ``None`` when none is configured.

        CompleteIntegrateResponse, unless the task was cancelled meanwhile.
        """
        plan = repository.plan(self.store, task_id)
        if plan is None:
            return None

        def is_wanted() -> bool:
            return bool(self.perform(use_cases.is_integrating, task_id, plan.run_id)["wanted"])

        outcome = repository.integrate(plan, is_wanted)
        return self.perform(use_cases.finish_integration, task_id, plan.run_id, outcome)

    def complete_integrate(self, task_id: str, body: Document, *, expected_version: int | None = None) -> Document:
        """CompleteIntegrateResponse."""
        return self.perform(use_cases.complete_integrate, task_id, body, expected_version)

    def publish(self, task_id: str, body: Document, *, expected_version: int | None = None) -> Document:
        """PublishResponse; a repeated key answers as it did the first time."""
        return self.perform(use_cases.publish, task_id, body, expected_version)

    def issue_approval(
        self, task_id: str, body: Document | None = None, *, expected_version: int | None = None
    ) -> Document:
        """ApprovalResponse with a token that is shown this once."""
        return self.perform(use_cases.issue_approval, task_id, body or {}, expected_version)

    def approve_publish(
        self,
        task_id: str,
        body: Document,
        *,
        is_operator: bool = False,
        expected_version: int | None = None,
    ) -> Document:
        """PublishResponse of an approved publish."""
        return self.perform(use_cases.approve_publish, task_id, body, expected_version, is_operator=is_operator)

    def complete_publish(self, task_id: str, body: Document, *, expected_version: int | None = None) -> Document:
        """CompletePublishResponse."""
        return self.perform(use_cases.complete_publish, task_id, body, expected_version)

    def cancel(self, task_id: str, body: Document | None = None, *, expected_version: int | None = None) -> Document:
        """The cancelled Task."""
        return self.perform(use_cases.cancel_task, task_id, body or {}, expected_version)

    def events(self, task_id: str) -> Document:
        """TransitionEventList."""
        return self._read(queries.transition_events, task_id)

    def audit_events(self, task_id: str) -> Document:
        """AuditEventList."""
        return self._read(queries.audit_events, task_id)

    def list_checkpoints(self, task_id: str) -> Document:
        """CheckpointList, oldest first."""
        return self._read(queries.checkpoints, task_id)

    def list_retrospectives(self, task_id: str) -> Document:
        """RetrospectiveList, newest generation first."""
        return self._read(queries.retrospectives, task_id)

    def list_bundles(self, task_id: str) -> Document:
        """BundleList, oldest first."""
        return self._read(queries.context_bundles, task_id)

    def get_run(self, run_id: str) -> Document:
        """The task as a Run."""
        return self._read(queries.run, run_id)

    def get_timeline(self, run_id: str) -> Document:
        """Timeline of a Run."""
        return self._read(queries.timeline, run_id)

    def list_runs(self, limit: int | None = None, offset: int | None = None, state: str | None = None) -> Document:
        """RunList, newest change first."""
        return self._read(queries.run_list, limit, offset, state)

    def get_audit_summary(self, run_id: str) -> Document:
        """AuditSummary of a Run."""
        return self._read(queries.audit_summary, run_id)

    def get_retrospective(self, run_id: str) -> Document:
        """The newest Retrospective of a Run."""
        return self._read(queries.retrospective, run_id)

    def resolve_contracts(self, body: Document) -> Document:
        """ResolveContractsResponse."""
        return self._read(queries.resolve_contracts, body)

    def get_chunks(self, body: Document) -> Document:
        """GetChunksResponse."""
        return self._read(queries.get_chunks, body)

    def get_job(self, job_id: str) -> Document:
        """JobStatusResponse."""
        return self._read(queries.job, job_id)

    def heartbeat(self, job_id: str, body: Document) -> Document:
        """HeartbeatResponse."""
        return self.perform(use_cases.heartbeat, job_id, body)

    def resolve_docs(self, task_id: str, body: Document, *, expected_version: int | None = None) -> Document:
        """ResolveDocsResponse."""
        return self.perform(use_cases_docs.resolve_docs, task_id, body, expected_version)

    def acknowledge_docs(self, task_id: str, body: Document, *, expected_version: int | None = None) -> Document:
        """AckDocsResponse."""
        return self.perform(use_cases_docs.acknowledge_docs, task_id, body, expected_version)

    def check_stale_docs(self, task_id: str, body: Document, *, expected_version: int | None = None) -> Document:
        """StaleCheckResponse."""
        return self.perform(use_cases_docs.check_stale_docs, task_id, body, expected_version)

    def ingest_doc(self, body: Document, *, path: str | None = None) -> Document:
        """IngestDocResponse."""
        return self.perform(use_cases_docs.ingest_doc, body, path)

    def link_tracker(self, task_id: str, body: Document, *, expected_version: int | None = None) -> Document:
        """TrackerLinkResponse."""
        return self.perform(use_cases_docs.link_tracker, task_id, body, expected_version)

    def acknowledge_evidence(self, task_id: str, evidence_id: str, body: Document) -> Document:
        """EvidenceAcknowledgement."""
        return self.perform(use_cases.acknowledge_evidence, task_id, evidence_id, body)

    def build_bundle(
        self, task_id: str, body: Document | None = None, *, expected_version: int | None = None
    ) -> Document:
        """ContextBundle."""
        return self.perform(use_cases.build_bundle, task_id, body or {}, expected_version)

    def generate_retrospective(self, task_id: str) -> Document:
        """Retrospective, the next generation."""
        return self.perform(use_cases.generate_retrospective, task_id, {})

    def recover(self) -> int:
        """Block every task whose active job a control plane that is gone has dispatched; how many. (§7.4)"""
        return upkeep.recover(self)

    def expire(self) -> int:
        """Give up orphaned jobs and integrate and publish runs that took too long; how many. (§7.4)"""
        return upkeep.expire(self)
