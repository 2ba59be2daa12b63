"""Valid documents of the three contracts, to be taken apart by tests."""

from __future__ import annotations

import json
from typing import Any


def outcome(skill: str = "execute-phase", intent: str = "review-change", **changes: Any) -> dict[str, Any]:
    return {
        "contract": "agentic-workflow/skill-outcome",
        "version": 1,
        "skill": skill,
        "status": "completed",
        "summary": "Phase P1 is done.",
        "next": {"intent": intent, "targets": ["12-csv"]},
        "blockers": [{"kind": "gate", "id": "lint", "scope": "unit", "detail": "one warning"}],
        "questions": [{"id": "q1", "question": "Which?", "options": ["a", "b"]}],
        "discoveries": [
            {
                "kind": "risk",
                "scope": "outside-unit",
                "summary": "The importer has no test.",
                "evidence_refs": ["src/importer.py:4"],
                "proposed_intent": "triage-issue",
            }
        ],
        "evidence_refs": ["workflow-snapshot", "current-candidate"],
        **changes,
    }


def envelope(skill: str = "workflow-status", **changes: Any) -> dict[str, Any]:
    return {
        "skill": skill,
        "state": "OK",
        "summary": "Nothing is in the way.",
        "unit": {"type": "feature", "id": "12-csv", "issue": 7, "branch": "feat/12-csv"},
        "phase": {"current": "P1", "total": 2, "completed": 0},
        "pr": {
            "number": 3,
            "url": "https://forge.example/3",
            "state": "open",
            "head_sha": "abc",
            "merge_ready": False,
            "ci": "green",
        },
        "gates": {"verification": "green", "review_pending": True, "audit_pending": False},
        "findings": {
            "fix_now": [
                {
                    "id": "F1",
                    "file": "src/a.py",
                    "axis": "security",
                    "severity": "high",
                    "class": "injection",
                    "route": "fold",
                    "suggested_tier": "strong",
                }
            ],
            "issues_filed": [4],
            "untriaged": 0,
            "decisions_recorded": 1,
        },
        "blockers": [{"kind": "gate", "id": "lint", "scope": "unit", "detail": "one warning"}],
        "dependencies": {"unmet": ["11-x"], "build_order": ["11-x"]},
        "recommendations": {"product_audit": False, "reason": None},
        "needs_input": {"question": "Which?", "options": ["a"]},
        "next": {
            "recommended": "/execute-phase 12-csv P1",
            "alternatives": [],
            "tier": "cheap",
            "suggested": [{"command": "/audit-pr", "trigger": "green", "source_skill": "review-change"}],
            "continuation": {
                "argv": ["/execute-phase", "12-csv"],
                "rendering": "/execute-phase 12-csv",
                "preconditions": [{"id": "clean", "check": "git status", "satisfied": True}],
                "evidence": {"artifact": "SPEC.md", "digest": "0" * 64},
                "convergence": "P1 is done",
            },
        },
        "detail": {"anything": [1, None]},
        **changes,
    }


def snapshot(**changes: Any) -> dict[str, Any]:
    return {
        "contract": "agentic-workflow/workflow-snapshot",
        "version": 1,
        "sourceRevision": "rev1",
        "repository": {"branch": "main", "headSha": "abc", "dirty": False},
        "repositoryState": "frozen",
        "unit": {"kind": "feature", "id": "12-csv", "status": "in-progress"},
        "phase": {"current": "P1", "total": 2, "completed": 0, "names": ["P1 — Parser", "P2 — Writer"]},
        "provenance": [{"field": "unit", "source": "docs/features/ROADMAP.md", "line": 3}],
        "contradictions": [{"field": "repositoryState", "source": "x", "line": 1, "detail": "declared"}],
        "unknowns": [{"field": "phase.completed", "reason": "none"}],
        **changes,
    }


def without(document: dict[str, Any], *path: str) -> dict[str, Any]:
    """A deep copy of ``document`` that lacks the key at the end of ``path``."""
    copy: dict[str, Any] = json.loads(json.dumps(document))
    place = copy
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return copy


def with_value(document: dict[str, Any], value: Any, *path: str | int) -> dict[str, Any]:
    """A deep copy of ``document`` with ``value`` at the end of ``path``."""
    copy: dict[str, Any] = json.loads(json.dumps(document))
    place: Any = copy
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return copy


def fenced(value: Any) -> str:
    return f"What I did.\n\n```json\n{value if isinstance(value, str) else json.dumps(value)}\n```\n"
