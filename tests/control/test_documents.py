from __future__ import annotations

from typing import Any

import pytest

from slipway_lite.control.messages_docs import (
    AckDocsResponse,
    IngestDocResponse,
    ResolveDocsResponse,
    StaleCheckResponse,
)
from slipway_lite.control.refusals import Refused
from tests.control.world import TYPED_REF, World


def ingest(world: World, content: str = "# A\ntext", title: str = "Login rules", **members: Any) -> dict[str, Any]:
    return world.plane.ingest_doc({"doc_type": "spec", "title": title, "content": content, **members})


def ack(world: World, task_id: str, doc_id: str, version: str) -> dict[str, Any]:
    return world.plane.acknowledge_docs(task_id, {"doc_id": doc_id, "version": version, "task_id": task_id})


def status(world: World, task_id: str) -> str | None:
    return world.task(task_id).get("resolver_refs", {}).get("stale_status")


@pytest.mark.parametrize(
    ("body", "docs", "chunks"),
    [
        ({"feature": "F"}, ["doc:feature:F"], ["chunk:feature:F:1"]),
        ({"topic": "T"}, ["doc:topic:T"], []),
        ({"task_seed": "S"}, ["doc:task:S"], []),
        (
            {"task_seed": "S", "topic": "T", "feature": "F"},
            ["doc:feature:F", "doc:topic:T", "doc:task:S"],
            ["chunk:feature:F:1"],
        ),
        ({}, ["doc:workflow-cookbook:blueprint"], []),
    ],
)
def test_resolve_names_what_follows_from_the_request(
    world: World, body: dict[str, str], docs: list[str], chunks: list[str]
) -> None:
    task_id = world.create()
    answer = world.plane.resolve_docs(task_id, body)
    ResolveDocsResponse.model_validate(answer)
    assert answer == {
        "typed_ref": TYPED_REF,
        "doc_refs": docs,
        "chunk_refs": chunks,
        "contract_refs": [],
        "stale_status": "fresh",
    }
    task = world.task(task_id)
    assert task["version"] == 1
    assert task["resolver_refs"]["doc_refs"] == docs


def test_resolve_finds_registered_documents_with_their_required_chunks(world: World) -> None:
    made = ingest(world, "# Login\nMUST: work\n# Links\nx")
    IngestDocResponse.model_validate(made)
    assert made["doc_id"] == "doc:spec:login-rules"
    answer = world.plane.resolve_docs(world.create(), {"feature": "login"})
    assert answer["doc_refs"] == ["doc:feature:login", "doc:spec:login-rules"]
    assert answer["chunk_refs"] == ["chunk:feature:login:1", "chunk:doc:spec:login-rules:001"]


def test_ingest_versions_by_content(world: World) -> None:
    first = ingest(world)
    assert first["status"] == "ingested"
    assert ingest(world)["status"] == "unchanged"
    second = ingest(world, "# B\nother")
    assert (second["status"], second["doc_id"]) == ("updated", first["doc_id"])
    assert second["version"] != first["version"]
    assert world.plane.store.rows("select count(*) from documents") == [(2,)]


def test_the_same_ack_has_the_same_name_and_adds_nothing(world: World) -> None:
    task_id = world.create()
    answer = ack(world, task_id, "doc:spec:a", "v1")
    AckDocsResponse.model_validate(answer)
    assert answer == {"ack_ref": f"ack:{task_id}:doc:spec:a:v1"}
    version = world.task(task_id)["version"]
    assert ack(world, task_id, "doc:spec:a", "v1") == answer
    assert world.task(task_id)["version"] == version == 1
    assert world.task(task_id)["resolver_refs"]["ack_refs"] == [answer["ack_ref"]]


def test_resolve_keeps_acknowledgements(world: World) -> None:
    task_id = world.create()
    ref = ack(world, task_id, "d", "v1")["ack_ref"]
    world.plane.resolve_docs(task_id, {"topic": "t"})
    assert world.task(task_id)["resolver_refs"]["ack_refs"] == [ref]


def test_an_ack_belongs_to_the_task_of_its_path(world: World) -> None:
    with pytest.raises(Refused) as refused:
        world.plane.acknowledge_docs(world.create(), {"doc_id": "d", "version": "1", "task_id": "task_other"})
    assert (refused.value.code, refused.value.status) == ("CONTEXT_MISMATCH", 409)


def test_a_version_has_no_colon(world: World) -> None:
    task_id = world.create()
    with pytest.raises(Refused) as refused:
        ack(world, task_id, "d", "sha256:1")
    assert (refused.value.code, refused.value.status) == ("INVALID_REQUEST", 400)


def test_a_changed_document_makes_the_task_stale_and_reading_it_fresh(world: World) -> None:
    task_id = world.create()
    made = ingest(world)
    ack(world, task_id, made["doc_id"], made["version"])
    assert world.plane.check_stale_docs(task_id, {})["stale"] == []
    assert status(world, task_id) == "fresh"
    newer = ingest(world, "# B\nother")
    answer = world.plane.check_stale_docs(task_id, {})
    StaleCheckResponse.model_validate(answer)
    (item,) = answer["stale"]
    assert item | {"detected_at": ""} == {
        "task_id": task_id,
        "doc_id": made["doc_id"],
        "previous_version": made["version"],
        "current_version": newer["version"],
        "reason": "version_mismatch",
        "detected_at": "",
    }
    assert status(world, task_id) == "stale"
    ack(world, task_id, made["doc_id"], newer["version"])
    assert status(world, task_id) == "fresh"


def test_resolve_cannot_launder_a_stale_status(world: World) -> None:
    task_id = world.create()
    made = ingest(world)
    ack(world, task_id, made["doc_id"], made["version"])
    ingest(world, "# B\nother")
    assert world.plane.resolve_docs(task_id, {"topic": "x"})["stale_status"] == "stale"
    assert world.plane.resolve_docs(task_id, {})["stale_status"] == "stale"
    ack(world, task_id, made["doc_id"], made["version"])
    assert status(world, task_id) == "stale"


def test_resolve_cannot_launder_what_a_worker_reported(world: World) -> None:
    task_id = world.create()
    world.result(task_id, world.dispatch(task_id, "plan"), resolver_refs={"stale_status": "stale"})
    assert world.plane.resolve_docs(task_id, {})["stale_status"] == "stale"


def test_every_stale_document_has_to_be_read(world: World) -> None:
    task_id = world.create()
    made = [ingest(world, title=title) for title in ("One", "Two")]
    for document in made:
        ack(world, task_id, document["doc_id"], document["version"])
    newer = [ingest(world, "# B\nnew", title=title) for title in ("One", "Two")]
    world.plane.check_stale_docs(task_id, {})
    ack(world, task_id, newer[0]["doc_id"], newer[0]["version"])
    assert status(world, task_id) == "stale"
    ack(world, task_id, newer[1]["doc_id"], newer[1]["version"])
    assert status(world, task_id) == "fresh"


def test_a_document_that_is_not_registered_is_missing_for_stale_check_only(world: World) -> None:
    task_id = world.create()
    ack(world, task_id, "doc:spec:elsewhere", "v1")
    assert world.plane.resolve_docs(task_id, {})["stale_status"] == "fresh"
    (item,) = world.plane.check_stale_docs(task_id, {})["stale"]
    assert (item["reason"], item["previous_version"], item["current_version"]) == (
        "document_missing",
        "v1",
        "missing",
    )
    assert status(world, task_id) == "stale"


def test_stale_check_of_named_documents(world: World) -> None:
    task_id = world.create()
    assert world.plane.check_stale_docs(task_id, {"doc_ids": ["nowhere"]})["stale"] == []
    made = ingest(world)
    ack(world, task_id, made["doc_id"], made["version"])
    other = ingest(world, title="Other")
    answer = world.plane.check_stale_docs(task_id, {"doc_ids": ["nowhere", other["doc_id"], made["doc_id"]]})
    assert [(item["doc_id"], item["previous_version"]) for item in answer["stale"]] == [("nowhere", "unknown")]


def test_a_stale_check_that_changes_nothing_takes_no_version_step(world: World) -> None:
    task_id = world.create()
    world.plane.check_stale_docs(task_id, {})
    assert world.task(task_id)["version"] == 0
    ack(world, task_id, "gone", "1")
    world.plane.check_stale_docs(task_id, {})
    version = world.task(task_id)["version"]
    world.plane.check_stale_docs(task_id, {})
    assert world.task(task_id)["version"] == version == 2


def test_chunks_by_id_and_by_document(world: World) -> None:
    made = ingest(world, "# Rules\nfirst\n# Other\nsecond words")
    first = f"chunk:{made['doc_id']}:001"
    answer = world.plane.get_chunks({"chunk_ids": [first, "chunk:none:001"]})
    assert [chunk["chunk_id"] for chunk in answer["chunks"]] == [first]
    assert answer["not_found"] == ["chunk:none:001"]
    answer = world.plane.get_chunks({"doc_id": made["doc_id"], "query": "SECOND"})
    assert [chunk["heading_path"] for chunk in answer["chunks"]] == [["Other"]]
    assert world.plane.get_chunks({"doc_id": made["doc_id"], "heading": "rules"})["chunks"][0]["body"] == "first"
    assert world.plane.get_chunks({"doc_id": "none"})["chunks"] == []
    with pytest.raises(Refused) as refused:
        world.plane.get_chunks({})
    assert refused.value.code == "INVALID_REQUEST"
