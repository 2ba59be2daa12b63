"""What a task of low risk does, in as few words as possible; written from control-plane §3, §4 and §7.

It shares nothing with the product. Jobs are ordinals within their task; what they are called is learned from answers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

WORKING = {"planning": "plan", "developing": "dev", "accepting": "acceptance"}
BLOCKABLE = (*WORKING, "integrating", "publishing")
TERMINAL = ("published", "cancelled", "failed")
STARTS = {
    ("queued", "plan"): "planning",
    ("planned", "dev"): "developing",
    ("rework_required", "dev"): "developing",
    ("dev_completed", "acceptance"): "accepting",
}
DONE = {"plan": "planned", "dev": "dev_completed", "acceptance": "accepting"}
RETRIES = {"plan": 2, "dev": 3, "acceptance": 0}
DISPATCHES = {"plan": 3, "dev": 4, "acceptance": 3}
"""How often the same stage may be dispatched before it is a doom loop."""


@dataclass(frozen=True)
class Task:
    """One task. ``job`` is the ordinal of its active job, ``jobs`` the stages of all it had."""

    state: str = "queued"
    version: int = 0
    job: int | None = None
    jobs: tuple[str, ...] = ()
    worker: str = ""
    lapsed: bool = False
    judged: bool = False
    resume: str = ""
    retries: tuple[str, ...] = ()
    publishes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Plane:
    """Every task by its number, and the ids of the transition events that are taken."""

    tasks: dict[int, Task] = field(default_factory=dict)
    events: frozenset[str] = frozenset()


class Asked(NamedTuple):
    """A request about the task ``task``; what the other members mean depends on ``what``. No job is -1."""

    what: str
    task: int
    expected: int | None = None
    stage: str = ""
    job: int = 0
    text: str = ""
    to_state: str = ""


class Expected(NamedTuple):
    """The answer: a refusal's ``code``, or what the request shows of its task."""

    code: str = ""
    task: Task | None = None
    job: int | None = None
    count: int | None = None
    tasks: dict[int, Task] | None = None


Outcome = tuple[Expected, Task]


def apply(plane: Plane, asked: Asked) -> tuple[Expected, Plane]:
    """What the control plane answers, and what is on record afterwards."""
    if asked.what == "create":
        made = Task()
        return Expected(task=made), replace(plane, tasks=plane.tasks | {asked.task: made})
    if asked.what == "list":
        return Expected(tasks=plane.tasks), plane
    if asked.what == "keep_up":
        after = {number: _kept_up(task) for number, task in plane.tasks.items()}
        changed = sum(after[number] != task for number, task in plane.tasks.items())
        return Expected(count=changed), replace(plane, tasks=after)
    task = plane.tasks[asked.task]
    if asked.expected not in (None, task.version) and not (
        asked.what == "publish" and asked.text in dict(task.publishes)
    ):
        return Expected("VERSION_CONFLICT"), plane
    if asked.what == "transition":
        if asked.text in plane.events:
            return Expected("DUPLICATE_EVENT"), plane
        expected, after_task = _transition(plane, task, asked)
        taken = plane.events if expected.code else plane.events | {asked.text}
        return expected, Plane(plane.tasks | {asked.task: after_task}, taken)
    if asked.what == "integrate":
        expected, after_task = _integrate(plane, task)
    else:
        expected, after_task = RULES[asked.what](task, asked)
    return expected, replace(plane, tasks=plane.tasks | {asked.task: after_task})


def _step(task: Task, state: str, **members: Any) -> Task:
    if state == "developing" and task.state != "developing":
        members["judged"] = False
    return replace(task, state=state, version=task.version + 1, **members)


def _idle(task: Task) -> Task:
    return replace(task, job=None, worker="", lapsed=False)


def _dispatch(task: Task, asked: Asked) -> Outcome:
    starts = STARTS.get((task.state, asked.stage))
    if starts is None and WORKING.get(task.state) != asked.stage:
        return Expected("STATE_CONFLICT"), task
    if starts is None and task.job is not None:
        return Expected("JOB_ACTIVE"), task
    if task.jobs.count(asked.stage) >= DISPATCHES[asked.stage]:
        return Expected("DOOM_LOOP"), task
    after = _step(_idle(task), starts or task.state, job=len(task.jobs), jobs=(*task.jobs, asked.stage))
    return Expected(task=after, job=after.job), after


def _heartbeat(task: Task, asked: Asked) -> Outcome:
    if asked.job < 0:
        return Expected("NOT_FOUND"), task
    if task.job != asked.job:
        return Expected("JOB_NOT_ACTIVE"), task
    if task.lapsed:
        return Expected("LEASE_EXPIRED"), task
    if task.worker not in ("", asked.text):
        return Expected("WORKER_MISMATCH"), task
    return Expected(job=task.job), replace(task, worker=asked.text)


def _result(task: Task, asked: Asked) -> Outcome:
    if task.job is None or task.job != asked.job:
        return Expected("JOB_NOT_ACTIVE"), task
    stage = task.jobs[task.job]
    if stage == "acceptance":
        state = "rework_required" if asked.text == "rework" else "accepting"
        after = _step(_idle(task), state, judged=asked.text != "rework")
    else:
        after = _step(_idle(task), DONE[stage])
    return Expected(task=after), after


def _accept(task: Task, asked: Asked) -> Outcome:
    if task.state != "accepting":
        return Expected("STATE_CONFLICT"), task
    if not task.judged:
        return Expected("CHECKLIST_REQUIRED"), task
    after = _step(_idle(task), "accepted")
    return Expected(task=after), after


def _cancel(task: Task, asked: Asked) -> Outcome:
    if task.state in TERMINAL:
        return Expected("STATE_CONFLICT"), task
    after = _step(_idle(task), "cancelled", resume="")
    return Expected(task=after), after


def _transition(plane: Plane, task: Task, asked: Asked) -> Outcome:
    """By hand into ``blocked`` and out of it; ``stage`` is where the caller believes the task to be."""
    if asked.stage != task.state:
        return Expected("STATE_CONFLICT"), task
    if asked.to_state == "blocked":
        if task.state not in BLOCKABLE:
            return Expected("STATE_CONFLICT"), task
        after = _step(_idle(task), "blocked", resume=task.state)
        return Expected(task=after), after
    if task.state != "blocked":
        return Expected("STATE_CONFLICT"), task
    if asked.to_state != task.resume:
        return Expected("RESUME_MISMATCH"), task
    if asked.to_state == "integrating" and _is_locked(plane):
        return Expected("LOCK_CONFLICT"), task
    after = _step(task, asked.to_state, resume="")
    return Expected(task=after), after


def _is_locked(plane: Plane) -> bool:
    """Every task is of one repository and branch, which one integrates into at a time."""
    return any(task.state == "integrating" for task in plane.tasks.values())


def _integrate(plane: Plane, task: Task) -> Outcome:
    if task.state != "accepted":
        return Expected("STATE_CONFLICT"), task
    if _is_locked(plane):
        return Expected("LOCK_CONFLICT"), task
    after = _step(task, "integrating")
    return Expected(task=after), after


def _integrated(task: Task, asked: Asked) -> Outcome:
    if task.state != "integrating":
        return Expected("STATE_CONFLICT"), task
    after = _step(task, "integrated")
    return Expected(task=after), after


def _publish(task: Task, asked: Asked) -> Outcome:
    """``text`` is the key, ``stage`` the mode. A key answers as it did the first time, whatever came since."""
    mode = dict(task.publishes).get(asked.text)
    if mode is not None:
        return (Expected(task=replace(task, state="publishing")) if mode == asked.stage else
                Expected("IDEMPOTENCY_CONFLICT")), task  # fmt: skip
    if task.state != "integrated":
        return Expected("STATE_CONFLICT"), task
    after = _step(task, "publishing", publishes=(*task.publishes, (asked.text, asked.stage)))
    return Expected(task=after), after


def _published(task: Task, asked: Asked) -> Outcome:
    if task.state != "publishing":
        return Expected("STATE_CONFLICT"), task
    after = _step(task, "published")
    return Expected(task=after), after


def _lapse(task: Task, asked: Asked) -> Outcome:
    """Time goes by: the lease of a job runs out."""
    return Expected(), replace(task, lapsed=True) if task.job is not None and task.job == asked.job else task


def _kept_up(task: Task) -> Task:
    if not task.lapsed:
        return task
    stage = WORKING[task.state]
    if task.retries.count(stage) < RETRIES[stage]:
        return _step(_idle(task), task.state, retries=(*task.retries, stage))
    return _step(_idle(task), "blocked", resume=task.state)


def _get(task: Task, asked: Asked) -> Outcome:
    return Expected(task=task, job=task.job), task


RULES: dict[str, Any] = {
    "dispatch": _dispatch,
    "heartbeat": _heartbeat,
    "result": _result,
    "accept": _accept,
    "cancel": _cancel,
    "integrated": _integrated,
    "publish": _publish,
    "published": _published,
    "lapse": _lapse,
    "get": _get,
}
