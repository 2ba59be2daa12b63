"""Stage 1 of an Outcome: every decode rule of machine-protocol §3.1 and every field of §3.2."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.canon import encode, sha256
from slipway_lite.errors import SlipwayError
from slipway_lite.protocol.outcome import OUTCOME_LIMIT, decode_outcome
from tests.protocol.outcomes import activity, destructive, implementation, outcome, pause, raw, review, suggestion

# Every key of the contract stands in this one document, which no Action could legally get: shapes come first.
FULL = outcome(
    "implement",
    observations=["seen"],
    known_issues=["known"],
    suggested_actions=[suggestion()],
    pause=destructive() | {"supersedes_answer_action_id": "act-0"},
    implementation=implementation(files_changed=["a.py"], activities=[activity()], uncertainties=["doubt"]),
    review=review("findings_reported", 1, uncertainties=["doubt"]),
)
NULLABLE = {"$.pause", "$.implementation", "$.review", "$.pause.destructive_request"}
OPTIONAL = "$.pause.supersedes_answer_action_id"


def places(value: Any = FULL, path: str = "$") -> Iterator[str]:
    """The path of every value below the top, each array by its first item."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield f"{path}.{key}"
            yield from places(item, f"{path}.{key}")
    elif isinstance(value, list):
        for item in value[:1]:
            yield f"{path}[0]"
            yield from places(item, f"{path}[0]")


PLACES = list(places())


def steps(path: str) -> list[str | int]:
    return [
        int(part) if part.isdigit() else part for part in path[1:].replace("[", ".").replace("]", "").split(".")[1:]
    ]


def at(path: str, document: Any = FULL) -> Any:
    for step in steps(path):
        document = document[step]
    return document


def replaced(path: str, value: Any) -> dict[str, Any]:
    document = copy.deepcopy(FULL)
    *parents, last = steps(path)
    target: Any = document
    for step in parents:
        target = target[step]
    target[last] = value
    return document


def removed(path: str) -> dict[str, Any]:
    document = copy.deepcopy(FULL)
    parent, _, key = path.rpartition(".")
    del at(parent, document)[key]
    return document


def refused(source: bytes, path: str | None = "$") -> None:
    with pytest.raises(SlipwayError) as caught:
        decode_outcome(source)
    assert (caught.value.code, caught.value.exit_code) == ("invalid_outcome", 2)
    assert caught.value.details is None
    if path is not None:
        assert caught.value.path == path


def test_an_outcome_decodes_to_itself_in_wire_key_order() -> None:
    backwards = json.dumps(FULL, sort_keys=True)
    assert list(json.loads(backwards)) != list(FULL)
    assert encode(decode_outcome(backwards.encode())) == encode(FULL)


def test_exactly_one_mebibyte_is_fine_and_white_space_counts() -> None:
    source = raw(FULL)
    assert decode_outcome(source.ljust(OUTCOME_LIMIT)) == FULL
    refused(source.ljust(OUTCOME_LIMIT + 1))
    assert OUTCOME_LIMIT == 1_048_576


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b" \n",
        b"\xef\xbb\xbf" + raw(FULL),
        b"\xff" + raw(FULL),
        raw(FULL) + raw(FULL),
        raw(FULL).replace(b'"summary"', b'"\\u0073tatus"', 1),  # a duplicate of status once unescaped
        raw(FULL).replace(b'"exit_code": 0', b'"exit_code": NaN'),
        raw(FULL).replace(b'"exit_code": 0', b'"exit_code": 00'),
        raw(FULL).replace(b"seen", b"se\nen"),
        b"[" * 11_000 + b"]" * 11_000,
    ],
    ids=["empty", "blank", "bom", "utf-8", "two", "duplicate", "nan", "zero", "control", "deep"],
)
def test_what_is_not_one_strict_json_value_is_invalid_outcome(source: bytes) -> None:
    refused(source)


@pytest.mark.parametrize("value", [None, [], "x", 2, True])
def test_the_document_must_be_an_object(value: Any) -> None:
    refused(raw(value))


@pytest.mark.parametrize("path", ["$", *[place for place in PLACES if isinstance(at(place), dict)]])
@pytest.mark.parametrize("key", ["extra", "Summary", "KIND", ""])
def test_an_unknown_key_is_refused_wherever_it_stands(path: str, key: str) -> None:
    document = copy.deepcopy(FULL)
    at(path, document)[key] = 1
    refused(raw(document), path)


@pytest.mark.parametrize("path", PLACES)
def test_null_is_for_the_four_nullable_places_only(path: str) -> None:
    if path in NULLABLE:
        assert at(path, decode_outcome(raw(replaced(path, None)))) is None
    else:
        refused(raw(replaced(path, None)), path)


@pytest.mark.parametrize("path", PLACES)
@pytest.mark.parametrize("value", ["x", 1, 2.0, True, [], {}], ids=repr)
def test_another_json_type_is_refused(path: str, value: Any) -> None:
    if type(at(path)) is type(value):
        return
    refused(raw(replaced(path, value)), path)


@pytest.mark.parametrize("path", [place for place in PLACES if isinstance(at(place), int)])
@pytest.mark.parametrize("number", ["2.0", "2e0", '"2"', "true", "9223372036854775808", "-9223372036854775809"])
def test_an_integer_is_written_plainly_within_64_bits(path: str, number: str) -> None:
    source = json.dumps(replaced(path, "NUMBER")).replace('"NUMBER"', number)
    refused(source.encode(), path)


def test_the_ends_of_64_bits_and_minus_zero_are_integers() -> None:
    path = "$.implementation.activities[0].exit_code"
    for number, value in (("9223372036854775807", 2**63 - 1), ("-9223372036854775808", -(2**63)), ("-0", 0)):
        source = json.dumps(replaced(path, "NUMBER")).replace('"NUMBER"', number)
        assert at(path, decode_outcome(source.encode())) == value


@pytest.mark.parametrize("path", [place for place in PLACES if not place.endswith("]")])
def test_every_key_is_required_but_the_one_optional(path: str) -> None:
    if path == OPTIONAL:
        assert OPTIONAL.rpartition(".")[2] not in decode_outcome(raw(removed(path)))["pause"]
    elif path == "$.contract_version":
        mismatched(raw(removed(path)))
    else:
        refused(raw(removed(path)), path)


def mismatched(source: bytes) -> None:
    with pytest.raises(SlipwayError) as caught:
        decode_outcome(source)
    assert (caught.value.code, caught.value.exit_code) == ("contract_version_mismatch", 3)


@pytest.mark.parametrize("version", [-1, 0, 1, 3, 2**63 - 1])
def test_another_version_is_a_mismatch_before_anything_is_missing(version: int) -> None:
    mismatched(raw({"contract_version": version}))
    mismatched(raw(FULL | {"contract_version": version}))


def test_an_empty_object_is_a_version_mismatch() -> None:
    mismatched(b"{}")


def test_unknown_keys_and_types_come_before_the_version() -> None:
    refused(raw({"contract_version": 1, "extra": 1}), "$")
    refused(raw({"contract_version": 1, "summary": 1}), "$.summary")


def test_stage_one_does_not_look_at_meanings() -> None:
    document = outcome("nonsense", "skipped", summary="", pause=pause("budget_exhausted"))
    document["pause"]["question"] = "\x01"
    assert decode_outcome(raw(document)) == document


def test_a_lone_surrogate_escape_becomes_the_replacement_character() -> None:
    source = raw(FULL).replace(b"seen", b"se\\udc00en")
    assert decode_outcome(source)["observations"] == ["se\ufffden"]


def test_payload_vector_of_appendix_a_4_is_over_the_raw_bytes() -> None:
    source = b'{"contract_version":2}\n'
    assert sha256(source) == "sha256:4c3f9cad83e0e533f59586274a3338beaa69433e12a10c3585c08c5762c7ac07"


def test_a_refusal_says_nothing_of_what_was_handed_in() -> None:
    for document in (FULL | {"secret": 1}, FULL | {"summary": ["secret"]}):
        with pytest.raises(SlipwayError) as caught:
            decode_outcome(raw(document))
        assert "secret" not in caught.value.message


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_random_bytes_are_refused_with_one_of_two_codes(source: bytes) -> None:
    with pytest.raises(SlipwayError) as caught:
        decode_outcome(source)
    assert caught.value.code in ("invalid_outcome", "contract_version_mismatch")


@settings(deadline=None, max_examples=400)
@given(st.data())
def test_a_mutated_outcome_means_what_plain_json_says_or_is_refused(data: st.DataObject) -> None:
    source = bytearray(raw(FULL))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(source) - 1))
        kind = data.draw(st.sampled_from(["replace", "insert", "delete"]))
        byte = data.draw(st.sampled_from(b' "\\{}[],:0129-.etrufalsn\n\xc3\xff') | st.integers(0, 255))
        if kind == "replace":
            source[place] = byte
        elif kind == "insert":
            source.insert(place, byte)
        else:
            del source[place]
    try:
        document = decode_outcome(bytes(source))
    except SlipwayError as error:
        assert error.code in ("invalid_outcome", "contract_version_mismatch")
        return
    assert document == json.loads(source)
