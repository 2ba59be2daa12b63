"""Imported events as differences between two states of a Run (machine-protocol §6.3). Pure.

A state is one plain dict, :data:`BLANK` before the first event; it is never changed, and an event makes another one
from it. Only the canonical difference of two states is an event: :func:`follow` recomputes it and compares.
"""

from __future__ import annotations

from slipway_lite.canon import decode, has_half_a_pair
from slipway_lite.errors import InvalidDocument
from slipway_lite.protocol.imported.conform import Misshapen, conform
from slipway_lite.protocol.imported.shapes import DELTA

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    State = dict[str, Any]
    Delta = dict[str, Any]

EVENT_VERSION = 2
PAYLOAD_LIMIT = 4_128_768
"""The most bytes of an event's ``data`` (§6.4)."""

SCALARS: dict[str, Any] = {
    "state": "",
    "pause_reason": "",
    "review_pending": False,
    "remaining_budget": 0,
    "final_git_observed": False,
    "summary": "",
}
"""Present only when changed, and what they are before the first event."""

OBJECTS: dict[str, bool] = {
    "current_action": True,
    "pinned_source": False,
    "source_candidate": True,
    "last_source_choice": True,
    "last_resume_result": False,
    "pending_destructive_request": True,
    "destructive_grant": True,
}
"""Told with a flag ``<name>_set``; the flag alone clears the object where that is possible."""

APPENDED = ("answers", "observations", "known_issues", "uncertainties", "activities", "source_choice_resolutions")
"""Lists that only grow, by ``<name>_append``."""

START_MAY_REPEAT = ("state", "remaining_budget", "current_git", "pinned_source_set", "pinned_source")
"""What a first event may say besides ``initialize`` or leave to it: §6.3 does not say which state it differs from."""

BLANK: State = {
    **SCALARS,
    **dict.fromkeys(OBJECTS),
    **{name: [] for name in APPENDED},
    "current_git": None,
    "actions": [],
    "pending": [],
}
"""No Run yet."""


def decode_delta(raw: str) -> Delta:
    """The ``data`` of an imported event, keys in the order of the tables. Raises :class:`Misshapen`."""
    try:
        document = decode(raw.encode(), PAYLOAD_LIMIT)
    except InvalidDocument as error:
        raise Misshapen(error.message) from None
    if has_half_a_pair(raw):
        raise Misshapen("a string has half a surrogate pair")
    delta: Delta = conform(document, DELTA)
    return delta


def follow(before: State, delta: Delta) -> State:
    """The state that ``delta`` makes of ``before``.

    Raises :class:`Misshapen` where the delta is not exactly the difference between the two (canonical-delta rule).
    """
    after = apply(before, delta)
    told = {name: value for name, value in delta.items() if name not in _HEADER}
    expected = difference(before, after)
    if "initialize" in delta:
        for name in START_MAY_REPEAT:
            told.pop(name, None)
            expected.pop(name, None)
    if told != expected:
        names = sorted(name for name in told.keys() | expected.keys() if told.get(name) != expected.get(name))
        raise Misshapen(f"{names[0]} is not the canonical difference from the event before")
    return after


_HEADER = ("event_version", "contract_version", "run_id", "updated_at", "initialize")


def apply(before: State, delta: Delta) -> State:
    """``before`` with every field of ``delta`` taken at its word."""
    after = dict(before)
    if "initialize" in delta:
        start = delta["initialize"]
        after |= {
            "state": "active",
            "current_git": start["initial_git"],
            "pinned_source": start.get("pinned_source"),
        }
    for name in SCALARS:
        if name in delta:
            after[name] = delta[name]
    for name, clears in OBJECTS.items():
        if f"{name}_set" in delta:
            if name not in delta and not clears:
                raise Misshapen(f"{name} cannot be cleared")
            after[name] = delta.get(name)
    if "current_git" in delta:
        after["current_git"] = delta["current_git"]["observation"]
    after["actions"] = _updated(before["actions"], delta.get("action_updates", ()), _record, grows=True)
    after["answers"] = _updated(before["answers"], delta.get("answer_updates", ()), _answer, grows=False)
    for name in APPENDED:
        after[name] = after[name] + delta.get(f"{name}_append", [])
    dropped = delta.get("pending_drop", 0)
    if not 0 <= dropped <= len(before["pending"]):
        raise Misshapen("pending_drop is not a number of pending actions")
    after["pending"] = before["pending"][dropped:] + delta.get("pending_append", [])
    return after


def _updated(items: list[Any], updates: Any, update: Callable[[Any, Any], Any], *, grows: bool) -> list[Any]:
    found = list(items)
    for item in updates:
        index = item["index"]
        if index == len(found) and grows:
            found.append(update(None, item))
        elif 0 <= index < len(found):
            found[index] = update(found[index], item)
        else:
            raise Misshapen("an index has no item")
    return found


def _record(_: Any, update: Any) -> Any:
    return update["record"]


def _answer(answer: Any, update: Any) -> Any:
    """The answer with its two changeable fields, in wire order."""
    kept = {name: value for name, value in answer.items() if name not in ("active", "superseded_by", "at")}
    changed = {name: update[name] for name in ("active", "superseded_by") if name in update}
    return kept | changed | {"at": answer["at"]}


def difference(before: State, after: State) -> Delta:
    """The one way to say what ``after`` has and ``before`` has not, header aside."""
    found: Delta = {name: after[name] for name in SCALARS if after[name] != before[name]}
    for name in OBJECTS:
        if after[name] != before[name]:
            found[f"{name}_set"] = True
            if after[name] is not None:
                found[name] = after[name]
    if after["current_git"] != before["current_git"]:
        found["current_git"] = {"observation": after["current_git"]}
    records = _changed(before["actions"], after["actions"])
    answers = _changed(before["answers"], after["answers"][: len(before["answers"])])
    dropped = _dropped(before["pending"], after["pending"])
    lists = {
        "action_updates": [{"index": index, "record": record} for index, record in records],
        "answer_updates": [
            {"index": index} | {name: answer[name] for name in ("active", "superseded_by") if name in answer}
            for index, answer in answers
        ],
        "pending_drop": dropped,
        "pending_append": after["pending"][len(before["pending"]) - dropped :],
        **{f"{name}_append": after[name][len(before[name]) :] for name in APPENDED},
    }
    return found | {name: value for name, value in lists.items() if value}


def _changed(before: list[Any], after: list[Any]) -> list[tuple[int, Any]]:
    same = len(before)
    return [
        (index, item)
        for index, item in enumerate(after)
        if index >= same or (item is not before[index] and item != before[index])
    ]


def _dropped(before: list[Any], after: list[Any]) -> int:
    """How many to drop at the front, at least, so that what is left begins ``after``."""
    return next(count for count in range(len(before) + 1) if before[count:] == after[: len(before) - count])
