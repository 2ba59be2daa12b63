"""The native audit-pr verdict: the only prose that is ever accepted as a result (turn-contract §8).

The report is read line by line, white space trimmed, letter case ignored. Every condition must hold; anything
else is not native, and a BLOCKED verdict whose rows do not add up is refused by name.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from slipway_lite.turns.ecma import S, pattern, trim
from slipway_lite.turns.envelope import next_intent
from slipway_lite.turns.outcome import skill_outcome
from slipway_lite.turns.shapes import Problem
from slipway_lite.turns.vocabulary import BLOCKER_KINDS

_LONGEST_LINE = 4000
"""Characters of a line that can mean something. A longer one keeps its place and its first character only, so that a
hostile line costs nothing and a row that would have to be cut is never half read."""

_NEXT = "→ next:"
_BULLET = "·"
_VERDICT = "verdict:"
_NOTHING_BLOCKS = "nothing blocks merge."
_RANKED = "blockers (ranked):"

_PULL_REQUEST = pattern(rf"PR #\d+{S}+[—-]{S}+[^{S[1:-1]}]", ignore_case=True)
_URL = pattern(rf"URL:{S}*https?://[^{S[1:-1]}]", ignore_case=True)
_BASE = pattern(rf"Base:{S}*.+ ← Head:{S}*.+ @ .+{S}CI:{S}*(?:green|failing|pending)\Z", ignore_case=True)
_MERGE_READY = pattern(rf"VERDICT:{S}*MERGE-READY\Z", ignore_case=True)
_BLOCKED = pattern(rf"VERDICT:{S}*BLOCKED{S}*\((\d+){S}+blockers?\)\Z", ignore_case=True)
_NEXT_COMMAND = pattern(rf"→ Next:{S}*(/[^—]+?){S}—", ignore_case=True)
_ROW = pattern(rf"\d+\.{S}+\[([^\]]+)\]{S}*")
_DASH = pattern(rf"{S}[—-]{S}")
_FIX_ROUTE = pattern(r"→ fix[^(]*\((/[^)]*)\)", ignore_case=True)


class NativeVerdict(NamedTuple):
    """A SkillOutcome v1, or the named problem of a verdict that does not add up; both ``None``: not
    native.
    """

    outcome: dict[str, Any] | None
    problem: Problem | None


_NOT_NATIVE = NativeVerdict(None, None)


def parse_native_verdict(text: str) -> NativeVerdict:
    """The outcome of a complete native audit-pr report; its targets are always empty."""
    if "→" not in text:
        return _NOT_NATIVE
    lines = [line if len(line) <= _LONGEST_LINE else line[0] for line in map(trim, text.split("\n")) if line]
    lowered = [line.lower() for line in lines]
    at = next((index for index, line in enumerate(lowered) if line.startswith(_NEXT)), None)
    if at is None:
        return _NOT_NATIVE
    report, bullets = lines[:at], lines[at + 1 :]
    if not bullets or not all(line.startswith(_BULLET) for line in bullets):
        return _NOT_NATIVE
    if not all(any(form.match(line) for line in report) for form in (_PULL_REQUEST, _URL, _BASE)):
        return _NOT_NATIVE
    verdicts = [line for line, low in zip(lines, lowered[:at], strict=False) if low.startswith(_VERDICT)]
    if len(verdicts) != 1:
        return _NOT_NATIVE
    intent = _next_intent(lines[at], bullets)
    if intent is None:
        return _NOT_NATIVE
    verdict = verdicts[0]
    if _MERGE_READY.match(verdict):
        return _merge_ready(verdict, lowered[:at])
    blocked = _BLOCKED.match(verdict)
    return _blocked(verdict, blocked[1], report, lowered[:at], intent) if blocked else _NOT_NATIVE


def _next_intent(line: str, bullets: list[str]) -> str | None:
    """The intent of the Next command; without a command, that of the first bullet that names one."""
    command = _NEXT_COMMAND.match(line)
    named = [command[1]] if command else bullets
    return next((intent for intent in map(next_intent, named) if intent != "none"), None)


def _merge_ready(verdict: str, report: list[str]) -> NativeVerdict:
    if _NOTHING_BLOCKS not in report:
        return _NOT_NATIVE
    return NativeVerdict(
        skill_outcome(skill="audit-pr", status="completed", summary=verdict.upper(), intent="merge", targets=[]),
        None,
    )


def _blocked(verdict: str, count: str, report: list[str], lowered: list[str], intent: str) -> NativeVerdict:
    rows = [row for row in map(_row, report) if row is not None]
    if _RANKED not in lowered:
        return NativeVerdict(
            None, Problem("native_rows_missing", "$", "The BLOCKED verdict has no line 'Blockers (ranked):'.")
        )
    if str(len(rows)) != (count.lstrip("0") or "0"):
        return NativeVerdict(
            None,
            Problem(
                "native_count_mismatch",
                "$",
                "The BLOCKED verdict announces another number of blockers than it lists.",
            ),
        )
    routes = (next_intent(match[1]) for match in map(_FIX_ROUTE.search, report) if match)
    return NativeVerdict(
        skill_outcome(
            skill="audit-pr",
            status="blocked",
            summary=verdict.upper(),
            intent=next((route for route in routes if route != "none"), intent),
            targets=[],
            blockers=rows,
        ),
        None,
    )


def _row(line: str) -> dict[str, Any] | None:
    """A blocker row ``n. [label] subject — detail``, cut at its route."""
    head = _ROW.match(line)
    dash = _DASH.search(line, head.end()) if head else None
    if head is None or dash is None:
        return None
    label = trim(head[1])
    subject = trim(line[head.end() : dash.start()])
    detail = trim(line[dash.end() :].partition(" →")[0])
    if not subject or not detail:
        return None
    if label.lower() in BLOCKER_KINDS:
        return {"kind": label.lower(), "id": subject, "scope": "unit", "detail": detail}
    return {"kind": "gate", "id": label, "scope": "unit", "detail": f"{subject} — {detail}"}
