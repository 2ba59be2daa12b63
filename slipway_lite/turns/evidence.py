"""Evidence words that the driver itself proved, each with its proof (turn-contract §2, §11).

The decider only compares words; a word is worth what stands behind it. The driver adds a word to the last outcome
only when one of the functions below proved it, and the proof is journaled with the turn that the word let happen.
"""

from __future__ import annotations

from typing import Any, NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slipway_lite.turns.service import LastOutcome
    from slipway_lite.turns.worktree import GitFacts

PROVEN_BY_TURN = {
    "independent-review": ("review-change",),
    "audit": ("audit-pr",),
    "pre-execution-review": ("review-spec", "review-plan"),
}
"""Words that a completed turn of another skill proves, at the revision at which that turn ended.

issue-state and pull-request-state are not here: only a forge knows them.
"""


class Evidence(NamedTuple):
    word: str
    proof: dict[str, Any]

    def as_document(self) -> dict[str, Any]:
        return {"word": self.word, "proof": self.proof}


class CheckRun(NamedTuple):
    """One run of the configured check: its command, the head it ran at, how it ended, how long it took."""

    command: tuple[str, ...]
    head: str
    exit_code: int
    seconds: float


def prove_workflow_snapshot(source_revision: str, snapshot_sha256: str) -> Evidence:
    """``workflow-snapshot``: the driver compiled a valid one at this revision."""
    return Evidence("workflow-snapshot", {"source_revision": source_revision, "snapshot_sha256": snapshot_sha256})


def prove_current_candidate(git: GitFacts) -> Evidence | None:
    """``current-candidate``: the tree is clean, so the recorded head is exactly what will be worked on."""
    return None if git.dirty else Evidence("current-candidate", {"head": git.head, "branch": git.branch})


def prove_verification(run: CheckRun | None, git: GitFacts) -> Evidence | None:
    """``verification``: the configured check ended with 0 at this very head, in a clean tree."""
    if run is None or run.exit_code != 0 or run.head != git.head or git.dirty:
        return None
    return Evidence(
        "verification",
        {"command": list(run.command), "head": run.head, "exit_code": 0, "seconds": round(run.seconds, 3)},
    )


def prove_by_turn(word: str, turn: LastOutcome | None, git: GitFacts) -> Evidence | None:
    """A review word: the newest validated turn of the skill completed without blockers at this very head."""
    if turn is None or turn.source_revision != git.head or git.dirty:
        return None
    if turn.outcome["status"] != "completed" or turn.outcome["blockers"]:
        return None
    return Evidence(word, {"turn_id": turn.turn_id, "skill": turn.outcome["skill"], "head": git.head})
