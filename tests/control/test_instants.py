from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite import clock
from slipway_lite.control import instants


def test_the_wire_form_is_milliseconds_and_z() -> None:
    assert instants.from_micros("2026-01-02T03:04:05.678901Z") == "2026-01-02T03:04:05.678Z"
    assert len(instants.from_micros(clock.timestamp())) == 24


@pytest.mark.parametrize(
    ("text", "wire"),
    [
        ("2026-07-12T00:00:00Z", "2026-07-12T00:00:00.000Z"),
        ("2026-07-12t09:00:00.5+09:00", "2026-07-12T00:00:00.500Z"),
        ("2026-07-12T00:00:00.123456789Z", "2026-07-12T00:00:00.123Z"),
        ("0001-01-02T00:00:00Z", "0001-01-02T00:00:00.000Z"),
    ],
)
def test_every_rfc_3339_time_has_one_wire_form(text: str, wire: str) -> None:
    assert instants.normalised(text) == wire


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-07-12",
        "2026-07-12T00:00:00",
        "2026-13-01T00:00:00Z",
        "2026-07-12T00:00:00+9",
        "0001-01-01T00:00:00+01:00",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        instants.parse(text)


@settings(deadline=None)
@given(st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(2900, 1, 1)), st.integers(0, 10**6))
def test_adding_seconds_keeps_text_order_time_order(moment: datetime, seconds: int) -> None:
    start = instants.render(moment.replace(tzinfo=UTC))
    end = instants.later(start, seconds)
    assert (end >= start) and instants.milliseconds(end) - instants.milliseconds(start) == seconds * 1000
