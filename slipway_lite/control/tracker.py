"""Tracker entities of a task (control-plane §8.4). A tracker's state never becomes ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipway_lite.control.draft import Draft
from slipway_lite.control.events import Change, TaskState
from slipway_lite.control.instants import milliseconds
from slipway_lite.control.refs import entity
from slipway_lite.control.refusals import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slipway_lite.control.events import Moment


def decide_link(state: TaskState, body: Mapping[str, Any], moment: Moment) -> Change:
    """Tie a tracker entity to the task, and record the synchronisation as an event of its own.

    The same entity again adds only the event. ``typed_ref`` has to be the task's.
    """
    if body["typed_ref"] != state.task["typed_ref"]:
        raise Refused("TYPED_REF_MISMATCH", "The link belongs to another typed_ref.")
    kind, value = entity(body["entity_ref"])
    known = state.task["external_refs"]
    sync_ref = _sync_ref(state.task_id, {reference["value"] for reference in known}, moment)
    link = {"kind": kind, "value": value, "connection_ref": body["connection_ref"]}
    sync = {"kind": "sync_event", "value": sync_ref, "connection_ref": body["connection_ref"]}
    is_new = all((reference["kind"], reference["value"]) != (kind, value) for reference in known)
    draft = Draft(state, moment)
    draft.put("external_refs", [*known, *([link] if is_new else []), sync])
    draft.documents["link"] = {
        "kind": "tracker",
        "sync_event_ref": sync_ref,
        "connection_ref": body["connection_ref"],
        "entity_kind": kind,
        "remote_ref": value,
        "is_new": is_new,
    }
    draft.audit(
        "tracker.linked",
        {"entity_kind": kind, "connection_ref": body["connection_ref"], "sync_event_ref": sync_ref},
    )
    answer: dict[str, Any] = {
        "typed_ref": state.task["typed_ref"],
        "external_refs": [link, sync],
        "sync_event_ref": sync_ref,
    }
    return draft.change("tracker_linked", lambda _: answer)


def _sync_ref(task_id: str, taken: set[str], moment: Moment) -> str:
    """``sync_evt_<task>_<epoch ms>``, one millisecond on while two links fall into one."""
    instant = milliseconds(moment.now)
    while (ref := f"sync_evt_{task_id}_{instant}") in taken:
        instant += 1
    return ref
