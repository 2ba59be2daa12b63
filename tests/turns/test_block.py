"""Strict RFC 8259, as the published tools read it (turn-contract §4, §16.1)."""

from __future__ import annotations

import pytest

from slipway_lite.turns.block import decode_block


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        '{"a":NaN}',
        '{"a":-Infinity}',
        '{"a":01}',
        "{'a':1}",
        '{"a":1,}',
        "// x\n1",
        "\ufeff{}",
        "\xa0{}",
        '"\t"',
        "1 2",
    ],
)
def test_what_is_not_json_is_a_problem_with_a_code(body: str) -> None:
    value, problem = decode_block(body)
    assert value is None
    assert problem is not None and problem.code == "block_not_json"


def test_the_problem_names_the_place_and_never_the_text() -> None:
    _, problem = decode_block('{"token": secret}')
    assert problem is not None
    assert "line 1 column 11" in problem.message
    assert "secret" not in problem.message


@pytest.mark.parametrize(
    ("body", "value"),
    [('{"a":1,"a":2}', {"a": 2}), ('"\\ud800"', "\ud800"), ("1e400", float("inf")), ("-0", 0), (" \r\n[]\t", [])],
    ids=["a repeated key: last wins", "lone surrogate", "infinity by size", "minus zero", "white space"],
)
def test_what_is_json(body: str, value: object) -> None:
    assert decode_block(body) == (value, None)


def test_a_number_longer_than_python_converts_is_out_of_range_and_no_crash() -> None:
    assert decode_block('{"a":' + "9" * 5000 + "}") == ({"a": float("inf")}, None)
    assert decode_block("[NaN, " + "9" * 5000 + "]")[1] is not None


def test_nesting_past_the_recursion_limit_is_a_problem_with_a_code() -> None:
    _, problem = decode_block("[" * 100_000)
    assert problem is not None and problem.code == "block_too_deep"
    _, problem = decode_block("[" + "9" * 5000 + "," + "[" * 100_000)
    assert problem is not None and problem.code == "block_too_deep"


def test_megabytes_of_small_values_are_a_problem_with_a_code() -> None:
    _, problem = decode_block("[" + "{}," * 2_000_000 + "0]")
    assert problem is not None and problem.code == "block_too_dense"
    assert decode_block('["' + "[],{}," * 1_000_000 + '"]')[1] is None
