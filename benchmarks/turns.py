"""What reading turns costs, in multiples of what it cannot avoid.

usage: python benchmarks/turns.py

Bars: a reply of 100 KB without a block costs at most 3 passes of ``str.find`` a needle to search (profiles without
a native fallback); a turn of 4 KB at most 6 times decoding its block; 5 MB of fence openers under 0.5 seconds.
Times are the best of several rounds, so that a ratio says something about the code and little about the machine.
"""

from __future__ import annotations

import json
import timeit
from collections.abc import Callable
from functools import partial
from typing import Any

from slipway_lite.turns.compiler import compile_workflow_snapshot
from slipway_lite.turns.decide import decide_workflow_action
from slipway_lite.turns.extract import extract_last_json_block
from slipway_lite.turns.parse import parse_turn
from slipway_lite.turns.vocabulary import EVIDENCE, INTENTS

FIND_BAR, DECODE_BAR, OPENERS_BAR = 3.0, 6.0, 0.5

SENTENCE = "The exporter shares the quoting helper and has no test for it. "


def outcome(skill: str, discoveries: int) -> dict[str, Any]:
    row = {
        "kind": "risk",
        "scope": "outside-unit",
        "summary": SENTENCE * 3,
        "evidence_refs": ["src/exporter.py:12", "tests/test_exporter.py:9"],
        "proposed_intent": "triage-issue",
    }
    return {
        "contract": "agentic-workflow/skill-outcome",
        "version": 1,
        "skill": skill,
        "status": "completed",
        "summary": SENTENCE * 6,
        "next": {"intent": "execute-phase", "targets": ["12-csv"]},
        "blockers": [],
        "questions": [],
        "discoveries": [row] * discoveries,
        "evidence_refs": list(EVIDENCE),
    }


def envelope(skill: str, findings: int) -> dict[str, Any]:
    row = {
        "id": "F1",
        "file": "src/csv/writer.py",
        "axis": "security",
        "severity": "high",
        "class": "injection by formula",
        "route": "fold",
        "suggested_tier": "strong",
    }
    return {
        "skill": skill,
        "state": "NEEDS_FIXES",
        "summary": SENTENCE * 4,
        "unit": {"type": "feature", "id": "12-csv", "issue": 7, "branch": "feat/12-csv"},
        "phase": {"current": "P1", "total": 2, "completed": 0},
        "pr": {"number": 3, "url": None, "state": "open", "head_sha": "abc", "merge_ready": None, "ci": "green"},
        "gates": {"verification": "green", "review_pending": False, "audit_pending": None},
        "findings": {"fix_now": [row] * findings, "issues_filed": [], "untriaged": 0, "decisions_recorded": 0},
        "blockers": [],
        "dependencies": {"unmet": [], "build_order": []},
        "recommendations": {"product_audit": False, "reason": None},
        "needs_input": None,
        "next": {"recommended": "/execute-phase 12-csv", "alternatives": [], "tier": "cheap"},
        "detail": None,
    }


def seconds(work: Callable[[], object]) -> float:
    """The best time of one call."""
    timer = timeit.Timer(work)
    count, _ = timer.autorange()
    return min(timer.repeat(5, count)) / count


def turn_bar(name: str, document: dict[str, Any]) -> bool:
    block = json.dumps(document, indent=1)
    text = f"{SENTENCE * 5}\n\n```json\n{block}\n```\n"
    parse = seconds(lambda: parse_turn(skill="review-change", text=text))
    ratio = parse / seconds(lambda: json.loads(block))
    print(f"{name:<38}{len(block) / 1000:7.1f} KB  {parse * 1e6:9.1f} us  {ratio:5.2f} x json.loads")
    return ratio <= DECODE_BAR


def search_bar() -> bool:
    text = ("A line of a transcript with `code`, a ```bash fence and no result.\n" * 2000)[:100_000]
    passes = seconds(lambda: text.find("```json"))
    search = seconds(lambda: extract_last_json_block(text))
    print(f"{'100 KB without a block':<38}{100.0:7.1f} KB  {search * 1e6:9.1f} us  {search / passes:5.2f} x str.find")
    return search / passes <= FIND_BAR


def openers_bar() -> bool:
    worst = 0.0
    for opener in ("x```json\n", "```json\n", "\n```json\n"):
        text = (opener * (5_000_000 // len(opener) + 1))[:5_000_000]
        worst = max(worst, min(timeit.Timer(partial(extract_last_json_block, text)).repeat(3, 1)))
    print(f"{'5 MB of openers, the worst of three':<38}{5000.0:7.1f} KB  {worst * 1e6:9.1f} us")
    return worst < OPENERS_BAR


def others() -> None:
    documents = [
        {"path": "docs/workflow/REPOSITORY_STATE.md", "content": "# R\n\nStatus: frozen\n"},
        {"path": "docs/features/ROADMAP.md", "content": "| 12 | csv | in-progress |\n" * 20},
        {"path": "docs/features/12-csv/SPEC.md", "content": "## P1 — Parser\n\n## P2 — Writer\n" * 4},
        {"path": "docs/features/12-csv/progress.md", "content": "- Done: P1\n- Remains: P2\n"},
    ]
    repository = {"branch": "main", "headSha": "abc", "dirty": False}

    def compiled() -> Any:
        result = compile_workflow_snapshot(source_revision="r", repository=repository, documents=documents)
        return result.snapshot

    snapshot, last = compiled(), outcome("status", 0)
    policy = {"allowedIntents": list(INTENTS), "forgeWriteAuthorized": True}

    def decide() -> Any:
        return decide_workflow_action(
            snapshot=snapshot, last_outcome=last, last_outcome_source_revision="r", policy=policy
        )

    assert decide().kind == "invoke"
    for name, work in (("compile four small documents", compiled), ("decide", decide)):
        print(f"{name:<38}{'':10}  {seconds(work) * 1e6:9.1f} us")


def main() -> int:
    met = [
        search_bar(),
        turn_bar("turn with an outcome", outcome("review-change", 12)),
        turn_bar("turn with an envelope", envelope("review-change", 16)),
        turn_bar("turn with a large outcome", outcome("review-change", 300)),
        openers_bar(),
    ]
    others()
    print("every bar is met" if all(met) else "a bar is missed")
    return 0 if all(met) else 1


if __name__ == "__main__":
    raise SystemExit(main())
