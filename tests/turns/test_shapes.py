"""The rules of the shape language (turn-contract §1)."""

from __future__ import annotations

import re
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.turns.shapes import (
    MAX_PROBLEMS,
    Anything,
    Exactly,
    Flag,
    ListOf,
    Nullable,
    Object,
    OneOf,
    Shape,
    Text,
    Whole,
    check,
    is_whole,
    segment,
)


@pytest.mark.parametrize("value", [7, 7.0, 1e2, -0.0, 0, -3, 10**300])
def test_a_number_without_a_fraction_is_whole(value: Any) -> None:
    assert is_whole(value)


@pytest.mark.parametrize("value", [1.5, float("inf"), float("nan"), "7", True, False, None, [], 10**309])
def test_anything_else_is_not_whole(value: Any) -> None:
    assert not is_whole(value)


@given(key=st.text(max_size=80) | st.sampled_from(["a", "a.b", "['a']", '["', "x" * 65]))
@settings(deadline=None)
def test_a_recorded_problem_says_where_an_unknown_key_is_and_not_its_name(key: str) -> None:
    shape = Object({"list": ListOf(Object({}))})
    (deep,) = check(shape, {"list": [{}, {key: 1}]})
    assert deep.as_record() == {**deep.as_document(), "path": "$.list[1][unknown]"}
    assert deep.path == f"$.list[1]{segment(key)}"
    (missing,) = check(shape, {})
    assert missing.as_record() == missing.as_document()


CASES: list[tuple[Shape, Any, str | None]] = [
    (Anything(), None, None),
    (Text(), "", None),
    (Text(), 1, "expected_text"),
    (Text(least=1), "", "empty_text"),
    (Text(form=re.compile("^a$")), "b", "malformed_text"),
    (Whole(), 7.0, None),
    (Whole(), True, "expected_whole_number"),
    (Whole(), "7", "expected_whole_number"),
    (Whole(minimum=1), 0, "below_minimum"),
    (Flag(), False, None),
    (Flag(), 0, "expected_boolean"),
    (OneOf(("red", "green")), "red", None),
    (OneOf(("red", "green")), "Red", "not_in_vocabulary"),
    (OneOf(("red", "green")), ["red"], "not_in_vocabulary"),
    (Exactly("v"), "v", None),
    (Exactly(1), 1.0, None),
    (Exactly(1), True, "wrong_constant"),
    (Exactly(1), "1", "wrong_constant"),
    (Nullable(Text()), None, None),
    (Nullable(Text()), 1, "expected_text"),
    (ListOf(Text()), [], None),
    (ListOf(Text()), {}, "expected_list"),
    (ListOf(Text(), least=1), [], "empty_list"),
    (Object({"a": Text()}), {"a": "x"}, None),
    (Object({"a": Nullable(Text())}), {}, "missing_key"),
    (Object({"a": Text()}), [], "expected_object"),
    (Object({"a": Text()}), {"a": "x", "A": "x"}, "unknown_key"),
    (Object({}, {"a": Text()}), {}, None),
    (Object({}, {"a": Text()}), {"a": None}, "expected_text"),
]


@pytest.mark.parametrize(("shape", "value", "code"), CASES)
def test_a_value_passes_or_has_one_problem_with_its_code(shape: Shape, value: Any, code: str | None) -> None:
    assert [problem.code for problem in check(shape, value)] == ([] if code is None else [code])


@pytest.mark.parametrize(("shape", "value", "code"), CASES)
def test_the_json_schema_says_the_same(shape: Shape, value: Any, code: str | None) -> None:
    assert jsonschema.Draft202012Validator(shape.schema()).is_valid(value) is (code is None)


def test_a_problem_has_the_json_path_of_its_place() -> None:
    shape = Object({"rows": ListOf(Object({"id": Text(), "tags": ListOf(Text())}))})
    found = check(shape, {"rows": [{"id": "a", "tags": []}, {"id": 1, "tags": ["x", 2], "odd key": 3}]})
    assert [(problem.code, problem.path) for problem in found] == [
        ("expected_text", "$.rows[1].id"),
        ("expected_text", "$.rows[1].tags[1]"),
        ("unknown_key", "$.rows[1]['odd key']"),
    ]
    assert found[0].as_document() == {
        "code": "expected_text",
        "path": "$.rows[1].id",
        "message": "This must be a string.",
    }


@pytest.mark.parametrize("key", ["Skill", "ѕkill", "__proto__", "skill "])
def test_unknown_keys_are_told_by_their_exact_text(key: str) -> None:
    found = check(Object({"skill": Text()}), {"skill": "x", key: "x"})
    assert [problem.code for problem in found] == ["unknown_key"]


def test_a_walk_that_is_not_strict_lets_unknown_keys_pass_unless_sealed() -> None:
    assert not check(Object({}), {"x": 1}, strict=False)
    assert check(Object({}, sealed=True), {"x": 1}, strict=False)
    assert not check(Object({"a": Object({})}, sealed=True), {"a": {"x": 1}}, strict=False)


def test_a_lenient_key_is_missed_by_a_strict_walk_only() -> None:
    shape = Object({"detail": Anything()}, lenient=frozenset({"detail"}))
    assert not check(shape, {}, strict=False)
    assert [problem.path for problem in check(shape, {})] == ["$.detail"]


def test_a_hostile_document_does_not_cost_more_than_itself() -> None:
    assert len(check(ListOf(Text()), [1] * 100_000)) == MAX_PROBLEMS
    assert len(check(Object({}), {str(number): 1 for number in range(1000)})) == MAX_PROBLEMS


def test_a_long_or_strange_key_is_shown_short_and_escaped() -> None:
    assert segment("a" * 500) == f"['{'a' * 64}\\u2026']"
    assert segment("\x1b[31m") == "['\\x1b[31m']"
    assert segment("id") == ".id"


def test_the_bare_shape_is_abstract() -> None:
    for ask in (lambda: Shape().problems(1, True), lambda: Shape().schema()):
        with pytest.raises(NotImplementedError):
            ask()
