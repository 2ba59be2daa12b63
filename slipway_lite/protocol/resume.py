"""Decide what ``protocol resume`` does (machine-protocol §4.7, §8.7, §8.8): refresh, keep, choose, or orient. Pure.

Only what ``next`` calls a resume may be resumed, so that the retry of a lost success never voids new work silently.
"""

from __future__ import annotations

from slipway_lite.errors import SlipwayError
from slipway_lite.protocol import next as following
from slipway_lite.protocol.commands import refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slipway_lite.protocol.commands import Event
    from slipway_lite.protocol.run import Run

# Refusals after which the only way on is a new Run with the source that was fetched (§1.6.2).
_START_ANEW = frozenset({"source_issue_mismatch", "source_history_fork", "source_alias_limit"})


class Mode:
    """How a resume treats the source: nothing said, ``pinned``, a fetched ``classification``, or a ``choice``.

    At most one of the three is given; ``candidate`` goes with ``choice``.
    """

    __slots__ = ("candidate", "choice", "classification", "pinned")

    def __init__(
        self,
        pinned: bool = False,
        classification: dict[str, Any] | None = None,
        choice: str = "",
        candidate: str = "",
    ) -> None:
        self.pinned = pinned
        self.classification = classification
        self.choice = choice
        self.candidate = candidate

    @property
    def given(self) -> bool:
        return self.pinned or self.classification is not None or bool(self.choice)


def resume(run: Run, budget: int, mode: Mode, candidate_id: str, at: str) -> Event | None:
    """The event of a resume; ``None`` for the replay of a choice that was made before.

    ``budget`` 0 keeps or refills what is left; ``candidate_id`` and ``at`` name a candidate if one is created.
    """
    if mode.choice and run.source_candidate is None and mode.candidate in run.choices:
        receipt, _ = run.choices[mode.candidate]
        if receipt["choice"] == mode.choice:
            return None
        raise _resume_refusal(run, "source_choice_conflict", "this candidate was resolved by the other choice.")
    if run.state == "ended":
        raise refusal(run, "run_already_ended", "it cannot be resumed.")
    if following.derive(run)["operation"] != "resume":
        raise refusal(run, "run_not_resumable", "resuming would void its outstanding work; stop it first for that.")
    if run.ad_hoc:
        if mode.given:
            raise _resume_refusal(run, "source_mode_not_allowed", "it has no source, so it takes no source option.")
        return "run_resumed", {"budget": budget}
    if run.source_candidate is not None:
        return _choose(run, budget, mode)
    if mode.choice:
        raise refusal(run, "stale_source_candidate", "no such source candidate waits for a choice.")
    if mode.classification is not None:
        return _refresh(run, budget, mode.classification, candidate_id, at)
    if mode.pinned:
        return "source_refresh_skipped", {"budget": budget, "outcome": "source_refresh_skipped"}
    raise _resume_refusal(run, "source_mode_required", "it needs to be told what to do about its source.")


def _resume_refusal(run: Run, code: str, why: str) -> SlipwayError:
    return refusal(run, code, why, resume_only=True)


def _choose(run: Run, budget: int, mode: Mode) -> Event:
    from slipway_lite.protocol.source.refresh import REFUSALS, choose

    assert run.source_candidate is not None
    assert run.pinned_source is not None
    if mode.classification is not None or mode.pinned:
        raise _resume_refusal(run, "source_candidate_pending", "a source candidate waits for a choice first.")
    if not mode.choice:
        raise _resume_refusal(run, "source_choice_required", "a source candidate waits for a choice.")
    if mode.candidate != run.source_candidate["candidate_id"]:
        raise refusal(run, "stale_source_candidate", "another source candidate waits for a choice.")
    decision = choose(run.pinned_source, run.source_candidate, mode.choice)
    if decision["outcome"] in REFUSALS:
        raise _resume_refusal(run, decision["outcome"], REFUSALS[decision["outcome"]])
    return decision["operation"], {"budget": budget, "choice": mode.choice}


def _refresh(run: Run, budget: int, classification: dict[str, Any], candidate_id: str, at: str) -> Event:
    from slipway_lite.protocol.source.classify import source_candidate
    from slipway_lite.protocol.source.refresh import REFUSALS, refresh

    assert run.pinned_source is not None
    decision = refresh(run.pinned_source, run.accepted_sections, classification)
    outcome = decision["outcome"]
    if outcome in REFUSALS:
        raise _source_refusal(run, decision)
    if decision["operation"] == "source_candidate_created":
        candidate = source_candidate(candidate_id, decision["classification"], at)
        return "source_candidate_created", {"outcome": outcome, "candidate": candidate}
    return "source_refreshed", {"budget": budget, "outcome": outcome, "pinned_source": decision["pinned_source"]}


def _source_refusal(run: Run, decision: dict[str, Any]) -> SlipwayError:
    from slipway_lite.protocol.source.refresh import REFUSALS

    code = decision["outcome"]
    error = _resume_refusal(run, code, REFUSALS[code])
    if code in _START_ANEW:
        error.message = f"{REFUSALS[code]} The Run is unchanged; start a new Run for this source."
        error.next = following.start(
            run.workspace["id"], run.root, run.initial_budget, run.review_enabled, with_source=True
        )
    if code == "source_issue_mismatch":
        issues = {name: decision[name] for name in ("pinned_issue_id", "refreshed_issue_id")}
        error.details = {**(error.details or {}), **issues}
    return error
