"""What each imported event must be, and what must hold after it (machine-protocol §6.2, §6.5, §8.9). Pure."""

from __future__ import annotations

from slipway_lite.errors import SlipwayError
from slipway_lite.protocol.action import bound
from slipway_lite.protocol.commands import answer_sha256
from slipway_lite.protocol.imported.conform import Misshapen
from slipway_lite.protocol.next import BUDGET_MAXIMUM, BUDGET_MINIMUM
from slipway_lite.protocol.rules import DESTRUCTIVE, scope_problem, validate
from slipway_lite.protocol.workspace import identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slipway_lite.protocol.imported.delta import Delta, State
    from slipway_lite.protocol.run import Run

GAINS: dict[str, tuple[int, int, int]] = {
    "run_started": (0, 0, 0),
    "outcome_submitted": (1, 0, 0),
    "answer_recorded": (0, 1, 0),
    "action_skipped": (0, 0, 1),
    "run_stopped": (0, 0, 0),
    "run_resumed": (0, 0, 0),
    "source_refreshed": (0, 0, 0),
    "source_refresh_skipped": (0, 0, 0),
    "source_candidate_created": (0, 0, 0),
    "source_amended": (0, 0, 0),
    "source_pinned": (0, 0, 0),
}
"""Event → how many outcomes, answers and skips it adds: exactly the one it is named after (§6.2)."""

RECEIPTS: dict[str, tuple[str, bool, bool]] = {
    "run_resumed": ("ad_hoc_resumed", True, False),
    "source_refreshed": ("source_refreshed", True, False),
    "source_refresh_skipped": ("source_refresh_skipped", True, False),
    "source_candidate_created": ("source_candidate_created", False, True),
    "source_amended": ("source_amended", True, True),
    "source_pinned": ("source_pinned", True, True),
}
"""Event of a resume → operation, whether the budget was applied, whether a candidate is named (§8.9)."""

CHOICES = {"source_amended": "adopt", "source_pinned": "pinned"}
"""Event that resolves a candidate → the choice in its receipt (§8.8)."""


def _require(holds: object, problem: str) -> None:
    if not holds:
        raise Misshapen(problem)


def check_start(delta: Delta) -> None:
    """What a first event says about the Run as such."""
    start = delta["initialize"]
    who = start["workspace_identity"]
    found = identity(who["worktree_root"], who["git_dir"], who["git_common_dir"])
    _require(who["id"] == found, "the workspace identity is not the digest of its paths")
    _require(start["workspace"] == who["worktree_root"], "the workspace is not the root of its identity")
    _require(BUDGET_MINIMUM <= start["initial_budget"] <= BUDGET_MAXIMUM, "the initial budget is out of range")


def check(run: Run, kind: str, before: State, after: State) -> None:
    """Every rule of one event from ``before`` to ``after``; ``run`` tells what never changes.

    Raises :class:`Misshapen` that says which one is broken.
    """
    _require(kind in GAINS, "the event is of a type that does not exist")
    gained = _check_records(run, before, after)
    answered = len(after["answers"]) - len(before["answers"])
    _require(GAINS[kind] == (gained[0], answered, gained[1]), "the event does not hold what its type says")
    issued = after["actions"][len(before["actions"]) :]
    if kind == "run_started":
        _require([record["action"]["kind"] for record in issued] == ["orient"], "the first Action is not an Orient")
    if kind == "run_stopped":
        _require(after["state"] == "stopped", "the Run is not stopped")
    if kind in RECEIPTS:
        _check_receipt(kind, before, after, issued)
    _require(kind in CHOICES or not _resolved(before, after), "a source choice has no place here")
    _require(before["state"] != "ended", "the Run goes on after its end")
    check_standing(run, after)
    _check_answers(after, before)
    _check_choices(after)


def _check_records(run: Run, before: State, after: State) -> tuple[int, int]:
    """Records only gain; how many outcomes and skips they gained."""
    known, outcomes, skips = len(before["actions"]), [], 0
    _require(len(after["actions"]) - known <= 1, "more than one Action is issued")
    waiting = (before["current_action"] or {}).get("action_id")
    for old, new in zip(before["actions"], after["actions"], strict=False):
        if new is old:
            continue
        _require(new["action"] == old["action"], "an issued Action is changed")
        if "outcome" in old:
            same = all(new.get(name) == old[name] for name in ("outcome", "outcome_payload_sha256"))
            _require(same, "an Outcome is changed")
        current = new["action"]["action_id"] == waiting
        for name in ("voided", "skipped"):
            _require(name in new or name not in old, f"an Action is no longer {name}")
            _require(current or name in old or name not in new, f"an Action is {name} that was not the current one")
        outcomes += [new["outcome"]] if "outcome" in new and "outcome" not in old else []
        skips += "skipped" in new and "skipped" not in old
        _check_record(new)
        _require(current or "outcome" not in new or "outcome" in old, "an Outcome is not of the current Action")
    for record in after["actions"][known:]:
        _require(record.keys() == {"action"}, "a new Action does not start clean")
        action = record["action"]
        _require(action["run_id"] == run.run_id and action["goal"] == run.goal, "an Action is not of this Run")
        _require(
            all(action["action_id"] != other["action"]["action_id"] for other in before["actions"]),
            "an Action id is used twice",
        )
        _require(action["remaining_budget"] == after["remaining_budget"], "an Action has another budget than its Run")
        _require((after["current_action"] or {}) == action, "a new Action is not the current one")
    _check_reported(outcomes[0] if outcomes else None, before, after)
    return len(outcomes), skips


def _check_reported(outcome: dict[str, Any] | None, before: State, after: State) -> None:
    """What an Outcome reports stands first in what its event appends; activities come from Outcomes only (§4.3)."""
    branches = [branch for branch in ((outcome or {}).get("implementation"), (outcome or {}).get("review")) if branch]
    reported = {
        "observations": outcome["observations"] if outcome else [],
        "known_issues": outcome["known_issues"] if outcome else [],
        "uncertainties": [text for branch in branches for text in branch["uncertainties"]],
    }
    for name, items in reported.items():
        _require(after[name][len(before[name]) :][: len(items)] == items, f"{name} are not those of the Outcome")
    activities = [item for branch in branches for item in branch.get("activities", ())]
    _require(after["activities"][len(before["activities"]) :] == activities, "activities are not those of the Outcome")


def _check_record(record: dict[str, Any]) -> None:
    _require(("outcome" in record) == ("outcome_payload_sha256" in record), "an Outcome and its digest go together")
    action = record["action"]
    projected = action["kind"] == "review" and "skipped" in record and "outcome" not in record
    _require(("review_projection" in record) == projected, "a projection of a Review has no place here")
    if projected:
        projection = record["review_projection"]
        _require(not projection["findings"] and not projection["uncertainties"], "a skipped Review found something")
    if "outcome" in record:
        try:
            validate(record["outcome"], action["action_id"], action["kind"])
        except SlipwayError as error:
            raise Misshapen(error.message) from None


def _check_receipt(kind: str, before: State, after: State, issued: list[dict[str, Any]]) -> None:
    operation, applied, named = RECEIPTS[kind]
    receipt = after["last_resume_result"] or {}
    found = (receipt.get("operation"), receipt.get("budget_applied"), "candidate_id" in receipt)
    _require(found == (operation, applied, named), "the receipt of the resume is not that of its event")
    kinds = [record["action"]["kind"] for record in issued]
    _require(kinds == (["orient"] if applied else []), "a resume issues exactly one Orient, and a candidate nothing")
    if kind == "source_candidate_created":
        candidate = after["source_candidate"] or {}
        _require(candidate.get("candidate_id") == receipt["candidate_id"], "the receipt names another candidate")
        _require(after["current_action"] is None, "an Action is current beside a new candidate")
    if kind in CHOICES:
        resolved = _resolved(before, after)
        _require(len(resolved) == 1, "a candidate is resolved by exactly one choice")
        choice = resolved[0]["receipt"]
        candidate_id = (before["source_candidate"] or {}).get("candidate_id")
        _require(
            choice["candidate_id"] == receipt["candidate_id"] == candidate_id and after["source_candidate"] is None,
            "the choice is not of the candidate that waited",
        )
        _require(choice["choice"] == CHOICES[kind], "the choice is not that of its event")
        _require(resolved[0]["result"] == receipt, "the result of the choice is not the receipt")
        _require(choice["resulting_action_id"] == issued[0]["action"]["action_id"], "the choice led to another Action")


def _resolved(before: State, after: State) -> list[Any]:
    name = "source_choice_resolutions"
    found: list[Any] = after[name][len(before[name]) :]
    return found


def check_standing(run: Run, after: State) -> None:
    """What holds of a state by itself, whatever led to it. Raises :class:`Misshapen`."""
    _check_state(run, after)
    _check_current(run, after)
    _check_destructive(after)


def _check_state(run: Run, after: State) -> None:
    _require((after["pause_reason"] != "") == (after["state"] == "paused"), "pause_reason goes with a pause")
    _require(after["remaining_budget"] >= 0, "the budget is negative")
    _require(run.review_enabled or not after["review_pending"], "a Review is pending that is not enabled")
    _require((after["pinned_source"] is None) == run.ad_hoc, "an ad-hoc Run has no source, and no other one loses it")
    _require((after["summary"] != "") == (after["state"] == "ended"), "summary goes with the end")
    _require(after["state"] == "ended" or not after["final_git_observed"], "the final look at git is before the end")
    candidate = after["source_candidate"]
    if candidate is not None:
        _require(after["state"] in ("paused", "stopped"), "a candidate waits in a Run that does not")
        _check_candidate(candidate)


_OF_VALID = ("source_revision", "requirements_revision", "title", "snapshot")
_OF_INVALID = ("classification_error", "observation_sha256")


def _check_candidate(candidate: dict[str, Any]) -> None:
    """§2.8: what a valid and what an invalid candidate has, and has not."""
    valid = candidate["valid"]
    needed, barred = (_OF_VALID, _OF_INVALID) if valid else (_OF_INVALID, _OF_VALID)
    _require(
        candidate["classification"] == ("valid" if valid else "invalid")
        and (candidate["classification_code"] == "valid_change") == valid
        and all(name in candidate for name in needed)
        and not any(name in candidate for name in barred),
        "the candidate is not what its classification says",
    )


def _check_current(run: Run, after: State) -> None:
    current = after["current_action"]
    if current is None:
        _require(after["state"] != "active", "an active Run has no current Action")
        return
    found: list[dict[str, Any]] = [record for record in after["actions"] if record["action"] == current]
    _require(found, "the current Action is not its record")
    if after["state"] in ("stopped", "ended"):
        return  # Older writers left it there; nobody is shown it, and the next event clears it.
    record = found[0]
    _require("voided" not in record and "skipped" not in record, "the current Action is void or skipped")
    status = record.get("outcome", {}).get("status", "needs_input")
    _require(status == "needs_input", "the current Action has its Outcome already")
    source = after["pinned_source"]
    expected = {} if source is None else bound(run, current["action_id"], source)
    told = {name: current[name] for name in ("source", "requirements") if name in current}
    _require(told == expected, "the source of the current Action is not the pinned one")


def _check_destructive(after: State) -> None:
    request, grant = after["pending_destructive_request"], after["destructive_grant"]
    current, state, reason = after["current_action"] or {}, after["state"], after["pause_reason"]
    waits = state == "paused" and reason == DESTRUCTIVE
    _require(request is not None or grant is None, "a grant has no request")
    _require(request is None or waits or grant is not None, "a destructive request hangs in the air")
    _require(not waits or (current and request is not None and grant is None), "a destructive pause has no request")
    authorization = current.get("destructive_authorization")
    if request is not None:
        _require(scope_problem(request) is None, "the destructive scope is not what its digest says")
    if authorization is not None:
        _require(scope_problem(authorization) is None, "the confirmed scope is not what its digest says")
    if grant is not None:
        _require(state == "active" and current.get("kind") == "implement", "a grant is not in use")
        same = ("request_id", "scope_sha256", "targets", "impact")
        _require(all(grant[name] == request[name] for name in same), "the grant is not that of the request")
    _require(state != "active" or authorization == grant, "the authorization of the Action is not the grant")


def _check_answers(after: State, before: State) -> None:
    known = len(before["answers"])
    issued = {record["action"]["action_id"] for record in after["actions"]}
    for old, new in zip(before["answers"], after["answers"], strict=False):
        _require(old is new or (old["active"] and not new["active"]), "an answer is active again")
        by = new.get("superseded_by", "")
        _require(old is new or by.startswith("requirements:") or by in issued, "an answer is superseded by no Action")
    for answer in after["answers"][known:]:
        action_id, scope = answer["action_id"], answer.get("scope_sha256")
        _require(action_id in issued, "an answer is to no Action")
        _require(
            all(other["action_id"] != action_id for other in after["answers"] if other is not answer),
            "an Action is answered twice",
        )
        confirmed = answer["confirm_destructive"]
        _require((scope is not None) == confirmed, "scope_sha256 goes with a confirmation")
        expected = answer_sha256(action_id, confirmed, scope or "", answer["text"])
        _require(answer["payload_sha256"] == expected, "the digest of an answer does not recompute")
        _require(answer["active"] != confirmed and "superseded_by" not in answer, "a new answer is superseded already")
        source = after["pinned_source"] or {}
        for name in ("source_revision", "requirements_revision"):
            _require(answer.get(name) == source.get(name), "an answer is to another source")


def _check_choices(after: State) -> None:
    resolutions = after["source_choice_resolutions"]
    identifiers = [item["receipt"]["candidate_id"] for item in resolutions]
    _require(len(set(identifiers)) == len(identifiers), "a candidate is resolved twice")
    last = resolutions[-1]["receipt"] if resolutions else None
    _require(after["last_source_choice"] == last, "last_source_choice is not the last choice")
