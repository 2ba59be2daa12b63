"""The three documents, field by field: validator, frozen model and JSON Schema give one verdict (turn-contract §1)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.turns import vocabulary
from slipway_lite.turns.envelope import validate_envelope
from slipway_lite.turns.messages import Envelope, SkillOutcome, WorkflowSnapshot
from slipway_lite.turns.outcome import validate_skill_outcome
from slipway_lite.turns.schemas import json_schemas
from slipway_lite.turns.snapshot import validate_workflow_snapshot
from tests.turns.documents import envelope, outcome, snapshot, with_value, without

CONTRACTS: dict[str, tuple[Any, Any, Any]] = {
    "envelope": (envelope(), validate_envelope, Envelope),
    "skill-outcome": (outcome(), validate_skill_outcome, SkillOutcome),
    "workflow-snapshot": (snapshot(), validate_workflow_snapshot, WorkflowSnapshot),
}
SCHEMAS = {name: jsonschema.Draft202012Validator(schema) for name, schema in json_schemas().items()}
NAMES = sorted(CONTRACTS)
OPTIONAL = {("next", "suggested"), ("next", "continuation")} | {
    ("next", "continuation", key) for key in ("rendering", "evidence")
}


def verdict(name: str, value: Any) -> bool:
    """The one verdict of validator, model and schema."""
    _, validate, model = CONTRACTS[name]
    ok: bool = validate(value).ok
    assert SCHEMAS[name].is_valid(value) is ok
    try:
        model.from_document(value)
        assert ok
    except pydantic.ValidationError:
        assert not ok
    return ok


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in ``value``, ``detail`` closed."""
    if at:
        yield at
    if at == ("detail",):
        return
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from paths(child, (*at, key))


@pytest.mark.parametrize("name", NAMES)
def test_a_full_document_is_valid_and_comes_back_from_its_model(name: str) -> None:
    document, _, model = CONTRACTS[name]
    assert verdict(name, document)
    assert json.loads(json.dumps(model.from_document(document).as_document())) == document


@pytest.mark.parametrize("name", NAMES)
def test_every_key_is_required_unless_it_is_optional(name: str) -> None:
    document = CONTRACTS[name][0]
    for path in paths(document):
        if not isinstance(path[-1], str) or (path[0] == "detail" and len(path) > 1):
            continue
        assert verdict(name, without(document, *path)) is (path in OPTIONAL), path


@pytest.mark.parametrize("name", NAMES)
def test_absent_optional_keys_stay_absent_in_the_model(name: str) -> None:
    document, _, model = CONTRACTS[name]
    for path in OPTIONAL if name == "envelope" else ():
        shorter = without(document, *path)
        assert json.loads(json.dumps(model.from_document(shorter).as_document())) == shorter


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_key_is_refused_at_every_level_but_inside_detail(name: str) -> None:
    document = CONTRACTS[name][0]
    assert not verdict(name, {**document, "x": 1})
    for path in paths(document):
        place = document
        for key in path:
            place = place[key]
        if isinstance(place, dict):
            assert verdict(name, with_value(document, 1, *path, "x")) is (path[0] == "detail"), path


@pytest.mark.parametrize("name", NAMES)
def test_a_value_of_another_type_is_refused_everywhere_but_detail(name: str) -> None:
    document = CONTRACTS[name][0]
    for path in paths(document):
        if path[0] != "detail":
            assert not verdict(name, with_value(document, 1.5, *path)), path
            assert not verdict(name, with_value(document, {"x": 1}, *path)), path


NULLABLE = {
    "envelope": {
        ("unit", "id"), ("unit", "issue"), ("unit", "branch"),
        ("phase", "current"), ("phase", "total"), ("phase", "completed"),
        ("pr", "number"), ("pr", "url"), ("pr", "head_sha"), ("pr", "merge_ready"), ("pr", "ci"),
        ("gates", "verification"), ("gates", "review_pending"), ("gates", "audit_pending"),
        ("recommendations", "reason"), ("needs_input",), ("detail",),
    },
    "skill-outcome": set(),
    "workflow-snapshot": {("unit",), ("phase", "current"), ("phase", "total"), ("phase", "completed")},
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_null_passes_exactly_where_the_contract_says_so(name: str) -> None:
    document = CONTRACTS[name][0]
    for path in paths(document):
        if path[0] != "detail" or len(path) == 1:
            assert verdict(name, with_value(document, None, *path)) is (path in NULLABLE[name]), path


@pytest.mark.parametrize("path", [("unit", "issue"), ("phase", "total"), ("pr", "number"), ("findings", "untriaged")])
def test_whole_floats_are_integers_and_booleans_and_strings_are_not(path: tuple[str, ...]) -> None:
    document = envelope()
    assert verdict("envelope", with_value(document, 7.0, *path))
    for wrong in (True, "7", 1.5, float("inf")):
        assert not verdict("envelope", with_value(document, wrong, *path))


def test_numbers_have_no_sign_limit_but_counts_and_lines_do() -> None:
    assert verdict("envelope", with_value(envelope(), -1, "unit", "issue"))
    assert verdict("envelope", with_value(envelope(), -1, "phase", "completed"))
    assert not verdict("envelope", with_value(envelope(), -1, "findings", "untriaged"))
    assert not verdict("envelope", with_value(envelope(), -1, "findings", "decisions_recorded"))
    assert not verdict("workflow-snapshot", with_value(snapshot(), 0, "provenance", 0, "line"))
    assert not verdict("workflow-snapshot", with_value(snapshot(), 0, "contradictions", 0, "line"))


@pytest.mark.parametrize("name", ["skill-outcome", "workflow-snapshot"])
def test_the_version_is_the_number_one(name: str) -> None:
    document = CONTRACTS[name][0]
    assert verdict(name, {**document, "version": 1.0})
    for wrong in (2, "1", True, None):
        assert not verdict(name, {**document, "version": wrong})


VOCABULARIES: list[tuple[str, tuple[Any, ...], tuple[str, ...]]] = [
    ("envelope", ("state",), vocabulary.ENVELOPE_STATES),
    ("envelope", ("unit", "type"), vocabulary.UNIT_TYPES),
    ("envelope", ("pr", "state"), vocabulary.PR_STATES),
    ("envelope", ("pr", "ci"), vocabulary.CI_STATES),
    ("envelope", ("gates", "verification"), vocabulary.VERIFICATION_STATES),
    ("envelope", ("findings", "fix_now", 0, "severity"), vocabulary.SEVERITIES),
    ("envelope", ("findings", "fix_now", 0, "suggested_tier"), vocabulary.TIERS),
    ("envelope", ("blockers", 0, "kind"), vocabulary.BLOCKER_KINDS),
    ("envelope", ("blockers", 0, "scope"), vocabulary.BLOCKER_SCOPES),
    ("envelope", ("next", "tier"), vocabulary.TIERS),
    ("skill-outcome", ("status",), vocabulary.OUTCOME_STATUSES),
    ("skill-outcome", ("next", "intent"), vocabulary.INTENTS),
    ("skill-outcome", ("blockers", 0, "kind"), vocabulary.BLOCKER_KINDS),
    ("skill-outcome", ("discoveries", 0, "kind"), vocabulary.DISCOVERY_KINDS),
    ("skill-outcome", ("discoveries", 0, "scope"), vocabulary.DISCOVERY_SCOPES),
    ("skill-outcome", ("discoveries", 0, "proposed_intent"), vocabulary.INTENTS),
    ("workflow-snapshot", ("repositoryState",), vocabulary.REPOSITORY_STATES),
    ("workflow-snapshot", ("unit", "kind"), vocabulary.SNAPSHOT_UNIT_KINDS),
]


@pytest.mark.parametrize(("name", "path", "words"), VOCABULARIES)
def test_a_vocabulary_is_closed_and_case_sensitive(name: str, path: tuple[Any, ...], words: tuple[str, ...]) -> None:
    document = CONTRACTS[name][0]
    for word in words:
        assert verdict(name, with_value(document, word, *path)), word
        other = word.swapcase()
        assert not verdict(name, with_value(document, other, *path)), other
    assert not verdict(name, with_value(document, "", *path))


def test_the_vocabularies_have_the_published_sizes() -> None:
    assert len(vocabulary.INTENTS) == 17
    assert len(vocabulary.ENVELOPE_STATES) == 11
    assert vocabulary.INTENTS[1] == "status" and vocabulary.INTENTS[-1] == "none"


@pytest.mark.parametrize("name", NAMES)
def test_there_are_no_rules_across_fields(name: str) -> None:
    if name == "envelope":
        assert verdict(name, envelope(state="BLOCKED", blockers=[]))
        blocker = {"kind": "gate", "id": "", "scope": "run", "detail": ""}
        assert verdict(name, envelope(state="OK", blockers=[blocker]))
    elif name == "skill-outcome":
        assert verdict(name, outcome(status="needs-input", questions=[], summary=""))
    else:
        assert verdict(name, snapshot(repositoryState="frozen", unit=None))


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("next", "continuation", "argv"), []),
        (("next", "continuation", "argv"), [""]),
        (("next", "continuation", "convergence"), " \u3000\ufeff"),
        (("next", "continuation", "rendering"), ""),
        (("next", "continuation", "evidence", "digest"), "A" * 64),
        (("next", "continuation", "evidence", "digest"), "0" * 64 + "\n"),
        (("next", "continuation", "evidence", "artifact"), ""),
        (("next", "continuation", "preconditions", 0, "id"), ""),
        (("next", "continuation", "preconditions", 0, "check"), ""),
        (("skill",), ""),
    ],
)
def test_texts_that_must_not_be_empty(path: tuple[Any, ...], wrong: Any) -> None:
    assert not verdict("envelope", with_value(envelope(), wrong, *path))


def test_control_characters_and_lone_surrogates_are_text() -> None:
    assert verdict("skill-outcome", outcome(summary="\x00\ud800"))


def test_detail_is_any_json_value() -> None:
    values: list[Any] = [None, 0, False, "", [], {}, [[[]]], {"__proto__": 1}]
    for value in values:
        assert verdict("envelope", envelope(detail=value))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(deadline=None, max_examples=150)
def test_validator_model_and_schema_agree_on_mutated_documents(name: str, data: st.DataObject) -> None:
    document = CONTRACTS[name][0]
    path = data.draw(st.sampled_from(sorted(paths(document), key=repr)))
    verdict(name, with_value(document, data.draw(json_values), *path))


def test_models_are_frozen() -> None:
    model: Any = SkillOutcome.from_document(outcome())
    with pytest.raises(pydantic.ValidationError):
        model.summary = "other"
    assert isinstance(model.evidence_refs, tuple)
