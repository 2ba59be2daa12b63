"""One reply in, one validated result out: the order in which the forms are tried (turn-contract §5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slipway_lite.turns.block import decode_block
from slipway_lite.turns.envelope import ENVELOPE, NO_BLOCK, outcome_from_envelope
from slipway_lite.turns.extract import FENCE_LEFT_OPEN, OPENER_AFTER_BLOCK, find_last_json_block
from slipway_lite.turns.native import parse_native_verdict
from slipway_lite.turns.outcome import SKILL_OUTCOME, names_skill_outcome
from slipway_lite.turns.profiles import PROFILES
from slipway_lite.turns.repair import Diagnostic, repair_envelope
from slipway_lite.turns.shapes import Problem, check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from slipway_lite.turns.profiles import Profile

TAIL_DIAGNOSTICS = {
    OPENER_AFTER_BLOCK: "A json fence is opened after the accepted block, so an older result may have won.",
    FENCE_LEFT_OPEN: "A fence is left open, so the reply may have been cut off.",
}
"""Diagnostics of ours, after the published ones: the block that was read may not be the last that was meant."""

TEXT_LIMIT = 32 * 1024 * 1024
"""Characters of one reply; a longer text is no final reply of a turn."""

_TOO_LONG = Problem("text_too_long", "$", f"The reply is longer than {TEXT_LIMIT} characters.")
_UNKNOWN_SKILL = Problem("unknown_skill", "$", "This skill has no output profile.")
_SENSOR_NEEDS_ENVELOPE = Problem("sensor_requires_envelope", "$", "The sensor answers with Envelope v2 only.")
_SKILL_MISMATCH = Problem("skill_mismatch", "$.skill", "The result names another skill than the turn was for.")
_STALE_TAIL = Problem("stale_tail", "$", "A fence opens after the accepted block and was not read.")
_INVALID_LINE = Problem("invalid_line", "$", "A line must be one JSON object with the strings skill and text.")
_NO_RESULT = Problem("no_machine_result", "$", "The reply holds no deterministic machine result.")


@dataclass(frozen=True, slots=True)
class ParsedTurn:
    """The result of one turn, or why there is none.

    When :attr:`ok`, ``source`` says how the result came in, ``outcome`` is a SkillOutcome v1 (derived when an
    envelope came in) and ``envelope`` is that envelope or ``None``. Otherwise the three are ``None`` and ``errors``
    has at least one entry. ``diagnostics`` accompany both.
    """

    source: str | None
    outcome: dict[str, Any] | None
    envelope: dict[str, Any] | None
    errors: tuple[Problem, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        return not self.errors

    def as_document(self) -> dict[str, Any]:
        diagnostics = [diagnostic.as_document() for diagnostic in self.diagnostics]
        if self.ok:
            return {
                "ok": True,
                "source": self.source,
                "outcome": self.outcome,
                "envelope": self.envelope,
                "diagnostics": diagnostics,
            }
        return {
            "ok": False,
            "errors": [error.as_document() for error in self.errors],
            "diagnostics": diagnostics,
        }


def parse_turn(
    *, skill: str, text: str, context: Mapping[str, Any] | None = None, strict_tail: bool = False
) -> ParsedTurn:
    """The machine result of ``text``, the final reply of a turn of ``skill``; never raises for any text.

    ``context`` may hold ``unitId``, used for one repair only (§6). With ``strict_tail`` a result is refused
    (``stale_tail``) when a diagnostic of :data:`TAIL_DIAGNOSTICS` says that an older block may have won. Prose is
    never turned into facts; the one exception is the fixed audit-pr verdict (§8).
    """
    profile = PROFILES.get(skill)
    if profile is None:
        return _failure(_UNKNOWN_SKILL)
    if len(text) > TEXT_LIMIT:
        return _failure(_TOO_LONG)
    body, tail = find_last_json_block(text)
    parsed = _parse_body(profile, text, body, context)
    if tail is None:
        return parsed
    diagnostics = (*parsed.diagnostics, Diagnostic(tail, TAIL_DIAGNOSTICS[tail]))
    if strict_tail:
        return ParsedTurn(None, None, None, (_STALE_TAIL, *parsed.errors), diagnostics)
    return ParsedTurn(parsed.source, parsed.outcome, parsed.envelope, parsed.errors, diagnostics)


def parse_line(line: bytes, *, skill: str | None = None, strict_tail: bool = False) -> dict[str, Any]:
    """The result document for one line of many: a JSON object with ``text``, ``skill`` and perhaps ``context``.

    ``skill`` stands in for lines that name none. A line that is no such object gives the error ``invalid_line``. An
    ``id`` of the line, when it has one, is repeated in the result.
    """
    value, problem = decode_block(line.decode("utf-8", "replace"))
    if problem is not None or type(value) is not dict:
        return _failure(_INVALID_LINE).as_document()
    named, text, context = value.get("skill", skill), value.get("text"), value.get("context")
    if type(named) is not str or type(text) is not str or not isinstance(context, dict | None):
        parsed = _failure(_INVALID_LINE)
    else:
        parsed = parse_turn(skill=named, text=text, context=context, strict_tail=strict_tail)
    return {"id": value["id"], **parsed.as_document()} if "id" in value else parsed.as_document()


def _failure(*errors: Problem, diagnostics: tuple[Diagnostic, ...] = ()) -> ParsedTurn:
    return ParsedTurn(None, None, None, errors, diagnostics)


def _parse_body(profile: Profile, text: str, body: str | None, context: Mapping[str, Any] | None) -> ParsedTurn:
    if body is None:
        return _parse_native(profile, text, NO_BLOCK)
    value, problem = decode_block(body)
    if problem is not None:
        return _parse_native(profile, text, problem)
    if names_skill_outcome(value):
        return _parse_outcome(profile, value, context)
    return _parse_envelope(profile, value, context)


def _parse_native(profile: Profile, text: str, problem: Problem) -> ParsedTurn:
    if profile.native_fallback == "fixed-verdict":
        outcome, named = parse_native_verdict(text)
        if outcome is not None:
            return ParsedTurn("native", outcome, None, (), ())
        if named is not None:
            return _failure(named)
    return _failure(_NO_RESULT, problem)


def _parse_outcome(profile: Profile, value: dict[str, Any], context: Mapping[str, Any] | None) -> ParsedTurn:
    """A block that names the SkillOutcome contract cannot be an envelope, so its errors are about the outcome."""
    errors = check(SKILL_OUTCOME, value)
    if errors:
        repair = repair_envelope(value, skill=profile.skill, context=context)
        return _failure(*errors, diagnostics=repair.diagnostics)
    if profile.output == "envelope-v2":
        return _failure(_SENSOR_NEEDS_ENVELOPE)
    if value["skill"] != profile.skill:
        return _failure(_SKILL_MISMATCH)
    return ParsedTurn("skill-outcome-v1", value, None, (), ())


def _parse_envelope(profile: Profile, value: object, context: Mapping[str, Any] | None) -> ParsedTurn:
    """Any profile may answer with an envelope; one that only the named repairs make strict is ``compat``."""
    if not check(ENVELOPE, value):
        return _accept(profile, "envelope-v2-strict", value, ())
    repair = repair_envelope(value, skill=profile.skill, context=context)
    if repair.refusal is not None:
        return _failure(repair.refusal, diagnostics=repair.diagnostics)
    errors = check(ENVELOPE, repair.value)
    if errors:
        return _failure(*errors, diagnostics=repair.diagnostics)
    return _accept(profile, "envelope-v2-compat", repair.value, repair.diagnostics)


def _accept(profile: Profile, source: str, envelope: Any, diagnostics: tuple[Diagnostic, ...]) -> ParsedTurn:
    if envelope["skill"] != profile.skill:
        return _failure(_SKILL_MISMATCH, diagnostics=diagnostics)
    return ParsedTurn(source, outcome_from_envelope(envelope), envelope, (), diagnostics)
