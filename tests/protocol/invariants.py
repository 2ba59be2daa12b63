"""What must hold after every event of a Run (machine-protocol §6.5), read from its public status before and after."""

from __future__ import annotations

import hashlib
from typing import Any

from slipway_lite.protocol.run import Run
from tests.protocol.valid_next import check as check_next

PAUSES = {"decision_required", "destructive_confirmation_required", "environment_unavailable", "budget_exhausted"}
DESTRUCTIVE = "destructive_confirmation_required"


def framed(*fields: str) -> str:
    raw = b"".join(len(field.encode()).to_bytes(8, "big") + field.encode() for field in fields)
    return "sha256:" + hashlib.sha256(raw).hexdigest()


def check(run: Run, before: dict[str, Any] | None, after: dict[str, Any], event: str) -> None:
    """Assert the invariants of ``after``, and of the step that ``event`` made from ``before``."""
    check_next(after["next"], after["workspace_identity"]["id"])
    _check_state(run, after)
    _check_current(run, after)
    _check_destructive(run, after)
    _check_answers(after)
    if before is not None:
        _check_step(before, after, event)
        _check_answer_step(before, after)
        assert after["next"] != {} and before["goal"] == after["goal"]
        for name in ("id", "workspace_identity", "review_enabled", "initial_budget", "initial_git", "created_at"):
            assert after[name] == before[name]
        assert after["updated_at"] > before["updated_at"]


def _check_state(run: Run, after: dict[str, Any]) -> None:
    assert after["state"] in ("active", "paused", "stopped", "ended")
    assert ("pause_reason" in after) == (after["state"] == "paused")
    assert after.get("pause_reason") in PAUSES | {None}
    assert 0 <= after["remaining_budget"] <= 1000
    assert after["review_enabled"] or not after["review_pending"]
    assert ("summary" in after) == (after["state"] == "ended")
    assert after["state"] == "ended" or not after["final_git_observed"]
    assert len(after.get("summary", "").encode()) <= 65_536
    if after["state"] in ("stopped", "ended"):
        assert run.current is None
    if after["state"] == "active":
        assert "current_action" in after
    if after.get("pause_reason") in ("budget_exhausted",) or "source_candidate" in after:
        assert run.current is None
    if "source_candidate" in after:
        assert after["state"] in ("paused", "stopped")
    observations = after.get("observations", [])
    assert len(observations) <= 129
    if len(observations) == 129:
        assert observations[0] == f"...[{len(run.observations) - 128} earlier observations in journal]"


def _check_current(run: Run, after: dict[str, Any]) -> None:
    identifiers = [record["action"]["action_id"] for record in after["actions"]]
    assert len(set(identifiers)) == len(identifiers)
    assert {record["action"]["run_id"] for record in after["actions"]} == {after["id"]}
    for record in after["actions"]:
        assert ("outcome" in record) == ("outcome_payload_sha256" in record)
        assert record.get("voided", True) is record.get("skipped", True) is True
        assert not ("voided" in record and "skipped" in record)
        projected = "skipped" in record and record["action"]["kind"] == "review" and "outcome" not in record
        assert ("review_projection" in record) == projected
        assert len(record["action"]["brief"].encode()) <= 8192
        assert len(record["action"]["context"].encode()) <= 131_072
    if "current_action" in after:
        record = after["actions"][identifiers.index(after["current_action"]["action_id"])]
        assert record is after["actions"][-1]
        assert record["action"] == after["current_action"]
        assert "voided" not in record
        assert "skipped" not in record
        assert "outcome" not in record or record["outcome"]["status"] == "needs_input"
        source = after.get("pinned_source")
        if source is None:
            assert "source" not in record["action"]
            assert "requirements" not in record["action"]
        else:
            assert record["action"]["source"] == {
                "kind": "change_issue",
                **{name: source[name] for name in list(record["action"]["source"])[1:]},
            }
            assert record["action"]["requirements"]["requirements_revision"] == source["requirements_revision"]


def _check_destructive(run: Run, after: dict[str, Any]) -> None:
    grant, request = after.get("destructive_grant"), after.get("pending_destructive_request")
    paused = after.get("pause_reason") == DESTRUCTIVE
    if paused:
        assert request is not None
        assert grant is None
        assert "current_action" in after
    if grant is not None:
        assert request is not None
        assert after["state"] == "active"
        assert after["current_action"]["kind"] == "implement"
        assert after["current_action"]["destructive_authorization"] == grant
        assert grant["scope_sha256"] == request["scope_sha256"]
        assert (grant["targets"], grant["impact"]) == (request["targets"], request["impact"])
    if request is not None:
        assert paused or grant is not None
    if after["state"] == "active" and "destructive_authorization" in after["current_action"]:
        assert grant is not None


def _check_answers(after: dict[str, Any]) -> None:
    answers = after.get("answers", [])
    assert len({answer["action_id"] for answer in answers}) == len(answers)
    for answer in answers:
        confirmed = answer["confirm_destructive"]
        assert ("scope_sha256" in answer) == confirmed
        assert not (confirmed and answer["active"])
        assert not (answer["active"] and "superseded_by" in answer)
        assert confirmed or answer["active"] or "superseded_by" in answer
        assert ("requirements_revision" in answer) == ("source_revision" in answer) == ("pinned_source" in after)
        assert answer["payload_sha256"] == framed(
            "slipway-answer/v1",
            answer["action_id"],
            "true" if confirmed else "false",
            answer.get("scope_sha256", ""),
            answer["text"],
        )


def _check_answer_step(before: dict[str, Any], after: dict[str, Any]) -> None:
    old, new = before.get("answers", []), after.get("answers", [])
    assert len(old) <= len(new) <= len(old) + 1
    for one, other in zip(old, new, strict=False):
        fixed = {name: value for name, value in one.items() if name not in ("active", "superseded_by")}
        assert fixed == {name: value for name, value in other.items() if name not in ("active", "superseded_by")}
        assert one["active"] or one == other


def _check_step(before: dict[str, Any], after: dict[str, Any], event: str) -> None:
    old, new = before["actions"], after["actions"]
    assert len(old) <= len(new) <= len(old) + 1
    current = before.get("current_action", {}).get("action_id")
    for one, other in zip(old, new, strict=False):
        assert other["action"] == one["action"], "an issued Action never changes"
        if "outcome" in one:
            assert other["outcome"] == one["outcome"]
            assert other["outcome_payload_sha256"] == one["outcome_payload_sha256"]
        for mark in ("voided", "skipped"):
            assert mark in other or mark not in one, "a mark never goes away"
            if mark in other and mark not in one:
                assert one["action"]["action_id"] == current
        if "outcome" in other and "outcome" not in one:
            assert one["action"]["action_id"] == current
    issued = len(new) - len(old)
    if issued:
        assert list(new[-1]) == ["action"], "a new record starts clean"
        assert new[-1]["action"] == after["current_action"]
        assert new[-1]["action"]["remaining_budget"] == after["remaining_budget"]
    if not event.startswith("resume"):
        assert after["remaining_budget"] == before["remaining_budget"] - issued
    for name in ("known_issues", "uncertainties", "activities"):
        assert after.get(name, [])[: len(before.get(name, []))] == before.get(name, []), "lists only grow"
