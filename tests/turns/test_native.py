"""The native audit-pr verdict: every condition, and the named failures (turn-contract §8)."""

from __future__ import annotations

import time
from typing import Any

import pytest

from slipway_lite.turns.native import parse_native_verdict
from slipway_lite.turns.outcome import validate_skill_outcome

REPORT = """PR #340 — Tidy the parser
URL: https://forge.example/pr/340
Base: main ← Head: fix/134 @ abc123  CI: green

VERDICT: BLOCKED (2 blockers)
Blockers (ranked):
1. [Merge-Conflict] main — conflicts in two files → fix: rebase (/execute-phase 12)
2. [receipt] review — has aged

→ Next: /review-change — look at it again
· was looked at → /audit-pr
"""
READY = REPORT.replace("VERDICT: BLOCKED (2 blockers)", "VERDICT: MERGE-READY").replace(
    "Blockers (ranked):", "Nothing blocks merge."
)


def outcome(text: str) -> dict[str, Any]:
    verdict = parse_native_verdict(text)
    assert verdict.outcome is not None and verdict.problem is None
    assert validate_skill_outcome(verdict.outcome).ok
    return verdict.outcome


def test_a_blocked_verdict() -> None:
    assert outcome(REPORT) == {
        "contract": "agentic-workflow/skill-outcome",
        "version": 1,
        "skill": "audit-pr",
        "status": "blocked",
        "summary": "VERDICT: BLOCKED (2 BLOCKERS)",
        "next": {"intent": "execute-phase", "targets": []},
        "blockers": [
            {"kind": "merge-conflict", "id": "main", "scope": "unit", "detail": "conflicts in two files"},
            {"kind": "gate", "id": "receipt", "scope": "unit", "detail": "review — has aged"},
        ],
        "questions": [],
        "discoveries": [],
        "evidence_refs": [],
    }


def test_a_merge_ready_verdict() -> None:
    found = outcome(READY)
    assert (found["status"], found["next"], found["blockers"]) == ("completed", {"intent": "merge", "targets": []}, [])


@pytest.mark.parametrize(
    "text",
    [
        READY.replace("\n", "\r\n"),
        READY.replace("\n", "\n\n \t\xa0"),
        READY.replace("VERDICT: MERGE-READY", "verdict: merge-ready").replace("Nothing blocks", "nothing BLOCKS"),
        READY.replace("PR #", "pr #").replace("URL:", "url:").replace("CI: green", "ci: GREEN"),
    ],
    ids=["CRLF", "blank lines and white space", "verdict in lower case", "labels in lower case"],
)
def test_letter_case_line_ends_and_blank_lines_do_not_matter(text: str) -> None:
    assert outcome(text)["next"]["intent"] == "merge"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("PR #340 — Tidy", "PR 340 — Tidy"),
        ("PR #340 — Tidy the parser", "PR #340 —"),
        ("URL: https", "URL: ftp"),
        ("CI: green", "CI: fine"),
        (" ← Head", " <- Head"),
        (" @ abc123", ""),
        ("VERDICT: MERGE-READY", "VERDICT: MERGE-READY soon"),
        ("VERDICT: MERGE-READY", "VERDICT: MERGE-READY\nVERDICT: MERGE-READY"),
        ("VERDICT: MERGE-READY", ""),
        ("Nothing blocks merge.", "All good."),
        ("→ Next:", "-> Next:"),
        ("· was looked at → /audit-pr", ""),
        ("· was looked at", "was looked at"),
        ("/review-change — look", "/unit-lane — look"),
    ],
)
def test_any_condition_that_does_not_hold_makes_it_not_native(old: str, new: str) -> None:
    assert old in READY
    verdict = parse_native_verdict(READY.replace(old, new))
    assert verdict == (None, None)


@pytest.mark.parametrize("ci", ["green", "failing", "pending"])
def test_three_words_for_ci(ci: str) -> None:
    assert outcome(READY.replace("CI: green", f"CI: {ci}"))


def test_a_hyphen_works_as_a_dash() -> None:
    found = outcome(REPORT.replace("PR #340 —", "PR #340 -").replace("review — has aged", "review - has aged"))
    assert found["blockers"][1]["detail"] == "review — has aged"


def test_without_a_next_command_a_bullet_must_name_one() -> None:
    assert outcome(READY.replace("/review-change — look", "look"))["next"]["intent"] == "merge"
    blocked = REPORT.replace("/review-change — look", "look").replace(" → fix: rebase (/execute-phase 12)", "")
    assert outcome(blocked)["next"]["intent"] == "audit-pr"
    assert parse_native_verdict(blocked.replace("/audit-pr", "/unit-lane")) == (None, None)


def test_the_first_usable_fix_route_wins_then_the_next_command() -> None:
    unusable = REPORT.replace("(/execute-phase 12)", "(/unit-lane)")
    assert outcome(unusable)["next"]["intent"] == "review-change"
    unclosed = REPORT.replace("(/execute-phase 12)", "(execute-phase 12 → fix (/triage-issue")
    assert outcome(unclosed)["next"]["intent"] == "review-change"
    second = unusable.replace("has aged", "has aged → fix (/triage-issue 4)")
    assert outcome(second)["next"]["intent"] == "triage-issue"


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("(2 blockers)", "(3 blockers)", "native_count_mismatch"),
        ("(2 blockers)", "(1 blocker)", "native_count_mismatch"),
        ("2. [receipt] review — has aged", "2. review has aged", "native_count_mismatch"),
        ("2. [receipt] review — has aged", "2. [receipt] — has aged", "native_count_mismatch"),
        ("2. [receipt] review — has aged", "2. [receipt] review —  → fix (/audit-pr)", "native_count_mismatch"),
        ("Blockers (ranked):", "Blockers:", "native_rows_missing"),
    ],
)
def test_a_blocked_verdict_that_does_not_add_up_is_refused_by_name(old: str, new: str, code: str) -> None:
    verdict = parse_native_verdict(REPORT.replace(old, new))
    assert verdict.outcome is None
    assert verdict.problem is not None and verdict.problem.code == code


def test_a_row_of_spaces_costs_linear_time() -> None:
    hostile = REPORT.replace("2. [receipt] review — has aged", "2. [receipt] " + "a" + " " * 1_000_000 + "b")
    started = time.perf_counter()
    assert parse_native_verdict(hostile).problem is not None
    assert time.perf_counter() - started < 1


def test_lines_made_to_backtrack_cost_linear_time() -> None:
    hostile = [
        "Base: x" + " ← Head: y @ z" * 250,
        "1. [a] b — c" + " → fix" * 500,
        "PR #1" + " " * 3000,
        "1. [a]" + " " * 3000,
    ]
    started = time.perf_counter()
    assert outcome("\n".join(hostile * 250) + "\n" + READY)
    assert time.perf_counter() - started < 5


def test_a_line_too_long_to_mean_anything_is_no_row_and_is_never_cut() -> None:
    long = REPORT.replace("has aged", "has aged " + "x" * 5000)
    verdict = parse_native_verdict(long)
    assert verdict.problem is not None and verdict.problem.code == "native_count_mismatch"
    assert parse_native_verdict(READY + "x" * 5000) == (None, None), "a line after Next that is no bullet"
    assert outcome(READY + "· " + "x" * 5000)
