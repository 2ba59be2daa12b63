"""Lines of a journal: which bytes are a record, and what a torn tail is (machine-protocol §6.2, §6.4, §6.6)."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.protocol.imported.lines import RECORD_LIMIT, CorruptLine, Line, records

AT = "2026-07-12T09:00:00.5Z"


def line(sequence: int = 1, data: str = '{"a":1}', **more: Any) -> bytes:
    head = json.dumps({"sequence": sequence, "type": "run_started", "at": AT} | more)
    return (head[:-1] + f', "data": {data}}}').encode()


def read(raw: bytes) -> list[Line]:
    return list(records(io.BytesIO(raw).readline))


def corrupt(raw: bytes) -> tuple[int, str]:
    with pytest.raises(CorruptLine) as caught:
        read(raw)
    return caught.value.number, str(caught.value)


def padded(size: int) -> bytes:
    """A record of exactly ``size`` bytes, its line feed not counted."""
    return line(data='{"a":"' + "x" * (size - len(line(data='{"a":""}'))) + '"}')


def test_a_record_keeps_the_very_text_of_its_data() -> None:
    text = '{ "b" : [1,\t2, "\\u2028 \\u00e9 é"] ,"a":{"data":"}"} }'
    (found,) = read(line(data=text) + b"\n")
    assert (found.number, found.sequence, found.at, found.type, found.data) == (1, 1, AT, "run_started", text)


@pytest.mark.parametrize("order", [("data", "at", "type", "sequence"), ("type", "data", "sequence", "at")])
def test_the_text_of_data_is_found_wherever_it_stands(order: tuple[str, ...]) -> None:
    values = {"sequence": "1", "type": '"data"', "at": json.dumps(AT), "data": '{"data":"x"}'}
    raw = " { " + " , ".join(f'"{name}"\t: {values[name]}' for name in order) + " } "
    assert [found.data for found in read(raw.encode() + b"\n")] == ['{"data":"x"}']
    assert [found.data for found in read(raw.replace('"data"\t', '"d\\u0061ta"\t').encode() + b"\n")] == [
        '{"data":"x"}'
    ]


def test_blank_lines_are_no_records_and_count_as_lines() -> None:
    raw = b"\n \t\r\n" + line() + b"\r\n\n" + line(2) + b"\n\n  "
    assert [(found.number, found.sequence) for found in read(raw)] == [(3, 1), (5, 2)]


def test_an_empty_journal_has_no_records() -> None:
    assert read(b"") == read(b"\n\n") == read(b"  ") == []


def test_a_last_line_without_a_line_feed_counts_if_it_decodes() -> None:
    assert [found.sequence for found in read(line() + b"\n" + line(2))] == [1, 2]


def test_every_cut_of_the_last_record_is_a_torn_tail() -> None:
    whole = line(2)
    for size in range(len(whole)):
        assert [found.sequence for found in read(line() + b"\n" + whole[:size])] == [1]


def test_every_cut_of_a_record_that_is_terminated_is_corruption() -> None:
    whole = line(2)
    for size in range(1, len(whole)):
        assert corrupt(line() + b"\n" + whole[:size] + b"\n")[0] == 2


def test_a_tail_that_decodes_is_no_torn_tail_and_has_to_follow() -> None:
    assert corrupt(line() + b"\n" + line(3)) == (2, "the sequence is not 2")


@pytest.mark.parametrize("sequence", [0, 2, -1, 1 << 63])
def test_the_sequence_starts_at_1(sequence: int) -> None:
    assert corrupt(line(sequence) + b"\n")[0] == 1


@pytest.mark.parametrize("second", [1, 3, 4])
def test_the_sequence_goes_up_by_exactly_1(second: int) -> None:
    assert corrupt(line() + b"\n" + line(second) + b"\n") == (2, "the sequence is not 2")


@pytest.mark.parametrize(
    "raw",
    [
        b"null",
        b"[]",
        b"{}",
        b"\xef\xbb\xbf" + line(),
        line() + line(2),
        line() + b" x",
        line(type="x\xe9").replace(b"\\u00e9", b"\xe9"),
        line(more=1),
        line()[:-1] + b',"sequence":1}',
        line(data='{"a":1,"a":1}'),
        line(data='{"a":1,"\\u0061":1}'),
        line(data="[]"),
        line(data="null"),
        line(data="NaN"),
        line(sequence="1"),  # type: ignore[arg-type]
        line(sequence=1.0),  # type: ignore[arg-type]
        line(sequence=True),
        line(type=1),
        line(type=None),
        line(at=None),
        line(data="[" * 100_000),
        b'{"sequence":1,"type":"run_started","at":"' + AT.encode() + b'"}',
    ],
)
def test_a_terminated_line_that_is_no_record_is_corruption(raw: bytes) -> None:
    assert corrupt(raw + b"\n")[0] == 1
    assert read(raw) == [], "and without its line feed it was never written"


@pytest.mark.parametrize(
    "at",
    [
        "0001-01-01T00:00:00Z",
        "",
        "2026-07-12",
        "2026-07-12T09:00:00",
        "2026-07-12T09:00:00+00:00",
        "2026-07-12T09:00:00+02:00",
        "2026-07-12t09:00:00z",
        "2026-13-12T09:00:00Z",
        "2026-07-32T09:00:00Z",
        "2026-02-29T09:00:00Z",
        "0000-01-01T09:00:00Z",
        "2026-07-12T24:00:00Z",
        "2026-07-12T09:60:00Z",
        "2026-07-12T09:00:00.Z",
        "2026-07-12T09:00:00.1234567890Z",
        "2026-07-12T09:00:00Z ",
        "2026-07-12T09:00:00Z\n",
        "２026-07-12T09:00:00Z",
    ],
)
def test_a_time_is_rfc_3339_in_utc_and_not_zero(at: str) -> None:
    assert corrupt(line(at=at) + b"\n")[0] == 1


def test_a_record_of_exactly_4_mib_is_read_and_one_byte_more_is_corruption() -> None:
    assert len(read(padded(RECORD_LIMIT - 1) + b"\n" + line(2) + b"\n")) == 2
    assert corrupt(padded(RECORD_LIMIT) + b"\n")[0] == 1
    assert corrupt(line() + b"\n" + padded(3 * RECORD_LIMIT) + b"\n" + line(2))[0] == 2
    assert corrupt(b" " * (2 * RECORD_LIMIT) + line() + b"\n")[0] == 1


def test_an_overlong_tail_is_dropped() -> None:
    assert len(read(padded(RECORD_LIMIT - 1))) == 1
    for size in (RECORD_LIMIT, 3 * RECORD_LIMIT):
        assert [found.sequence for found in read(line() + b"\n" + padded(size))] == [1]


@settings(deadline=None, max_examples=300)
@given(st.binary(max_size=200), st.integers(0, 60))
def test_bytes_are_records_or_corruption_and_nothing_else(junk: bytes, place: int) -> None:
    whole = line() + b"\n" + line(2) + b"\n"
    for raw in (junk, whole[:place] + junk + whole[place:]):
        try:
            assert [found.sequence for found in read(raw)] == list(range(1, len(read(raw)) + 1))
        except CorruptLine as error:
            assert 1 <= error.number <= raw.count(b"\n") + 1


@pytest.mark.parametrize("number", ["9" * 5000, "-" + "9" * 5000, "1e999"])
def test_a_number_in_data_is_text_however_long_it_is(number: str) -> None:
    data = f'{{"a":{number}}}'
    assert [found.data for found in read(line(data=data) + b"\n")] == [data]
