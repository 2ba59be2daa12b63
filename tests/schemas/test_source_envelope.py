"""``schemas/source-envelope.schema.json`` beside the published one, and beside the runtime it describes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.protocol.source import test_envelope, test_manifest
from tests.protocol.source.change import Change
from tests.published import driver, published
from tests.schemas.corpus import mutation

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
OURS = json.loads((SCHEMAS / "source-envelope.schema.json").read_text())
MACHINE = json.loads((SCHEMAS / "machine-protocol.schema.json").read_text())
ENVELOPE = Draft202012Validator(OURS)
MANIFEST = Draft202012Validator({"$ref": "#/$defs/sourceManifest", "$defs": OURS["$defs"]})

# Rules that compare two places, count bytes, or need a calendar: no schema can say them.
RUNTIME_ONLY = {
    "canonical_url ends with issue_number",
    "updated_at is a time",
    "comment updated_at is a time",
    "node_id is unique",
    "database_id is unique",
    "url belongs to this issue",
    "url ends with the database id",
}
RUNTIME_ONLY_MANIFEST = {
    "a comment database id that is a fraction",  # 1.0 is an integer to a schema, and none to the contract
    "a title above 512 bytes",
    "a repeated key",
    "a repeated comment node id",
    "a repeated comment database id",
}
BYTES_OF_MANIFESTS = {"empty", "not JSON", "a duplicate key", "above 262,144 bytes", "two values"}
# What the runtime takes and the schema, which tells hosts what to write, does not.
SCHEMA_ONLY = {
    "an absent body",
    "a null parent",
    "an absent is_minimized",
    "an absent comment body",
    "a control in a comment id",
    "a control in an author id",
}


def envelopes() -> list[dict[str, Any]]:
    """Sources of the recorded scenarios: whole, with invalid bundles, and hard-invalid ones."""
    drive = driver()
    container = json.loads(published("oracles", "slipway", "container-source-envelope.json").read_text())
    documents = [container, Change().document(), drive.Source().envelope()]
    documents += [source.envelope() for _, source in drive.invalid_bodies()]
    for _, raw in drive.bad_envelopes():
        try:
            documents.append(json.loads(raw.decode()))
        except ValueError:
            continue  # broken before any schema can look at it
    return documents


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(OURS)


def test_shared_definitions_are_the_same_in_both_files() -> None:
    for name in OURS["$defs"].keys() & MACHINE["$defs"].keys():
        assert OURS["$defs"][name] == MACHINE["$defs"][name], name


@pytest.mark.parametrize("rounds", [3, pytest.param(60, marks=pytest.mark.slow)])
def test_envelopes_are_judged_alike(rounds: int) -> None:
    theirs = Draft202012Validator(
        json.loads(published("oracles", "slipway", "source-envelope.schema.json").read_text())
    )
    for number, document in enumerate(envelopes()):
        assert ENVELOPE.is_valid(document) == theirs.is_valid(document)
        for seed in range(rounds):
            words, spoiled = mutation(document, number * 1000 + seed)
            assert ENVELOPE.is_valid(spoiled) == theirs.is_valid(spoiled), words


@pytest.mark.parametrize("rounds", [200, pytest.param(4000, marks=pytest.mark.slow)])
def test_manifests_are_judged_alike(rounds: int) -> None:
    schema = json.loads(published("oracles", "slipway", "source-envelope.schema.json").read_text())
    theirs = Draft202012Validator({"$ref": "#/$defs/sourceManifest", "$defs": schema["$defs"]})
    document = Change().manifest_document()
    assert MANIFEST.is_valid(document) and theirs.is_valid(document)
    document["parent_requirements_revision"] = "sha256:" + "0" * 64
    for seed in range(rounds):
        words, spoiled = mutation(document, seed)
        assert MANIFEST.is_valid(spoiled) == theirs.is_valid(spoiled), words


@pytest.mark.parametrize("rule", test_envelope.ENVELOPES | test_envelope.COMMENTS)
def test_the_schema_refuses_what_the_runtime_refuses(rule: str) -> None:
    document, _ = test_envelope.HARD_RULES[rule]
    assert ENVELOPE.is_valid(json.loads(document)) is (rule in RUNTIME_ONLY)


@pytest.mark.parametrize("name", test_envelope.ACCEPTED)
def test_the_schema_is_stricter_than_the_runtime_where_the_contract_says_so(name: str) -> None:
    assert ENVELOPE.is_valid(json.loads(test_envelope.ACCEPTED[name])) is (name not in SCHEMA_ONLY)


@pytest.mark.parametrize("name", [name for name in test_manifest.REFUSED if name not in BYTES_OF_MANIFESTS])
def test_the_schema_refuses_the_manifests_that_the_runtime_refuses(name: str) -> None:
    text, _ = test_manifest.REFUSED[name]
    assert MANIFEST.is_valid(json.loads(text)) is (name in RUNTIME_ONLY_MANIFEST)
