from __future__ import annotations

import pytest

from slipway_lite.control.messages_read import ContextBundle
from slipway_lite.control.refs import is_typed_ref
from slipway_lite.control.refusals import Refused
from tests.control.world import World


def test_a_dispatch_builds_a_bundle_and_points_to_it(world: World) -> None:
    task_id = world.create()
    world.dispatch(task_id, "plan")
    (bundle,) = world.plane.list_bundles(task_id)["items"]
    ContextBundle.model_validate(bundle)
    assert bundle["id"] == world.task(task_id)["context_bundle_ref"] == f"bundle:{task_id}:v1"
    assert (bundle["purpose"], bundle["rebuild_level"], bundle["raw_included"]) == ("continue_work", "L2", False)
    assert bundle["state_snapshot"]["task"]["state"] == "queued"
    assert bundle["state_snapshot"]["transition_count"] == 1


def test_acceptance_prepares_a_review_and_a_resumed_stage_says_so(world: World) -> None:
    task_id = world.bring("blocked")
    world.move(task_id, "developing")
    world.dispatch(task_id, "dev")
    assert world.plane.list_bundles(task_id)["items"][-1]["purpose"] == "resume_after_block"
    other = world.bring("accepting")
    assert world.plane.list_bundles(other)["items"][-1]["purpose"] == "review_prepare"


def test_a_bundle_on_request_tells_history_sources_and_diagnostics(world: World) -> None:
    task_id = world.bring("planned", external_refs=[{"kind": "github_issue", "value": "line\nbreak"}])
    world.plane.resolve_docs(task_id, {"feature": "f"})
    version = world.task(task_id)["version"]
    bundle = world.plane.build_bundle(task_id, {"purpose": "decision_support", "rebuild_level": "L3", "summary": "s"})
    ContextBundle.model_validate(bundle)
    assert world.task(task_id)["version"] == version + 1
    snapshot = bundle["state_snapshot"]
    assert snapshot["last_transition"]["to_state"] == "planned"
    assert (snapshot["run_count"], snapshot["latest_run"]["status"]) == (1, "succeeded")
    assert snapshot["task"]["taskstate_status"] == "ready"
    assert bundle["diagnostics"] == {"missing": [], "warnings": [], "stale_status": "fresh"}
    assert [source["source_kind"] for source in bundle["sources"]] == ["task", "run", "document", "tracker"]
    assert all(is_typed_ref(source["typed_ref"]) for source in bundle["sources"])
    generated = world.audits(task_id)[-1]
    assert generated["event_type"] == "context_bundle_generated"
    assert generated["payload"]["source_count"] == 4


def test_stale_documents_are_a_warning_in_the_bundle(world: World) -> None:
    task_id = world.create()
    world.plane.acknowledge_docs(task_id, {"doc_id": "gone", "version": "1", "task_id": task_id})
    world.plane.check_stale_docs(task_id, {})
    diagnostics = world.plane.build_bundle(task_id)["diagnostics"]
    assert diagnostics == {
        "missing": ["documents"],
        "warnings": ["documents have to be read again"],
        "stale_status": "stale",
    }


def test_grave_side_effects_are_a_warning_in_the_bundle(world: World) -> None:
    task_id = world.create()
    world.result(task_id, world.dispatch(task_id, "plan"), detected_side_effects=["secret_access"])
    assert world.plane.build_bundle(task_id)["diagnostics"]["warnings"] == ["grave side effects were detected"]


def test_a_purpose_off_the_list_is_400(world: World) -> None:
    with pytest.raises(Refused) as refused:
        world.plane.build_bundle(world.create(), {"purpose": "fun"})
    assert refused.value.status == 400
