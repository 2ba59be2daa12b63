"""The table of tables: which tables the file has, and by which rule each of them lives.

Every append-only table starts with ``seq`` (its row in the ledger), ``stream``, ``sequence`` (1, 2, 3 … within the
stream) and ``at``; the columns listed here come after those. A later kind of append-only row joins the ledger by
standing here and in a migration that creates the table and calls ``protect``.
"""

from __future__ import annotations

LEDGER = "ledger"
GENESIS_SHA256 = "sha256:" + "0" * 64

APPEND_ONLY: dict[str, tuple[str, ...]] = {
    "journal_events": ("type", "data"),
    "materials": ("material_sha256", "bytes", "content"),
    "turns": (
        "turn_id", "run_id", "action_id", "skill", "verdict", "source", "repair", "outcome", "diagnostics", "errors",
        "text_sha256", "text_bytes", "attempts", "source_revision", "snapshot_sha256", "document_path",
        "document_revision", "document_sha256", "decision", "evidence",
    ),
    "workflow_snapshots": (
        "snapshot_sha256", "source_revision", "repository_state", "unit_id", "snapshot", "readings",
    ),
    "state_transition_events": (
        "event_id", "task_id", "from_state", "to_state", "actor_type", "actor_id", "occurred_at", "job_id", "document",
    ),
    "audit_events": (
        "event_id", "event_type", "task_id", "run_id", "job_id", "actor_type", "actor_id", "occurred_at", "payload",
        "provenance",
    ),
    "documents": ("doc_id", "doc_type", "title", "path", "version", "content"),
    "retrospectives": ("retrospective_id", "task_id", "generation", "generated_at", "document"),
    "merged_files": ("name", "head_seq", "head_sha256"),
}  # fmt: skip

MERGED_ROWS = "merged_rows"
"""The chains of merged files, proved by the heads that ``merged_files`` has of them."""

FACTS = (LEDGER, MERGED_ROWS, *APPEND_ONLY)
"""The tables that refuse every change of a row."""

PROJECTIONS: dict[str, tuple[str, ...]] = {
    "run": ("runs", "run_actions", "run_activities", "run_findings", "run_answers", "git_observations"),
    "task": (
        "tasks", "worker_jobs", "worker_results", "checkpoints", "approvals", "context_bundles", "doc_acks",
        "entity_links", "sync_events",
    ),
    "audit": ("gate_observations", "evidence_observations", "reflections"),
}  # fmt: skip
"""Projection tables by the prefix of the journal streams they are replayed from (``run:<id>``).

Those of ``audit`` are replayed from ``audit_events`` and ``retrospectives``."""
