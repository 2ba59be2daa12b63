"""Every mutation of the control plane, for the crash campaign.

What a repetition gives: the idempotency of each request in control-plane §4, and §13.10 and §13.16.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from slipway_lite.control import upkeep, use_cases
from slipway_lite.control.refusals import Refused
from slipway_lite.control.repository import Outcome
from slipway_lite.control.service import ControlPlane
from slipway_lite.control.settings import Settings
from slipway_lite.http.writer import Job, Writer
from slipway_lite.store.connection import open_store
from tests.adversarial.operations import ANOTHER, SAME, Acknowledge, Operation, Place
from tests.control.world import (
    BASE,
    PATCH,
    REGRESSION,
    TYPED_REF,
    World,
    create_body,
    event_body,
    failed_body,
    result_body,
)

Ask = Callable[[Place, World], Any]
Perform = Callable[[Place, Any, Acknowledge], None]

NEEDS_APPROVAL = {"publish_plan": {"approval_required": True}}
LATE = 86_400
"""Seconds after which every lease and every timeout has run out."""
TAG = {"kind": "tag", "value": "v1"}


def asking(*arguments: Any, **options: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return arguments, options


def request(name: str, ask: Ask, again: str) -> Operation:
    """The method of the control plane of that name, with the arguments that ``ask`` gives."""

    def perform(place: Place, asked: Any, acknowledge: Acknowledge) -> None:
        with ControlPlane.open(place.database) as plane:
            acknowledge(getattr(plane, name)(*asked[0], **asked[1]))

    return Operation(prepared(ask), perform, again)


def refused(name: str, ask: Ask) -> Operation:
    """A request that is refused, of which the audit events are committed by themselves."""
    asked_for = request(name, ask, ANOTHER)

    def perform(place: Place, asked: Any, acknowledge: Acknowledge) -> None:
        try:
            asked_for.perform(place, asked, acknowledge)
        except Refused as error:
            acknowledge({"code": error.code})

    return Operation(asked_for.prepare, perform, ANOTHER)


def prepared(ask: Ask) -> Callable[[Place], Any]:
    def prepare(place: Place) -> Any:
        with ControlPlane.open(place.database) as plane:
            return ask(place, World(plane))

    return prepare


def brought(state: str, *rest: Any, **members: Any) -> Ask:
    """Ask with the id of a task in ``state`` and ``rest``."""
    return lambda place, world: asking(world.bring(state, **members), *rest)


def description(place: Place) -> dict[str, Any]:
    return {"description": place.text("All of it.")}


# -- jobs


def job_result(stage: str, state: str, **members: Any) -> Ask:
    def ask(place: Place, world: World) -> Any:
        task_id = world.bring(state)
        job = world.dispatch(task_id, stage)
        return asking(task_id, result_body(job["job_id"], summary=place.text("Done."), **members))

    return ask


def failed_result(place: Place, world: World) -> Any:
    task_id = world.create()
    job = world.dispatch(task_id, "plan")
    return asking(task_id, failed_body(job["job_id"], summary=place.text("No.")))


def refused_result(place: Place, world: World) -> Any:
    task_id = world.create()
    job = world.dispatch(task_id, "plan")
    return asking(task_id, result_body(job["job_id"], status="done"))


def beat(place: Place, world: World) -> Any:
    job = world.dispatch(world.create(), "plan")
    return asking(job["job_id"], {"worker_id": "w1", "stage": "plan", "observed_at": "2026-01-01T00:00:00Z"})


# -- acceptance, transitions


def judged(world: World) -> str:
    task_id = world.bring("accepting")
    world.result(task_id, world.redispatched(task_id), verdict={"outcome": "accept"})
    return task_id


def ticks(place: Place, world: World) -> Any:
    task_id = judged(world)
    items = [{"id": item["id"]} for item in world.task(task_id)["manual_checklist"]]
    return asking(task_id, {"checked_items": items})


def ticked(place: Place, world: World) -> Any:
    task_id = judged(world)
    world.tick_all(task_id)
    return asking(task_id, {})


def blocking(place: Place, world: World) -> Any:
    task_id = world.bring("developing")
    return asking(task_id, event_body(world.task(task_id), "blocked", reason=place.text("Wait.")))


# -- release


def finishing(place: Place, world: World) -> Any:
    task_id = world.bring("integrating")
    run_id = world.task(task_id)["integration_run"]["run_id"]
    return asking(task_id, run_id, Outcome({"checks_passed": True}, exit_code=0, duration_ms=5))


def finish(place: Place, asked: Any, acknowledge: Acknowledge) -> None:
    with ControlPlane.open(place.database) as plane:
        acknowledge(plane.perform(use_cases.finish_integration, *asked[0]))


def with_token(place: Place, world: World) -> Any:
    task_id = world.bring("integrated", **NEEDS_APPROVAL)
    world.publish(task_id, "apply")
    token = world.plane.issue_approval(task_id)["approval_token"]
    return asking(task_id, {"approval_token": token})


def wrong_token(place: Place, world: World) -> Any:
    task_id = world.bring("integrated", **NEEDS_APPROVAL)
    world.plane.issue_approval(task_id)
    return asking(task_id, {"mode": "apply", "idempotency_key": "k1", "approval_token": "f" * 64})


# -- documents and trackers


def document(place: Place, text: str = "# A\ntext") -> dict[str, Any]:
    return {"doc_type": "spec", "title": "Login rules", "content": place.text(text)}


def ingested(place: Place, world: World) -> dict[str, Any]:
    return world.plane.ingest_doc(document(place))


def reading(place: Place, world: World) -> Any:
    made = ingested(place, world)
    task_id = world.create()
    return asking(task_id, {"doc_id": made["doc_id"], "version": made["version"], "task_id": task_id})


def outdated(place: Place, world: World) -> Any:
    (task_id, body), _ = reading(place, world)
    world.plane.acknowledge_docs(task_id, body)
    world.plane.ingest_doc(document(place, "# A\nanother text"))
    return asking(task_id, {})


def resolving(place: Place, world: World) -> Any:
    ingested(place, world)
    return asking(world.create(), {"topic": "login"})


# -- what the control plane does by itself


def served(place: Place) -> ControlPlane:
    """A served control plane in place of the one before it."""
    store = open_store(place.database)
    return ControlPlane(store, Settings(), upkeep.serve_instance(store))


def left_behind(place: Place) -> Any:
    """A job of a served control plane that is gone."""
    with served(place) as plane:
        world = World(plane)
        world.dispatch(world.create(), "plan")
    served(place).close()


def recovery(place: Place, asked: Any, acknowledge: Acknowledge) -> None:
    with open_store(place.database) as store:
        acknowledge({"recovered": ControlPlane(store, Settings(), "00000000").recover()})


def takeover(place: Place, asked: Any, acknowledge: Acknowledge) -> None:
    with served(place) as plane:
        acknowledge({"instance": plane.instance_id})


def expiry(place: Place, asked: Any, acknowledge: Acknowledge) -> None:
    with ControlPlane.open(place.database) as plane:
        acknowledge({"expired": plane.expire()})


def expiring(state: str, stage: str = "") -> Operation:
    def ask(place: Place, world: World) -> Any:
        task_id = world.bring(state)
        if stage:
            world.dispatch(task_id, stage)

    return Operation(prepared(ask), expiry, SAME, LATE)


# -- several requests in one commit, as the server does it


def several(place: Place, world: World) -> Any:
    (task_id, refused), _ = wrong_token(place, world)
    return [
        (use_cases.create_task, (create_body(**description(place)),)),
        (use_cases.publish, (task_id, refused)),
        (use_cases.dispatch_task, (world.create(), {"target_stage": "plan"})),
    ]


def group(place: Place, asked: Any, acknowledge: Acknowledge) -> None:
    loop = asyncio.new_event_loop()
    with ControlPlane.open(place.database) as plane:
        jobs = [Job(use_case, arguments, {}, loop.create_future()) for use_case, arguments in asked]
        outcomes = Writer(plane)._commit(jobs)
        acknowledge([item.code if isinstance(item, Refused) else item for item in outcomes])
    loop.close()


OPERATIONS = {
    "create, the first of a file": Operation(
        lambda place: asking(create_body(**description(place))),
        request("create_task", lambda place, world: None, ANOTHER).perform, ANOTHER,
    ),
    "create": request("create_task", lambda place, world: asking(create_body(**description(place))), ANOTHER),
    "dispatch, plan": request("dispatch", brought("queued", {"target_stage": "plan"}), "JOB_ACTIVE"),
    "dispatch, dev": request("dispatch", brought("planned", {"target_stage": "dev"}), "JOB_ACTIVE"),
    "dispatch, acceptance": request(
        "dispatch", brought("dev_completed", {"target_stage": "acceptance"}), "JOB_ACTIVE"
    ),
    "result, a plan": request("apply_result", job_result("plan", "queued"), "JOB_NOT_ACTIVE"),
    "result, a patch": request(
        "apply_result", job_result("dev", "planned", patch_ref=PATCH, test_results=[REGRESSION]), "JOB_NOT_ACTIVE"
    ),
    "result, a verdict": request(
        "apply_result", job_result("acceptance", "dev_completed", verdict={"outcome": "accept"}), "JOB_NOT_ACTIVE"
    ),
    "result, a failure that is tried again": request("apply_result", failed_result, "JOB_NOT_ACTIVE"),
    "result, refused and audited": refused("apply_result", refused_result),
    "heartbeat": request("heartbeat", beat, ANOTHER),
    "checklist": request("tick_checklist", ticks, ANOTHER),
    "accept": request("complete_acceptance", ticked, "STATE_CONFLICT"),
    "transition": request("record_transition", blocking, "DUPLICATE_EVENT"),
    "integrate": request(
        "integrate",
        brought("accepted", {"expected_state": "accepted", "base_sha": BASE, "branch_ref": "work"}), "STATE_CONFLICT",
    ),
    "integrate, complete": request(
        "complete_integrate", brought("integrating", {"checks_passed": True}), "STATE_CONFLICT"
    ),
    "integrate, on a repository": Operation(prepared(finishing), finish, ANOTHER),
    "publish": request("publish", brought("integrated", {"mode": "no_op", "idempotency_key": "k1"}), ANOTHER),
    "publish, waiting for approval": request(
        "publish", brought("integrated", {"mode": "apply", "idempotency_key": "k1"}, **NEEDS_APPROVAL), ANOTHER
    ),
    "publish, refused and audited": refused("publish", wrong_token),
    "approval": request("issue_approval", brought("integrated", **NEEDS_APPROVAL), ANOTHER),
    "approve": request("approve_publish", with_token, "STATE_CONFLICT"),
    "publish, complete": request("complete_publish", brought("publishing", {}), "STATE_CONFLICT"),
    "cancel": request("cancel", brought("developing"), "STATE_CONFLICT"),
    "document, new": request("ingest_doc", lambda place, world: asking(document(place)), SAME),
    "document, a new version": request(
        "ingest_doc", lambda place, world: (ingested(place, world), asking(document(place, "# B")))[1], SAME
    ),
    "documents, resolve": request("resolve_docs", resolving, ANOTHER),
    "documents, acknowledge": request("acknowledge_docs", reading, SAME),
    "documents, stale": request("check_stale_docs", outdated, SAME),
    "tracker": request(
        "link_tracker",
        brought("queued", {"typed_ref": TYPED_REF, "connection_ref": "c", "entity_ref": "github_issue:42"}), ANOTHER,
    ),
    "evidence": request(
        "acknowledge_evidence", brought("queued", "ev-1", {"reviewed_by": "ann", "purpose": "release"}), ANOTHER
    ),
    "bundle": request("build_bundle", brought("planned"), ANOTHER),
    "retrospective": request("generate_retrospective", brought("published"), ANOTHER),
    "several requests in one commit": Operation(prepared(several), group, ANOTHER),
    "a lease runs out": expiring("queued", "plan"),
    "an acceptance runs out": expiring("dev_completed", "acceptance"),
    "an integration runs out": expiring("integrating"),
    "a publish runs out": expiring("publishing"),
    "a served control plane takes over": Operation(left_behind, takeover, ANOTHER),
    "a job of a control plane that is gone": Operation(left_behind, recovery, SAME),
}  # fmt: skip
