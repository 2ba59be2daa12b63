"""Our machine-protocol schema judges recorded answers, whole or spoiled, as the published one does.

Differences that are meant: none. Where the program is stricter than both (byte limits, timestamps, ids that
agree inside a document), the schemas say so in words only.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from slipway_lite.protocol.source.codes import FAILURE_CODES
from slipway_lite.protocol.source.manifest import ROLES
from tests.protocol.source.change import Change
from tests.published import published
from tests.schemas.corpus import mutation, recorded_answers

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
OURS = json.loads((SCHEMAS / "machine-protocol.schema.json").read_text())

# Our name of a part -> the published name.
PARTS = {
    "action": "action",
    "outcome": "outcome",
    "next": "next",
    "pinned_source": "pinnedSource",
    "source_candidate": "sourceCandidate",
    "initial_git": "gitObservation",
}


def validator(schema: dict[str, Any], name: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})


class Judges:
    """Both schemas, asked about the same document."""

    def __init__(self) -> None:
        self.published = json.loads(published("oracles", "slipway", "machine-protocol.schema.json").read_text())
        self.pairs: dict[str, tuple[Draft202012Validator, Draft202012Validator]] = {}

    def ask(self, name: str, document: Any) -> tuple[bool, bool]:
        """(ours accepts, the published one accepts)"""
        if name not in self.pairs:
            self.pairs[name] = validator(OURS, name), validator(self.published, name)
        ours, theirs = self.pairs[name]
        return ours.is_valid(document), theirs.is_valid(document)


@pytest.fixture(scope="module")
def judges() -> Judges:
    return Judges()


@pytest.fixture(scope="module")
def answers() -> list[tuple[str, dict[str, Any]]]:
    """Every recorded answer, equal ones once."""
    distinct = {json.dumps(document): (name, document) for name, document in recorded_answers()}
    return list(distinct.values())


def disagreements(judges: Judges, documents: list[tuple[str, Any]], rounds: int) -> list[str]:
    found = []
    for number, (name, document) in enumerate(documents):
        for seed in range(rounds):
            words, spoiled = mutation(document, number * 1000 + seed)
            ours, theirs = judges.ask(name, spoiled)
            if ours != theirs:
                found.append(f"{name} with {words}: ours {ours}, published {theirs}")
    return found


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(OURS)


def test_every_definition_is_used_and_every_reference_leads_somewhere() -> None:
    text = json.dumps(OURS)
    for name in OURS["$defs"]:
        assert f'"#/$defs/{name}"' in text, name
    used = {part.split('"')[0] for part in text.split('"#/$defs/')[1:]}
    assert used <= OURS["$defs"].keys()


def test_closed_sets_are_those_of_the_program() -> None:
    definitions = OURS["$defs"]
    assert definitions["classificationFailure"]["enum"] == list(FAILURE_CODES)
    assert definitions["sectionRole"]["enum"] == list(ROLES)


def test_every_recorded_answer_is_accepted_by_both(judges: Judges, answers: Any) -> None:
    assert len(answers) > 400
    for name, document in answers:
        assert judges.ask(name, document) == (True, True), name


def test_a_recorded_answer_is_exactly_one_message(answers: Any) -> None:
    whole = Draft202012Validator(OURS)
    messages = [reference["$ref"].rpartition("/")[2] for reference in OURS["anyOf"]]
    by_name = {}
    for name, document in answers:
        by_name.setdefault(name, document)
    for name, document in by_name.items():
        assert whole.is_valid(document)
        assert [other for other in messages if validator(OURS, other).is_valid(document)] == [name]


def test_one_mutation_of_each_third_answer_is_judged_alike(judges: Judges, answers: Any) -> None:
    assert disagreements(judges, answers[::3], 1) == []


@pytest.mark.slow
def test_two_mutations_of_each_answer_are_judged_alike(judges: Judges, answers: Any) -> None:
    assert disagreements(judges, answers, 2) == []


@pytest.mark.slow
def test_mutations_of_the_parts_are_judged_alike(judges: Judges, answers: Any) -> None:
    parts: dict[str, tuple[str, Any]] = {}

    def collect(node: Any) -> None:
        if isinstance(node, dict):
            for key, value in node.items():
                if key in PARTS and value is not None:
                    parts[json.dumps(value, sort_keys=True)] = PARTS[key], value
                collect(value)
        elif isinstance(node, list):
            for item in node:
                collect(item)

    collect([document for _, document in answers])
    assert len(parts) > 300
    assert disagreements(judges, list(parts.values()), 3) == []


@pytest.mark.slow
def test_every_combination_of_kind_status_and_branches_is_judged_alike(judges: Judges) -> None:
    request = {
        "request_id": "11111111-1111-4111-8111-111111111111",
        "targets": [{"kind": "path", "value": "build"}],
        "impact": "gone",
        "scope_sha256": "sha256:" + "0" * 64,
    }
    finding = {"location": "a:1", "summary": "s", "detail": "d"}
    pauses = [None]
    for reason, destructive in itertools.product(
        (
            "decision_required",
            "destructive_confirmation_required",
            "environment_unavailable",
            "budget_exhausted",
        ),
        (None, request),
    ):
        pauses.append({"reason": reason, "question": "?", "destructive_request": destructive})
    pauses.append({**pauses[1], "supersedes_answer_action_id": "A"})
    pauses.append({**pauses[5], "supersedes_answer_action_id": "A"})
    implementations = [None] + [
        {"result": result, "files_changed": [], "activities": [], "uncertainties": [], "attempts": 1}
        for result in ("applied", "partial", "not_needed", "unable")
    ]
    reviews = [None] + [
        {"result": result, "findings": findings, "uncertainties": []}
        for result in ("no_findings_reported", "findings_reported", "inconclusive", "error", "not_run")
        for findings in ([], [finding])
    ]
    suggestions = [[], [{"kind": "implement", "brief": "b"}]]
    accepted = 0
    for kind, status, suggested in itertools.product(
        ("orient", "clarify", "implement", "review", "summarize"),
        ("completed", "needs_input", "partial", "error"),
        suggestions,
    ):
        branches = [(pause, None, None) for pause in pauses]
        branches += [(None, *both) for both in itertools.product(implementations, reviews)][1:]
        branches += [(pauses[1], implementation, None) for implementation in implementations[1:]]
        for pause, implementation, review in branches:
            outcome = {
                "contract_version": 2,
                "action_id": "A",
                "action_kind": kind,
                "status": status,
                "summary": "s",
                "observations": [],
                "known_issues": [],
                "suggested_actions": suggested,
                "pause": pause,
                "implementation": implementation,
                "review": review,
            }
            ours, theirs = judges.ask("outcome", outcome)
            assert ours == theirs, outcome
            accepted += ours
    assert accepted == 9 + 7 + 8 + 6 + 2  # orient, clarify, implement, review, summarize (§3.4, §3.5)


PARENT = {"repository_id": "R_2", "issue_id": "I_2", "canonical_url": "https://github.com/o/r/issues/1"}


@pytest.mark.parametrize("body", [None, ""])
@pytest.mark.parametrize("parent", [None, PARENT])
def test_our_candidates_and_snapshots_are_accepted_by_both(judges: Judges, body: str | None, parent: Any) -> None:
    change = Change()
    change.body = body
    change.parent_revision = "sha256:" + "0" * 64
    change.envelope = {"parent": parent}
    candidate = {"candidate_id": "ID", **change.classify(), "created_at": "2026-01-01T00:00:00Z"}
    assert judges.ask("sourceCandidate", candidate) == (True, True)
    if candidate["valid"]:
        assert judges.ask("pinnedSource", candidate["snapshot"]) == (True, True)
