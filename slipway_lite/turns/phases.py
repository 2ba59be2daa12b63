"""The phases of a unit: the headings of its SPEC and the receipts of its progress file (turn-contract §9)."""

from __future__ import annotations

from typing import NamedTuple

from slipway_lite.turns.ecma import DOT, LINE_START, S, pattern

_HEADING = pattern(rf"#{{2,4}}{S}+P(\d+){S}+[—-]{S}+({DOT}+?){S}*\Z")
_DONE = pattern(rf"{LINE_START}-{S}*Done:{S}*(P\d+)\b")
_REMAINS = pattern(rf"{LINE_START}-{S}*Remains:{S}*(P\d+)\b")


class Phase(NamedTuple):
    """One phase heading: ``P1``, its name with an em dash, and the line as it stands in the SPEC."""

    id: str
    name: str
    line: str


class Receipts(NamedTuple):
    """What a progress file declares: the completed phases, each once, and the first remaining one."""

    done: tuple[str, ...]
    remains: str | None


def read_phases(spec: str) -> list[Phase]:
    """The headings of level 2 to 4 that read ``P<digits> — title``; a repeated one counts again."""
    found = ((_HEADING.match(line), line) for line in spec.split("\n"))
    return [Phase(f"P{match[1]}", f"P{match[1]} — {match[2]}", line) for match, line in found if match]


def read_receipts(progress: str) -> Receipts:
    """The lines at column 0 ``- Done: P<n>`` and ``- Remains: P<n>``; only the first phase of a line counts."""
    remains = _REMAINS.search(progress)
    return Receipts(tuple(dict.fromkeys(_DONE.findall(progress))), remains[1] if remains else None)
