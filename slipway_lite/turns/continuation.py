"""``next.continuation``: a hand-off that can be executed as it is written (turn-contract §12).

``argv`` is the command of record; ``rendering`` is for display only and never parsed back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from slipway_lite.turns.ecma import SPACE, trim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REFUSALS = ("sensor-degraded", "no-decision-available", "rendering-failed", "precondition-uncheckable")

_QUOTES = "'\""
_PARTS = re.compile(f"[{SPACE}'\"]|[^{SPACE}'\"]+")
"""One white space, one quote, or everything up to the next of these."""
_POSIX_SAFE = re.compile(r"[A-Za-z0-9_@%+=:,./-]+\Z")
_WINDOWS_SAFE = re.compile(r"[A-Za-z0-9_@%+=:,./\\-]+\Z")


@dataclass(frozen=True, slots=True)
class Argv:
    """The words of a command line, or the refusal that says why there are none."""

    words: tuple[str, ...]
    refusal: str | None = None

    def as_document(self) -> dict[str, Any]:
        if self.refusal is None:
            return {"ok": True, "argv": list(self.words)}
        return {"ok": False, "refusal": self.refusal}


@dataclass(frozen=True, slots=True)
class Emission:
    """A continuation, or the one closed refusal that stands in its place."""

    continuation: dict[str, Any] | None
    refusal: str | None = None

    @property
    def ok(self) -> bool:
        return self.refusal is None

    def as_document(self) -> dict[str, Any]:
        if self.ok:
            return {"ok": True, "continuation": self.continuation}
        return {"ok": False, "refusal": self.refusal}


def parse_continuation_argv(command: str) -> Argv:
    """``command`` split at white space, with single and double quotes and no escapes.

    An unterminated quote is refused as ``rendering-failed``; a command without words, or with an empty word, as
    ``no-decision-available``.
    """
    words: list[str] = []
    word: list[str] = []
    started = False  # an empty pair of quotes starts a word, white space does not
    quote = ""
    for part in _PARTS.findall(command):
        if quote and part != quote:
            word.append(part)
        elif quote:
            quote = ""
        elif part in SPACE:
            if started:
                words.append("".join(word))
            word, started = [], False
        else:
            started = True
            if part in _QUOTES:
                quote = part
            else:
                word.append(part)
    if quote:
        return Argv((), "rendering-failed")
    if started:
        words.append("".join(word))
    return Argv(tuple(words)) if words and all(words) else Argv((), "no-decision-available")


def render_argv(argv: Sequence[str], *, windows: bool = False) -> str:
    """``argv`` as a person would type it in a POSIX shell, or on Windows."""
    return " ".join(map(_windows_word if windows else _posix_word, argv))


def _posix_word(word: str) -> str:
    return word if _POSIX_SAFE.match(word) else "'" + word.replace("'", "'\"'\"'") + "'"


def _windows_word(word: str) -> str:
    return word if _WINDOWS_SAFE.match(word) else '"' + word.replace('"', '""') + '"'


def emit_continuation(
    *,
    command: str,
    convergence: str,
    preconditions: Sequence[Mapping[str, Any]] = (),
    evidence: Mapping[str, Any] | None = None,
    sensor_degraded: bool = False,
    windows: bool = False,
) -> Emission:
    """The continuation for ``command``, or the first refusal that applies.

    A degraded sensor is refused before anything else; a blank ``convergence`` or an empty command is
    ``no-decision-available``; a precondition without a check, or whose answer is no boolean, is
    ``precondition-uncheckable``.
    """
    if sensor_degraded:
        return Emission(None, "sensor-degraded")
    argv = parse_continuation_argv(command)
    if argv.refusal is not None:
        return Emission(None, argv.refusal)
    if not trim(convergence):
        return Emission(None, "no-decision-available")
    if not all(map(_is_checkable, preconditions)):
        return Emission(None, "precondition-uncheckable")
    continuation: dict[str, Any] = {
        "argv": list(argv.words),
        "rendering": render_argv(argv.words, windows=windows),
        "preconditions": [dict(item) for item in preconditions],
        "convergence": convergence,
    }
    if evidence is not None:
        continuation["evidence"] = dict(evidence)
    return Emission(continuation)


def _is_checkable(item: Mapping[str, Any]) -> bool:
    named = all(type(item.get(key)) is str and item[key] for key in ("id", "check"))
    return named and type(item.get("satisfied")) is bool
