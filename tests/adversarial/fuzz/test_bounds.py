"""Time in proportion to the input and memory of at most ten times the input, on inputs made to hurt."""

from __future__ import annotations

import pytest

from tests.adversarial.fuzz.measure import (
    BARE,
    MEMORY_FACTOR,
    MEMORY_FLOOR,
    distinct_paths,
    inputs_of,
    peak,
    seconds,
)
from tests.adversarial.scale import scaled

SMALL = scaled(8 * 1024, 32 * 1024)
GROWTH = 4
SLACK = 2.5
"""Of a growth by four, a quadratic decoder makes sixteen; a linear one stays below ten however the caches fall."""
UNMEASURABLE = 0.02
"""Seconds below which a clock tells nothing."""
LARGE = scaled(16 * 1024, 256 * 1024)


@pytest.mark.adversarial
@pytest.mark.parametrize("name", BARE)
def test_time_grows_in_proportion(name: str) -> None:
    decode = BARE[name]
    for small, large in zip(inputs_of(SMALL), inputs_of(SMALL * GROWTH), strict=True):
        for _ in range(3):
            before, after = seconds(decode, small), seconds(decode, large)
            if after <= max(before, UNMEASURABLE) * GROWTH * SLACK:
                break
        else:
            pytest.fail(
                f"{name}: {len(small)} bytes take {before:.3f} s, {len(large)} take {after:.3f} s: {large[:40]!r}"
            )


@pytest.mark.adversarial
@pytest.mark.parametrize("name", BARE)
def test_memory_stays_below_ten_times_the_input_and_a_floor(name: str) -> None:
    for raw in [*inputs_of(LARGE), distinct_paths(LARGE)]:
        assert peak(BARE[name], raw) <= MEMORY_FACTOR * len(raw) + MEMORY_FLOOR, raw[:40]


LARGEST = scaled(4, 16) * 1024 * 1024


@pytest.mark.adversarial
@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("protocol.envelope", b"[" + b"{}," * (LARGEST // 3 - 2) + b"0]"),
        ("protocol.envelope", b"[" + b'"ab",' * (LARGEST // 5 - 2) + b"0]"),
        ("protocol.envelope", b'{"body":"' + b"[],{}," * (LARGEST // 6 - 4) + b'"}'),
        ("turns.turn", b"```json\n[" + b'{"a":1},' * (LARGEST // 8 - 4) + b"0]\n```"),
        ("turns.line", b"[" + b"[]," * (LARGEST // 3 - 2) + b"0]"),
        ("observe.document", b"[" + b'[""],' * (LARGEST // 5 - 2) + b"0]"),
    ],
    ids=["objects", "strings", "text", "block", "line", "document"],
)
def test_the_largest_documents_stay_below_ten_times_their_size(name: str, raw: bytes) -> None:
    assert peak(BARE[name], raw) <= MEMORY_FACTOR * len(raw) + MEMORY_FLOOR


def test_the_measures_measure() -> None:
    def quadratic(raw: bytes) -> None:
        for _ in raw:
            raw.count(b"x")

    small, large = seconds(quadratic, b"a" * 4000), seconds(quadratic, b"a" * 64000)
    assert large > 20 * small
    assert 1_000_000 <= peak(lambda raw: raw * 1000, b"a" * 1000) <= 1_100_000
