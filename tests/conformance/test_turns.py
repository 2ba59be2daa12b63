"""Every case of the recorded turn corpus, compared as its own fold says."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections import Counter
from typing import Any

import pytest

from slipway_lite.turns.block import decode_block
from slipway_lite.turns.envelope import validate_envelope
from slipway_lite.turns.extract import extract_last_json_block
from slipway_lite.turns.messages import Envelope, SkillOutcome, WorkflowSnapshot
from slipway_lite.turns.outcome import validate_skill_outcome
from slipway_lite.turns.schemas import json_schemas
from slipway_lite.turns.snapshot import validate_workflow_snapshot
from tests.conformance import turns_bridge
from tests.published import published


def _fold() -> Any:
    path = published("conformance", "turns", "fold.py")
    spec = importlib.util.spec_from_file_location("turns_fold", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _cases() -> list[dict[str, Any]]:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        lines = published("conformance", "turns", "cases.jsonl").read_text("utf-8").split("\n")
        return [json.loads(line) for line in lines if line]
    finally:
        sys.setrecursionlimit(limit)


def test_every_recorded_case_is_answered_as_recorded() -> None:
    fold = _fold()
    wrong = []
    cases = _cases()
    for case in cases:
        try:
            got = turns_bridge.evaluate(case["fn"], case["input"])
        except Exception as error:
            got = {"throws": type(error).__name__}
        if not fold.equal(case, got):
            wrong.append(f"{case['id']}: {case['pins']}")
    assert not wrong
    assert len(cases) == 291


def _documents(cases: list[dict[str, Any]]) -> list[Any]:
    """Every object of the corpus that could be one of the three documents, blocks of texts included."""
    found: list[Any] = []

    def walk(value: Any) -> None:
        if isinstance(value, str) and "```json" in value:
            body = extract_last_json_block(value)
            decoded, problem = (None, True) if body is None else decode_block(body)
            if problem is None:
                walk(decoded)
        elif isinstance(value, list):
            for item in value:
                walk(item)
        elif isinstance(value, dict):
            found.append(value)
            for item in value.values():
                walk(item)

    for case in cases:
        walk(case["input"])
        walk(case["expected"])
    return found


@pytest.mark.parametrize(
    ("name", "validate", "model"),
    [
        ("envelope", validate_envelope, Envelope),
        ("skill-outcome", validate_skill_outcome, SkillOutcome),
        ("workflow-snapshot", validate_workflow_snapshot, WorkflowSnapshot),
    ],
)
def test_validator_model_and_schema_agree_on_the_corpus(name: str, validate: Any, model: Any) -> None:
    import jsonschema
    import pydantic

    schema = jsonschema.Draft202012Validator(json_schemas()[name])
    verdicts: Counter[bool] = Counter()
    for value in _documents(_cases()):
        ok = validate(value).ok
        verdicts[ok] += 1
        assert schema.is_valid(value) is ok, value
        try:
            assert model.from_document(value).as_document() == _listed(value)
            assert ok, value
        except pydantic.ValidationError:
            assert not ok, value
    assert verdicts[True] > 3 and verdicts[False] > 300


def _listed(value: Any) -> Any:
    """``value`` as a model gives it back: its lists are tuples."""
    if isinstance(value, dict):
        return {key: _listed(item) if key != "detail" else item for key, item in value.items()}
    return tuple(map(_listed, value)) if isinstance(value, list) else value
