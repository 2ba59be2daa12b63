"""Let the calls of a command to its files fail, one by one, and look at what it says and what is left.

``python -m tests.adversarial.fault_points JSON`` (:class:`Order`), as :mod:`tests.adversarial.crash_points`.
"""

from __future__ import annotations

import errno
import gc
import json
import sys
import traceback
from collections.abc import Iterable
from typing import Any, NamedTuple

from tests.adversarial.commands import MACHINE, READING, WRITING
from tests.adversarial.crash_points import FAULTS, Order, Point, State, Subject, size, spread
from tests.adversarial.operations import ANOTHER, REPEATING, SAME, steady


class Fault(NamedTuple):
    """What goes wrong, and with which calls."""

    error: int
    kinds: str


KINDS = {
    "the disk is full": Fault(errno.ENOSPC, "cmwt"),
    "the disk fails": Fault(errno.EIO, "coxrwtp"),
    "a sync fails": Fault(errno.EIO, "s"),
    "the file system is read-only": Fault(errno.EROFS, "cmxwtu"),
    "access is denied": Fault(errno.EACCES, "cmxou"),
}

BEFORE, AFTER, EITHER = "as before", "as after", "as before or as after"
"""What a command leaves behind."""
MACHINE_CODES = {
    "mutation_not_committed": BEFORE,
    "runstore_unavailable": BEFORE,
    "mutation_outcome_ambiguous": EITHER,
}
OWN_CODES = {
    "database_failed": BEFORE,
    "database_unavailable": BEFORE,
    "database_unreadable": BEFORE,
    "database_not_verified": BEFORE,
    "disk_full": BEFORE,
    "output_failed": BEFORE,
    "database_ambiguous": EITHER,
}
"""The refusals that a fault may lead to, all of them with exit status 3."""
TELLING = frozenset({"db info"})
"""What answers with the problem instead of refusing."""


def judged(subject: Subject, name: str, point: Point, met: set[str]) -> str | None:
    """Let ``point`` fail, look when the fault is gone, and do it again; what went wrong. ``met`` collects the codes."""
    codes = MACHINE_CODES if name in MACHINE else OWN_CODES
    status, out, err = subject.attempt(point)["reply"]
    left, problems = subject.look()
    if problems:
        return f"left with problems: {problems[:3]}"
    if status == 0:
        left_behind = AFTER
        if name not in TELLING and [status, out, err] != subject.reply:
            return f"another answer: {out} {err}"
    else:
        refusal = json.loads(err)
        met.add(refusal["code"])
        left_behind = codes.get(refusal["code"], "")
        if (status, out, err.count("\n"), bool(left_behind)) != (3, "", 1, True):
            return f"refused with {status}: {out}{err}"
    states = {BEFORE: subject.stages[:-1] or subject.stages, AFTER: subject.stages[-1:], EITHER: subject.stages}
    if left not in states[left_behind]:
        return f"not {left_behind}: {err}"
    return _repeated(subject, left)


def _repeated(subject: Subject, left: State) -> str | None:
    steady(REPEATING, subject.operation.later + 10)
    replies: list[Any] = []
    subject.operation.perform(subject.place, subject.request, replies.append)
    ((status, _, err),) = replies
    found, problems = subject.look()
    if problems:
        return f"problems after the repetition: {problems[:3]}"
    again, last = subject.operation.again, subject.stages[-1]
    if left == subject.stages[0] != last:
        sound = status == 0 and size(found) == size(last)
    elif left != last:  # A first part of it is on record, and stays there.
        sound = status == 0 and size(found) >= size(last)
    elif again == SAME:
        sound = status == 0 and found == last
    elif again == ANOTHER:
        sound = status == 0 and found != last
    else:
        sound = status == 3 and json.loads(err)["code"] == again
    return None if sound else f"a repetition gave {status}: {err}"


def points(subject: Subject, kinds: Iterable[str]) -> list[Point]:
    """Every call that may fail, once and for good."""
    return [
        Point(mode, at, fault.error, fault.kinds)
        for fault in map(KINDS.__getitem__, kinds)
        for mode in FAULTS
        for at in range(1, len(subject.counted(fault.kinds)) + 1)
    ]


def play(order: Order) -> dict[str, Any]:
    played = 0
    failures: list[str] = []
    met: set[str] = set()
    for name in order.names:
        subject = Subject(order, name, (WRITING | READING)[name])
        gc.freeze()
        for point in spread(points(subject, order.faults or KINDS), order.limit):
            played += 1
            try:
                failure = judged(subject, name, point, met)
            except Exception:
                failure = traceback.format_exc()
            if failure:
                failures.append(f"{name}, {point}: {failure}")
    return {"points": played, "codes": sorted(met), "failures": failures}


if __name__ == "__main__":
    print(json.dumps(play(Order(**json.loads(sys.argv[1])))))
