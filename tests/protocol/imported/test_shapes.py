"""The tables of imported events: their fields are the published ones, and nothing else has a place in them."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from slipway_lite.canon import encode
from slipway_lite.protocol.documents import run_status
from slipway_lite.protocol.imported import shapes
from slipway_lite.protocol.imported.fold import Imported
from tests.protocol.imported.models import adopted, confirmed, ended, skipped, superseding
from tests.protocol.model import RUN_ID
from tests.published import published

PUBLISHED: dict[str, Any] = {
    "workspaceIdentity": shapes.WORKSPACE_IDENTITY,
    "gitObservation": shapes.GIT,
    "pathObservation": shapes.GIT["path_observations"][0],  # type: ignore[index]
    "sourceParent": shapes.PARENT,
    "pinnedSource": shapes.PINNED_SOURCE,
    "pinnedSourceSection": shapes.PINNED_SOURCE["sections"][0],  # type: ignore[index]
    "sourceCandidate": shapes.SOURCE_CANDIDATE,
    "destructiveRequest": shapes.DESTRUCTIVE_REQUEST,
    "destructiveAuthorization": shapes.DESTRUCTIVE_GRANT,
    "action": shapes.ACTION,
    "actionSource": shapes.ACTION["source?"],
    "actionRequirements": shapes.ACTION["requirements?"],
    "actionRecord": shapes.RECORD,
    "answerRecord": shapes.ANSWER,
    "sourceChoiceReceipt": shapes.SOURCE_CHOICE,
    "resumeResult": shapes.RESUME_RESULT,
    "suggestedAction": shapes.DELTA["pending_append?"][0],
    "activity": shapes.DELTA["activities_append?"][0],
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_table_has_the_fields_of_the_published_schema_in_order(name: str) -> None:
    schema = json.loads(published("oracles", "slipway", "machine-protocol.schema.json").read_text())["$defs"][name]
    fields = [field if field in schema["required"] else f"{field}?" for field in schema["properties"]]
    assert fields == list(PUBLISHED[name])


def shuffled(random: Random, value: Any) -> Any:
    """The same JSON with the keys of every object in another order."""
    if isinstance(value, list):
        return [shuffled(random, item) for item in value]
    if not isinstance(value, dict):
        return value
    names = random.sample([*value], len(value))
    return {name: shuffled(random, value[name]) for name in names}


@pytest.mark.parametrize("build", [adopted, confirmed, ended, skipped, superseding])
def test_documents_are_shown_in_wire_order_whatever_the_order_in_the_journal(build: Any) -> None:
    model = build()
    imported = Imported(RUN_ID)
    for record in model.published.documents:
        data = shuffled(Random(1), record["data"])
        assert list(data) != list(record["data"])
        run = imported.fold(record["type"], record["at"], encode(data))
    assert encode(run_status(run)) == encode(run_status(model.run))
