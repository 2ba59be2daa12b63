"""The two sources of what a Run cannot derive: ids and times."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from uuid import RFC_4122, UUID

from slipway_lite import clock, ids


def test_an_id_is_a_lower_case_uuid_version_4_of_the_rfc_variant() -> None:
    for _ in range(200):
        identifier = ids.uuid4()
        parsed = UUID(identifier)
        assert (str(parsed), parsed.version, parsed.variant) == (identifier, 4, RFC_4122)


def test_ids_differ() -> None:
    assert len({ids.uuid4() for _ in range(1000)}) == 1000


def test_a_timestamp_is_now_in_rfc_3339_utc() -> None:
    stamp = clock.timestamp()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", stamp)
    assert abs(datetime.fromisoformat(stamp) - datetime.now(UTC)) < timedelta(seconds=30)


def test_text_order_of_timestamps_is_time_order() -> None:
    stamps = [clock.timestamp() for _ in range(500)]
    assert stamps == sorted(stamps)
    assert {len(stamp) for stamp in stamps} == {27}


def test_a_pause_lasts_on_the_monotonic_clock() -> None:
    before = clock.monotonic()
    clock.pause(0.02)
    assert 0.02 <= clock.monotonic() - before < 5
    assert abs(clock.monotonic() - time.monotonic()) < 1
