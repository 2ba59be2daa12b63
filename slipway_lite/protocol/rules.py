"""Outcome input, stage 2: which combinations are legal (machine-protocol §3.3 to §3.6). Pure.

Reached only for the current Action of an active Run. Every refusal is ``invalid_outcome`` with exit status 3.
"""

from __future__ import annotations

import hashlib

from slipway_lite.canon import encode_canonical, is_digest
from slipway_lite.errors import SlipwayError
from slipway_lite.text import is_blank, is_md, is_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


KINDS = ("orient", "clarify", "implement", "review", "summarize")
STATUSES = ("completed", "needs_input", "partial", "error")
SUGGESTED_KINDS = ("clarify", "implement", "summarize")
DECISION = "decision_required"
DESTRUCTIVE = "destructive_confirmation_required"
ENVIRONMENT = "environment_unavailable"
TARGET_KINDS = ("path", "git_ref", "external_resource", "data_domain")
ACTIVITY_KINDS = ("test", "typecheck", "build", "lint")
BRIEF_LIMIT = 8192
SCOPE_VERSION = 1

# (kind, status): (required branch, its results, legal pause reasons, most suggestions). The branch stays null
# where none is named; a status is needs_input exactly where pause reasons are. What is not here is illegal.
LEGALITY: dict[tuple[str, str], tuple[str | None, tuple[str, ...], tuple[str, ...], int]] = {
    ("orient", "completed"): (None, (), (), 1),
    ("orient", "partial"): (None, (), (), 1),
    ("orient", "error"): (None, (), (), 1),
    ("orient", "needs_input"): (None, (), (DECISION, ENVIRONMENT), 0),
    ("clarify", "completed"): (None, (), (), 1),
    ("clarify", "error"): (None, (), (), 1),
    ("clarify", "needs_input"): (None, (), (DECISION, ENVIRONMENT), 0),
    ("implement", "completed"): ("implementation", ("applied", "not_needed"), (), 0),
    ("implement", "partial"): ("implementation", ("partial",), (), 0),
    ("implement", "error"): ("implementation", ("unable",), (), 0),
    ("implement", "needs_input"): (None, (), (DECISION, DESTRUCTIVE, ENVIRONMENT), 0),
    ("review", "completed"): ("review", ("no_findings_reported", "findings_reported"), (), 0),
    ("review", "partial"): ("review", ("inconclusive",), (), 0),
    ("review", "error"): ("review", ("error",), (), 0),
    ("summarize", "completed"): (None, (), (), 0),
    ("summarize", "error"): (None, (), (), 0),
}
# How many findings a Review result goes with: (at least, at most); None is no bound.
FINDINGS: dict[str, tuple[int, int | None]] = {
    "no_findings_reported": (0, 0),
    "findings_reported": (1, None),
    "inconclusive": (0, None),
    "error": (0, None),
}


def validate(outcome: dict[str, Any], action_id: str, kind: str) -> None:
    """Refuse ``outcome`` (of the exact shape) unless it is legal for the Action ``action_id`` of ``kind``."""
    _require(outcome["action_id"] == action_id, "action_id names another Action than the current one")
    _require(outcome["action_kind"] in KINDS, "action_kind is no kind of Action")
    _require(outcome["action_kind"] == kind, f"action_kind differs from the current Action, which is {kind}")
    status = outcome["status"]
    _require(status in STATUSES, "status must be completed, needs_input, partial or error")
    _md(outcome["summary"], "summary")
    _each_md(outcome["observations"], "observations")
    _each_md(outcome["known_issues"], "known_issues")
    _suggestions(outcome["suggested_actions"])
    _pause(outcome["pause"], status, kind)
    legal = LEGALITY.get((kind, status))
    _require(legal is not None, f"{kind} cannot be {status}")
    assert legal is not None
    branch, results, pauses, most = legal
    for name in ("implementation", "review"):
        if name != branch:
            _require(outcome[name] is None, f"{name} must be null for {kind} {status}")
        else:
            _require(outcome[name] is not None, f"{name} is required for {kind} {status}")
    if outcome["implementation"] is not None:
        _implementation(outcome["implementation"], results, status)
    if outcome["review"] is not None:
        _review(outcome["review"], results, status)
    if outcome["pause"] is not None:
        _require(outcome["pause"]["reason"] in pauses, f"{kind} cannot pause for this reason")
    _require(len(outcome["suggested_actions"]) <= most, f"{kind} {status} cannot suggest an Action")


def _require(condition: bool, clause: str) -> None:
    if not condition:
        raise SlipwayError(
            "invalid_outcome",
            f"The Outcome was refused: {clause}. Correct it and submit it for the same Action.",
        )


def _md(text: str, name: str) -> None:
    _require(not is_blank(text), f"{name} must not be blank")
    _require(is_md(text), f"{name} has a control character")


def _each_md(texts: Iterable[str], name: str) -> None:
    _require(all(map(is_md, texts)), f"{name} has a control character")


def _suggestions(suggestions: list[dict[str, Any]]) -> None:
    _require(len(suggestions) <= 1, "suggested_actions holds more than one Action")
    for suggestion in suggestions:
        _require(suggestion["kind"] in SUGGESTED_KINDS, "a suggested kind must be clarify, implement or summarize")
        _md(suggestion["brief"], "a suggested brief")
        _require(
            len(suggestion["brief"].encode()) <= BRIEF_LIMIT,
            f"a suggested brief is longer than {BRIEF_LIMIT} bytes",
        )


def _pause(pause: dict[str, Any] | None, status: str, kind: str) -> None:
    if status != "needs_input":
        _require(pause is None, "pause must be null unless status is needs_input")
        return
    _require(pause is not None, "needs_input requires a pause")
    assert pause is not None
    reason, request = pause["reason"], pause["destructive_request"]
    _require(reason in (DECISION, DESTRUCTIVE, ENVIRONMENT), "pause.reason is no reason that a host may give")
    _md(pause["question"], "pause.question")
    if reason == DESTRUCTIVE:
        _require(kind == "implement", "only an Implement can ask for a destructive confirmation")
        _require(request is not None, "a destructive pause requires pause.destructive_request")
        assert request is not None
        _require(scope_problem(request) is None, scope_problem(request) or "")
    else:
        _require(request is None, f"pause.destructive_request must be null for {reason}")
    if "supersedes_answer_action_id" in pause:
        _require(reason == DECISION, "only a decision pause can supersede an answer")
        superseded = pause["supersedes_answer_action_id"]
        _require(not is_blank(superseded) and is_plain(superseded), "the superseded Action id is not plain text")


def _implementation(implementation: dict[str, Any], results: tuple[str, ...], status: str) -> None:
    _require(
        implementation["result"] in results,
        f"a {status} implementation.result must be {' or '.join(results)}",
    )
    _require(all(map(is_plain, implementation["files_changed"])), "a changed file has a control character")
    for activity in implementation["activities"]:
        _require(activity["kind"] in ACTIVITY_KINDS, "an activity must be test, typecheck, build or lint")
        _md(activity["command"], "an activity's command")
        _md(activity["summary"], "an activity's summary")
    _each_md(implementation["uncertainties"], "implementation.uncertainties")
    _require(implementation["attempts"] >= 1, "implementation.attempts must be at least 1")


def _review(review: dict[str, Any], results: tuple[str, ...], status: str) -> None:
    _require(review["result"] in results, f"a {status} review.result must be {' or '.join(results)}")
    least, most = FINDINGS[review["result"]]
    count = len(review["findings"])
    _require(count >= least and (most is None or count <= most), f"review.result does not go with {count} findings")
    for finding in review["findings"]:
        _require(not is_blank(finding["location"]), "a finding's location must not be blank")
        _require(is_plain(finding["location"]), "a finding's location has a control character")
        _md(finding["summary"], "a finding's summary")
        _md(finding["detail"], "a finding's detail")
    _each_md(review["uncertainties"], "review.uncertainties")


def scope_problem(request: dict[str, Any]) -> str | None:
    """Why a destructive request is not exactly what it says, as a clause; ``None`` when it is (§3.6)."""
    targets = [(target["kind"], target["value"]) for target in request["targets"]]
    if not _is_canonical_uuid(request["request_id"]):
        return "destructive_request.request_id is not a lower-case UUID of the RFC variant"
    if not targets:
        return "destructive_request.targets is empty"
    for kind, value in targets:
        if kind not in TARGET_KINDS:
            return "a destructive target must be a path, git_ref, external_resource or data_domain"
        if is_blank(value) or not is_plain(value):
            return "a destructive target's value must be plain text that is not blank"
    if targets != sorted(set(targets)):
        return "destructive_request.targets must be sorted by kind and value, without duplicates"
    if is_blank(request["impact"]) or not is_md(request["impact"]):
        return "destructive_request.impact must be text that is not blank"
    if not is_digest(request["scope_sha256"]) or request["scope_sha256"] != scope_sha256(request):
        return "destructive_request.scope_sha256 is not the digest of this scope"
    return None


def scope_sha256(request: dict[str, Any]) -> str:
    """The digest of request id, targets and impact in their canonical form (§3.6)."""
    scope = {
        "impact": request["impact"],
        "request_id": request["request_id"],
        "scope_version": SCOPE_VERSION,
        "targets": [{"kind": target["kind"], "value": target["value"]} for target in request["targets"]],
    }
    return "sha256:" + hashlib.sha256(encode_canonical(scope).encode()).hexdigest()


def _is_canonical_uuid(text: str) -> bool:
    groups = text.split("-")
    return (
        [len(group) for group in groups] == [8, 4, 4, 4, 12]
        and not "".join(groups).strip("0123456789abcdef")
        and groups[3][0] in "89ab"
    )
