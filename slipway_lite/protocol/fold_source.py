"""Fold the events of an issue-bound Run's source: refresh, candidate, choice (machine-protocol §8.7 to §8.9). Pure."""

from __future__ import annotations

from slipway_lite.protocol import prose
from slipway_lite.protocol.fold import clear_outstanding, pause, resume_with, supersede
from slipway_lite.protocol.source.refresh import choose, remember

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from slipway_lite.protocol.run import Run


def _pin(run: Run, source: dict[str, Any]) -> None:
    run.pinned_source = source
    run.accepted_sections = remember(run.accepted_sections, source)


def _refreshed(run: Run, kind: str, at: str, data: dict[str, Any]) -> None:
    """``source_refreshed`` pins fresh provenance; ``source_refresh_skipped`` keeps what is pinned."""
    if "pinned_source" in data:
        _pin(run, data["pinned_source"])
    run.observations.append(prose.SOURCE_OBSERVATIONS[data["outcome"]])
    run.last_resume_result = {"operation": kind, "budget_applied": True}
    resume_with(run, prose.BRIEFS[kind], data, at)


def _candidate_created(run: Run, kind: str, at: str, data: dict[str, Any]) -> None:
    """A changed source waits for a choice; what was outstanding is void, the budget untouched."""
    clear_outstanding(run)
    run.source_candidate = data["candidate"]
    pause(run, "decision_required")
    run.observations.append(prose.SOURCE_OBSERVATIONS[data["outcome"]])
    run.last_resume_result = {
        "operation": kind,
        "budget_applied": False,
        "candidate_id": data["candidate"]["candidate_id"],
    }


def _chosen(run: Run, kind: str, at: str, data: dict[str, Any]) -> None:
    """``source_amended`` and ``source_pinned``: the candidate is resolved, once and for all."""
    assert run.pinned_source is not None
    assert run.source_candidate is not None
    candidate_id = run.source_candidate["candidate_id"]
    decision = choose(run.pinned_source, run.source_candidate, data["choice"])
    if "superseded_by" in decision:
        for answer in [answer for answer in run.answers if answer["active"]]:
            supersede(run, answer["action_id"], decision["superseded_by"])
    _pin(run, decision["pinned_source"])
    run.source_candidate = None
    run.observations.append(prose.SOURCE_OBSERVATIONS[kind])
    run.last_resume_result = {"operation": kind, "budget_applied": True, "candidate_id": candidate_id}
    resume_with(run, prose.BRIEFS["source_chosen"], data, at)
    run.last_source_choice = {
        "candidate_id": candidate_id,
        "choice": data["choice"],
        "resulting_action_id": data["next_action_id"],
        "at": at,
    }
    run.choices[candidate_id] = (run.last_source_choice, run.last_resume_result)


SOURCE_EVENTS: dict[str, Callable[[Run, str, str, dict[str, Any]], None]] = {
    "source_refreshed": _refreshed,
    "source_refresh_skipped": _refreshed,
    "source_candidate_created": _candidate_created,
    "source_amended": _chosen,
    "source_pinned": _chosen,
}
"""What each event of a source does (§6.2, §8.9)."""
