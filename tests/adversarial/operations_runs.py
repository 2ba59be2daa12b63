"""Every mutation of the machine protocol and of the turn contract, for the crash campaign.

What a repetition gives is the table of machine-protocol §6.8; where a candidate waits, §8.7.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from slipway_lite import Slipway
from slipway_lite.canon import encode
from slipway_lite.errors import SlipwayError
from slipway_lite.protocol.messages import ProtocolState
from slipway_lite.store.connection import open_store
from slipway_lite.turns.driver import drive_turn
from slipway_lite.turns.service import TurnJournal
from tests.adversarial.operations import ANOTHER, REPLAYED, Acknowledge, Operation, Place
from tests.protocol import outcomes
from tests.protocol.source.change import Change
from tests.turns.documents import fenced, snapshot
from tests.turns.documents import outcome as turn_outcome

Prepare = Callable[[Place], Any]
Perform = Callable[[Place, Any, Acknowledge], None]


def opened(place: Place) -> Slipway:
    return Slipway.open(place.root, place.database)


def call(name: str) -> Perform:
    """Perform by the method of that name; the request is its arguments. A refusal is a reply as well."""

    def perform(place: Place, request: Any, acknowledge: Acknowledge) -> None:
        state: ProtocolState = getattr(opened(place), name)(*request[0], **request[1])
        acknowledge(state.document())

    return perform


def asking(*arguments: Any, **options: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return arguments, options


# -- states to start from


def started(place: Place, goal: str = "Ship it", **options: Any) -> ProtocolState:
    return opened(place).run(goal, **options)


def outcome(place: Place, state: ProtocolState, status: str = "completed", **fields: Any) -> bytes:
    assert state.action is not None
    summary = place.text(f"{state.action.kind} is {status}")
    kind, action_id = state.action.kind, state.action.action_id
    return encode(outcomes.outcome(kind, status, action_id=action_id, summary=summary, **fields)).encode()


def submitted(place: Place, state: ProtocolState, status: str = "completed", **fields: Any) -> ProtocolState:
    assert state.action is not None
    raw = outcome(place, state, status, **fields)
    return opened(place).submit(state.run_id, state.action.action_id, raw)


def submission(place: Place, state: ProtocolState, status: str = "completed", **fields: Any) -> Any:
    assert state.action is not None
    return asking(state.run_id, state.action.action_id, outcome(place, state, status, **fields))


def implementing(place: Place) -> ProtocolState:
    return submitted(place, started(place), suggested_actions=[outcomes.suggestion()])


def deep(place: Place) -> Any:
    """A Run of many steps, and the Outcome of its newest."""
    state = started(place, budget=100)
    for number in range(12):
        state = submitted(place, state, suggested_actions=[outcomes.suggestion("clarify", f"Step {number}.")])
    return submission(place, state, suggested_actions=[outcomes.suggestion("clarify")])


def last(place: Place) -> Any:
    """The Outcome that ends a Run."""
    return submission(place, submitted(place, started(place, review=False)))


def reviewed(place: Place) -> Any:
    """The Outcome of a Review; there is one because something was changed."""
    work = Path(place.root, "work.txt")
    work.unlink(missing_ok=True)
    state = implementing(place)
    work.write_text("done\n")
    applied = outcomes.implementation(files_changed=["work.txt"], activities=[outcomes.activity()])
    state = submitted(place, state, implementation=applied)
    return submission(place, state, review=outcomes.review("findings_reported", findings=3))


def paused(place: Place, pause: dict[str, Any]) -> ProtocolState:
    return submitted(place, implementing(place), "needs_input", pause=pause)


def answer(place: Place) -> Any:
    state = paused(place, outcomes.decision())
    assert state.action is not None
    return asking(state.run_id, state.action.action_id, place.text("This one."))


def confirmation(place: Place) -> Any:
    pause = outcomes.destructive()
    state = paused(place, pause)
    assert state.action is not None
    return asking(state.run_id, state.action.action_id, pause["destructive_request"]["scope_sha256"])


def refusal(place: Place) -> Any:
    """Feedback instead of a confirmation."""
    state = paused(place, outcomes.destructive())
    assert state.action is not None
    return asking(state.run_id, state.action.action_id, place.text("Not that."))


def current(place: Place) -> Any:
    state = started(place)
    assert state.action is not None
    return asking(state.run_id, state.action.action_id)


def stopped(place: Place, **options: Any) -> ProtocolState:
    return opened(place).stop(started(place, **options).run_id)


def pinned(place: Place) -> ProtocolState:
    return stopped(place, source=Change().raw())


def amended(place: Place, revision: str) -> bytes:
    return Change().amend(2, place.text("Must fly.") + "\n", revision).raw()


def amendment(place: Place) -> Any:
    revision = Change().snapshot()["requirements_revision"]
    return asking(pinned(place).run_id, source=amended(place, revision))


def choice(chosen: str) -> Prepare:
    def prepare(place: Place) -> Any:
        (run_id,), options = amendment(place)
        opened(place).resume(run_id, **options)
        candidate = opened(place).status(run_id).document()["source_candidate"]["candidate_id"]
        return asking(run_id, 4, choice=chosen, candidate=candidate)

    return prepare


def stale(place: Place) -> Any:
    """An Outcome for an Action that is over: refused, and the refusal audited."""
    state = started(place)
    skipped = submission(place, state)
    assert state.action is not None
    opened(place).skip(state.run_id, state.action.action_id)
    return skipped


def refused(place: Place, request: Any, acknowledge: Acknowledge) -> None:
    try:
        call("submit")(place, request, acknowledge)
    except SlipwayError as error:
        acknowledge({"code": error.code})


# -- turns


def bound(place: Place) -> Any:
    state = started(place)
    assert state.action is not None
    return state.run_id, state.action.action_id


def journal(append: Callable[[Place, TurnJournal], None]) -> Perform:
    def perform(place: Place, request: Any, acknowledge: Acknowledge) -> None:
        run_id, action_id = request
        workspace = opened(place).workspace
        with open_store(place.database) as store:
            links = {"run_id": run_id, "action_id": action_id, "git_common_dir": workspace.git_common_dir}
            append(place, TurnJournal(store, place.root, **links))
            acknowledge({"appended": 1})

    return perform


def driven(place: Place, turns: TurnJournal) -> None:
    replies = [place.text("No machine result."), fenced(turn_outcome(summary=place.text("Done.")))]
    assert drive_turn("execute-phase", lambda _: replies.pop(0), journal=turns, prompt="Do P1.").ok


def snapped(place: Place, turns: TurnJournal) -> None:
    turns.append_snapshot({"snapshot": snapshot(), "readings": []})


OPERATIONS = {
    "run, the first of a file": Operation(
        lambda place: asking(place.text("Ship it")), call("run"), ANOTHER,
    ),
    "run, a later one": Operation(
        lambda place: (started(place), asking(place.text("Ship it")))[1], call("run"), ANOTHER,
    ),
    "run, bound to an issue": Operation(
        lambda place: asking("From an issue", source=amended(place, "sha256:" + "1" * 64)), call("run"), ANOTHER,
    ),
    "submit, completed": Operation(
        lambda place: submission(place, started(place), suggested_actions=[outcomes.suggestion()]),
        call("submit"), REPLAYED,
    ),
    "submit, needs_input": Operation(
        lambda place: submission(place, implementing(place), "needs_input"), call("submit"), REPLAYED,
    ),
    "submit, a destructive request": Operation(
        lambda place: submission(place, implementing(place), "needs_input", pause=outcomes.destructive()),
        call("submit"), REPLAYED,
    ),
    "submit, an implementation": Operation(
        lambda place: submission(place, implementing(place)), call("submit"), REPLAYED,
    ),
    "submit, a review with findings": Operation(reviewed, call("submit"), REPLAYED),
    "submit, deep in a Run": Operation(deep, call("submit"), REPLAYED),
    "submit, the last one": Operation(last, call("submit"), REPLAYED),
    "submit, refused and audited": Operation(stale, refused, ANOTHER),
    "answer, a decision": Operation(answer, call("answer"), REPLAYED),
    "answer, a destructive step declined": Operation(refusal, call("answer"), REPLAYED),
    "answer, a destructive step confirmed": Operation(confirmation, call("confirm_destructive"), REPLAYED),
    "skip": Operation(current, call("skip"), "stale_action"),
    "stop": Operation(lambda place: asking(started(place).run_id), call("stop"), ANOTHER),
    "resume, ad hoc": Operation(
        lambda place: asking(stopped(place).run_id, 5), call("resume"), "run_not_resumable",
    ),
    "resume, refresh the source": Operation(
        lambda place: asking(pinned(place).run_id, source=Change().raw()), call("resume"), "run_not_resumable",
    ),
    "resume, a candidate is made": Operation(amendment, call("resume"), "source_candidate_pending"),
    "resume, use the pinned source": Operation(
        lambda place: asking(pinned(place).run_id, use_pinned_source=True), call("resume"), "run_not_resumable",
    ),
    "resume, the candidate adopted": Operation(choice("adopt"), call("resume"), REPLAYED),
    "resume, the pinned source kept": Operation(choice("pinned"), call("resume"), REPLAYED),
    "turn, driven and asked again": Operation(bound, journal(driven), ANOTHER),
    "turn, a snapshot": Operation(bound, journal(snapped), ANOTHER),
}  # fmt: skip
