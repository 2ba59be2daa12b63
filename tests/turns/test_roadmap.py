"""Unit rows and their dependencies (turn-contract §9)."""

from __future__ import annotations

import pytest

from slipway_lite.turns.roadmap import build_order, choose_unit, dependencies, feature_rows, fix_rows

HEAD = "| # | Slug | Status | Depends on | Title |\n|---|---|---|---|---|\n"


def ids(content: str) -> list[str]:
    return [row.id for row in feature_rows(content)]


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("| 12 | csv | planned |", ["12-csv"]),
        ("12 | csv | planned", ["12-csv"]),
        ("| 12 | `csv` | planned |", ["12-csv"]),
        ("| 12 | [csv](x) | planned |", ["12-[csv](x)"]),
        ("| 12 | csv |", []),
        ("| 5 | csv | planned |", []),
        ("| 100 | csv | planned |", []),
        ("| １２ | csv | planned |", []),
        ("| \xa012\ufeff | csv | planned |", ["12-csv"]),
        ("| 12 | | csv | planned |", ["12-csv"]),
        ("| 12 | csv | planned |\r", ["12-csv"]),
        ("| 12 | a | planned |\u2028| 13 | b | planned |", ["12-a"]),
    ],
)
def test_a_feature_row(row: str, found: list[str]) -> None:
    assert ids(row) == found


def test_an_empty_cell_shifts_the_row() -> None:
    assert feature_rows("| 12 | | csv | planned |")[0].status == "planned"
    assert feature_rows("| 12 | csv | | — | Title |")[0].status == "—"


@pytest.mark.parametrize(
    ("row", "id", "status"),
    [
        ("| 134-crash | Crash on start | in-progress |", "134-crash", "in-progress"),
        ("| `134-crash` | planned | Crash |", "134-crash", "planned"),
        ("| 134-crash | done · [#5](u) |", "134-crash", "done · [#5](u)"),
        ("| 134-crash | Crash | waiting |", "134-crash", "waiting"),
        ("| 134-crash | Crash |", "134-crash", "Crash"),
    ],
)
def test_a_fix_row(row: str, id: str, status: str) -> None:
    assert [(found.id, found.status) for found in fix_rows(row)] == [(id, status)]


@pytest.mark.parametrize(
    "row", ["| crash | x | planned |", "| 134- | x | planned |", "| 134-a b | x | y |", "| 134-a |", ""]
)
def test_no_fix_row(row: str) -> None:
    assert fix_rows(row) == []


def test_the_first_unit_in_progress_is_chosen_else_the_first_that_is_not_done() -> None:
    rows = feature_rows("|10|a|done|\n|11|b|idea|\n|12|c|IN-PROGRESS · PR #6|\n|13|d|in-progress|")
    assert choose_unit(rows) == rows[2]
    assert choose_unit(rows[:2]) == rows[1]
    assert choose_unit(rows[:1]) is None
    assert rows[2].status == "IN-PROGRESS · PR #6"


def test_dependencies_come_from_the_column_with_that_heading() -> None:
    content = (
        HEAD + "| 10 | a | done | — | A |\n| 11 | b | planned | 10, 77 | B 12 |\n| 12 | c | planned | 11-b | C |\n"
    )
    assert dependencies(content) == {"10-a": (), "11-b": ("10-a", "77"), "12-c": ("11-b",)}


def test_without_that_heading_nothing_depends_on_anything() -> None:
    assert dependencies("| 10 | a | done | 11 |") == {"10-a": ()}
    assert dependencies(HEAD + "| 10 | a | planned") == {"10-a": ()}


def test_the_build_order_puts_dependencies_first_and_leaves_out_what_is_done() -> None:
    depends: dict[str, tuple[str, ...]] = {"d": ("b", "c"), "c": ("a", "b"), "b": ("a",), "a": ()}
    assert build_order("d", depends, frozenset()) == ["a", "b", "c"]
    assert build_order("d", depends, frozenset({"a", "b"})) == ["c"]
    assert build_order("a", depends, frozenset()) == []


def test_a_cycle_of_dependencies_ends() -> None:
    assert build_order("a", {"a": ("b",), "b": ("c",), "c": ("a", "b")}, frozenset()) == ["c", "b"]


def test_a_deep_chain_of_dependencies_does_not_recurse() -> None:
    depends: dict[str, tuple[str, ...]] = {str(n): (str(n + 1),) for n in range(5000)}
    assert build_order("0", depends, frozenset())[:1] == ["5000"]
