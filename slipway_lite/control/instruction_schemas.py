"""The JSON Schemas inside an instruction envelope: tool arguments and required outputs (control-plane
§2.7).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}


def _closed(required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": properties,
    }


ARGS_SCHEMAS: MappingProxyType[str, dict[str, Any]] = MappingProxyType(
    {
        "read_file": _closed(("path",), path=_TEXT),
        "search_repo": _closed(("query",), query=_TEXT, path=_TEXT),
        "list_files": _closed((), path=_TEXT),
        "get_issue": _closed(("ref",), ref=_TEXT),
        "apply_patch_intent": _closed(("patch",), patch=_TEXT),
        "run_test_suite": _closed(("suite",), suite=_TEXT),
        "write_file": _closed(("path", "content"), path=_TEXT, content=_TEXT),
        "run_command": _closed(("command",), command=_TEXT),
        "check_verdict": _closed(("outcome",), outcome=_TEXT),
    }
)

OUTPUT_SCHEMAS: MappingProxyType[str, dict[str, Any]] = MappingProxyType(
    {
        "plan_intent": _closed(
            ("summary", "steps", "risk_assessment"),
            summary={"type": "string", "maxLength": 500},
            steps={
                "type": "array",
                "items": _closed(("description",), description=_TEXT, files_affected=_TEXTS, dependencies=_TEXTS),
            },
            risk_assessment=_closed(("level", "factors"), level={"enum": ["low", "medium", "high"]}, factors=_TEXTS),
            estimated_files={"type": "integer", "minimum": 0},
        ),
        "tool_plan": _closed(
            ("summary", "calls", "evidence"),
            summary={"type": "string", "maxLength": 400},
            calls={
                "type": "array",
                "maxItems": 8,
                "items": _closed(("tool", "args"), tool=_TEXT, args={"type": "object"}),
            },
            evidence={"type": "array", "maxItems": 12, "items": _TEXT},
        ),
        "acceptance_verdict": _closed(
            ("outcome", "reason"),
            outcome={"enum": ["accept", "reject", "rework", "needs_manual_review"]},
            reason={"type": "string", "maxLength": 500},
            evidence_refs=_TEXTS,
            checklist_completed={"type": "boolean"},
            test_results_summary=_TEXT,
        ),
    }
)
