"""The read tables of tasks: which rows an event writes, live and when the journal is replayed.

Both ways call the same functions, so that ``db rebuild`` gives the same rows.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slipway_lite.canon import encode
from slipway_lite.control.events import TaskState, apply
from slipway_lite.control.instants import from_micros
from slipway_lite.control.refs import repo_key
from slipway_lite.control.transitions import RUN_OF
from slipway_lite.store.projections import DOES_NOT_FIT
from slipway_lite.store.tables import PROJECTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slipway_lite.store.connection import Store
    from slipway_lite.store.projections import Sink

    Row = tuple[Any, ...]

STREAM_PREFIX = "task:"


def stream(task_id: str) -> str:
    """The name of a task's journal, and of its rows in the other append-only tables."""
    return STREAM_PREFIX + task_id


def task_row(state: TaskState, head_seq: int) -> Row:
    """The row of ``tasks``; ``timeout_at`` stands there while an integrate or publish run is under way."""
    task = state.task
    run = task.get(RUN_OF.get(state.state, ""), {})
    return (
        task["task_id"],
        task["state"],
        task["version"],
        task["risk_level"],
        task["typed_ref"],
        repo_key(task["repo_ref"]),
        task["title"],
        task["objective"],
        task.get("active_job_id"),
        task.get("last_verdict", {}).get("outcome"),
        task["created_at"],
        task["updated_at"],
        task.get("completed_at"),
        run.get("timeout_at"),
        encode(task),
        encode(state.memory),
        head_seq,
    )


def job_row(
    job: Mapping[str, Any],
    document_seq: int,
    dispatched_at: str,
    closed: Mapping[str, Any] | None = None,
    closed_at: str | None = None,
) -> Row:
    """The row of ``worker_jobs``; ``closed`` is what changed on the job when it ended."""
    return (
        job["job_id"],
        job["task_id"],
        job["stage"],
        job["worker_type"],
        job.get("execution_backend"),
        job.get("executor_instance_id"),
        closed["status"] if closed else job["status"],
        job["risk_level"],
        job["retry_count"],
        dispatched_at,
        closed_at,
        document_seq,
        encode(closing(closed)) if closed else None,
    )


def closing(closed: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a job document that its end has changed."""
    return {name: closed[name] for name in ("status", "metadata")}


def side_rows(
    before: TaskState | None, after: TaskState, data: Mapping[str, Any], seq: int, stage: str | None, now: str
) -> Iterator[tuple[str, Row]]:
    """(table, row) for everything an event writes beside the task and its job.

    ``seq`` is the event's row in the ledger, ``stage`` that of the job it closes, ``now`` its time in the wire form.
    """
    task_id = after.task_id
    if "result" in data:
        result = data["result"]
        yield (
            "worker_results",
            (
                result["job_id"],
                task_id,
                stage,
                result["status"],
                result.get("verdict", {}).get("outcome"),
                result.get("failure_class"),
                len(result["artifacts"]),
                result["usage"]["runtime_ms"],
                now,
                seq,
            ),
        )
    if "checkpoint" in data:
        made = data["checkpoint"]
        columns = ("checkpoint_id", "task_id", "checkpoint_type", "stage", "ref", "actor", "created_at")
        yield "checkpoints", (*(made.get(name) for name in columns), encode(made))
    if "bundle" in data:
        made = data["bundle"]
        columns = ("id", "task_id", "purpose", "rebuild_level", "raw_included", "generator_version", "generated_at")
        yield "context_bundles", (*(made[name] for name in columns), seq)
    if "link" in data:
        yield from _link_rows(task_id, data["link"], now)
    yield from _approval_rows(before, after, now)


def _link_rows(task_id: str, link: Mapping[str, Any], now: str) -> Iterator[tuple[str, Row]]:
    if link["kind"] == "doc_ack":
        yield "doc_acks", (link["ack_ref"], task_id, link["doc_id"], link["version"], now)
        return
    if link["is_new"]:
        row = (task_id, link["entity_kind"], link["remote_ref"], link["connection_ref"], "primary", now)
        yield "entity_links", row
    yield (
        "sync_events",
        (
            link["sync_event_ref"],
            task_id,
            link["connection_ref"],
            "outbound",
            "linked",
            link["remote_ref"],
            "applied",
            now,
        ),
    )


def _approval_rows(before: TaskState | None, after: TaskState, now: str) -> Iterator[tuple[str, Row]]:
    old = before.memory.get("approval") if before else None
    new = after.memory.get("approval")
    columns = ("ordinal", "token_sha256", "issued_at", "expires_at")
    if new is not None and new != old:
        yield "approvals", (after.task_id, *(new[name] for name in columns), None)
    if new is None and old is not None:
        yield "approvals", (after.task_id, *(old[name] for name in columns), now)


class TaskProjector:
    """Replays every ``task:`` stream into the read tables of tasks."""

    tables = PROJECTIONS["task"]

    def project(self, store: Store, sink: Sink) -> None:
        """Fill ``sink`` from the journals; a stream that does not replay is reported and left where it broke."""
        streams = store.rows(
            "select stream from journal_events where sequence = 1 and stream > 'task:' and stream < 'task;'"
        )
        for done, (name,) in enumerate(streams, 1):
            self._replay(store, sink, name)
            sink.advance(done, len(streams))

    def _replay(self, store: Store, sink: Sink, name: str) -> None:
        state: TaskState | None = None
        head_seq = count = 0
        jobs: dict[str, Row] = {}
        for expected, (seq, sequence, at, _, raw, *_) in enumerate(store.events(name), 1):
            try:
                if sequence != expected:
                    raise ValueError("an event is missing")
                data = json.loads(raw)
                after = apply(state, data)
                if after.task["version"] != sequence - 1 or stream(after.task_id) != name:
                    raise ValueError("the event is not the next step of its task")
                now = from_micros(at)
                stage = None
                if "job" in data:
                    jobs[data["job"]["job_id"]] = (data["job"], seq, now)
                if "closed" in data:
                    job, document_seq, dispatched_at = jobs[data["closed"]["job_id"]]
                    stage = job["stage"]
                    jobs[job["job_id"]] = (job, document_seq, dispatched_at, data["closed"], now)
                for table, row in list(side_rows(state, after, data, seq, stage, now)):
                    sink.row(table, row)
            except DOES_NOT_FIT:
                sink.broken(name, expected)
                break
            state, head_seq, count = after, seq, expected
        try:
            for fields in jobs.values():
                sink.row("worker_jobs", job_row(*fields))
            if state is not None:
                sink.row("tasks", task_row(state, head_seq))
        except DOES_NOT_FIT:
            sink.broken(name, count)
