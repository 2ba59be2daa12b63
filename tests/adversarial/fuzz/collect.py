"""From what a campaign kept to the seeds of the repository: the smallest inputs that together reach what all reach.

``python -m tests.adversarial.fuzz.collect DIRECTORY`` takes the directory that ``campaign --keep`` filled.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import slipway_lite
from tests.adversarial.fuzz import corpus
from tests.adversarial.fuzz.table import TARGETS
from tests.adversarial.fuzz.target import Target, execute

LONGEST = 3000
MOST = 40
"""Bytes of one seed and seeds of one target: the whole corpus is to be read, and replayed in a few seconds."""

_PACKAGE = str(Path(slipway_lite.__file__).parent)

Step = tuple[CodeType, int, int]


def reached(target: Target, raw: bytes) -> set[Any]:
    """The steps from line to line of our own modules that one execution takes, and how it ends."""
    steps: set[Any] = set()

    def traced(frame: FrameType, event: str, _: object) -> Any:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return None
        before = 0

        def line(inner: FrameType, kind: str, _: object) -> Any:
            nonlocal before
            if kind == "line":
                steps.add((inner.f_code, before, inner.f_lineno))
                before = inner.f_lineno
            return line

        return line

    sys.settrace(traced)
    try:
        end = execute(target, raw)
    finally:
        sys.settrace(None)
    return steps | {end}


def minimised(target: Target, inputs: Iterable[bytes]) -> list[bytes]:
    """The inputs, from the smallest on, that reach something that no smaller one reached."""
    seen: set[Any] = set()
    kept = []
    for raw in sorted({raw for raw in inputs if len(raw) <= LONGEST}, key=lambda raw: (len(raw), raw)):
        if len(kept) == MOST:
            break
        found = reached(target, raw)
        if not found <= seen:
            seen |= found
            kept.append(raw)
    return kept


def main() -> None:
    directory = Path(sys.argv[1])
    for name, target in TARGETS.items():
        found = (
            [path.read_bytes() for path in sorted((directory / name).glob("*"))] if (directory / name).exists() else []
        )
        starts = [*target.starts()]
        corpus.save(name, minimised(target, [*starts, *corpus.load(name), *found]))
        print(f"{name:36} {len(found):>6} -> {len(corpus.load(name))}")


if __name__ == "__main__":
    main()
