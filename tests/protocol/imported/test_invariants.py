"""Each rule about an imported event, broken once (machine-protocol §6.2, §6.5, §8.9)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from slipway_lite.canon import encode
from slipway_lite.protocol.imported.conform import Misshapen
from slipway_lite.protocol.imported.delta import BLANK, apply, difference
from slipway_lite.protocol.imported.fold import Imported
from slipway_lite.protocol.imported.invariants import GAINS
from tests.protocol.imported.models import (
    MODELS,
    adopted,
    answered,
    bound,
    confirmed,
    destructive,
    ended,
    implemented,
    invalid_candidate,
    kept,
    paused,
    refreshed,
    resumed,
    skipped,
    started,
    stopped,
    submitted,
    superseding,
    with_candidate,
)
from tests.protocol.imported.publishing import PublishedModel
from tests.protocol.model import RUN_ID
from tests.protocol.outcomes import activity
from tests.protocol.source.change import Change

Document = dict[str, Any]
Change_ = Callable[[Document], Any]
HEADER = ("event_version", "contract_version", "run_id", "updated_at", "initialize")


def reason(documents: list[Document]) -> str | None:
    """Why the last record does not follow; all others have to."""
    imported = Imported(RUN_ID)
    for record in documents[:-1]:
        imported.fold(record["type"], record["at"], encode(record["data"]))
    try:
        imported.fold(documents[-1]["type"], documents[-1]["at"], encode(documents[-1]["data"]))
    except Misshapen as error:
        return str(error)
    return None


def spoiled(model: PublishedModel, change: Change_, kind: str | None = None) -> str | None:
    """Why the last event is refused once ``change`` was made to the state after it, told canonically."""
    documents = copy.deepcopy(model.published.documents)
    before = BLANK
    for record in documents[:-1]:
        before = apply(before, record["data"])
    last = documents[-1]
    after = copy.deepcopy(apply(before, last["data"]))
    change(after)
    header = {name: last["data"][name] for name in HEADER if name in last["data"]}
    last["data"] = header | difference(before, after)
    last["type"] = kind or last["type"]
    return reason(documents)


@pytest.mark.parametrize("build", MODELS)
def test_what_was_published_follows(build: Callable[[], PublishedModel]) -> None:
    assert spoiled(build(), lambda after: None) is None


def test_the_models_end_with_every_kind_of_event() -> None:
    assert {build().published.documents[-1]["type"] for build in MODELS} == GAINS.keys()


@pytest.mark.parametrize("kind", GAINS)
@pytest.mark.parametrize("build", MODELS)
def test_an_event_is_of_the_type_that_it_says(build: Callable[[], PublishedModel], kind: str) -> None:
    model = build()
    own = model.published.documents[-1]["type"]
    assert (spoiled(model, lambda after: None, kind) is None) == (kind == own)


def test_an_event_type_that_does_not_exist() -> None:
    assert spoiled(submitted(), lambda after: None, "run_renamed") == "the event is of a type that does not exist"


def last(after: Document, number: int = 1) -> Any:
    return after["actions"][-number]


def set_action(**fields: Any) -> Change_:
    """Change the Action that was issued last, wherever it stands."""

    def change(after: Document) -> None:
        last(after)["action"] |= fields
        after["current_action"] = last(after)["action"]

    return change


def one_more(after: Document) -> None:
    after["actions"].append(copy.deepcopy(last(after)))
    last(after)["action"]["action_id"] = "act-99"


def set_source(**fields: Any) -> Change_:
    return lambda after: (
        after["current_action"]["source"].update(fields)
        or last(after)["action"].update(source=after["current_action"]["source"])
    )


ZERO = "sha256:" + "0" * 64
REFUSED = (
    "The Outcome was refused: implementation is required for implement completed. Correct it and submit it for the "
    "same Action."
)
NO_CHOICE = {"candidate_id": "c", "choice": "adopt", "resulting_action_id": "a", "at": "2026-07-12T09:00:00Z"}


def resolution(part: str, **fields: Any) -> Change_:
    return lambda after: after["source_choice_resolutions"][0][part].update(fields)


def candidate(**fields: Any) -> Change_:
    return lambda after: after["source_candidate"].update(fields)


CASES: list[tuple[str, Callable[[], PublishedModel], Change_]] = [
    # records
    ("more than one Action is issued", submitted, one_more),
    ("an issued Action is changed", implemented, lambda s: last(s, 3)["action"].update(brief="x")),
    ("an Outcome is changed", implemented, lambda s: last(s, 3)["outcome"].update(summary="x")),
    ("an Outcome is changed", implemented, lambda s: last(s, 3).update(outcome_payload_sha256=ZERO)),
    (
        "an Outcome is changed",
        implemented,
        lambda s: [last(s, 3).pop("outcome"), last(s, 3).pop("outcome_payload_sha256")],
    ),
    ("an Action is no longer voided", resumed, lambda s: last(s, 2).pop("voided")),
    ("an Action is voided that was not the current one", implemented, lambda s: last(s, 3).update(voided=True)),
    ("an Action is skipped that was not the current one", implemented, lambda s: last(s, 3).update(skipped=True)),
    ("a new Action does not start clean", submitted, lambda s: last(s).update(voided=True)),
    ("a new Action does not start clean", submitted, lambda s: last(s).update(skipped=True)),
    ("an Action is not of this Run", submitted, set_action(run_id="run-2")),
    ("an Action is not of this Run", submitted, set_action(goal="Another one")),
    ("an Action id is used twice", submitted, set_action(action_id="act-1")),
    ("an Action has another budget than its Run", submitted, set_action(remaining_budget=3)),
    ("an Action has another budget than its Run", submitted, lambda s: s.update(remaining_budget=3)),
    ("a new Action is not the current one", submitted, lambda s: s.update(current_action=None)),
    ("an Outcome and its digest go together", submitted, lambda s: last(s, 2).pop("outcome_payload_sha256")),
    ("a projection of a Review has no place here", skipped, lambda s: last(s, 2).pop("review_projection")),
    (
        "a projection of a Review has no place here",
        submitted,
        lambda s: last(s, 2).update(review_projection={"result": "not_run", "findings": [], "uncertainties": []}),
    ),
    (
        "a skipped Review found something",
        skipped,
        lambda s: last(s, 2)["review_projection"]["uncertainties"].append("x"),
    ),
    (
        REFUSED,
        implemented,
        lambda s: last(s, 2)["outcome"].update(implementation=None),
    ),
    ("observations are not those of the Outcome", implemented, lambda s: s["observations"].clear()),
    ("known_issues are not those of the Outcome", implemented, lambda s: s["known_issues"].clear()),
    ("uncertainties are not those of the Outcome", implemented, lambda s: s["uncertainties"].clear()),
    ("activities are not those of the Outcome", implemented, lambda s: s["activities"].pop()),
    ("activities are not those of the Outcome", stopped, lambda s: s["activities"].append(activity())),
    # what an event is named after
    ("the first Action is not an Orient", started, set_action(kind="implement")),
    ("the Run is not stopped", stopped, lambda s: s.update(state="paused", pause_reason="budget_exhausted")),
    # receipts
    ("the receipt of the resume is not that of its event", resumed, lambda s: s.update(last_resume_result=None)),
    (
        "the receipt of the resume is not that of its event",
        resumed,
        lambda s: s["last_resume_result"].update(budget_applied=False),
    ),
    (
        "the receipt of the resume is not that of its event",
        refreshed,
        lambda s: s["last_resume_result"].update(candidate_id="x"),
    ),
    (
        "the receipt of the resume is not that of its event",
        adopted,
        lambda s: s["last_resume_result"].pop("candidate_id"),
    ),
    ("a resume issues exactly one Orient, and a candidate nothing", resumed, set_action(kind="clarify")),
    ("the receipt names another candidate", with_candidate, lambda s: s["last_resume_result"].update(candidate_id="x")),
    ("the receipt names another candidate", with_candidate, lambda s: s.update(source_candidate=None)),
    ("a candidate is resolved by exactly one choice", adopted, lambda s: s["source_choice_resolutions"].clear()),
    ("the choice is not of the candidate that waited", adopted, resolution("receipt", candidate_id="x")),
    ("the choice is not that of its event", adopted, resolution("receipt", choice="pinned")),
    ("the choice is not that of its event", kept, resolution("receipt", choice="adopt")),
    ("the result of the choice is not the receipt", kept, resolution("result", operation="x")),
    ("the choice led to another Action", kept, resolution("receipt", resulting_action_id="x")),
    ("last_source_choice is not the last choice", kept, lambda s: s.update(last_source_choice=None)),
    ("last_source_choice is not the last choice", kept, lambda s: s["last_source_choice"].update(choice="adopt")),
    ("last_source_choice is not the last choice", stopped, lambda s: s.update(last_source_choice=NO_CHOICE)),
    # the Run
    ("pause_reason goes with a pause", submitted, lambda s: s.update(pause_reason="budget_exhausted")),
    ("pause_reason goes with a pause", paused, lambda s: s.update(pause_reason="")),
    ("the budget is negative", stopped, lambda s: s.update(remaining_budget=-1)),
    (
        "an ad-hoc Run has no source, and no other one loses it",
        submitted,
        lambda s: s.update(pinned_source=Change().snapshot()),
    ),
    ("summary goes with the end", ended, lambda s: s.update(summary="")),
    ("summary goes with the end", submitted, lambda s: s.update(summary="x")),
    ("the final look at git is before the end", submitted, lambda s: s.update(final_git_observed=True)),
    (
        "a candidate waits in a Run that does not",
        refreshed,
        lambda s: s.update(source_candidate=with_candidate().run.source_candidate),
    ),
    ("the candidate is not what its classification says", with_candidate, candidate(classification="invalid")),
    ("the candidate is not what its classification says", with_candidate, candidate(classification_error="x")),
    (
        "the candidate is not what its classification says",
        with_candidate,
        lambda s: s["source_candidate"].pop("snapshot"),
    ),
    ("the candidate is not what its classification says", invalid_candidate, candidate(title="x")),
    (
        "the candidate is not what its classification says",
        invalid_candidate,
        candidate(classification_code="valid_change"),
    ),
    # the current Action
    ("an active Run has no current Action", answered, lambda s: [s["actions"].pop(), s.update(current_action=None)]),
    ("the current Action is not its record", paused, lambda s: s["current_action"].update(brief="x")),
    ("the current Action is void or skipped", paused, lambda s: last(s).update(voided=True)),
    (
        "the current Action has its Outcome already",
        ended,
        lambda s: s.update(state="active", summary="", final_git_observed=False, current_action=last(s)["action"]),
    ),
    (
        "the source of the current Action is not the pinned one",
        bound,
        lambda s: last(s)["action"].pop("source") and s.update(current_action=last(s)["action"]),
    ),
    ("the source of the current Action is not the pinned one", bound, set_source(issue_id="I_2")),
    # destructive
    ("a grant has no request", confirmed, lambda s: s.update(pending_destructive_request=None)),
    (
        "a destructive request hangs in the air",
        submitted,
        lambda s: s.update(pending_destructive_request=destructive().run.pending_request),
    ),
    ("a destructive pause has no request", destructive, lambda s: s.update(pending_destructive_request=None)),
    (
        "the destructive scope is not what its digest says",
        destructive,
        lambda s: s["pending_destructive_request"].update(impact="x"),
    ),
    (
        "the confirmed scope is not what its digest says",
        confirmed,
        lambda s: [
            s["destructive_grant"].update(impact="x"),
            set_action(destructive_authorization=s["destructive_grant"])(s),
        ],
    ),
    (
        "the authorization of the Action is not the grant",
        confirmed,
        lambda s: s.update(destructive_grant=None, pending_destructive_request=None),
    ),
    (
        "the authorization of the Action is not the grant",
        confirmed,
        lambda s: s["destructive_grant"].update(originating_action_id="x"),
    ),
    # answers
    ("an answer is to no Action", answered, lambda s: s["answers"][0].update(action_id="act-99")),
    ("an Action is answered twice", superseding, lambda s: s["answers"][1].update(action_id="act-1")),
    ("scope_sha256 goes with a confirmation", answered, lambda s: s["answers"][0].update(scope_sha256=ZERO)),
    ("scope_sha256 goes with a confirmation", confirmed, lambda s: s["answers"][0].pop("scope_sha256")),
    ("the digest of an answer does not recompute", answered, lambda s: s["answers"][0].update(text="x")),
    ("a new answer is superseded already", answered, lambda s: s["answers"][0].update(active=False)),
    ("a new answer is superseded already", confirmed, lambda s: s["answers"][0].update(active=True)),
    ("an answer is superseded by no Action", superseding, lambda s: s["answers"][0].pop("superseded_by")),
    ("an answer is to another source", answered, lambda s: s["answers"][0].update(source_revision=ZERO)),
]


@pytest.mark.parametrize(("expected", "build", "change"), CASES)
def test_a_broken_rule_is_told(expected: str, build: Callable[[], PublishedModel], change: Change_) -> None:
    assert spoiled(build(), change) == expected
