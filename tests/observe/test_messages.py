"""The self-improvement documents: our models, our schemas and the published schemas give one verdict."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from slipway_lite.errors import InvalidDocument
from slipway_lite.observe import messages
from slipway_lite.observe.analysis import analyze_gates
from slipway_lite.resources import schema_text
from tests.observe.test_gates import AT, bundle, entry, evaluation, evidence
from tests.published import published

REFLECTION = {
    "session_id": "s", "task_id": "t", "objective": "o", "changes": [{"summary": "c"}],
    "lessons": [{"observation": "l", "category": "process", "actionable": True}], "open_questions": [],
    "next_actions": [], "sources": [{"type": "task", "ref": "t"}], "created_at": "2026-07-01T00:00:00.000Z",
    "schema_version": "self-improvement/v1",
}  # fmt: skip
FULL = bundle(
    gate_observations=[evaluation(1, run_id="t")],
    evidence_consumption_observations=[evidence(1, "generated"), evidence(1, "acknowledged", purpose="p")],
    reflection_summaries=[REFLECTION],
    next_cursor="gate:1",
)
REPORT = analyze_gates(FULL, generated_at=AT)
NUDGE = analyze_gates(bundle(), generated_at=AT)["periodic_nudges"][0] | {"stale_days": 1, "threshold_days": 2}
DOCUMENTS = {
    "gate-catalog-entry": entry(),
    "gate-observation": FULL["gate_observations"][0],
    "evidence-consumption-observation": FULL["evidence_consumption_observations"][1],
    "improvement-observation-bundle": FULL,
    "gate-effectiveness-report": REPORT,
    "periodic-nudge": NUDGE,
}
WRONG: tuple[Any, ...] = ("", 0, -1, True, [], {}, "maybe", 1.5)


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from paths(child, (*at, key))


def mutations(document: Any) -> Iterator[Any]:
    """``document`` with one member gone, wrong, or added, at every place."""
    for path in paths(document):
        for change in ("delete", *WRONG):
            mutated = copy.deepcopy(document)
            place = mutated
            for step in path[:-1]:
                place = place[step]
            if change == "delete":
                del place[path[-1]]
            else:
                place[path[-1]] = change
            yield mutated
        if isinstance(path[-1], str):
            mutated = copy.deepcopy(document)
            place = mutated
            for step in path[:-1]:
                place = place[step]
            place["surprise"] = 1
            yield mutated


def is_valid(name: str, document: Any) -> bool:
    try:
        messages.check(messages.SCHEMAS[name][0], document, "invalid")
    except InvalidDocument:
        return False
    return True


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_models_and_published_schemas_agree_on_every_mutation(name: str) -> None:
    oracle = jsonschema.Draft202012Validator(
        json.loads(published("oracles", "workflow-cookbook", f"{name}.schema.json").read_text("utf-8"))
    )
    assert oracle.is_valid(DOCUMENTS[name])
    assert is_valid(name, DOCUMENTS[name])
    for mutated in mutations(DOCUMENTS[name]):
        # Formats are only annotations in JSON Schema; the model checks them.
        expected = oracle.is_valid(mutated)
        assert not is_valid(name, mutated) or expected, mutated
        assert not expected or is_valid(name, mutated) or _has_bad_time(mutated), mutated


def _has_bad_time(document: Any) -> bool:
    names = ("occurred_at", "generated_at", "since", "until", "created_at")
    for path in paths(document):
        if path[-1] in names:
            value = document
            for step in path:
                value = value[step]
            if not isinstance(value, str) or value in WRONG:
                return True
    return False


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_models_and_our_schemas_agree_on_every_mutation(name: str) -> None:
    ours = jsonschema.Draft202012Validator(messages.json_schema(name))
    assert ours.is_valid(DOCUMENTS[name])
    for mutated in mutations(DOCUMENTS[name]):
        assert is_valid(name, mutated) is ours.is_valid(mutated) or _has_bad_time(mutated), mutated


@pytest.mark.parametrize("name", sorted(messages.SCHEMAS))
def test_the_schema_files_are_what_the_models_give(name: str) -> None:
    assert schema_text(name) == messages.schema_text(name)
    jsonschema.Draft202012Validator.check_schema(messages.json_schema(name))


def test_the_published_sample_export_is_valid() -> None:
    sample = published("oracles", "workflow-cookbook", "self-improvement-v1.shipyard-export.sample.json")
    assert is_valid("improvement-observation-bundle", json.loads(sample.read_text("utf-8")))
