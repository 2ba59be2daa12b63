"""The strict decoder rule by rule (machine-protocol §3.1), the one writer (§0.3), and the digests (§8.5)."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite import canon
from slipway_lite.errors import InvalidDocument

LIMIT = 1 << 20
SCALARS = st.none() | st.booleans() | st.integers(canon.INT64_MIN, canon.INT64_MAX) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


def refused(raw: bytes, limit: int = LIMIT) -> InvalidDocument:
    with pytest.raises(InvalidDocument) as caught:
        canon.decode(raw, limit)
    assert (caught.value.code, caught.value.exit_code, caught.value.path) == ("invalid_document", 2, "$")
    return caught.value


def test_the_limit_counts_every_byte_and_is_itself_allowed() -> None:
    assert canon.decode(b' "a"  ', 6) == "a"
    refused(b' "a"  ', 5)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b" \t\r\n",
        b"\xef\xbb\xbf{}",
        b'"\xff"',
        b'"\xed\xa0\x80"',  # a surrogate in UTF-8
        b'{"a":1}{}',
        b"{} x",
        b'{"a":1,"a":1}',
        b'{"a":1,"\\u0061":1}',
        b'[{"b":{"a":1,"a":2}}]',
        b'{"\\ud800":1,"\\udfff":2}',  # both keys become U+FFFD
        b"NaN",
        b"[Infinity]",
        b"-Infinity",
        b'"a\nb"',
        b'"a\x00b"',
        b"01",
        b"+1",
        b"1.",
        b".5",
        b'"\\x41"',
        b"'a'",
        b"{a:1}",
        b"[1,]",
        b"// c\n1",
        b"\x0c1",
        b"\xc2\xa0 1",
        "١".encode(),
        b"tru",
        b"[" * 100_000 + b"]" * 100_000,
    ],
    ids=repr,
)
def test_what_is_not_one_strict_json_value_is_refused(raw: bytes) -> None:
    refused(raw)


def test_a_refusal_never_repeats_what_it_found() -> None:
    assert "secret" not in refused(b'{"secret": secret}').message


@pytest.mark.parametrize(
    "raw", [b"2.0", b"2e0", b"1E400", b"9223372036854775808", b"-9223372036854775809", b"9" * 5000]
)
def test_a_number_that_is_no_64_bit_integer_keeps_its_source_text(raw: bytes) -> None:
    value = canon.decode(raw, LIMIT)
    assert isinstance(value, canon.NotAnInteger)
    assert value == raw.decode()


@pytest.mark.parametrize(
    ("raw", "value"),
    [(b"-0", 0), (b"9223372036854775807", 2**63 - 1), (b"-9223372036854775808", -(2**63)), (b"true", True)],
)
def test_integers_of_64_bits_are_integers(raw: bytes, value: Any) -> None:
    decoded = canon.decode(raw, LIMIT)
    assert (decoded, type(decoded)) == (value, type(value))


@pytest.mark.parametrize("raw", [b'"\\ud800"', b'"\\uDFFF"', b'"\\uD800\\u0041"'])
def test_a_lone_surrogate_escape_becomes_the_replacement_character(raw: bytes) -> None:
    assert canon.decode(raw, LIMIT)[0] == "\ufffd"


def test_a_surrogate_pair_is_one_character_and_a_number_beside_it_stays_a_number() -> None:
    assert canon.decode(b'["\\ud83d\\ude00",2.0]', LIMIT) == ["\U0001f600", "2.0"]
    assert isinstance(canon.decode(b'["\\ud83d\\ude00",2.0]', LIMIT)[1], canon.NotAnInteger)


@settings(deadline=None)
@given(VALUES)
def test_what_the_writer_writes_the_decoder_reads(value: Any) -> None:
    raw = canon.encode(value).encode()
    assert canon.decode(raw, len(raw)) == value
    assert b"\xe2\x80\xa8" not in raw
    assert b"\n" not in raw


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes_are_a_value_or_refused(raw: bytes) -> None:
    try:
        canon.decode(raw, LIMIT)
    except InvalidDocument as error:
        assert error.code == "invalid_document"


def test_the_writer_keeps_key_order_and_escapes_only_what_it_must() -> None:
    assert canon.encode({"b": "é<&>\u2028\u2029\x7f", "a": [None, True, -1]}) == (
        '{"b":"é<&>\\u2028\\u2029\x7f","a":[null,true,-1]}'
    )
    with pytest.raises(ValueError, match="JSON"):
        canon.encode(float("nan"))


@settings(deadline=None)
@given(st.dictionaries(st.text(), SCALARS))
def test_equal_values_have_equal_canonical_text(value: dict[str, Any]) -> None:
    assert canon.encode_canonical(dict(reversed(value.items()))) == canon.encode_canonical(value)
    assert json.loads(canon.encode_canonical(value)) == value


def test_framing_vector_of_appendix_a_1() -> None:
    assert canon.framed("a", "bc") == "sha256:3fafa1cf2f19a7c1129beb20cf0983f73a489a221fc0dd2f16d1be292d089205"


@settings(deadline=None)
@given(st.lists(st.text(max_size=3), max_size=4), st.lists(st.text(max_size=3), max_size=4))
def test_different_fields_never_share_their_framed_digest(one: list[str], other: list[str]) -> None:
    assert (canon.framed(*one) == canon.framed(*other)) == (one == other)


def test_sha256_is_over_the_bytes_as_they_are() -> None:
    assert canon.sha256(b" {}\n") == "sha256:" + sha256(b" {}\n").hexdigest()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sha256:" + "0a" * 32, True),
        ("sha256:" + "0A" * 32, False),
        ("sha256:" + "0a" * 32 + "\n", False),
        ("sha256:" + "0a" * 31 + "0", False),
        ("sha256:" + "0a" * 31 + "0g", False),
        ("sha256:" + "٠" * 64, False),
        ("SHA256:" + "0a" * 32, False),
        ("", False),
    ],
)
def test_a_digest_is_exactly_sha256_and_64_lower_case_hexadecimal_digits(text: str, expected: bool) -> None:
    assert canon.is_digest(text) is expected


def test_deep_nesting_beside_a_surrogate_escape_is_refused_like_any_other() -> None:
    for depth in range(100, 1000, 50):
        try:
            canon.decode(b"[" * depth + b'"\\ud800"' + b"]" * depth, LIMIT)
        except InvalidDocument as error:
            assert error.code == "invalid_document"


@pytest.mark.parametrize(("opened", "closed"), [(b"[", b"]"), (b'{"a":', b"}"), (b'[1,{"a":', b"}]")])
def test_containers_stand_in_each_other_up_to_a_bound_that_every_walk_survives(opened: bytes, closed: bytes) -> None:
    most = canon.DEPTH_LIMIT // (opened.count(b"[") + opened.count(b"{"))
    canon.encode(canon.decode(opened * most + b"1" + closed * most, LIMIT))
    with pytest.raises(InvalidDocument, match="nests too deep"):
        canon.decode(opened * (most + 1) + b"1" + closed * (most + 1), LIMIT)


def test_only_containers_count_as_depth() -> None:
    text = "[" * 5000
    assert canon.decode(b'["' + text.encode() + b'"]', LIMIT) == [text]
    assert canon.decode(b'"' + text.encode() + b'"', LIMIT) == text
    assert canon.decode(b"[" + b",".join([b"[{}]"] * 1000) + b"]", LIMIT) == [[{}]] * 1000


MEGABYTES = 4 * 1024 * 1024


@pytest.mark.parametrize("item", [b"{},", b"[],", b'"ab",', b"1,", b'{"a":1},', b'[""],'])
def test_megabytes_of_small_values_are_refused_before_they_are_made(item: bytes) -> None:
    with pytest.raises(InvalidDocument, match="more values than its size warrants"):
        canon.decode(b"[" + item * (3 * MEGABYTES // len(item)) + b"0]", 4 * MEGABYTES)


@pytest.mark.parametrize("text", ["[],{},", '\\"[],', "1,2,3,"])
def test_what_stands_in_a_text_is_no_value(text: str) -> None:
    value = [text * (MEGABYTES // len(text)), 1]
    assert canon.decode(canon.encode(value).encode(), 2 * MEGABYTES) == value


def test_a_document_of_less_than_a_megabyte_may_hold_nothing_but_values() -> None:
    assert len(canon.decode(b"[" + b"[]," * 250_000 + b"0]", MEGABYTES)) == 250_001


@pytest.mark.parametrize("number", ["9" * 5000, "1e999"])
def test_half_a_pair_is_found_beside_a_number_that_python_has_not(number: str) -> None:
    assert canon.has_half_a_pair(f'{{"a":"\\ud800","b":{number}}}')
    assert not canon.has_half_a_pair(f'{{"a":"\\ud83d\\ude00","b":{number}}}')
