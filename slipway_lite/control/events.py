"""What a decision is made of, and how it becomes the next state.

A decision takes a :class:`TaskState` and answers with one :class:`Change`, or raises
:class:`~slipway_lite.control.refusals.Refused`. The change is the journal event of the request: every fact
of it, as what is set and unset on the task, plus the documents it brought (job, result, transition,
checkpoint, …). :func:`apply` is the only way from one state to the next, for a request and for ``db
rebuild`` alike.

Pure: nothing here, nor in any decision, reads a clock, a disk or a random number. Those come in as
:class:`Moment`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slipway_lite.control.messages_task import TASK_FIELDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ACTOR_ID = "shipyard-cp"
"""Who the contract says acts for the control plane in transition events (control-plane §3.2)."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When a request happens, and the one fresh id it may name things with.

    ``now`` is in the wire form, ``token`` 32 hexadecimal digits, ``jitter`` lies in [0, 1).
    """

    now: str
    token: str
    instance_id: str
    jitter: float = 0.0


@dataclass(frozen=True, slots=True)
class TaskState:
    """A task: the document on the wire, and what the control plane remembers beside it.

    ``memory`` never reaches a client: acknowledgements, the doom-loop window, publish receipts, the hash of
    an approval token.
    """

    task: Mapping[str, Any]
    memory: Mapping[str, Any]

    @property
    def task_id(self) -> str:
        return str(self.task["task_id"])

    @property
    def state(self) -> str:
        return str(self.task["state"])


@dataclass(frozen=True, slots=True)
class Audit:
    """One audit event to be: the recorder adds its id and time."""

    event_type: str
    payload: Mapping[str, Any]
    job_id: str | None = None
    actor_type: str = "control_plane"
    actor_id: str = "control_plane"


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on a job until ``expires_at``; held by the first worker that gives a sign of life."""

    job_id: str
    lease_owner: str
    acquired_at: str
    expires_at: str


@dataclass(frozen=True, slots=True)
class Lock:
    """A resource that one task holds until ``expires_at``."""

    lock_id: str
    resource_key: str
    resource_type: str
    acquired_at: str
    expires_at: str


@dataclass(frozen=True, slots=True)
class Change:
    """Everything one request did. ``kind`` names it in the journal; ``answer`` makes the response body from
    the task after the change.

    ``set`` / ``unset`` are members of the task document, ``remember`` / ``forget`` of the memory. ``job`` is the
    document of a new job; ``ended`` that of a job whose work and lease end here, and ``closed`` what changes on it
    (job_id, status, metadata). ``result`` is a result document. ``lease`` and ``locks`` are taken, after ``released``
    has given up the locks that the task held.
    """

    kind: str
    set: Mapping[str, Any] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    remember: Mapping[str, Any] = field(default_factory=dict)
    forget: tuple[str, ...] = ()
    transition: Mapping[str, Any] | None = None
    audit: tuple[Audit, ...] = ()
    job: Mapping[str, Any] | None = None
    closed: Mapping[str, Any] | None = None
    ended: Mapping[str, Any] | None = None
    result: Mapping[str, Any] | None = None
    checkpoint: Mapping[str, Any] | None = None
    bundle: Mapping[str, Any] | None = None
    link: Mapping[str, Any] | None = None
    answer: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict
    lease: Lease | None = None
    locks: tuple[Lock, ...] = ()
    released: bool = False


JOURNALLED = ("job", "closed", "result", "checkpoint", "bundle", "link")
"""The documents of a change that its journal event carries beside the task's own members."""


def event_data(change: Change) -> dict[str, Any]:
    """The journal event of ``change``: what :func:`apply` and the projections need, and nothing derived."""
    data: dict[str, Any] = {"set": change.set}
    if change.unset:
        data["unset"] = list(change.unset)
    if change.remember:
        data["remember"] = change.remember
    if change.forget:
        data["forget"] = list(change.forget)
    for name in JOURNALLED:
        document = getattr(change, name)
        if document is not None:
            data[name] = document
    return data


def apply(state: TaskState | None, data: Mapping[str, Any]) -> TaskState:
    """The state after the journal event ``data``; ``state`` is ``None`` for the event that creates the
    task.
    """
    task: dict[str, Any] = {**state.task} if state else {"version": -1}
    memory: dict[str, Any] = {**state.memory} if state else {}
    task.update(data["set"])
    task["version"] += 1
    for name in data.get("unset", ()):
        task.pop(name, None)
    memory.update(data.get("remember", {}))
    for name in data.get("forget", ()):
        memory.pop(name, None)
    return TaskState({name: task[name] for name in TASK_FIELDS if name in task}, memory)
