"""The unit rows of a roadmap and of a fix index: Markdown table rows, read as the published compiler reads them.

A row is split at ``|``, its cells are trimmed and the empty ones dropped, so that an empty cell shifts the row.
(turn-contract §9)
"""

from __future__ import annotations

from typing import NamedTuple

from slipway_lite.turns.ecma import pattern, trim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

IN_PROGRESS, DONE, IDEA = "in-progress", "done", "idea"
STATUS_WORDS = (IDEA, "planned", IN_PROGRESS, DONE)
"""The words by which the status column of a fix index is recognised; its layout is not published."""

_FEATURE_NUMBER = pattern(r"\d\d\Z")
_FIX_ID = pattern(r"\d+-[A-Za-z0-9._-]+\Z")
_NUMBER = pattern(r"(?<!\d)\d\d(?!\d)")
_DEPENDS_ON = "depends on"


class UnitRow(NamedTuple):
    """One unit: its id (``12-csv``), its status cell as written, the row it stands in."""

    id: str
    status: str
    line: str

    @property
    def word(self) -> str:
        """The status for comparison: the text before the first middle dot, in lower case."""
        return status_word(self.status)


def status_word(status: str) -> str:
    return trim(status.partition("·")[0]).lower()


def _cells(line: str) -> list[str]:
    return [cell for cell in map(trim, line.split("|")) if cell]


def feature_rows(content: str) -> list[UnitRow]:
    """The units of a roadmap: rows of a number of exactly two digits, a slug, a status."""
    rows = []
    for line in content.split("\n"):
        cells = _cells(line)
        if len(cells) >= 3 and _FEATURE_NUMBER.match(cells[0]):
            slug = cells[1].removeprefix("`").removesuffix("`")
            rows.append(UnitRow(f"{cells[0]}-{slug}", cells[2], line))
    return rows


def fix_rows(content: str) -> list[UnitRow]:
    """The units of a fix index: rows that start with an id such as ``134-crash``.

    The status is the first later cell that reads as a status word, else the third cell, as in a roadmap.
    """
    rows = []
    for line in content.split("\n"):
        cells = _cells(line)
        name = cells[0].replace("`", "") if len(cells) >= 2 else ""
        if _FIX_ID.match(name):
            known = (cell for cell in cells[1:] if status_word(cell) in STATUS_WORDS)
            rows.append(UnitRow(name, next(known, cells[min(2, len(cells) - 1)]), line))
    return rows


def choose_unit(rows: Sequence[UnitRow]) -> UnitRow | None:
    """The first row in progress, else the first that is not done."""
    in_progress = (row for row in rows if row.word == IN_PROGRESS)
    return next(in_progress, None) or next((row for row in rows if row.word != DONE), None)


def dependencies(content: str) -> dict[str, tuple[str, ...]]:
    """Feature id to the ids it depends on, from the column that a header row calls "Depends on".

    A dependency is written as the two-digit number of another row; a number without a row is kept as it is, so that
    it counts as unmet.
    """
    lines = content.split("\n")
    column = next((place for line in lines if (place := _column(line)) is not None), None)
    rows = feature_rows(content)
    ids = {row.id[:2]: row.id for row in rows}
    if column is None:
        return {row.id: () for row in rows}
    found: dict[str, tuple[str, ...]] = {}
    for row in rows:
        cells = row.line.split("|")
        numbers = _NUMBER.findall(cells[column]) if column < len(cells) else []
        found[row.id] = tuple(ids.get(number, number) for number in dict.fromkeys(numbers))
    return found


def _column(line: str) -> int | None:
    cells = [trim(cell).lower() for cell in line.split("|")]
    return cells.index(_DEPENDS_ON) if _DEPENDS_ON in cells else None


def build_order(unit: str, depends: dict[str, tuple[str, ...]], done: frozenset[str]) -> list[str]:
    """What must be built before ``unit``, dependencies first; a cycle is walked once."""
    order: list[str] = []
    seen = {unit}
    stack = [(unit, iter(depends.get(unit, ())))]
    while stack:
        current, rest = stack[-1]
        needed = next(rest, None)
        if needed is None:
            stack.pop()
            if current != unit:
                order.append(current)
        elif needed not in seen and needed not in done:
            seen.add(needed)
            stack.append((needed, iter(depends.get(needed, ()))))
    return order
