"""Reads an installed capability as a host would: fenced blocks by name, tables by their heading row."""

from __future__ import annotations

import json
import re
from typing import Any

_FENCE = re.compile(r"^(?P<ticks>`{3,})(?P<language>\w+) (?P<name>[\w-]+)\n(?P<text>.*?)^(?P=ticks)$", re.M | re.S)


def fences(text: str) -> dict[str, tuple[str, str]]:
    """Name to (language, content) of every named fenced block."""
    return {match["name"]: (match["language"], match["text"]) for match in _FENCE.finditer(text)}


def block(text: str, name: str) -> Any:
    """The JSON value in the block of that name."""
    language, content = fences(text)[name]
    assert language == "json"
    return json.loads(content)


def python(text: str, name: str) -> dict[str, Any]:
    """What the Python block of that name defines."""
    language, content = fences(text)[name]
    assert language == "python"
    defined: dict[str, Any] = {}
    exec(content, defined)
    return defined


def table(text: str, *columns: str) -> list[dict[str, str]]:
    """The rows of the one table with these columns, without backticks."""
    lines = text.split("\n")
    start = lines.index("| " + " | ".join(columns) + " |")
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        cells = [cell.strip().replace("`", "") for cell in line.strip("|").split(" | ")]
        rows.append(dict(zip(columns, cells, strict=True)))
    return rows
