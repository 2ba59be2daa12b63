"""Outcomes to write tests about: a legal one for every kind and status, and any field of it replaced."""

from __future__ import annotations

import hashlib
import json
from typing import Any

REQUEST_ID = "44444444-4444-4444-8444-444444444444"


def outcome(kind: str, status: str = "completed", *, action_id: str = "act-1", **fields: Any) -> dict[str, Any]:
    """A legal Outcome in wire key order; ``fields`` replace what it would hold."""
    document: dict[str, Any] = {
        "contract_version": 2,
        "action_id": action_id,
        "action_kind": kind,
        "status": status,
        "summary": f"{kind} is {status}",
        "observations": [],
        "known_issues": [],
        "suggested_actions": [],
        "pause": decision() if status == "needs_input" else None,
        "implementation": None,
        "review": None,
    }
    if kind == "implement" and status != "needs_input":
        results = {"completed": "applied", "partial": "partial", "error": "unable"}
        document["implementation"] = implementation(results[status])
    if kind == "review" and status != "needs_input":
        results = {"completed": "no_findings_reported", "partial": "inconclusive", "error": "error"}
        document["review"] = review(results[status])
    unknown = fields.keys() - document.keys()
    assert not unknown, unknown
    return document | fields


def implementation(result: str = "applied", **fields: Any) -> dict[str, Any]:
    return {"result": result, "files_changed": [], "activities": [], "uncertainties": [], "attempts": 1} | fields


def activity(kind: str = "test", **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "command": "make test", "exit_code": 0, "summary": "all passed"} | fields


def review(result: str = "no_findings_reported", findings: int = 0, **fields: Any) -> dict[str, Any]:
    return {
        "result": result,
        "findings": [finding(number) for number in range(1, findings + 1)],
        "uncertainties": [],
    } | fields


def finding(number: int = 1, **fields: Any) -> dict[str, Any]:
    return {"location": f"a.py:{number}", "summary": f"finding {number}", "detail": f"detail {number}"} | fields


def suggestion(kind: str = "implement", brief: str = "do it") -> dict[str, Any]:
    return {"kind": kind, "brief": brief}


def pause(reason: str, request: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return {"reason": reason, "question": "Which one?", "destructive_request": request} | fields


def decision(**fields: Any) -> dict[str, Any]:
    return pause("decision_required", **fields)


def environment(**fields: Any) -> dict[str, Any]:
    return pause("environment_unavailable", **fields)


def destructive(**fields: Any) -> dict[str, Any]:
    return pause("destructive_confirmation_required", request(**fields))


def request(
    request_id: str = REQUEST_ID,
    targets: tuple[tuple[str, str], ...] = (("path", "/srv/data"),),
    impact: str = "Deletes it for good.",
    scope_sha256: str | None = None,
) -> dict[str, Any]:
    """A destructive request; its digest is computed here by the recipe of §3.6, unless one is given."""
    documents = [{"kind": kind, "value": value} for kind, value in targets]
    scope = {"impact": impact, "request_id": request_id, "scope_version": 1, "targets": documents}
    raw = json.dumps(scope, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()
    return {
        "request_id": request_id,
        "targets": documents,
        "impact": impact,
        "scope_sha256": scope_sha256 or "sha256:" + hashlib.sha256(raw).hexdigest(),
    }


def raw(document: Any) -> bytes:
    """``document`` as a host would send it."""
    return json.dumps(document, ensure_ascii=False).encode() + b"\n"
