"""Documents cut into chunks by their headings, and a search over titles (control-plane §8.3)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slipway_lite.control.refs import chunk_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_CHARACTERS = 4000
_HEADING = re.compile(r"(#{1,6})[ \t]{1,6}(\S.*)")
_REQUIRED_HEADINGS = ("acceptance", "requirement", "specification", "must")
_REQUIRED_BODIES = ("must:", "required:", "acceptance criteria")
_REFERENCE_HEADINGS = ("reference", "see also", "links", "appendix")


@dataclass(frozen=True, slots=True)
class Part:
    """A chunk before it has an id: where it stands and what it says."""

    heading_path: tuple[str, ...]
    body: str

    @property
    def importance(self) -> str:
        """required, reference or recommended, looked for in this order, whatever the case."""
        heading = " / ".join(self.heading_path).lower()
        body = self.body.lower()
        if any(word in heading for word in _REQUIRED_HEADINGS) or any(word in body for word in _REQUIRED_BODIES):
            return "required"
        return "reference" if any(word in heading for word in _REFERENCE_HEADINGS) else "recommended"


def split(content: str, limit: int = MAX_CHARACTERS) -> list[Part]:
    """The parts of a document: one for each heading with text under it, cut at line borders beyond
    ``limit``.

    A heading is one to six ``#``, one to six blanks, then text; it is no part of the body. Text before the
    first heading has an empty path, an empty section gives nothing, a single long line is never cut.
    """
    parts = []
    for path, lines in _sections(content):
        for body in _cut("\n".join(lines).strip(), limit):
            parts.append(Part(path, body))
    return parts


def _sections(content: str) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    path: tuple[str, ...] = ()
    lines: list[str] = []
    for line in content.splitlines():
        heading = _HEADING.fullmatch(line)
        if heading is None:
            lines.append(line)
            continue
        yield path, lines
        path = (*path[: len(heading[1]) - 1], heading[2].strip())
        lines = []
    yield path, lines


def _cut(body: str, limit: int) -> Iterator[str]:
    pieces: list[list[str]] = [[]]
    size = 0
    for line in body.split("\n"):
        if pieces[-1] and size + len(line) + 1 > limit:
            pieces.append([])
            size = 0
        pieces[-1].append(line)
        size += len(line) + 1
    # Blank lines between two long ones are a piece of their own, and nothing to read.
    return filter(None, ("\n".join(piece).strip() for piece in pieces))


def chunks(doc_id: str, version: str, content: str) -> list[dict[str, Any]]:
    """The Chunk documents of one version of a document, in order from 1."""
    found = []
    for ordinal, part in enumerate(split(content), 1):
        chunk: dict[str, Any] = {
            "chunk_id": chunk_id(doc_id, ordinal),
            "doc_id": doc_id,
            "version": version,
            "ordinal": ordinal,
        }
        if part.heading_path:
            chunk["heading_path"] = list(part.heading_path)
        chunk["body"] = part.body
        chunk["importance"] = part.importance
        chunk["token_estimate"] = -(-len(part.body.encode("utf-16-le", "surrogatepass")) // 8)
        found.append(chunk)
    return found


def select(found: Iterable[dict[str, Any]], heading: str | None, query: str | None) -> list[dict[str, Any]]:
    """The chunks under a heading, and with a text in them; substrings, whatever the case."""
    return [
        chunk
        for chunk in found
        if (heading is None or heading.lower() in " / ".join(chunk.get("heading_path", ())).lower())
        and (query is None or query.lower() in chunk["body"].lower())
    ]


def contract(feature: str) -> dict[str, Any]:
    """The contract template of a feature: what has to be read, hold, stay away and be done."""
    return {
        "feature": feature,
        "required_docs": [f"doc:spec:{feature}"],
        "acceptance_criteria": [
            f"{feature} does what its specification says.",
            f"Errors of {feature} are reported, not swallowed.",
            f"What worked before {feature} still works.",
        ],
        "forbidden_patterns": ["secrets in source or logs", "tests that are skipped to pass"],
        "definition_of_done": [
            "The change is reviewed.",
            "Its tests pass.",
            "Its documents are up to date.",
            "There is a way back.",
        ],
    }
