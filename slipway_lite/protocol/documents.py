"""The wire documents of Runs, one function each, keys in wire order (machine-protocol §2). Pure."""

from __future__ import annotations

from slipway_lite.protocol import next as following
from slipway_lite.protocol.action import action_document
from slipway_lite.protocol.outcome import CONTRACT_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slipway_lite.protocol.run import Record, Run


def protocol_state(run: Run, resume_result: dict[str, Any] | None = None) -> dict[str, Any]:
    """``protocolState``: the reply of every mutation (§2.2). ``resume_result`` is given by a resume only."""
    document: dict[str, Any] = {
        "contract_version": CONTRACT_VERSION,
        "run_id": run.run_id,
        "state": run.state,
    }
    if run.pause_reason:
        document["pause_reason"] = run.pause_reason
    if run.summary is not None:
        document["summary"] = run.summary
    if run.visible_action is not None:
        document["action"] = action_document(run, run.visible_action)
    document["next"] = following.derive(run)
    if run.pinned_source is not None:
        document["pinned_source"] = run.pinned_source
    if run.source_candidate is not None:
        document["source_candidate"] = run.source_candidate
    if resume_result is not None:
        document["resume_operation"] = resume_result["operation"]
        document["budget_applied"] = resume_result["budget_applied"]
    return document


def _record(run: Run, record: Record) -> dict[str, Any]:
    document: dict[str, Any] = {"action": action_document(run, record)}
    if record.outcome is not None:
        document["outcome"] = record.outcome
        document["outcome_payload_sha256"] = record.outcome_payload_sha256
    if record.skipped and record.kind == "review" and record.outcome is None:
        document["review_projection"] = {"result": "not_run", "findings": [], "uncertainties": []}
    if record.voided:
        document["voided"] = True
    if record.skipped:
        document["skipped"] = True
    return document


def run_status(run: Run) -> dict[str, Any]:
    """``runStatus``: everything on record about one Run (§2.3)."""
    document: dict[str, Any] = {
        "contract_version": CONTRACT_VERSION,
        "id": run.run_id,
        "goal": run.goal,
        "workspace": run.root,
        "workspace_identity": run.workspace,
        "state": run.state,
    }
    if run.pause_reason:
        document["pause_reason"] = run.pause_reason
    document |= {
        "review_enabled": run.review_enabled,
        "review_pending": run.review_pending,
        "initial_budget": run.initial_budget,
        "remaining_budget": run.remaining_budget,
        "initial_git": run.initial_git,
        "current_git": run.current_git,
        "final_git_observed": run.final_git_observed,
    }
    _add_present(
        document,
        pinned_source=run.pinned_source,
        source_candidate=run.source_candidate,
        last_source_choice=run.last_source_choice,
        last_resume_result=run.last_resume_result,
    )
    records = [_record(run, record) for record in run.records]
    if run.visible_action is not None:
        document["current_action"] = records[run.visible_action.ordinal - 1]["action"]
    document["actions"] = records
    _add_present(
        document,
        pending_actions=run.pending,
        answers=run.answers,
        observations=run.kept_observations(),
        known_issues=run.known_issues,
        uncertainties=run.uncertainties,
        activities=run.activities,
        summary=run.summary,
        pending_destructive_request=run.pending_request,
        destructive_grant=run.grant,
    )
    document["created_at"] = run.created_at
    document["updated_at"] = run.updated_at
    document["next"] = following.derive(run)
    return document


def _add_present(document: dict[str, Any], **fields: Any) -> None:
    """Add the fields that apply: an absent object or an empty array is left out (§2.3)."""
    for name, value in fields.items():
        if value:
            document[name] = value


def foreign_stub(run_id: str, created_at: str, state: str, data: dict[str, Any]) -> dict[str, Any]:
    """A Run of a sibling worktree, from its first record only; keys in ascending order (§2.4)."""
    identity = data["workspace_identity"]
    return {
        "contract_version": CONTRACT_VERSION,
        "created_at": created_at,
        "goal": data["goal"],
        "id": run_id,
        "next": inspect_in_its_workspace(identity, run_id),
        "state": state,
        "workspace": identity["worktree_root"],
        "workspace_foreign": True,
        "workspace_identity": identity,
    }


def inspect_in_its_workspace(identity: dict[str, Any], run_id: str | None = None) -> dict[str, Any]:
    """Look from the worktree that owns the Run; the identity is the pinned one, never discovered again."""
    argv = ["status", *([run_id] if run_id else ()), "--root", identity["worktree_root"]]
    return following.command(identity["id"], "inspect-run-in-its-workspace", *argv)


def status_list(runs: list[dict[str, Any]], unavailable: list[dict[str, Any]]) -> dict[str, Any]:
    """``statusList``: Runs by creation, unreadable ones by id (§2.5)."""
    return {
        "contract_version": CONTRACT_VERSION,
        "runs": sorted(runs, key=lambda run: (creation(run["created_at"]), run["id"])),
        "unavailable_runs": sorted(unavailable, key=lambda run: run["id"]),
    }


def creation(created_at: str) -> str:
    """A time to sort by: imported ones have as many fractional digits as they need, and `Z` comes after a digit."""
    return created_at.removesuffix("Z")


def section_document(section: dict[str, Any], markdown: str) -> dict[str, Any]:
    return {
        "key": section["key"],
        "role": section["role"],
        "title": section["title"],
        "section_revision": section["section_revision"],
        "markdown": markdown,
    }


def action_material(run: Run, action_id: str, section: dict[str, Any]) -> dict[str, Any]:
    """``actionMaterial``: one section read for the current Action (§2.6)."""
    return {
        "contract_version": CONTRACT_VERSION,
        "message_type": "action_material",
        "run_id": run.run_id,
        "action_id": action_id,
        "requirements_revision": run.requirements_revision,
        "section": section,
    }


def pinned_material(run: Run, section: dict[str, Any]) -> dict[str, Any]:
    """``pinnedMaterial``: one section read for inspection, in any state (§2.6)."""
    assert run.pinned_source is not None
    return {
        "contract_version": CONTRACT_VERSION,
        "message_type": "pinned_material",
        "run_id": run.run_id,
        "run_state": run.state,
        "source_revision": run.pinned_source["source_revision"],
        "requirements_revision": run.requirements_revision,
        "section": section,
    }


def error_document(code: str, message: str, step: dict[str, Any], exit_code: int, details: Any) -> dict[str, Any]:
    """``cliError`` (§1.5): an invalid ``step`` degrades to none, details have their keys in ascending order."""
    if not following.is_valid(step):
        step = following.none(step["workspace_identity"])
    document = {
        "contract_version": CONTRACT_VERSION,
        "code": code,
        "message": message,
        "next": step,
        "exit_code": exit_code,
    }
    if details is not None:
        document["details"] = dict(sorted(details.items()))
    return document
