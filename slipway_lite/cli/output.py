"""What our own commands print: exactly one document on standard output, everything else on standard error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from slipway_lite.canon import encode
from slipway_lite.cli import streams
from slipway_lite.cli.human import harmless
from slipway_lite.errors import SlipwayError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


def emit(document: Any, as_json: bool, lines: Iterable[str]) -> None:
    """Print ``document`` as one JSON line, exactly, or ``lines`` for people, harmless to their terminal.

    Raises ``output_failed`` when it is not taken.
    """
    put(encode(document) + "\n" if as_json else "".join(f"{harmless(line)}\n" for line in lines))


def put(text: str) -> None:
    """Print ``text`` as it is. Raises ``output_failed`` when it is not taken."""
    try:
        streams.write(1, text)
    except OSError as error:
        raise output_failed() from error


def output_failed() -> SlipwayError:
    told = "The answer could not be written to standard output. What the command has written is on record."
    return SlipwayError("output_failed", told)


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """Left-aligned columns, for people."""
    cells = [list(headings), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headings))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def progress(label: str) -> Callable[[int, int], None] | None:
    """A progress line on standard error when that is a terminal, else ``None``."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, total: int) -> None:
        sys.stderr.write(f"\r{label} {done}/{total}" + ("\n" if done == total else ""))
        sys.stderr.flush()

    return show
