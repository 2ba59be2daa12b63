"""The decider: the rows of its table in order, and the transition table itself (turn-contract §11)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from slipway_lite.errors import InvalidDocument
from slipway_lite.turns import decide as module
from slipway_lite.turns.decide import (
    REASON_CODES,
    TRANSITIONS,
    WorkflowDecision,
    decide_request,
    decide_workflow_action,
    halted_by,
)
from slipway_lite.turns.profiles import PROFILES
from slipway_lite.turns.vocabulary import EVIDENCE, INTENTS
from tests.turns import documents

SNAPSHOT = documents.snapshot(sourceRevision="r1", contradictions=[], provenance=[])
CONTRADICTED = documents.snapshot(sourceRevision="r1", provenance=[])
POLICY = {"allowedIntents": list(INTENTS), "forgeWriteAuthorized": True}


def outcome(skill: str = "status", intent: str = "execute-phase", targets: Any = ("12-csv",), **changes: Any) -> Any:
    listed = list(targets) if isinstance(targets, tuple) else targets
    return documents.outcome(
        skill, intent, next={"intent": intent, "targets": listed}, **{"evidence_refs": list(EVIDENCE), **changes}
    )


def decide(last: Any, **changes: Any) -> WorkflowDecision:
    decision = decide_workflow_action(
        **{
            "snapshot": SNAPSHOT,
            "last_outcome": last,
            "last_outcome_source_revision": "r1",
            "policy": POLICY,
            **changes,
        }
    )
    assert decision.reason_code in REASON_CODES
    return decision


def code(last: Any, **changes: Any) -> str:
    return decide(last, **changes).reason_code


@pytest.mark.parametrize(
    "request_", [None, "x", [], {}, {"snapshot": {}, "policy": {}}, {"lastOutcome": {}, "policy": {}}]
)
def test_row_1_a_request_that_lacks_its_parts_senses(request_: Any) -> None:
    decision = decide_request(request_)
    assert (decision.kind, decision.reason_code) == ("sense", "sense-missing-evidence")
    assert decision.as_document()["targets"] == []


@pytest.mark.parametrize("policy", [None, "x", {}, {"allowedIntents": []}, {"forgeWriteAuthorized": True}])
def test_row_2_a_policy_that_lacks_its_parts_stops_before_the_snapshot_is_looked_at(policy: Any) -> None:
    assert code(None, policy=policy, snapshot=None) == "stop-policy-denied"


@pytest.mark.parametrize("snapshot", [None, {}, documents.snapshot(version=2), {**SNAPSHOT, "x": 1}])
def test_row_3_an_invalid_snapshot_senses(snapshot: Any) -> None:
    assert code(outcome(), snapshot=snapshot) == "sense-missing-evidence"


def test_row_4_no_last_outcome_senses() -> None:
    assert code(None) == "sense-initial"


def test_row_5_another_or_an_absent_revision_is_stale_and_null_skips_the_test() -> None:
    assert code(outcome(status="blocked"), last_outcome_source_revision="r0") == "sense-stale-revision"
    assert decide_request({"snapshot": SNAPSHOT, "lastOutcome": outcome(), "policy": POLICY}).reason_code == (
        "sense-stale-revision"
    )
    assert code(outcome(), last_outcome_source_revision=None) == "invoke-proven-transition"


@pytest.mark.parametrize(
    ("status", "reason", "targets"),
    [
        ("blocked", "stop-blocked", ("lint",)),
        ("needs-input", "stop-needs-input", ("q1",)),
        ("failed", "stop-failed", ("The importer has no test.",)),
    ],
)
def test_row_6_a_halted_outcome_stops_and_names_what_halts_it(
    status: str, reason: str, targets: tuple[str, ...]
) -> None:
    decision = decide(outcome(status=status), snapshot=CONTRADICTED)
    assert (decision.kind, decision.intent, decision.reason_code, decision.targets) == ("stop", "stop", reason, targets)
    assert halted_by(outcome(status=status)) == decision


@pytest.mark.parametrize("status", ["completed", "continue", "odd", None, ["blocked"]])
def test_row_6_any_other_status_goes_on(status: Any) -> None:
    assert code(outcome(status=status)) == "invoke-proven-transition"


def test_row_7_a_contradiction_stops_whatever_is_proposed() -> None:
    other = decide(outcome(), snapshot=CONTRADICTED)
    assert (other.reason_code, other.targets) == ("stop-contradiction", ())
    assert other.evidence_refs == ("contradiction:repositoryState",)
    resolver = decide(outcome(intent="resolve-repository-state"), snapshot=CONTRADICTED)
    assert (resolver.kind, resolver.targets) == ("stop", ("repositoryState",))


@pytest.mark.parametrize("skill", ["workflow-status", "unknown", "none", "merge"])
def test_row_8_an_unlisted_last_skill_senses(skill: str) -> None:
    assert code(outcome(skill)) == "sense-unlisted-transition"


def test_row_9_discovery_is_invoked_only_on_a_frozen_state() -> None:
    proposal = outcome(intent="discover-repository-state")
    assert code(proposal) == "invoke-proven-transition"
    for state in ("missing", "draft", "contradicted", "needs-input", "unknown"):
        assert code(proposal, snapshot={**SNAPSHOT, "repositoryState": state}) == "sense-missing-evidence"
        assert code(outcome(), snapshot={**SNAPSHOT, "repositoryState": state}) == "invoke-proven-transition"


@pytest.mark.parametrize("refs", [[], ["workflow-snapshot"], ["workflow-snapshot@r1", "current-candidate (clean)"]])
def test_row_10_required_evidence_is_matched_as_a_whole_word(refs: list[str]) -> None:
    assert code(outcome(evidence_refs=refs)) == "sense-missing-evidence"
    assert code(outcome(evidence_refs=["workflow-snapshot", "current-candidate"])) == "invoke-proven-transition"


def test_row_10_a_profile_without_effects_is_never_invoked(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = PROFILES["execute-phase"]
    idle = replace(profile, capabilities=replace(profile.capabilities, effects=()))
    monkeypatch.setattr(module, "PROFILES", {**PROFILES, "execute-phase": idle})
    assert code(outcome()) == "stop-forbidden-transition"


def test_row_11_the_policy_must_allow_the_intent_and_forge_writes_for_a_merge() -> None:
    for allowed in (["audit-pr"], [], None, 5, "execute-phase"):
        assert code(outcome(), policy={**POLICY, "allowedIntents": allowed}) == "stop-policy-denied"
    merge = outcome("audit-pr", "merge")
    assert code(merge, policy={**POLICY, "forgeWriteAuthorized": False}) == "stop-policy-denied"
    assert code(merge, policy={**POLICY, "forgeWriteAuthorized": None}) == "invoke-proven-transition"
    assert code(outcome(), policy={**POLICY, "forgeWriteAuthorized": False}) == "invoke-proven-transition"


@pytest.mark.parametrize("intent", ["ask-human", "stop"])
def test_row_12_some_listed_intents_are_never_invoked(intent: str) -> None:
    decision = decide(outcome(intent=intent))
    assert (decision.kind, decision.reason_code) == ("stop", "stop-forbidden-transition")


@pytest.mark.parametrize("targets", [(), ("a", "b"), None])
def test_row_13_after_an_audit_there_is_exactly_one_target(targets: Any) -> None:
    decision = decide(outcome("audit-pr", "merge", targets))
    assert (decision.reason_code, decision.targets) == ("stop-forbidden-transition", targets)


@pytest.mark.parametrize("targets", [(), ("a", "b", "c"), None])
def test_row_13_no_other_row_counts_targets(targets: Any) -> None:
    assert decide(outcome(targets=targets)).targets == targets


def test_row_14_an_invoke_echoes_targets_and_lists_its_evidence() -> None:
    snapshot = documents.snapshot(sourceRevision="r1", contradictions=[])
    decision = decide(outcome(evidence_refs=["workflow-snapshot", "current-candidate"]), snapshot=snapshot)
    assert decision.as_document() == {
        "kind": "invoke",
        "intent": "execute-phase",
        "targets": ["12-csv"],
        "reasonCode": "invoke-proven-transition",
        "evidenceRefs": ["unit@docs/features/ROADMAP.md:3", "workflow-snapshot", "current-candidate"],
        "detail": decision.detail,
    }


PUBLISHED_ROWS = {
    "none": "",
    "merge": "",
    "init-workspace": "discover",
    "status": "init discover resolve design review-spec plan-feature review-plan plan-fix triage execute review-change "
    "audit ask-human stop",
    "discover": "resolve design review-spec plan-feature review-plan plan-fix triage execute review-change audit "
    "ask-human stop",
    "resolve": "resolve",
    "design": "review-spec plan-feature plan-fix triage execute review-change audit ask-human stop",
    "review-spec": "plan-feature plan-fix design triage ask-human stop",
    "plan-feature": "review-plan triage execute review-change audit ask-human stop",
    "review-plan": "execute plan-feature plan-fix design triage ask-human stop",
    "plan-fix": "review-plan triage",
    "triage": "execute review-change audit ask-human stop",
    "execute": "design plan-feature plan-fix triage review-change audit ask-human stop",
    "review-change": "plan-feature plan-fix triage execute review-change audit ask-human stop",
    "audit": "merge execute ask-human stop",
}
"""The published table in its own short names."""


def full(short: str) -> str:
    exact = [intent for intent in INTENTS if intent == short]
    return (exact or [intent for intent in INTENTS if intent.startswith(f"{short}-")])[0]


def test_the_transition_table_is_the_published_one() -> None:
    assert {skill: set(row) for skill, row in TRANSITIONS.items()} == {
        full(skill): {full(intent) for intent in row.split()} for skill, row in PUBLISHED_ROWS.items()
    }


@pytest.mark.parametrize("skill", list(TRANSITIONS))
def test_every_pair_is_invoked_stopped_or_sensed_as_the_table_says(skill: str) -> None:
    for intent in INTENTS:
        decision = decide(outcome(skill, intent))
        if intent not in TRANSITIONS[skill]:
            assert decision.reason_code == "sense-unlisted-transition", intent
        elif intent in ("ask-human", "stop"):
            assert decision.reason_code == "stop-forbidden-transition", intent
        else:
            assert (decision.kind, decision.intent) == ("invoke", intent)


@pytest.mark.parametrize(("intent", "key"), [("review-spec", "spec"), ("review-plan", "plan")])
def test_two_failed_reviews_in_a_row_ask_a_human(intent: str, key: str) -> None:
    last = outcome("status", intent)
    decision = decide(last, review_loop_cycles={key: 2})
    assert (decision.kind, decision.intent, decision.reason_code) == ("stop", "ask-human", "stop-review-loop-cap")
    assert "design-feature" in decision.detail
    unlisted = outcome("merge", intent)
    assert code(unlisted, review_loop_cycles={key: 2}) == "stop-review-loop-cap", "before the table is looked at"
    for cycles in (None, {}, {key: 1}, {key: True}, {key: "2"}, {"other": 9}, "x"):
        assert code(last, review_loop_cycles=cycles) == "invoke-proven-transition"
    assert code(outcome(), review_loop_cycles={key: 2}) == "invoke-proven-transition"


@pytest.mark.parametrize(
    "last",
    [
        "x",
        1,
        {},
        {"skill": "status"},
        documents.without(outcome(), "next"),
        {**outcome(), "next": "x"},
        documents.without(outcome(), "evidence_refs"),
        {**outcome(), "evidence_refs": "workflow-snapshot current-candidate"},
        {**outcome(), "next": {"intent": "execute-phase", "targets": "x"}},
        documents.without(outcome(status="blocked"), "blockers"),
        {**outcome(status="needs-input"), "questions": None},
    ],
)
def test_a_last_outcome_that_lacks_what_a_row_needs_is_refused_with_a_code(last: Any) -> None:
    with pytest.raises(InvalidDocument) as caught:
        decide(last)
    assert (caught.value.code, caught.value.path) == ("invalid_last_outcome", "$.lastOutcome")


@pytest.mark.parametrize(
    "last",
    [
        documents.without(outcome(), "skill"),
        {**outcome(), "skill": ["status"]},
        {**outcome(), "next": {"targets": []}},
        {**outcome(), "next": {"intent": ["merge"], "targets": []}},
    ],
)
def test_a_skill_or_a_proposal_that_is_no_word_is_unlisted(last: Any) -> None:
    assert code(last) == "sense-unlisted-transition"


def test_what_no_row_needs_is_not_asked_for() -> None:
    bare = {"skill": "status", "next": {"intent": "execute-phase"}, "evidence_refs": list(EVIDENCE)}
    assert decide(bare).targets is None
    assert decide({**bare, "status": "blocked", "blockers": ["odd"]}).targets == (None,)


def test_contract_and_version_of_the_last_outcome_are_not_checked() -> None:
    assert code({**outcome(), "contract": "x", "version": 9}) == "invoke-proven-transition"
