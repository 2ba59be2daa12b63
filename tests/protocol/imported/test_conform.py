"""Shapes: what conforms, and where and why something does not."""

from __future__ import annotations

from typing import Any

import pytest

from slipway_lite.canon import NotAnInteger
from slipway_lite.protocol.imported.conform import Misshapen, conform

TABLE = {"a": int, "b?": [str], "c?": {"d": bool}, "e?": 2, "f?": frozenset({"x"}), "g?": str.islower}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"a": 1}, None),
        ({"a": 1, "b": [], "c": {"d": False}, "e": 2, "f": "x", "g": "y"}, None),
        ([], "the record must be an object"),
        (None, "the record must be an object"),
        ({}, "the record has no a"),
        ({"a": 1, "h": 1}, "the record has a field that the contract does not know"),
        ({"a": 1, "b?": []}, "the record has a field that the contract does not know"),
        ({"a": True}, "a must be an integer"),
        ({"a": NotAnInteger("1.0")}, "a must be an integer"),
        ({"a": None}, "a must be an integer"),
        ({"a": 1, "b": {}}, "b must be an array"),
        ({"a": 1, "b": None}, "b must be an array"),
        ({"a": 1, "b": ["", NotAnInteger("1e9")]}, "b[1] must be a string"),
        ({"a": 1, "c": {}}, "c has no d"),
        ({"a": 1, "c": {"d": 1}}, "c.d must be a boolean"),
        ({"a": 1, "e": 3}, "e must be 2"),
        ({"a": 1, "e": "2"}, "e must be 2"),
        ({"a": 1, "f": "y"}, "f has a value that the contract does not know"),
        ({"a": 1, "f": ["x"]}, "f has a value that the contract does not know"),
        ({"a": 1, "g": "Y"}, "g has a value that is not of its class"),
        ({"a": 1, "g": 1}, "g has a value that is not of its class"),
    ],
)
def test_a_value_conforms_or_is_told_where_it_does_not(value: Any, problem: str | None) -> None:
    if problem is None:
        assert conform(value, TABLE) == value
        return
    with pytest.raises(Misshapen) as caught:
        conform(value, TABLE)
    assert str(caught.value) == problem
