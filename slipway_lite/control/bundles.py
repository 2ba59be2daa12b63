"""Context bundles: what a worker needs to go on, built from our own record (control-plane §8.5).

A bundle says where each part came from, what a reader should beware of, and whether raw material is inside:
here it never is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipway_lite.control.draft import Draft
from slipway_lite.control.refs import TYPED_REF_LIMIT, is_typed_ref, segment
from slipway_lite.control.risk import impact
from slipway_lite.control.states import AGENT_TASKSTATE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slipway_lite.control.events import Change, Moment, TaskState

GENERATOR_VERSION = "1.0.0"


def build_bundle(
    draft: Draft, request: Mapping[str, Any], transitions: tuple[int, Mapping[str, Any] | None]
) -> dict[str, Any]:
    """Write the next bundle of the task onto ``draft`` and return it.

    ``transitions`` is how many steps the task has made and the newest one. The snapshot is the task before
    this request's own transition; its id ``bundle:<task_id>:v<n>`` becomes the task's
    ``context_bundle_ref``.
    """
    state = draft.state
    task = state.task
    number = state.memory.get("bundles", 0) + 1
    job_ids = task.get("latest_job_ids", {})
    snapshot: dict[str, Any] = {
        "task": {
            **{name: task[name] for name in ("task_id", "title", "objective", "typed_ref", "state")},
            "taskstate_status": AGENT_TASKSTATE[state.state],
            "version": task["version"],
            "risk_level": task["risk_level"],
        },
        "transition_count": transitions[0],
        "run_count": state.memory.get("jobs", 0),
    }
    if transitions[1]:
        snapshot["last_transition"] = transitions[1]
    latest = state.memory.get("last_result")
    if latest:
        snapshot["latest_run"] = latest
    bundle: dict[str, Any] = {
        "id": f"bundle:{state.task_id}:v{number}",
        "task_id": state.task_id,
        "purpose": request.get("purpose", "continue_work"),
        "rebuild_level": request.get("rebuild_level", "L2"),
    }
    if "summary" in request:
        bundle["summary"] = request["summary"]
    bundle |= {
        "state_snapshot": snapshot,
        "diagnostics": _diagnostics(task),
        "raw_included": False,
        "generator_version": GENERATOR_VERSION,
        "generated_at": draft.moment.now,
        "created_at": draft.moment.now,
        "sources": _sources(task, job_ids),
    }
    draft.documents["bundle"] = bundle
    draft.remember["bundles"] = number
    draft.put("context_bundle_ref", bundle["id"])
    draft.audit(
        "context_bundle_generated",
        {
            "bundle_id": bundle["id"],
            "purpose": bundle["purpose"],
            "rebuild_level": bundle["rebuild_level"],
            "generator_version": GENERATOR_VERSION,
            "raw_included": False,
            "source_count": len(bundle["sources"]),
            "diagnostics": bundle["diagnostics"],
        },
    )
    return bundle


def decide_bundle(
    state: TaskState,
    request: Mapping[str, Any],
    transitions: tuple[int, Mapping[str, Any] | None],
    moment: Moment,
) -> Change:
    """A bundle on request."""
    draft = Draft(state, moment)
    bundle = build_bundle(draft, request, transitions)
    return draft.change("bundle_built", lambda _: bundle)


def _diagnostics(task: Mapping[str, Any]) -> dict[str, Any]:
    known = task.get("resolver_refs", {})
    diagnostics: dict[str, Any] = {
        "missing": [] if known.get("doc_refs") else ["documents"],
        "warnings": ["documents have to be read again"] if known.get("stale_status") == "stale" else [],
    }
    if impact(task.get("detected_side_effects", ())) == "high":
        diagnostics["warnings"].append("grave side effects were detected")
    if "stale_status" in known:
        diagnostics["stale_status"] = known["stale_status"]
    return diagnostics


def _sources(task: Mapping[str, Any], job_ids: Mapping[str, str]) -> list[dict[str, Any]]:
    found: list[tuple[str, str, dict[str, Any]]] = [(task["typed_ref"], "task", {"version": task["version"]})]
    found += [
        (_source_ref("agent-taskstate:run:local:", job_id), "run", {"stage": stage})
        for stage, job_id in job_ids.items()
    ]
    found += [
        (_source_ref("memx:doc:local:", ref), "document", {})
        for ref in task.get("resolver_refs", {}).get("doc_refs", ())
    ]
    found += [
        (_source_ref(f"tracker:{reference['kind']}:local:", reference["value"]), "tracker", {})
        for reference in task["external_refs"]
    ]
    return [
        {
            "typed_ref": ref,
            "source_kind": kind,
            "selected_raw": False,
            **({"metadata": extra} if extra else {}),
        }
        for ref, kind, extra in found
    ]


def _source_ref(prefix: str, value: str) -> str:
    """Four segments whatever ``value`` is: one that cannot stand in a typed_ref is cleaned and cut."""
    ref = prefix + value
    return ref if is_typed_ref(ref) else (prefix + segment(value))[:TYPED_REF_LIMIT]
