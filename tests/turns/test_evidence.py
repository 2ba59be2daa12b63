"""Evidence words and what proves them (issue: each with its proof on record)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from slipway_lite.turns.evidence import (
    PROVEN_BY_TURN,
    CheckRun,
    prove_by_turn,
    prove_current_candidate,
    prove_verification,
    prove_workflow_snapshot,
)
from slipway_lite.turns.profiles import PROFILES
from slipway_lite.turns.service import LastOutcome
from slipway_lite.turns.vocabulary import EVIDENCE
from slipway_lite.turns.worktree import GitFacts
from tests.turns.documents import outcome

GIT = GitFacts(root="/r", common_dir="/r/.git", branch="main", head="abc", porcelain="", ahead=0)
DIRTY = replace(GIT, porcelain=" M a")
RUN = CheckRun(("make", "test"), "abc", 0, 1.23456)


def test_a_compiled_snapshot_proves_itself() -> None:
    assert prove_workflow_snapshot("abc", "sha256:1").as_document() == {
        "word": "workflow-snapshot",
        "proof": {"source_revision": "abc", "snapshot_sha256": "sha256:1"},
    }


def test_a_clean_tree_proves_its_head_and_a_dirty_one_nothing() -> None:
    proof = prove_current_candidate(GIT)
    assert proof is not None and proof.as_document() == {
        "word": "current-candidate",
        "proof": {"head": "abc", "branch": "main"},
    }
    assert prove_current_candidate(DIRTY) is None


def test_a_check_that_ended_with_zero_at_this_head_proves_verification() -> None:
    proof = prove_verification(RUN, GIT)
    assert proof is not None and proof.word == "verification"
    assert proof.proof == {"command": ["make", "test"], "head": "abc", "exit_code": 0, "seconds": 1.235}


@pytest.mark.parametrize("run", [None, RUN._replace(exit_code=1), RUN._replace(head="old")])
def test_any_other_check_proves_nothing(run: CheckRun | None) -> None:
    assert prove_verification(run, GIT) is None
    assert prove_verification(RUN, DIRTY) is None


REVIEW = LastOutcome(outcome("review-change", blockers=[]), "abc", "turn-1")


def test_a_completed_review_at_this_head_proves_itself() -> None:
    proof = prove_by_turn("independent-review", REVIEW, GIT)
    assert proof is not None and proof.proof == {"turn_id": "turn-1", "skill": "review-change", "head": "abc"}


@pytest.mark.parametrize(
    "turn",
    [
        None,
        REVIEW._replace(source_revision="old"),
        REVIEW._replace(source_revision=None),
        REVIEW._replace(outcome=outcome("review-change")),
        REVIEW._replace(outcome=outcome("review-change", blockers=[], status="continue")),
    ],
    ids=["no turn", "another revision", "no revision", "with blockers", "not completed"],
)
def test_any_other_turn_proves_nothing(turn: Any) -> None:
    assert prove_by_turn("independent-review", turn, GIT) is None
    assert prove_by_turn("independent-review", REVIEW, DIRTY) is None


def test_words_and_skills_are_the_contracts_and_forge_facts_are_never_proved_here() -> None:
    assert set(PROVEN_BY_TURN) <= set(EVIDENCE)
    assert {skill for skills in PROVEN_BY_TURN.values() for skill in skills} <= set(PROFILES)
    assert not {"issue-state", "pull-request-state"} & set(PROVEN_BY_TURN)
