"""Phase headings and progress receipts (turn-contract §9)."""

from __future__ import annotations

import pytest

from slipway_lite.turns.phases import read_phases, read_receipts


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("## P1 - A", ["P1 — A"]),
        ("### P2 — B", ["P2 — B"]),
        ("#### P3 — C \t", ["P3 — C"]),
        ("## P4 — D\r", ["P4 — D"]),
        ("##\xa0P5 — E", ["P5 — E"]),
        ("# P0 — no", []),
        ("##### P0 — no", []),
        ("##P0 — no", []),
        ("## P0: no", []),
        ("## P — no", []),
        ("## P１ — no", []),
        (" ## P0 — no", []),
        ("## P0 — a\u2028b", []),
        ("## P1 — A\n## P1 — B", ["P1 — A", "P1 — B"]),
    ],
)
def test_a_phase_heading(line: str, names: list[str]) -> None:
    assert [phase.name for phase in read_phases(line)] == names


def test_a_phase_keeps_its_id_and_its_line() -> None:
    assert read_phases("x\n## P12 - A \n") == [("P12", "P12 — A", "## P12 - A ")]


@pytest.mark.parametrize(
    ("progress", "done"),
    [
        ("- Done: P1\n- Done: P2\n- Done: P1\n", ("P1", "P2")),
        ("- Done: P1, P2", ("P1",)),
        ("-Done:P1", ("P1",)),
        ("-\nDone:\n\nP1", ("P1",)),
        ("- Done: P1あ", ("P1",)),
        ("x\r- Done: P1\u2028- Done: P2", ("P1", "P2")),
        ("- Done: P1a", ()),
        ("- done: P1", ()),
        ("* Done: P1", ()),
        (" - Done: P1", ()),
        ("Done: P1", ()),
    ],
)
def test_completed_receipts(progress: str, done: tuple[str, ...]) -> None:
    assert read_receipts(progress).done == done


@pytest.mark.parametrize(
    ("progress", "remains"),
    [("- Remains: P2\n- Remains: P1", "P2"), ("-\nRemains: P2", "P2"), ("- remains: P2", None), ("", None)],
)
def test_the_first_remaining_receipt_wins(progress: str, remains: str | None) -> None:
    assert read_receipts(progress).remains == remains
