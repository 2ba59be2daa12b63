from __future__ import annotations

from typing import Any

import pytest

from slipway_lite.control.messages_docs import TrackerLinkResponse
from slipway_lite.control.refusals import Refused
from tests.control.world import TYPED_REF, World


def link(world: World, task_id: str, entity_ref: str, **members: Any) -> dict[str, Any]:
    body = {"typed_ref": TYPED_REF, "connection_ref": "conn-1", "entity_ref": entity_ref} | members
    return world.plane.link_tracker(task_id, body)


@pytest.mark.parametrize(
    ("entity_ref", "kind", "value"),
    [
        ("github_issue:42", "github_issue", "42"),
        ("github_project_item:PVT_1", "github_project_item", "PVT_1"),
        ("tracker_issue:a:b", "tracker_issue", "a:b"),
        ("jira:ABC-1", "entity_link", "ABC-1"),
        ("plain", "entity_link", "plain"),
    ],
)
def test_an_entity_and_its_sync_event_are_added(world: World, entity_ref: str, kind: str, value: str) -> None:
    task_id = world.create()
    answer = link(world, task_id, entity_ref)
    TrackerLinkResponse.model_validate(answer)
    assert answer["external_refs"] == [
        {"kind": kind, "value": value, "connection_ref": "conn-1"},
        {"kind": "sync_event", "value": answer["sync_event_ref"], "connection_ref": "conn-1"},
    ]
    assert answer["sync_event_ref"].startswith(f"sync_evt_{task_id}_")
    task = world.task(task_id)
    assert (task["external_refs"], task["version"]) == (answer["external_refs"], 1)


def test_the_same_entity_again_adds_only_a_new_sync_event(world: World) -> None:
    task_id = world.create()
    first, second = link(world, task_id, "github_issue:42"), link(world, task_id, "github_issue:42")
    assert first["sync_event_ref"] != second["sync_event_ref"]
    kinds = [reference["kind"] for reference in world.task(task_id)["external_refs"]]
    assert kinds == ["github_issue", "sync_event", "sync_event"]
    assert world.plane.store.rows("select entity_kind, remote_ref, link_role from entity_links") == [
        ("github_issue", "42", "primary")
    ]
    assert world.plane.store.rows("select count(*) from sync_events where status = 'applied'") == [(2,)]


def test_typed_ref_has_to_be_the_tasks(world: World) -> None:
    with pytest.raises(Refused) as refused:
        link(world, world.create(), "github_issue:42", typed_ref="a:b:c:d")
    assert (refused.value.code, refused.value.status) == ("TYPED_REF_MISMATCH", 409)


def test_a_connection_is_needed_and_an_entity_that_names_something(world: World) -> None:
    task_id = world.create()
    with pytest.raises(Refused) as refused:
        world.plane.link_tracker(task_id, {"typed_ref": TYPED_REF, "entity_ref": "x"})
    assert refused.value.status == 400
    with pytest.raises(Refused) as refused:
        link(world, task_id, "github_issue:")
    assert (refused.value.code, refused.value.status) == ("INVALID_REQUEST", 400)
