"""One driven turn: instruct, parse, re-ask exactly once, give up (turn-contract §11).

The driver never retries without end and never turns prose into facts. What it read, how, and what it repaired goes to
the journal; the text itself does not, only its digest and length.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Protocol

from slipway_lite.turns.parse import parse_turn
from slipway_lite.turns.profiles import render_output_instruction
from slipway_lite.turns.shapes import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from slipway_lite.turns.parse import ParsedTurn

REPAIR_SENTENCE = "Emit only the machine result for the turn above."
"""The fixed re-ask of seed 003, sent once and to the same session."""

VALIDATED, FAILED = "validated", "failed"
NO_REPAIR, SAME_SESSION, FRESH_CALL = "none", "same-session", "fresh-call"

_INVOKE_FAILED = Problem("invoke_failed", "$", "The agent could not be called, so there is no reply to read.")


class Journal(Protocol):
    """Where turns and snapshots are appended; see :mod:`slipway_lite.turns.service` for the one over the store."""

    def append_turn(self, record: dict[str, Any]) -> None: ...

    def append_snapshot(self, record: dict[str, Any]) -> None: ...


@dataclass(frozen=True, slots=True)
class Attempt:
    """One reply as it was read: the digest and the length in bytes of its text, and what came out of it."""

    text_sha256: str
    text_bytes: int
    parsed: ParsedTurn

    def as_record(self) -> dict[str, Any]:
        return {
            "text_sha256": self.text_sha256,
            "text_bytes": self.text_bytes,
            "source": self.parsed.source,
            "errors": [error.as_record() for error in self.parsed.errors],
            "diagnostics": [diagnostic.as_document() for diagnostic in self.parsed.diagnostics],
        }


@dataclass(frozen=True, slots=True)
class DrivenTurn:
    """The end of a driven turn: a validated result, or the driver's own verdict that there is none.

    ``repair`` says how the second reply was asked for: ``none`` (no second reply), ``same-session``, or the weaker
    ``fresh-call``. ``verdict`` ``failed`` is the driver's word and never an envelope state of the model.
    """

    skill: str
    attempts: tuple[Attempt, ...]
    repair: str
    interrupted: bool = False

    @property
    def ok(self) -> bool:
        return not self.interrupted and self.attempts[-1].parsed.ok

    @property
    def verdict(self) -> str:
        return VALIDATED if self.ok else FAILED

    @property
    def parsed(self) -> ParsedTurn | None:
        """What the last reply parsed to; ``None`` when no reply came at all."""
        return self.attempts[-1].parsed if self.attempts else None

    @property
    def outcome(self) -> dict[str, Any] | None:
        return self.attempts[-1].parsed.outcome if self.ok else None

    @property
    def errors(self) -> tuple[Problem, ...]:
        found = self.attempts[-1].parsed.errors if self.attempts else ()
        return (_INVOKE_FAILED, *found) if self.interrupted else found

    def as_document(self) -> dict[str, Any]:
        """The turn as it is shown: its record, with the names of unknown keys of the last reply."""
        return {**self.as_record(), "errors": [error.as_document() for error in self.errors]}

    def as_record(self) -> dict[str, Any]:
        """The turn as it is journaled: digests, lengths, origin and diagnostics; never a text or an envelope."""
        last = self.attempts[-1] if self.attempts else None
        return {
            "skill": self.skill,
            "verdict": self.verdict,
            "source": last.parsed.source if last and self.ok else None,
            "repair": self.repair,
            "outcome": self.outcome,
            "diagnostics": [item.as_document() for item in last.parsed.diagnostics] if last else [],
            "errors": [error.as_record() for error in self.errors],
            "text_sha256": last.text_sha256 if last else None,
            "text_bytes": last.text_bytes if last else None,
            "attempts": [attempt.as_record() for attempt in self.attempts],
        }


class _Turn:
    """The course of a turn, shared by both drivers: which message goes out next, and what a reply means."""

    def __init__(
        self,
        skill: str,
        prompt: str,
        context: Mapping[str, Any] | None,
        same_session: bool,
        strict_tail: bool,
    ) -> None:
        instruction = render_output_instruction(skill)
        self._opening = f"{prompt}\n\n{instruction}" if prompt else instruction
        self._skill = skill
        self._context = context
        self._same_session = same_session
        self._strict_tail = strict_tail
        self._attempts: list[Attempt] = []
        self._last_reply = ""
        self._repair = NO_REPAIR

    def message(self) -> str | None:
        """The next message for the agent, or ``None`` when the turn is over."""
        if not self._attempts:
            return self._opening
        if self._attempts[-1].parsed.ok or len(self._attempts) == 2:
            return None
        if self._same_session:
            self._repair = SAME_SESSION
            return REPAIR_SENTENCE
        self._repair = FRESH_CALL
        return f"{self._opening}\n\n{self._last_reply}\n\n{REPAIR_SENTENCE}"

    def hear(self, reply: str) -> None:
        raw = reply.encode("utf-8", "surrogatepass")
        parsed = parse_turn(skill=self._skill, text=reply, context=self._context, strict_tail=self._strict_tail)
        self._attempts.append(Attempt("sha256:" + hashlib.sha256(raw).hexdigest(), len(raw), parsed))
        self._last_reply = reply

    def end(self, journal: Journal | None, *, interrupted: bool = False) -> DrivenTurn:
        turn = DrivenTurn(self._skill, tuple(self._attempts), self._repair, interrupted)
        if journal is not None:
            journal.append_turn(turn.as_record())
        return turn


def drive_turn(
    skill: str,
    invoke: Callable[[str], str],
    context: Mapping[str, Any] | None = None,
    journal: Journal | None = None,
    *,
    prompt: str = "",
    same_session: bool = True,
    strict_tail: bool = False,
) -> DrivenTurn:
    """Drive one turn of ``skill`` and return its validated result or the driver-level failure.

    ``invoke(message)`` sends one message to the agent and returns its whole final reply. It is called at most twice:
    with ``prompt`` and the output instruction, and, when no valid result came, with :data:`REPAIR_SENTENCE` for the
    same session. Where the agent cannot resume, ``same_session=False`` makes the second call a fresh one that carries
    the turn so far, and the journal says so.

    Raises :class:`UsageError` ``unknown_skill`` before anything is sent. What ``invoke`` raises passes through after
    the turn has been journaled as failed, so that no reply that was read goes unrecorded.
    """
    turn = _Turn(skill, prompt, context, same_session, strict_tail)
    try:
        while (message := turn.message()) is not None:
            turn.hear(invoke(message))
    except BaseException:
        turn.end(journal, interrupted=True)
        raise
    return turn.end(journal)


async def drive_turn_async(
    skill: str,
    invoke: Callable[[str], Awaitable[str]],
    context: Mapping[str, Any] | None = None,
    journal: Journal | None = None,
    *,
    prompt: str = "",
    same_session: bool = True,
    strict_tail: bool = False,
) -> DrivenTurn:
    """:func:`drive_turn` for an agent that is awaited; everything else is the same turn."""
    turn = _Turn(skill, prompt, context, same_session, strict_tail)
    try:
        while (message := turn.message()) is not None:
            turn.hear(await invoke(message))
    except BaseException:
        turn.end(journal, interrupted=True)
        raise
    return turn.end(journal)
