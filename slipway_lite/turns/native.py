"""The native audit-pr verdict: the only prose that is ever accepted as a result (turn-contract §8).

The report is read line by line, white space trimmed, letter case ignored. Every condition must hold; anything else is
not native, and a BLOCKED verdict whose rows do not add up is refused by name.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from slipway_lite.turns.ecma import S, pattern, trim
from slipway_lite.turns.envelope import next_intent
from slipway_lite.turns.outcome import skill_outcome
from slipway_lite.turns.shapes import Problem
from slipway_lite.turns.vocabulary import BLOCKER_KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

_LONGEST_LINE = 4000
"""Characters of a line that can mean something. A longer one keeps its place and its first character only, so that a
hostile line costs nothing and a row that would have to be cut is never half read.
"""

_BULLET = "·"
_WORD = f"[^{S[1:-1]}]"

_NEXT = pattern("→ Next:", ignore_case=True)
_NEXT_COMMAND = pattern(rf"→ Next:{S}*(/[^—]+?){S}—", ignore_case=True)
_PULL_REQUEST = pattern(rf"PR #\d+{S}+[—-]{S}+{_WORD}", ignore_case=True)
_URL = pattern(rf"URL:{S}*https?://{_WORD}", ignore_case=True)
_BASE = pattern(rf"Base:{S}*{_WORD}", ignore_case=True)
_HEAD = pattern(rf" ← Head:{S}*{_WORD}", ignore_case=True)
_CI = pattern(rf"{_WORD}{S}+CI:{S}*(?:green|failing|pending)\Z", ignore_case=True)
_VERDICT = pattern("VERDICT:", ignore_case=True)
_MERGE_READY = pattern(rf"VERDICT:{S}*MERGE-READY\Z", ignore_case=True)
_BLOCKED = pattern(rf"VERDICT:{S}*BLOCKED{S}*\((\d+){S}+blockers?\)\Z", ignore_case=True)
_NOTHING_BLOCKS = pattern(r"Nothing blocks merge\.\Z", ignore_case=True)
_RANKED = pattern(r"Blockers \(ranked\):\Z", ignore_case=True)
_ROW = pattern(rf"\d+\.{S}+\[([^\]]+)\]{S}*")
_DASH = pattern(rf"{S}[—-]{S}")
_FIX = pattern("→ fix", ignore_case=True)


class NativeVerdict(NamedTuple):
    """A SkillOutcome v1, or the named problem of a verdict that does not add up; both ``None``: not native."""

    outcome: dict[str, Any] | None
    problem: Problem | None


_NOT_NATIVE = NativeVerdict(None, None)


def parse_native_verdict(text: str) -> NativeVerdict:
    """The outcome of a complete native audit-pr report; its targets are always empty."""
    if "→" not in text:
        return _NOT_NATIVE
    lines = [line if len(line) <= _LONGEST_LINE else line[0] for line in map(trim, text.split("\n")) if line]
    at = next((index for index, line in enumerate(lines) if _NEXT.match(line)), None)
    if at is None:
        return _NOT_NATIVE
    report, bullets = lines[:at], lines[at + 1 :]
    if not bullets or not all(line.startswith(_BULLET) for line in bullets):
        return _NOT_NATIVE
    if not (_any(_PULL_REQUEST, report) and _any(_URL, report) and any(map(_is_base, report))):
        return _NOT_NATIVE
    verdicts = [line for line in report if _VERDICT.match(line)]
    intent = _next_intent(lines[at], bullets)
    if len(verdicts) != 1 or intent is None:
        return _NOT_NATIVE
    if _MERGE_READY.match(verdicts[0]):
        return _merge_ready(verdicts[0], report)
    blocked = _BLOCKED.match(verdicts[0])
    return _blocked(verdicts[0], blocked[1], report, intent) if blocked else _NOT_NATIVE


def _any(form: re.Pattern[str], lines: list[str]) -> bool:
    return any(map(form.match, lines))


def _is_base(line: str) -> bool:
    """``Base: X ← Head: Y @ Z  CI: word``, looked for part by part: one expression could be made to backtrack."""
    head = _HEAD.search(line) if _BASE.match(line) else None
    at = line.find(" @ ", head.end()) if head else -1
    return at >= 0 and _CI.search(line, at + 3) is not None


def _next_intent(line: str, bullets: list[str]) -> str | None:
    """The intent of the Next command; without a command, that of the first bullet that names one."""
    command = _NEXT_COMMAND.match(line)
    named = [command[1]] if command else bullets
    return next((intent for intent in map(next_intent, named) if intent != "none"), None)


def _merge_ready(verdict: str, report: list[str]) -> NativeVerdict:
    if not _any(_NOTHING_BLOCKS, report):
        return _NOT_NATIVE
    return NativeVerdict(
        skill_outcome(skill="audit-pr", status="completed", summary=verdict.upper(), intent="merge", targets=[]),
        None,
    )


def _blocked(verdict: str, count: str, report: list[str], intent: str) -> NativeVerdict:
    rows = [row for row in map(_row, report) if row is not None]
    if not _any(_RANKED, report):
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
    routes = (next_intent(route) for route in map(_fix_route, report))
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


def _fix_route(line: str) -> str:
    """The command in the first ``→ fix … (/command)`` of a line, or an empty string."""
    fix = _FIX.search(line)
    while fix is not None:
        opened = line.find("(", fix.end())
        closed = line.find(")", opened)
        if opened < 0 or closed < 0:
            break
        if line.startswith("/", opened + 1):
            return line[opened + 1 : closed]
        fix = _FIX.search(line, opened)
    return ""
