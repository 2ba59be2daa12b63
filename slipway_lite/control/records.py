"""One write transaction of the control plane: load what a decision needs, write what it decided.

A request writes its journal event, its audit events, its transition event, its projections and its leases and locks
here and nowhere else, all inside the transaction that is handed in.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slipway_lite import clock, ids
from slipway_lite.canon import encode
from slipway_lite.control import projections, runs
from slipway_lite.control.events import Moment, TaskState, apply, event_data
from slipway_lite.control.instants import from_micros, milliseconds
from slipway_lite.control.refusals import not_found
from slipway_lite.control.states import TERMINAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from slipway_lite.control.events import Audit, Change
    from slipway_lite.store.journal import Transaction

TASK_COLUMNS = (
    "task_id, state, version, risk_level, typed_ref, repository, title, objective, active_job_id, last_verdict,"
    " created_at, updated_at, completed_at, timeout_at, document, memory, head_seq"
)
_UPDATE_TASK = (
    "update tasks set state = ?2, version = ?3, risk_level = ?4, typed_ref = ?5, repository = ?6, title = ?7,"
    " objective = ?8, active_job_id = ?9, last_verdict = ?10, created_at = ?11, updated_at = ?12, completed_at = ?13,"
    " timeout_at = ?14, document = ?15, memory = ?16, head_seq = ?17 where task_id = ?1"
)
_INSERT_TASK = f"insert into tasks ({TASK_COLUMNS}) values (?{', ?' * 16})"
_INSERT_LEASE = (
    "insert or replace into _leases (job_id, task_id, lease_owner, worker_id, acquired_at, lease_expires_at,"
    " last_heartbeat_at) values (?, ?, ?, null, ?, ?, null)"
)
_INSERT_LOCK = (
    "insert or replace into _locks (resource_key, resource_type, lock_id, owner_task_id, acquired_at, expires_at)"
    " values (?, ?, ?, ?, ?, ?)"
)
LEASE_COLUMNS = (
    "job_id",
    "task_id",
    "lease_owner",
    "worker_id",
    "acquired_at",
    "lease_expires_at",
    "last_heartbeat_at",
)


class Records:
    """The control plane's view of an open transaction, at one moment."""

    def __init__(self, tx: Transaction, instance_id: str) -> None:
        self.tx = tx
        self.at = clock.timestamp()
        now = from_micros(self.at)
        self._prefix = f"{milliseconds(now):012x}"
        token = self.new_id()
        self.moment = Moment(now, token, instance_id, int(token[20:], 16) / 16**12)

    def new_id(self) -> str:
        """32 hexadecimal digits, later ones greater: what is written together then lies together in every index."""
        return self._prefix + ids.uuid4().replace("-", "")[12:]

    def task(self, task_id: str) -> TaskState:
        """The task. Raises NOT_FOUND."""
        row = self.tx.execute("select document, memory from tasks where task_id = ?", (task_id,)).fetchone()
        if row is None:
            raise not_found("task", task_id)
        return TaskState(json.loads(row[0]), json.loads(row[1]))

    def job(self, job_id: str | None) -> dict[str, Any] | None:
        """The job document, or ``None`` when there is no such job."""
        if job_id is None:
            return None
        row = self.tx.execute(
            "select json_extract(e.data, '$.job'), j.closing from worker_jobs j"
            " join journal_events e on e.seq = j.document_seq where j.job_id = ?",
            (job_id,),
        ).fetchone()
        return json.loads(row[0]) | json.loads(row[1] or "{}") if row else None

    def active_job(self, state: TaskState) -> dict[str, Any] | None:
        return self.job(state.task.get("active_job_id"))

    def transitions(self, task_id: str) -> tuple[int, dict[str, Any] | None]:
        """How many transitions the task has made, and the newest one."""
        row = self.tx.execute(
            "select sequence, document from state_transition_events where stream = ? order by sequence desc limit 1",
            (projections.stream(task_id),),
        ).fetchone()
        return (row[0], json.loads(row[1])) if row else (0, None)

    def load(self) -> dict[str, int]:
        """How many jobs are under way, by worker type."""
        rows = self.tx.execute("select worker_type, count(*) from worker_jobs where closed_at is null group by 1")
        return dict(rows.fetchall())

    def lease(self, job_id: str) -> dict[str, Any] | None:
        row = self.tx.execute(f"select {', '.join(LEASE_COLUMNS)} from _leases where job_id = ?", (job_id,)).fetchone()
        return dict(zip(LEASE_COLUMNS, row, strict=True)) if row else None

    def lock_holders(self, resources: Iterable[tuple[str, str]]) -> dict[str, dict[str, Any]]:
        """The locks that stand on ``resources``, expired ones included."""
        holders = {}
        for key, _ in resources:
            row = self.tx.execute(
                "select lock_id, owner_task_id, expires_at from _locks where resource_key = ?", (key,)
            ).fetchone()
            if row:
                holders[key] = {"lock_id": row[0], "owner_task_id": row[1], "expires_at": row[2]}
        return holders

    def versions(self, doc_ids: Iterable[str]) -> dict[str, str]:
        """The registry's newest version of each of ``doc_ids`` that it holds."""
        found = {}
        for doc_id in doc_ids:
            row = self.tx.execute(
                "select version from documents where doc_id = ? order by sequence desc limit 1", (doc_id,)
            ).fetchone()
            if row:
                found[doc_id] = row[0]
        return found

    def write(self, before: TaskState | None, change: Change) -> TaskState:
        """Make ``change`` part of the record and return the task after it.

        Audit events stand before the transition in the ledger, so that the RunSystemPacket of a result does.
        """
        data = event_data(change)
        after = apply(before, data)
        task_id = after.task_id
        stream = projections.stream(task_id)
        head_seq = self.tx.append(
            "journal_events", stream, after.task["version"] + 1, self.at, change.kind, encode(data)
        )
        self.audit(task_id, change.audit)
        if change.transition is not None:
            self._transition(stream, change.transition)
        row = projections.task_row(after, head_seq)
        self.tx.execute(_INSERT_TASK if before is None else _UPDATE_TASK, row)
        stage = self._job(change, head_seq)
        for table, side_row in projections.side_rows(before, after, data, head_seq, stage, self.moment.now):
            marks = ", ".join("?" * len(side_row))
            self.tx.execute(f"insert or replace into {table} values ({marks})", side_row)
        self._hold(task_id, change)
        if change.transition is not None and after.state in TERMINAL:
            self.retrospect(after)
        return after

    def retrospect(self, state: TaskState) -> dict[str, Any]:
        """Append the next generation of the task's retrospective and return it."""
        stream = projections.stream(state.task_id)
        generation = self.tx.next_sequence("retrospectives", stream)
        events = self._texts("state_transition_events", "stream", stream, "sequence")
        points = self._texts("checkpoints", "task_id", state.task_id, "created_at, checkpoint_id")
        jobs = self.tx.execute(
            "select j.stage, r.status from worker_jobs j left join worker_results r on r.job_id = j.job_id"
            " where j.task_id = ? order by j.dispatched_at",
            (state.task_id,),
        ).fetchall()
        counts = dict(
            self.tx.execute(
                "select event_type, count(*) from audit_events where stream = ? group by event_type", (stream,)
            ).fetchall()
        )
        document = runs.retrospective(state, generation, events, jobs, counts, points, self.moment.now)
        names = ("retrospective_id", "task_id", "generation", "generated_at")
        self.tx.append(
            "retrospectives", stream, generation, self.at, *(document[name] for name in names), encode(document)
        )
        return document

    def _texts(self, table: str, key: str, value: str, order: str) -> list[dict[str, Any]]:
        rows = self.tx.execute(f"select document from {table} where {key} = ? order by {order}", (value,))
        return [json.loads(row[0]) for row in rows]

    def _transition(self, stream: str, event: Mapping[str, Any]) -> None:
        sequence = self.tx.next_sequence("state_transition_events", stream)
        names = ("event_id", "task_id", "from_state", "to_state", "actor_type", "actor_id", "occurred_at", "job_id")
        self.tx.append(
            "state_transition_events",
            stream,
            sequence,
            self.at,
            *(event.get(name) for name in names),
            encode(event),
        )

    def _job(self, change: Change, seq: int) -> str | None:
        """Write the row of a new or a closed job; returns the stage of a closed one."""
        if change.job is not None:
            row = projections.job_row(change.job, seq, self.moment.now)
            marks = ", ".join("?" * len(row))
            self.tx.execute(f"insert into worker_jobs values ({marks})", row)
        if change.closed is None or change.ended is None:
            return None
        job = change.ended
        self.tx.execute(
            "update worker_jobs set status = ?, closed_at = ?, closing = ? where job_id = ?",
            (change.closed["status"], self.moment.now, encode(projections.closing(change.closed)), job["job_id"]),
        )
        self.tx.execute("delete from _leases where job_id = ?", (job["job_id"],))
        return str(job["stage"])

    def _hold(self, task_id: str, change: Change) -> None:
        if change.released:
            self.tx.execute("delete from _locks where owner_task_id = ?", (task_id,))
        if change.lease is not None:
            lease = change.lease
            self.tx.execute(
                _INSERT_LEASE, (lease.job_id, task_id, lease.lease_owner, lease.acquired_at, lease.expires_at)
            )
        for lock in change.locks:
            self.tx.execute(
                _INSERT_LOCK,
                (lock.resource_key, lock.resource_type, lock.lock_id, task_id, lock.acquired_at, lock.expires_at),
            )

    def audit(self, task_id: str, events: Sequence[Audit]) -> list[str]:
        """Append audit events of a task; returns their ids."""
        made = []
        stream = projections.stream(task_id)
        sequence = self.tx.next_sequence("audit_events", stream) if events else 0
        for number, event in enumerate(events):
            event_id = f"audit_{self.new_id()}"
            self.tx.append(
                "audit_events",
                stream,
                sequence + number,
                self.at,
                event_id,
                event.event_type,
                task_id,
                None,
                event.job_id,
                event.actor_type,
                event.actor_id,
                self.moment.now,
                encode(event.payload),
                None,
            )
            made.append(event_id)
        return made
