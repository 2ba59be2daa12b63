"""The context of an Action: a bounded projection of decisions and earlier outcomes (machine-protocol §4.6). Pure.

Derived whenever it is shown, never stored: a Run of n Actions takes O(n) space.
"""

from __future__ import annotations

import hashlib

from slipway_lite.canon import encode
from slipway_lite.text import normalize_newlines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

CONTEXT_LIMIT = 131_072
_HEADINGS = ("Decisions:\n", "Recent outcome:\n", "Earlier outcomes:\n")
_LABELS = ("decisions", "recent outcomes", "earlier outcomes")
_NONE = "(none)\n"


class Item:
    """One piece of context with the two sizes that count: UTF-8 bytes, and bytes inside a JSON string."""

    __slots__ = ("encoded", "raw", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.raw = len(text.encode())
        self.encoded = len(encode(text).encode()) - 2


def decision_item(action_id: str, text: str) -> Item:
    body = normalize_newlines(text).replace("\n", "\n  ")
    return Item(f"- action {action_id} decision:\n  {body}\n")


def outcome_item(kind: str, action_id: str, outcome: dict[str, Any]) -> Item:
    text = f"- {kind} action {action_id}: {outcome['summary']}\n"
    if outcome["known_issues"]:
        issues = (normalize_newlines(issue).replace("\n", "\n    ") for issue in outcome["known_issues"])
        text += "  Known issues:\n" + "".join(f"  - {issue}\n" for issue in issues)
    return Item(normalize_newlines(text))


def render(decisions: Sequence[Item], outcomes: Sequence[Item], limit: int) -> str | None:
    """The context text, or ``None`` when not even its skeleton fits.

    ``decisions`` and ``outcomes`` are oldest first; ``limit`` bounds the bytes of the text as a JSON string,
    quotes included, and :data:`CONTEXT_LIMIT` its plain bytes.
    """
    classes = (decisions, outcomes[-1:], outcomes[:-1])
    whole = "".join(
        heading + ("".join([item.text for item in members]) or _NONE)
        for heading, members in zip(_HEADINGS, classes, strict=True)
    )
    if (len(whole) * 6 + 2 <= limit and len(whole) * 4 <= CONTEXT_LIMIT) or _fits(whole, limit):
        return whole
    return _selected(classes, limit)


def _fits(text: str, limit: int) -> bool:
    return len(text.encode()) <= CONTEXT_LIMIT and len(encode(text).encode()) <= limit


def _selected(classes: tuple[Sequence[Item], ...], limit: int) -> str | None:
    """Greedy in priority order: decisions newest first, the recent outcome, earlier outcomes newest first."""
    raw = sum(len(heading) for heading in _HEADINGS) + sum(len(_NONE) for members in classes if not members)
    encoded = raw + 2 + len(_HEADINGS) + sum(1 for members in classes if not members)
    left = [len(members) for members in classes]
    chosen: list[list[str]] = [[], [], []]

    def fits(more_raw: int, more_encoded: int) -> bool:
        notes = [len(_omitted(label, count)) for label, count in zip(_LABELS, left, strict=True) if count]
        return (
            raw + more_raw + sum(notes) <= CONTEXT_LIMIT and encoded + more_encoded + sum(notes) + len(notes) <= limit
        )

    if not fits(0, 0):
        return None
    for which, item in [(which, item) for which, members in enumerate(classes) for item in reversed(members)]:
        left[which] -= 1
        if fits(item.raw, item.encoded):
            chosen[which].append(item.text)
            raw, encoded = raw + item.raw, encoded + item.encoded
            continue
        note = truncation_marker(item.text) + "\n"
        if not fits(len(note), len(note) + 1):
            left[which] += 1
            break
        chosen[which].append(_prefix(item, note, fits) + note)
        break
    return "".join(
        heading + ("".join(reversed(texts)) if members else _NONE) + (_omitted(label, count) if count else "")
        for heading, label, members, texts, count in zip(_HEADINGS, _LABELS, classes, chosen, left, strict=True)
    )


def _omitted(label: str, count: int) -> str:
    return f"[omitted {label}: {count}]\n"


def truncation_marker(text: str) -> str:
    """What stands where ``text`` was cut: its size and digest in full (Appendix A.4)."""
    raw = text.encode()
    return f"...[truncated original_bytes={len(raw)} sha256={hashlib.sha256(raw).hexdigest()}]"


def _prefix(item: Item, note: str, fits: Any) -> str:
    """The longest code-point prefix of an item that fits together with its truncation note."""
    low, high = 0, len(item.text)
    while low < high:
        middle = (low + high + 1) // 2
        part = Item(item.text[:middle])
        if fits(part.raw + len(note), part.encoded + len(note) + 1):
            low = middle
        else:
            high = middle - 1
    return item.text[:low]
