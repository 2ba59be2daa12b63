"""Every byte of the file itself, changed alone: named, refused, or it says nothing and every row reads as before."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.errors import SlipwayError
from slipway_lite.store import gate
from slipway_lite.store.connection import Store
from slipway_lite.store.reading import read_store
from slipway_lite.store.verify import verify
from tests.adversarial.pages import unused
from tests.adversarial.scale import scaled
from tests.store.files import TABLES
from tests.store.tampering import PROJECTORS

STRIDE = scaled(199, 1)
"""Of the bytes that are in use a run changes one in so many."""
UNUSED_STRIDE = scaled(4001, 64)
"""And of those that are not."""
PARTS = scaled(2, 16)
OUTCOMES = {"named", "refused", "says nothing", "outside of the record"}
REFUSALS = {
    "database_unreadable", "database_foreign", "database_too_new", "database_outdated", "database_blank",
    "database_unavailable", "database_failed",
}  # fmt: skip


NOT_VERIFIED = ("_leases", "_locks", "_instances", "_repositories", "_sqlite_migrations")
"""What may be lost, how this place is set up, and the list of the migrations: no rows of the record."""


def everything_in(store: Store, tables: tuple[str, ...] = TABLES) -> list[Any]:
    return [store.rows(f"select * from {table}") for table in tables]


def looked_at(store: Store, wanted: list[Any], others: list[Any]) -> str:
    """What becomes of a changed byte: the facts are verified first, the projections only where any row differs."""
    if verify(store, ())["problems"]:
        return "named"
    if everything_in(store) == wanted:
        return "says nothing" if everything_in(store, NOT_VERIFIED) == others else "outside of the record"
    assert verify(store, PROJECTORS)["problems"], "a row has changed, and nothing is named"
    return "named"


class File:
    """A file of which one byte at a time is changed."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.raw = path.read_bytes()
        self.wanted = read_store(self.path, everything_in)
        self.others = read_store(self.path, lambda store: everything_in(store, NOT_VERIFIED))
        self.unused = unused(self.raw)

    def changed(self, position: int, mask: int) -> str:
        self._write(position, self.raw[position] ^ mask)
        try:
            return read_store(self.path, lambda store: looked_at(store, self.wanted, self.others), as_it_is=True)
        except SlipwayError as error:
            assert error.code in REFUSALS
            return "refused"
        finally:
            self._write(position, self.raw[position])

    def _write(self, position: int, byte: int) -> None:
        gate.forget()
        descriptor = os.open(self.path, os.O_WRONLY)
        os.pwrite(descriptor, bytes([byte]), position)
        os.close(descriptor)

    def positions(self, part: int, parts: int, stride: int, unused_stride: int) -> list[int]:
        chosen = [p for p in range(len(self.raw)) if p not in self.unused][::stride]
        chosen += sorted(self.unused)[::unused_stride]
        return chosen[part::parts]

    def campaign(self, positions: list[int]) -> Counter[tuple[str, str]]:
        """How often which outcome came of changing a byte in use, or one that is not."""
        outcomes: Counter[tuple[str, str]] = Counter()
        for position in positions:
            use = "unused" if position in self.unused else "in use"
            outcomes[use, self.changed(position, 1 << position % 8)] += 1
        return outcomes


@pytest.fixture
def file(everything: Path, tmp_path: Path) -> File:
    return File(Path(shutil.copy(everything, tmp_path / "slipway.db")))


@pytest.mark.adversarial
@pytest.mark.parametrize("part", range(PARTS))
def test_every_byte_of_the_file_is_named_refused_or_says_nothing(file: File, part: int) -> None:
    positions = file.positions(part, PARTS, STRIDE, UNUSED_STRIDE)
    outcomes = file.campaign(positions)
    print(f"part {part} of {PARTS}: {len(positions)} of {len(file.raw)} bytes: {dict(outcomes)}")
    assert {outcome for use, outcome in outcomes if use == "unused"} == {"says nothing"}
    assert {outcome for _, outcome in outcomes} <= OUTCOMES
    assert sum(outcomes.values()) == len(positions)


@pytest.mark.parametrize("mask", [1, 128])
def test_every_fifth_byte_of_the_header_is_named_refused_or_says_nothing(file: File, mask: int) -> None:
    assert {file.changed(position, mask) for position in range(0, 100, 5)} <= OUTCOMES


def test_some_bytes_everywhere_are_named_refused_or_say_nothing(file: File) -> None:
    outcomes = file.campaign(file.positions(0, 1, 1999, 20011))
    assert outcomes["in use", "named"] > 20 and outcomes["unused", "says nothing"] > 5
