"""Manual acceptance: ticks, and the one normal way to ``accepted`` (control-plane §4.5, §13.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipway_lite.control.draft import Draft
from slipway_lite.control.events import Change, TaskState
from slipway_lite.control.instants import milliseconds
from slipway_lite.control.results import checklist_of
from slipway_lite.control.risk import missing_items
from slipway_lite.control.rules import require_acceptable, require_state

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from slipway_lite.control.events import Moment


def ticked(
    checklist: Sequence[Mapping[str, Any]], items: Iterable[Mapping[str, Any]], now: str
) -> list[dict[str, Any]]:
    """``checklist`` with ``items`` ticked; ids that it does not have are ignored."""
    ticks = {item["id"]: item for item in items}
    return [_tick(line, ticks[line["id"]], now) if line["id"] in ticks else dict(line) for line in checklist]


def _tick(line: Mapping[str, Any], tick: Mapping[str, Any], now: str) -> dict[str, Any]:
    said = {name: tick[name] for name in ("checked_by", "notes") if name in tick}
    return {**line, "checked": True, "checked_at": now, **said}


def decide_checklist(state: TaskState, body: Mapping[str, Any], moment: Moment) -> Change:
    """Save ticks made ahead of time; makes the checklist when an acceptance without a worker has none yet."""
    require_state(state, "accepting", "its checklist")
    draft = Draft(state, moment)
    known = state.task.get("manual_checklist") or checklist_of(state, state.task.get("rollback_notes"))
    items = ticked(known, body["checked_items"], moment.now)
    draft.put("manual_checklist", items)
    missing = missing_items(items)
    return draft.change(
        "checklist_ticked",
        lambda task: {
            "task_id": state.task_id,
            "manual_checklist": items,
            "checklist_complete": not missing,
            "missing": missing,
        },
    )


def decide_accept(state: TaskState, body: Mapping[str, Any], job: Mapping[str, Any] | None, moment: Moment) -> Change:
    """``accepting -> accepted``, all or nothing: when a gate fails, no tick is kept either."""
    require_state(state, "accepting", "acceptance")
    items = ticked(state.task.get("manual_checklist", ()), body.get("checked_items", ()), moment.now)
    verdict = body.get("verdict") or state.task.get("last_verdict")
    require_acceptable(state, items, verdict)
    draft = Draft(state, moment)
    draft.supersede(job)
    draft.put("manual_checklist", items)
    accept(draft, verdict or {}, ("human", "manual_acceptance"), "manual acceptance completed")
    return draft.change(
        "acceptance_completed",
        lambda task: {
            "task_id": state.task_id,
            "state": "accepted",
            "checklist_complete": True,
            "verdict_outcome": "accept",
        },
    )


def accept(
    draft: Draft,
    verdict: Mapping[str, Any],
    actor: tuple[str, str],
    reason: str,
    **event_fields: Any,
) -> None:
    """The step itself, its checkpoint and its audit event; the gates have been passed before."""
    task_id = draft.state.task_id
    draft.move("accepted", actor, reason, **event_fields)
    draft.put("last_verdict", dict(verdict))
    draft.remember["rework_attempts"] = 0
    draft.documents["checkpoint"] = checkpoint(
        draft, "approval", "acceptance", f"approval:{task_id}:accepted", actor[1]
    )
    draft.audit(
        "task.verdictSubmitted",
        {
            "verdict_outcome": verdict["outcome"],
            "verdict_reason": verdict.get("reason"),
            "checklist_complete": True,
            "checklist_missing": [],
        },
        actor_type=actor[0],
        actor_id=actor[1],
    )


def checkpoint(draft: Draft, kind: str, stage: str, ref: str, actor: str) -> dict[str, Any]:
    """A checkpoint document of this request (control-plane §2.6)."""
    moment = draft.moment
    return {
        "checkpoint_id": checkpoint_id(moment),
        "task_id": draft.state.task_id,
        "run_id": draft.state.task_id,
        "checkpoint_type": kind,
        "stage": stage,
        "ref": ref,
        "created_at": moment.now,
        "actor": actor,
    }


def checkpoint_id(moment: Moment) -> str:
    """``cp_<epoch ms>_<nine base-36 characters>`` (control-plane §1.1)."""
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    number, tail = int(moment.token[:14], 16), ""
    for _ in range(9):
        number, digit = divmod(number, 36)
        tail += digits[digit]
    return f"cp_{milliseconds(moment.now)}_{tail}"
