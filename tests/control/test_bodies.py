from __future__ import annotations

import pytest

from slipway_lite.control.bodies import BODY_LIMIT, decode_body
from slipway_lite.control.refusals import Refused


def test_numbers_are_numbers() -> None:
    assert decode_body(b'{"a":1.5,"b":[1e2,7],"c":{"d":-0.0}}') == {"a": 1.5, "b": [100.0, 7], "c": {"d": -0.0}}
    assert decode_body(b'{"big":123456789012345678901234567890}') == {"big": 1.2345678901234568e29}


@pytest.mark.parametrize(
    "raw", [b"", b"  ", b"{", b'{"a":1,"a":2}', b"NaN", b"1e999", b"\xff", b"\xef\xbb\xbf{}", b"{} x", b"[" * 100_000]
)
def test_anything_but_one_strict_value_is_400(raw: bytes) -> None:
    with pytest.raises(Refused) as refused:
        decode_body(raw)
    assert (refused.value.code, refused.value.status) == ("INVALID_REQUEST", 400)


@pytest.mark.parametrize("depth", [101, 498, 505, 990])
def test_a_body_deeper_than_any_walk_is_400(depth: int) -> None:
    for raw in (b"[" * depth + b"1.5" + b"]" * depth, b'{"a":' * depth + b"1.5" + b"}" * depth):
        with pytest.raises(Refused) as refused:
            decode_body(raw)
        assert (refused.value.code, refused.value.status) == ("INVALID_REQUEST", 400)


def test_a_body_over_the_cap_is_413() -> None:
    assert decode_body(b'"' + b"a" * (BODY_LIMIT - 2) + b'"') == "a" * (BODY_LIMIT - 2)
    with pytest.raises(Refused) as refused:
        decode_body(b'"' + b"a" * (BODY_LIMIT - 1) + b'"')
    assert (refused.value.code, refused.value.status) == ("BODY_TOO_LARGE", 413)
