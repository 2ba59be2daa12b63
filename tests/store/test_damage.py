"""Whatever happens to the bytes of the file: a problem is named, the file is refused, or no row has changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.errors import SlipwayError
from slipway_lite.store.reading import read_store
from tests.store.files import dump
from tests.store.tampering import problems


def spoiled(path: Path, spoil: Callable[[bytearray], None]) -> None:
    wanted = read_store(str(path), lambda store: dump(store.connection))
    raw = bytearray(path.read_bytes())
    spoil(raw)
    copy = path.with_name("spoiled.db")
    copy.write_bytes(raw)
    try:
        if not problems(copy):
            assert read_store(str(copy), lambda store: dump(store.connection)) == wanted
    except SlipwayError as error:
        assert error.code in ("database_unreadable", "database_foreign", "database_too_new", "database_outdated",
                              "database_blank", "database_unavailable", "database_failed")  # fmt: skip


def test_a_flipped_byte_anywhere_is_named_or_harmless(pristine: Path) -> None:
    """All of them: tests/adversarial/test_tamper_pages.py."""
    size = pristine.stat().st_size

    @settings(max_examples=120, deadline=None)
    @given(st.integers(0, size - 1), st.integers(1, 255))
    def campaign(position: int, mask: int) -> None:
        def flip(raw: bytearray) -> None:
            raw[position] ^= mask

        spoiled(pristine, flip)

    campaign()


@pytest.mark.parametrize("kept", [0, 1, 99, 100, 4095, 4096, 8192, 20000])
def test_a_file_cut_short_is_refused_or_named(pristine: Path, kept: int) -> None:
    def cut(raw: bytearray) -> None:
        del raw[kept:]

    spoiled(pristine, cut)
