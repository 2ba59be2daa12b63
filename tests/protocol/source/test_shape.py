from __future__ import annotations

import pytest

from slipway_lite.errors import InvalidDocument
from slipway_lite.protocol.source.shape import FLAG, PLAIN, POSITIVE, conform, exactly, require_unique

TABLE = {
    "name": PLAIN,
    "count": POSITIVE,
    "flag": FLAG,
    "version": exactly(0),
    "inner": (dict, bool, "be full"),
}


def test_keys_come_back_in_the_order_of_the_table() -> None:
    document = {"version": 0, "inner": {"x": 1}, "flag": True, "count": 1, "name": "n"}
    assert list(conform(document, TABLE, "$")) == list(TABLE)


def test_absent_scalars_are_judged_as_zero() -> None:
    assert conform({"name": "n", "count": 1}, TABLE, "$") == {
        "name": "n",
        "count": 1,
        "flag": False,
        "version": 0,
        "inner": None,
    }
    with pytest.raises(InvalidDocument) as caught:
        conform({"name": "n"}, TABLE, "$.a")
    assert caught.value.path == "$.a.count"


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (None, "$"),
        ([], "$"),
        ({"other": 1}, "$"),
        ({"name": None}, "$.name"),
        ({"name": "n", "count": True}, "$.count"),
        ({"name": "n", "count": 1, "flag": 1}, "$.flag"),
        ({"name": "n", "count": 1, "inner": {}}, "$.inner"),
        ({"name": "n", "count": 1, "inner": []}, "$.inner"),
    ],
)
def test_the_offender_is_named_by_its_path(document: object, path: str) -> None:
    with pytest.raises(InvalidDocument) as caught:
        conform(document, TABLE, "$")
    assert caught.value.path == path


def test_the_second_of_two_equal_values_is_named() -> None:
    require_unique([1, 2, 3], "$.items", "id")
    with pytest.raises(InvalidDocument) as caught:
        require_unique([1, 2, 1], "$.items", "id")
    assert caught.value.path == "$.items[2].id"
