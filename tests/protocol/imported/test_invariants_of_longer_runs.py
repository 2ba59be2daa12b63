"""Rules about imported events that take more than the plainest Run to break (machine-protocol §6.3, §6.5)."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from tests.protocol.imported.models import (
    confirmed,
    ended,
    kept,
    resumed,
    started,
    stopped,
    superseding,
    with_candidate,
)
from tests.protocol.imported.publishing import PublishedModel
from tests.protocol.imported.test_invariants import NO_CHOICE, last, reason, spoiled
from tests.protocol.outcomes import request
from tests.protocol.test_resume import DIVE, amended, choice, fetched


def test_a_choice_belongs_to_an_event_that_resolves_a_candidate() -> None:
    item = {"receipt": NO_CHOICE, "result": {"operation": "source_amended", "budget_applied": True}}
    problem = spoiled(stopped(), lambda after: after["source_choice_resolutions"].append(item))
    assert problem == "a source choice has no place here"


def test_only_the_current_action_gains_an_outcome() -> None:
    model = resumed()
    model.submit()

    def moved(after: dict[str, Any]) -> None:
        outcome, digest = last(after, 2).pop("outcome"), last(after, 2).pop("outcome_payload_sha256")
        last(after, 3).update(outcome=outcome | {"action_id": "act-1"}, outcome_payload_sha256=digest)

    assert spoiled(model, moved) == "an Outcome is not of the current Action"


def test_a_new_candidate_leaves_no_current_action() -> None:
    problem = spoiled(with_candidate(), lambda after: after.update(current_action=last(after)["action"]))
    assert problem == "an Action is current beside a new candidate"


def test_a_review_is_pending_only_where_it_is_enabled() -> None:
    model = PublishedModel(review=False)
    model.submit()
    problem = spoiled(model, lambda after: after.update(review_pending=True))
    assert problem == "a Review is pending that is not enabled"


def test_nothing_follows_the_end() -> None:
    documents = copy.deepcopy(ended().published.documents)
    header = {
        name: documents[-1]["data"][name] for name in ("event_version", "contract_version", "run_id", "updated_at")
    }
    data = header | {"state": "stopped", "summary": "", "final_git_observed": False}
    assert (
        reason([*documents, documents[-1] | {"type": "run_stopped", "data": data}]) == "the Run goes on after its end"
    )


def test_a_grant_is_in_use_or_gone() -> None:
    def waiting(after: dict[str, Any]) -> None:
        after.update(state="paused", pause_reason="decision_required")

    assert spoiled(confirmed(), waiting) == "a grant is not in use"


def test_a_grant_is_that_of_its_request() -> None:
    another = request(impact="Deletes something else.")
    problem = spoiled(confirmed(), lambda after: after.update(pending_destructive_request=another))
    assert problem == "the grant is not that of the request"


def test_an_answer_does_not_come_back() -> None:
    model = superseding()
    model.submit()

    def revived(after: dict[str, Any]) -> None:
        after["answers"][0].pop("superseded_by")
        after["answers"][0]["active"] = True

    assert spoiled(model, revived) == "an answer is active again"


def test_a_candidate_is_resolved_once() -> None:
    model = kept()
    model.stop()
    model.resume(mode=fetched(amended(model, DIVE)), candidate_id="cand-2")
    model.resume(mode=choice("pinned", "cand-2"))
    again = json.loads(json.dumps(model.published.documents).replace('"cand-2"', '"cand-1"'))
    assert reason(model.published.documents) is None
    assert reason(again) == "a candidate is resolved twice"


def test_a_stopped_run_may_have_kept_its_action() -> None:
    """Older writers left it there; it is read, and the next event clears it."""
    model = stopped()
    documents = copy.deepcopy(model.published.documents)
    for name in ("current_action_set", "current_action"):
        documents[1]["data"].pop(name, None)
    assert reason(documents) is None
    model.resume()
    documents.append(model.published.documents[-1])
    assert reason(documents) is None


ZERO_TIME = "0001-01-01T00:00:00Z"
START = [
    ("the workspace identity is not the digest of its paths", lambda s: s["workspace_identity"].update(git_dir="/x")),
    ("the workspace is not the root of its identity", lambda s: s.update(workspace="/other")),
    ("the initial budget is out of range", lambda s: s.update(initial_budget=0)),
    ("the initial budget is out of range", lambda s: s.update(initial_budget=1001)),
    ("an Action is not of this Run", lambda s: s.update(goal="Another one")),
    ("initialize has no created_at", lambda s: s.pop("created_at")),
    ("initialize.goal has a value that is not of its class", lambda s: s.update(goal=" ")),
    ("initialize.goal has a value that is not of its class", lambda s: s.update(goal="x\x01")),
    ("initialize.created_at has a value that is not of its class", lambda s: s.update(created_at=ZERO_TIME)),
    ("initialize.initial_git.version must be 1", lambda s: s["initial_git"].update(version=2)),
]


@pytest.mark.parametrize(("expected", "change"), START)
def test_a_start_that_is_not_one_is_told(expected: str, change: Any) -> None:
    documents = copy.deepcopy(started().published.documents)
    change(documents[0]["data"]["initialize"])
    assert reason(documents) == expected


@pytest.mark.parametrize("sequence", [1, 2])
def test_a_run_is_started_by_its_first_record_and_no_other(sequence: int) -> None:
    documents = copy.deepcopy(stopped().published.documents)
    start = documents[0]["data"]["initialize"]
    if sequence == 1:
        documents = documents[1:]
    else:
        documents[1]["data"]["initialize"] = start
    assert reason(documents) == "a Run is started by its first record and by no other"
    documents[-1]["type"] = "run_started"
    assert reason(documents) == "a Run is started by its first record and by no other"


def test_every_record_is_of_one_run() -> None:
    documents = copy.deepcopy(stopped().published.documents)
    documents[1]["data"]["run_id"] = "run-2"
    assert reason(documents) == "the record belongs to another Run"


@pytest.mark.parametrize("version", ["event_version", "contract_version"])
def test_another_version_is_not_read(version: str) -> None:
    documents = copy.deepcopy(stopped().published.documents)
    documents[1]["data"][version] = 3
    assert reason(documents) == f"{version} must be 2"


@pytest.mark.parametrize(
    "name", ["x y", "x\n", "é", "ghp_0123456789abcdef", "Zm9vYmFyYmF6cXV4cXV1eDEyMzQ1", "x" * 129, ""]
)
def test_an_id_is_nothing_that_a_public_view_would_have_to_hide(name: str) -> None:
    """The views show ids as they are."""
    text = json.dumps(started().published.documents).replace('"act-1"', json.dumps(name))
    assert reason(json.loads(text)) == "current_action.action_id has a value that is not of its class"


@pytest.mark.parametrize("head", ["", "main", "0" * 39, "A" * 40, "see the password"])
def test_head_is_a_commit_or_unborn(head: str) -> None:
    documents = copy.deepcopy(started().published.documents)
    documents[0]["data"]["initialize"]["initial_git"]["head"] = "unborn"
    assert reason(documents) is None
    documents[0]["data"]["initialize"]["initial_git"]["head"] = head
    assert reason(documents) == "initialize.initial_git.head has a value that is not of its class"


@pytest.mark.parametrize("by", ["somebody", "requirements:sha256:0", "requirements:"])
def test_an_answer_is_superseded_by_an_action_or_by_requirements(by: str) -> None:
    problem = spoiled(superseding(), lambda after: after["answers"][0].update(superseded_by=by))
    expected = "answer_updates[0].superseded_by has a value that is not of its class"
    assert problem == ("an answer is superseded by no Action" if by == "somebody" else expected)
