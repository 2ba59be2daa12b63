"""The requests of the Run model as command lines, and the replies as what the model expects."""

from __future__ import annotations

from pathlib import Path

from tests.adversarial.run_model import Asked, Refusal, Run, View
from tests.adversarial.serial import Names, named
from tests.adversarial.workers import Answer, Request
from tests.machine_host import Document, decision, outcome, raw, suggest

PLAIN = ("--json",)


def request(asked: Asked, run: Run, names: Names, roots: dict[str, Path], delay: float) -> Request:
    """``asked`` about ``run`` as a command line in the worktree that it is asked in."""
    run_id, root = names["run", asked.run], roots[asked.place]
    action = ("--run", run_id, "--action", names.get((asked.run, asked.action), "no-such-action"))
    argv, stdin = {
        "submit": (("protocol", "submit", *action, "--outcome-stdin"), submitted(asked, run, names)),
        "answer": (("protocol", "answer", *action, "--text-stdin"), asked.text.encode()),
        "skip": (("protocol", "skip", *action), b""),
        "stop": (("stop", run_id, *PLAIN), b""),
        "resume": (("protocol", "resume", run_id, *_budget(asked.budget)), b""),
        "status": (("status", run_id, *PLAIN), b""),
        "listed": (("status", *PLAIN), b""),
        "material": (("protocol", "material", *action, "--section", "requirements"), b""),
    }[asked.what]
    # From inside the worktree, or from elsewhere with its name.
    if asked.action % 2:
        return Request(argv, stdin, root, delay=delay)
    return Request((*argv, "--root", str(root)), stdin, delay=delay)


def _budget(budget: int) -> tuple[str, ...]:
    return ("--budget", str(budget)) if budget else ()


def submitted(asked: Asked, run: Run, names: Names) -> bytes:
    """The Outcome that ``asked.text`` means, the same bytes each time."""
    if asked.what != "submit":
        return b""
    what = asked.text.split()[0]
    action = {"kind": run.kinds[asked.action], "action_id": names[asked.run, asked.action]}
    if what == "ask":
        return raw(outcome(action, "needs_input", summary=asked.text, pause=decision()))
    suggested = suggest(what) if what in ("clarify", "implement") else []
    return raw(outcome(action, summary=asked.text, suggested_actions=suggested))


def fits(expected: View | Refusal, answer: tuple[Asked, Answer], names: Names) -> Names | None:
    """What is called how after ``answer``; ``None`` where it is not the ``expected`` one."""
    asked, said = answer
    document = said.document
    if isinstance(expected, Refusal):
        state = (document.get("details") or {}).get("state")
        return names if said.code == expected.code and expected.state in (None, state) else None
    if said.code:
        return None
    if asked.what == "listed":
        document = next(run for run in document["runs"] if run["id"] == names["run", asked.run])
    action = document.get("current_action" if "actions" in document else "action")
    if document["state"] != expected.state or document.get("pause_reason", "") != expected.pause:
        return None
    if (action is None) != (expected.current is None):
        return None
    if action is not None:
        learned = named(names, (asked.run, expected.current), action["action_id"])
        if learned is None:
            return None
        names = learned
    return names if expected.kinds is None else _fits_status(expected, asked, document, names)


def _fits_status(expected: View, asked: Asked, document: Document, names: Names) -> Names | None:
    records = document["actions"]
    ids = [record["action"]["action_id"] for record in records]
    for number, action_id in enumerate(ids):
        learned = named(names, (asked.run, number), action_id)
        if learned is None:
            return None
        names = learned
    outcomes = [(number, record["outcome"]["summary"]) for number, record in enumerate(records) if "outcome" in record]
    found = View(
        document["state"],
        document.get("pause_reason", ""),
        document["remaining_budget"],
        expected.current,
        tuple(record["action"]["kind"] for record in records),
        tuple(outcomes),
        tuple((ids.index(answer["action_id"]), answer["text"]) for answer in document.get("answers", [])),
        frozenset(number for number, record in enumerate(records) if "voided" in record),
    )
    return names if found == expected else None
