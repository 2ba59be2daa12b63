"""The audit events that the control plane writes, and the documented names that mean the same (control-plane §5.2).

Names of catalogue A stay as they are on the wire; those of catalogue B that nobody ever wrote are aliases, or fill what
A does not cover. Events that are ours alone are marked so.
"""

from __future__ import annotations

from types import MappingProxyType

AUDIT_TYPES: MappingProxyType[str, str] = MappingProxyType(
    {
        "approval_denied": "an approval token was wrong or expired",
        "approval_granted": "a publish was approved",
        "approval_requested": "a publish waits for its approval",
        "capability_mismatch": "a dispatch named a worker that cannot do the stage",
        "context_bundle_generated": "ours: a context bundle was built, and how",
        "docs.acknowledged": "ours: a version of a document was read",
        "docs.resolved": "ours: what to read was resolved",
        "docs.staleChecked": "ours: what was read was compared with the registry, and that changed something",
        "evidence.acknowledged": "somebody looked at a piece of evidence",
        "evidence.generated": "ours: a result brought an artifact",
        "heartbeat_missed": "a worker gave no more sign of life",
        "instruction_authority_conflict": "a result carried instructions, or rested on stale documents",
        "instruction_envelope_compiled": "a dispatch compiled the instructions of its job",
        "instruction_escalated": "a result was blocked for a person to look at",
        "instruction_schema_rejected": "a result was off schema; its job goes on",
        "instruction_semantic_rejected": "a result was not what its stage hands in",
        "job.heartbeat_received": "a worker gave a sign of life",
        "job.lease_acquired": "a dispatched job was leased",
        "job.lease_expired": "a lease ran out",
        "job.loop_blocked": "a dispatch was refused as a doom loop",
        "job.loop_warning": "the same work was dispatched for the third time",
        "job.retry_exhausted": "a failure had no retries left",
        "job_started": "a job was dispatched without a transition, after a retry or a resume",
        "lock_conflict": "a lock was held, or too many jobs were under way",
        "orphan_detected": "a job was given up, and what is done about it",
        "retry_triggered": "a failure will be tried again",
        "run.acceptanceGateEnforced": "an acceptance looked at a tool plan that had changed the workspace",
        "run.acceptanceGateRequired": "a development changed the workspace through a tool plan",
        "run.approval_required": "an approval token was issued",
        "run.checksCompleted": "ours: the checks of an integration ended, with their exit code",
        "run.executorOrphanRecovered": "a restart found a job of the instance before",
        "run.litellmFailed": "a worker was blocked by its model",
        "run.lock_acquired": "a branch or a publish target was locked",
        "run.main_updated": "the main line moved",
        "run.permissionEscalated": "a result asked for permissions",
        "run.policy_check_failed": "the repository's policy denied a publish",
        "run.publishCompleted": "a publish ended",
        "run.publishIdempotent": "a publish was asked for again with the same key",
        "run.publishRequested": "a publish was asked for",
        "run.reworkPayloadPrepared": "a failure goes back to development, or to a person",
        "run.systemGateBlocked": "the run-system gate blocked a task, in enforce mode",
        "run.systemGateEvaluated": "the run-system gate looked at a result",
        "run.systemPacketPrepared": "the packet of a valid result, made before any transition",
        "run.workerBackendSelected": "where a job runs physically",
        "run.workerFailover": "a plan goes to the next worker",
        "task.verdictSubmitted": "a task was accepted",
        "task.version_conflict": "a request expected another version",
        "tracker.linked": "ours: a tracker entity was tied to a task",
    }
)
"""event_type and when it is written."""

ALIASES: MappingProxyType[str, str] = MappingProxyType(
    {
        "job.capability_blocked": "capability_mismatch",
        "job.orphan_detected": "orphan_detected",
        "job.orphan_recovered": "run.executorOrphanRecovered",
        "job.retry_scheduled": "retry_triggered",
        "run.lock_conflict": "lock_conflict",
    }
)
"""Documented names that are never written, and the name under which the same thing is found."""
