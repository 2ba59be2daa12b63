"""What a Run without a source does in a worktree that nobody changes, in as few words as possible.

It is written from the contract (machine-protocol §4) and shares nothing with the product. Actions are ordinals; what
they are called is learned from the answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

REFILL = 3


@dataclass(frozen=True)
class Run:
    """One Run. ``outcomes`` and ``answers`` map the ordinal of an Action to what was handed in for it."""

    place: str
    initial: int
    budget: int
    state: str = "active"
    pause: str = ""
    kinds: tuple[str, ...] = ()
    current: int | None = None
    outcomes: tuple[tuple[int, str], ...] = ()
    voided: frozenset[int] = frozenset()
    answers: tuple[tuple[int, str], ...] = ()


class Asked(NamedTuple):
    """A request: ``what`` is submit, answer, skip, stop, resume, status, listed or material.

    ``action`` is an ordinal. ``text`` is the answer, or which Outcome: its first word is what it does, ``ask``,
    ``clarify``, ``implement`` or ``go``. ``budget`` goes with resume.
    """

    what: str
    run: int
    place: str
    action: int = 0
    text: str = ""
    budget: int = 0


class View(NamedTuple):
    """What a reply shows of a Run: all of it is one moment. ``None`` is what this reply does not show."""

    state: str
    pause: str
    budget: int | None
    current: int | None
    kinds: tuple[str, ...] | None = None
    outcomes: tuple[tuple[int, str], ...] | None = None
    answers: tuple[tuple[int, str], ...] | None = None
    voided: frozenset[int] | None = None


class Refusal(NamedTuple):
    code: str
    state: str | None


def start(place: str, budget: int) -> Run:
    return issue(Run(place, budget, budget), "orient")


def issue(run: Run, kind: str) -> Run:
    if not run.budget:
        return replace(run, state="paused", pause="budget_exhausted", current=None)
    kinds = (*run.kinds, kind)
    return replace(run, state="active", pause="", budget=run.budget - 1, kinds=kinds, current=len(kinds) - 1)


def void(run: Run) -> Run:
    if run.current is None:
        return run
    return replace(run, voided=run.voided | {run.current}, current=None)


def shown(run: Run) -> View:
    """What the reply to a mutation shows."""
    return View(run.state, run.pause, None, run.current)


def whole(run: Run) -> View:
    """What a status shows."""
    outcomes = tuple(sorted(run.outcomes))
    return View(run.state, run.pause, run.budget, run.current, run.kinds, outcomes, run.answers, run.voided)


def apply(runs: dict[int, Run], asked: Asked) -> tuple[View | Refusal, dict[int, Run]]:
    """What the machine answers, and the Runs afterwards."""
    run = runs[asked.run]
    if asked.what != "listed" and asked.place != run.place:
        # A sibling worktree shares the repository; "b" is another repository in the same file.
        reads = asked.what in ("status", "material")
        if asked.place[0] == run.place[0]:
            return Refusal("workspace_identity_mismatch", None), runs
        return Refusal("run_not_found" if reads else "runtime_error", None), runs
    answer, after = RULES[asked.what](run, asked)
    return answer, runs | {asked.run: after}


def _submit(run: Run, asked: Asked) -> tuple[View | Refusal, Run]:
    known = dict(run.outcomes).get(asked.action)
    if known is not None:
        if asked.action in run.voided:
            return Refusal("stale_action", run.state), run
        return (shown(run) if known == asked.text else Refusal("outcome_conflict", run.state)), run
    if run.state in ("stopped", "ended"):
        return Refusal("run_not_active", run.state), run
    if asked.action in run.voided:
        return Refusal("stale_action", run.state), run
    if run.state != "active":
        return Refusal("run_not_active", run.state), run
    if run.current != asked.action:
        return Refusal("stale_action", run.state), run
    after = replace(run, outcomes=(*run.outcomes, (asked.action, asked.text)))
    what, kind = asked.text.split()[0], run.kinds[asked.action]
    if what == "ask":
        after = replace(after, state="paused", pause="decision_required")
    elif what in ("clarify", "implement"):
        after = issue(after, what)
    elif kind == "summarize":
        after = replace(after, state="ended", current=None)
    else:
        after = issue(after, "summarize")
    return shown(after), after


def _answer(run: Run, asked: Asked) -> tuple[View | Refusal, Run]:
    known = dict(run.answers).get(asked.action)
    if known is not None:
        return (shown(run) if known == asked.text else Refusal("answer_conflict", run.state)), run
    if run.state != "paused" or run.pause != "decision_required":
        return Refusal("answer_not_expected", run.state), run
    if run.current != asked.action:
        return Refusal("stale_action", run.state), run
    after = issue(void(replace(run, answers=(*run.answers, (asked.action, asked.text)))), "orient")
    return shown(after), after


def _skip(run: Run, asked: Asked) -> tuple[View | Refusal, Run]:
    if run.state not in ("active", "paused"):
        return Refusal("run_not_skippable", run.state), run
    if run.current is None or run.current != asked.action:
        return Refusal("stale_action", run.state), run
    after = replace(run, current=None)
    ends = run.kinds[asked.action] == "summarize"
    after = replace(after, state="ended", pause="") if ends else issue(after, "summarize")
    return shown(after), after


def _stop(run: Run, asked: Asked) -> tuple[View | Refusal, Run]:
    if run.state == "ended":
        return Refusal("run_already_ended", run.state), run
    after = replace(void(run), state="stopped", pause="")
    return shown(after), after


def _resume(run: Run, asked: Asked) -> tuple[View | Refusal, Run]:
    if run.state == "ended":
        return Refusal("run_already_ended", run.state), run
    if run.state == "active" or run.pause == "decision_required":
        return Refusal("run_not_resumable", run.state), run
    budget = asked.budget or run.budget or max(run.initial, REFILL)
    after = issue(replace(void(run), budget=budget), "orient")
    return shown(after), after


def _status(run: Run, asked: Asked) -> tuple[View | Refusal, Run]:
    return whole(run), run


def _material(run: Run, asked: Asked) -> tuple[View | Refusal, Run]:
    is_current = run.current == asked.action and run.state in ("active", "paused")
    return Refusal("material_unavailable" if is_current else "material_action_stale", None), run


RULES: dict[str, Any] = {
    "submit": _submit,
    "answer": _answer,
    "skip": _skip,
    "stop": _stop,
    "resume": _resume,
    "status": _status,
    "listed": _status,
    "material": _material,
}
