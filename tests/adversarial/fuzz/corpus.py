"""The seeds kept in the repository: one file a target, one input a line, to be read by people.

A line is a JSON string where the input is UTF-8, else ``{"base64": …}``.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from pathlib import Path

SEEDS = Path(__file__).parent / "seeds"


def path_of(name: str) -> Path:
    return SEEDS / f"{name}.jsonl"


def load(name: str) -> list[bytes]:
    """Every kept input of the target ``name``; none where there is no file."""
    path = path_of(name)
    return [_unpacked(line) for line in path.read_text("utf-8").split("\n") if line] if path.exists() else []


def save(name: str, inputs: Iterable[bytes]) -> None:
    """Keep ``inputs``, sorted and without repetitions."""
    lines = [_packed(raw) for raw in sorted(set(inputs), key=lambda raw: (len(raw), raw))]
    path_of(name).write_text("".join(line + "\n" for line in lines), "utf-8")


def _packed(raw: bytes) -> str:
    try:
        return json.dumps(raw.decode())
    except UnicodeDecodeError:
        return json.dumps({"base64": base64.b64encode(raw).decode("ascii")})


def _unpacked(line: str) -> bytes:
    value = json.loads(line)
    return value.encode() if isinstance(value, str) else base64.b64decode(value["base64"])
