"""The read tables of Runs: the rows that an event changes.

:func:`touched_rows` is what a command writes after its event, and, gathered over a whole journal, what ``slipway db
rebuild`` writes and ``slipway db verify`` compares: one source, so that the three agree.
"""

from __future__ import annotations

from slipway_lite.canon import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from slipway_lite.protocol.run import Record, Run
    from slipway_lite.store.journal import Transaction

    Row = tuple[Any, ...]

COLUMNS = {
    "runs": 22, "run_actions": 20, "run_activities": 8, "run_findings": 7, "run_answers": 11, "git_observations": 15,
}  # fmt: skip
"""How many columns each table has; a row is in the order of ``store/sql/002_runs.sql``."""
_UPSERT = {
    table: f"insert or replace into {table} values ({', '.join('?' * width)})" for table, width in COLUMNS.items()
}


def run_row(run: Run) -> Row:
    source = run.pinned_source
    return (
        run.run_id,
        run.workspace["git_common_dir"],
        run.workspace["worktree_root"],
        run.workspace["git_dir"],
        run.workspace["id"],
        run.goal,
        run.state,
        run.pause_reason,
        int(run.review_enabled),
        int(run.review_pending),
        run.initial_budget,
        run.remaining_budget,
        len(run.records),
        int(run.changed),
        int(run.final_git_observed),
        source["canonical_url"] if source else None,
        run.requirements_revision,
        run.summary,
        run.created_at,
        run.updated_at,
        run.event_count,
        run.head_seq,
    )


def action_row(run: Run, record: Record) -> Row:
    outcome = record.outcome or {}
    implementation = outcome.get("implementation") or {}
    pause = outcome.get("pause") or {}
    suggested = outcome.get("suggested_actions") or [{}]
    return (
        run.run_id,
        record.ordinal,
        record.action_id,
        record.kind,
        record.issued_at,
        record.remaining_budget,
        record.given_brief if record.host_brief else None,
        outcome.get("status"),
        pause.get("reason"),
        pause.get("question"),
        implementation.get("result"),
        (outcome.get("review") or {}).get("result"),
        implementation.get("attempts"),
        encode(implementation["files_changed"]) if implementation else None,
        suggested[0].get("kind"),
        outcome.get("summary"),
        record.outcome_payload_sha256,
        record.outcome_at,
        int(record.voided),
        int(record.skipped),
    )


def activity_rows(run: Run, record: Record) -> Iterator[Row]:
    """The activities that ``record`` just reported, numbered through the Run."""
    activities = ((record.outcome or {}).get("implementation") or {}).get("activities", ())
    for number, item in enumerate(activities, len(run.activities) - len(activities) + 1):
        yield (
            run.run_id, number, record.action_id, item["kind"], item["command"], item["exit_code"], item["summary"],
            record.outcome_at,
        )  # fmt: skip


def finding_rows(run: Run, record: Record) -> Iterator[Row]:
    """The findings that ``record`` just reported, numbered through the Run."""
    findings = ((record.outcome or {}).get("review") or {}).get("findings", ())
    for number, item in enumerate(findings, run.finding_count - len(findings) + 1):
        yield (
            run.run_id, number, record.action_id, item["location"], item["summary"], item["detail"], record.outcome_at,
        )  # fmt: skip


def answer_row(run: Run, number: int) -> Row:
    answer = run.answers[number - 1]
    return (
        run.run_id,
        number,
        answer["action_id"],
        answer["text"],
        int(answer["confirm_destructive"]),
        answer.get("scope_sha256"),
        answer["payload_sha256"],
        answer.get("requirements_revision"),
        int(answer["active"]),
        answer.get("superseded_by"),
        answer["at"],
    )


def git_rows(run: Run) -> Iterator[Row]:
    """The looks at git that the last event holds."""
    for number, (at, outcome, git) in enumerate(run.git_looks, run.git_look_count - len(run.git_looks) + 1):
        if git is None:
            yield (run.run_id, number, at, outcome, *[None] * 11)
            continue
        yield (
            run.run_id,
            number,
            at,
            outcome,
            git["head"],
            git["index_fingerprint"],
            git["status_fingerprint"],
            git["snapshot_hash"],
            git["path_fingerprint"],
            git["path_count"],
            encode(git["dirty_files"]) if outcome == "observed" else None,
            int(git["content_observation_complete"]),
            git["content_bytes_hashed"],
            int(git["details_truncated"]),
            int(run.changed),
        )


def touched_rows(run: Run) -> Iterator[tuple[str, Row]]:
    """``(table, row)`` for everything the last event changed; a row's key is its first column, or its first two."""
    yield "runs", run_row(run)
    for ordinal in sorted(run.touched_records):
        yield "run_actions", action_row(run, run.records[ordinal - 1])
    if run.reported is not None:
        for row in activity_rows(run, run.reported):
            yield "run_activities", row
        for row in finding_rows(run, run.reported):
            yield "run_findings", row
    for number in sorted(run.touched_answers):
        yield "run_answers", answer_row(run, number)
    for row in git_rows(run):
        yield "git_observations", row


def write_touched(tx: Transaction, run: Run) -> None:
    for table, row in touched_rows(run):
        tx.execute(_UPSERT[table], row)
