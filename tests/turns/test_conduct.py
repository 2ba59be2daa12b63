"""The conductor over a real tree, a real store and an agent that commits (turn-contract §13)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from slipway_lite.errors import SlipwayError
from slipway_lite.turns.conduct import AdvanceSetup, advance
from slipway_lite.turns.loop import Advance, AdvanceConfig
from slipway_lite.turns.observation import replace_repository_state
from slipway_lite.turns.repository_state import Contradiction, RepositoryState, render_repository_state
from slipway_lite.turns.service import TurnJournal
from tests.turns.conftest import STATE, Tree
from tests.turns.documents import envelope, fenced, outcome

LOG = ".agentic-workflow/advance-run.log"


class Worker:
    """An agent that does something in the tree for each skill it is sent, and remembers what it was sent."""

    def __init__(self, **work: Callable[[], str]) -> None:
        self.work = {skill.replace("_", "-"): does for skill, does in work.items()}
        self.prompts: list[str] = []

    def __call__(self, message: str) -> str:
        prompt = message.split("\n")[0]
        self.prompts.append(prompt)
        skill = prompt.removeprefix("/skill:").split(" ")[0]
        return self.work[skill]() if skill in self.work else "no idea"


def result(skill: str, intent: str = "none", targets: tuple[str, ...] = ("12-csv",), **changes: Any) -> str:
    next_ = {"intent": intent, "targets": list(targets)}
    return fenced(outcome(skill, intent, next=next_, **{"blockers": [], "evidence_refs": [], **changes}))


def run(tree: Tree, journal: TurnJournal, worker: Callable[[str], str], **options: Any) -> Advance:
    return advance(AdvanceSetup(root=str(tree.root), journal=journal, new_agent=lambda: worker, **options))


def ended(found: Advance) -> tuple[str, str | None]:
    return found.banner.removeprefix("ADVANCE: "), found.stop_code


def turns(journal: TurnJournal) -> list[dict[str, Any]]:
    names = (
        "skill",
        "verdict",
        "source_revision",
        "document_path",
        "document_revision",
        "snapshot_sha256",
        "decision",
        "evidence",
    )
    rows = journal._store.rows(f"select {', '.join(names)} from turns order by sequence")
    found = [dict(zip(names, row, strict=True)) for row in rows]
    for turn in found:
        turn["decision"], turn["evidence"] = json.loads(turn["decision"]), json.loads(turn["evidence"])
    return found


def words(turn: dict[str, Any]) -> list[str]:
    return [proof["word"] for proof in turn["evidence"]]


def discovered(tree: Tree) -> Callable[[], str]:
    def work() -> str:
        replace_repository_state(str(tree.root), RepositoryState(status="frozen"), role="discover-repository-state")
        tree.commit()
        return result("discover-repository-state", "execute-phase")

    return work


def test_a_missing_repository_state_is_discovered_before_anything_is_planned(tree: Tree, journal: TurnJournal) -> None:
    worker = Worker(discover_repository_state=discovered(tree))
    assert ended(run(tree, journal, worker)) == ("CONTINUE", None)
    assert worker.prompts == ["/skill:discover-repository-state"]
    (turn,) = turns(journal)
    assert turn["decision"]["reasonCode"] == "invoke-discovery" and turn["document_path"] is None
    assert turn["source_revision"] == tree.git("rev-parse", "HEAD")


def test_a_draft_is_discovered_too_and_a_discovery_that_changes_nothing_stops(tree: Tree, journal: TurnJournal) -> None:
    tree.plan(state="Status: draft\n")
    worker = Worker(discover_repository_state=lambda: result("discover-repository-state"))
    found = run(tree, journal, worker, go_on=True)
    assert ended(found) == ("STOPPED", "stop-failed") and len(worker.prompts) == 1
    assert "left the repository state as it was" in found.message


def test_a_discovery_that_asks_for_input_is_not_sent_again_at_the_same_revision(
    tree: Tree, journal: TurnJournal
) -> None:
    tree.plan(state="Status: draft\n")
    worker = Worker(discover_repository_state=lambda: result("discover-repository-state", status="needs-input"))
    assert ended(run(tree, journal, worker)) == ("CONTINUE", None)
    assert ended(run(tree, journal, worker)) == ("STOPPED", "stop-needs-input")
    assert len(worker.prompts) == 1


def test_the_journals_last_outcome_is_what_the_decider_gets(tree: Tree, journal: TurnJournal) -> None:
    """The published loop hands over null and so never invokes anything."""
    tree.plan(state="Status: draft\n")

    def freeze() -> str:
        tree.plan()
        return result("discover-repository-state", "execute-phase")

    def execute() -> str:
        tree.write("src.py", "x")
        tree.commit()
        return result("execute-phase", "review-change")

    worker = Worker(discover_repository_state=freeze, execute_phase=execute)
    run(tree, journal, worker)
    assert ended(run(tree, journal, worker)) == ("CONTINUE", None)
    assert worker.prompts == ["/skill:discover-repository-state", "/skill:execute-phase 12-csv"]
    turn = turns(journal)[1]
    assert turn["decision"]["reasonCode"] == "invoke-proven-transition"
    assert words(turn) == ["workflow-snapshot", "current-candidate"]
    assert turn["evidence"][1]["proof"]["head"] == turn["document_revision"]
    assert turn["document_path"] == STATE and turn["source_revision"] != turn["document_revision"]
    stored = journal._store.rows("select snapshot_sha256 from workflow_snapshots")
    assert (turn["snapshot_sha256"],) in stored


def test_without_a_last_outcome_it_senses_again_and_uses_the_sensors_own(tree: Tree, journal: TurnJournal) -> None:
    tree.plan()
    worker = Worker(execute_phase=lambda: result("execute-phase"))
    found = run(tree, journal, worker)
    assert ended(found) == ("CONTINUE", None) and found.iterations == 2
    assert worker.prompts == ["/skill:execute-phase 12-csv"]
    assert "workflow-snapshot" in turns(journal)[0]["decision"]["evidenceRefs"]


def test_a_last_outcome_of_another_revision_is_stale_and_senses_again(tree: Tree, journal: TurnJournal) -> None:
    tree.plan()
    worker = Worker(execute_phase=lambda: result("execute-phase", status="blocked", blockers=[]))
    run(tree, journal, worker)
    assert ended(run(tree, journal, worker)) == ("STOPPED", "stop-blocked")
    tree.write("fixed.py", "x")
    tree.commit()
    assert ended(run(tree, journal, worker)) == ("CONTINUE", None)
    assert len(worker.prompts) == 2


def test_a_dirty_tree_is_no_candidate_so_nothing_is_executed(tree: Tree, journal: TurnJournal) -> None:
    tree.plan()
    tree.write("src.py", "x")
    worker = Worker()
    assert ended(run(tree, journal, worker)) == ("STOPPED", "sense-missing-evidence")
    assert worker.prompts == []


REVIEWABLE = "- Done: P1\n- Done: P2\n"


def ready_for_review(tree: Tree) -> None:
    tree.plan()
    tree.write("docs/features/12-csv/progress.md", REVIEWABLE)
    tree.commit()


def python(code: str) -> tuple[str, ...]:
    return sys.executable, "-c", code


def test_verification_is_proved_by_running_the_configured_check(tree: Tree, journal: TurnJournal) -> None:
    ready_for_review(tree)
    worker = Worker(review_change=lambda: result("review-change", "audit-pr"))
    check = python("import os; assert os.path.exists('README.md')")
    assert ended(run(tree, journal, worker, check=check)) == ("CONTINUE", None)
    (turn,) = turns(journal)
    proof = turn["evidence"][2]
    assert proof["word"] == "verification" and proof["proof"]["exit_code"] == 0
    assert proof["proof"]["command"] == list(check)


@pytest.mark.parametrize(
    "check",
    [
        None,
        python("raise SystemExit(1)"),
        ("/absent/check",),
        python("open('left-behind', 'w')"),
    ],
    ids=["none", "red", "absent", "leaves the tree dirty"],
)
def test_without_a_green_check_a_review_is_not_invoked(check: Any, tree: Tree, journal: TurnJournal) -> None:
    ready_for_review(tree)
    worker = Worker()
    assert ended(run(tree, journal, worker, check=check))[0] == "STOPPED"
    assert worker.prompts == []


def test_an_audit_needs_forge_facts_that_no_local_reader_proves(tree: Tree, journal: TurnJournal) -> None:
    tree.track()
    ready_for_review(tree)
    worker = Worker(review_change=lambda: result("review-change", "audit-pr"))
    found = run(tree, journal, worker, check=python(""), go_on=True)
    assert ended(found) == ("STOPPED", "sense-missing-evidence")
    assert worker.prompts == ["/skill:review-change 12-csv"]


def test_a_review_at_this_head_proves_itself_to_the_audit(tree: Tree, journal: TurnJournal) -> None:
    tree.track()
    ready_for_review(tree)
    worker = Worker(
        review_change=lambda: result("review-change", "audit-pr", evidence_refs=["pull-request-state"]),
        audit_pr=lambda: result("audit-pr", "merge"),
    )
    found = run(tree, journal, worker, check=python(""), go_on=True)
    assert ended(found) == ("STOPPED", "stop-policy-denied"), "a merge is proposed, and the conductor never merges"
    assert worker.prompts == ["/skill:review-change 12-csv", "/skill:audit-pr 12-csv"]
    reviewed, audited = turns(journal)
    assert words(audited) == ["workflow-snapshot", "current-candidate", "verification", "independent-review"]
    assert audited["evidence"][3]["proof"]["head"] == reviewed["source_revision"]


def test_work_that_is_never_pushed_is_partial_and_parked_after_three_probes(tree: Tree, journal: TurnJournal) -> None:
    tree.plan()
    worker = Worker(execute_phase=lambda: result("execute-phase", "review-change"))
    found = run(tree, journal, worker, go_on=True)
    assert ended(found) == ("STOPPED", "stop-failed") and "partial three times" in found.message


def test_the_conductor_never_merges(tree: Tree, journal: TurnJournal) -> None:
    tree.plan()
    journal.append_turn(
        {
            "skill": "audit-pr",
            "verdict": "validated",
            "source": "skill-outcome-v1",
            "repair": "none",
            "outcome": json.loads(result("audit-pr", "merge").split("\n")[3]),
            "source_revision": tree.git("rev-parse", "HEAD"),
            "decision": {},
        }
    )
    worker = Worker()
    assert ended(run(tree, journal, worker)) == ("STOPPED", "stop-policy-denied")
    assert worker.prompts == []


CONFLICT = Contradiction("C007", "F1", "src.py", "", "execute-phase")


def test_a_contradiction_is_routed_to_the_resolver_with_its_id(tree: Tree, journal: TurnJournal) -> None:
    tree.track()
    tree.plan(state=render_repository_state(RepositoryState(status="contradicted", contradictions=(CONFLICT,))))

    def resolve() -> str:
        row = CONFLICT._replace(resolution="rejected: old")
        state = RepositoryState(status="frozen", contradictions=(row,))
        replace_repository_state(str(tree.root), state, role="resolve-repository-state")
        tree.commit()
        return result("resolve-repository-state")

    worker = Worker(resolve_repository_state=resolve, execute_phase=lambda: result("execute-phase"))
    found = run(
        tree, journal, worker, go_on=True, config=AdvanceConfig(iterations_cap=3, sense_again_after_invoke=True)
    )
    assert worker.prompts == ["/skill:resolve-repository-state C007", "/skill:execute-phase 12-csv"]
    assert turns(journal)[0]["decision"]["reasonCode"] == "invoke-resolution"
    assert ended(found) == ("STOPPED", "stop-failed"), "the cap of this test"


def test_an_agent_that_gives_no_result_stops_with_its_turn_on_record(tree: Tree, journal: TurnJournal) -> None:
    tree.plan()
    worker = Worker(execute_phase=lambda: "done!")
    assert ended(run(tree, journal, worker)) == ("STOPPED", "stop-failed")
    assert len(worker.prompts) == 2
    assert [turn["verdict"] for turn in turns(journal)] == ["failed"]


def test_an_agent_that_cannot_be_called_stops_with_its_turn_on_record(tree: Tree, journal: TurnJournal) -> None:
    tree.plan()

    def broken(message: str) -> str:
        raise SlipwayError("agent_failed", "The agent command ended with status 1.")

    found = run(tree, journal, broken)
    assert ended(found) == ("STOPPED", "stop-failed") and "status 1" in found.message
    assert [turn["verdict"] for turn in turns(journal)] == ["failed"]


def test_a_journal_that_fails_is_an_error_and_no_stop(tree: Tree, journal: TurnJournal) -> None:
    tree.plan()

    def broken(message: str) -> str:
        raise SlipwayError("database_busy", "Another writer held the database.")

    with pytest.raises(SlipwayError) as caught:
        run(tree, journal, broken)
    assert caught.value.code == "database_busy"


def test_a_document_that_cannot_be_read_is_a_degraded_sensor(tree: Tree, journal: TurnJournal) -> None:
    tree.plan()
    tree.write(STATE, b"\xff")
    tree.commit()
    assert ended(run(tree, journal, Worker())) == ("STOPPED", "sensor-degraded")


def test_nothing_open_is_complete_and_a_blocked_unit_is_blocked(tree: Tree, journal: TurnJournal) -> None:
    tree.plan(roadmap="| 12 | csv | done |\n")
    assert ended(run(tree, journal, Worker())) == ("COMPLETE", "stop-nothing-startable")
    tree.plan(roadmap="| # | Slug | Status | Depends on |\n| 12 | csv | planned | 99 |\n")
    assert ended(run(tree, journal, Worker())) == ("BLOCKED", "stop-blocked")


def test_a_sensor_command_takes_the_place_of_the_built_in_one(tree: Tree, journal: TurnJournal) -> None:
    tree.plan()
    seen = envelope(
        blockers=[], detail=None, next={"recommended": "/plan-feature 12", "alternatives": [], "tier": "strong"}
    )
    worker = Worker(plan_feature=lambda: result("plan-feature"))
    found = run(tree, journal, worker, sensor=python(f"print({json.dumps(seen)!r})"))
    assert ended(found) == ("CONTINUE", None) and worker.prompts == ["/skill:plan-feature 12-csv"]
    assert ended(run(tree, journal, worker, sensor=("/absent",))) == ("STOPPED", "sensor-degraded")


def test_an_urgent_issue_of_a_sensor_parks_uncommitted_work(tree: Tree, journal: TurnJournal) -> None:
    tree.plan()
    tree.write("src.py", "x")
    facts = {"unit": "12-csv", "phase": "P1", "dirty": False, "tasks_from_boundary": 3}
    urgent = {"issues": [{"number": 5, "title": "t", "label": "urgent"}], "interruptibility": facts}
    seen = envelope(blockers=[], detail={"urgent": urgent})
    run(tree, journal, Worker(), sensor=python(f"print({json.dumps(seen)!r})"), config=AdvanceConfig(iterations_cap=1))
    assert tree.git("log", "-1", "--format=%s") == "WIP: parked by slipway advance"


def test_the_policy_and_attendance_reach_the_decision(tree: Tree, journal: TurnJournal) -> None:
    tree.plan()
    worker = Worker(execute_phase=lambda: result("execute-phase"))
    denied = {"allowedIntents": ["plan-feature"], "forgeWriteAuthorized": False}
    assert ended(run(tree, journal, worker, policy=denied)) == ("STOPPED", "stop-policy-denied")
    run(tree, journal, worker, attended=False, config=AdvanceConfig(security_paths=("src/**",)))
    assert worker.prompts == ["/skill:execute-phase 12-csv --adversarial 3"]


def test_the_run_log_has_one_line_a_step_and_is_no_uncommitted_work(tree: Tree, journal: TurnJournal) -> None:
    tree.plan()
    worker = Worker(execute_phase=lambda: result("execute-phase", status="failed", discoveries=[]))
    run(tree, journal, worker)
    assert ended(run(tree, journal, worker)) == ("STOPPED", "stop-failed")
    lines = (tree.root / LOG).read_text("utf-8").splitlines()
    assert [line.split(" — ")[1:] for line in lines] == [
        ["invoke/invoke-proven-transition", "/skill:execute-phase 12-csv", "2/12"],
        ["stop/stop-failed", "-", "1/12"],
    ]
    assert all(len(line.split(" — ")[0]) == len("2026-01-01 00:00") for line in lines)


def test_a_log_that_cannot_be_written_blocks_nothing(tree: Tree, journal: TurnJournal) -> None:
    tree.plan()
    worker = Worker(execute_phase=lambda: result("execute-phase"))
    found = run(tree, journal, worker, config=AdvanceConfig(run_log_path="README.md/run.log"))
    assert ended(found) == ("CONTINUE", None)


def test_outside_a_repository_there_is_nothing_to_advance(tmp_path: Any, journal: TurnJournal) -> None:
    with pytest.raises(SlipwayError) as caught:
        advance(AdvanceSetup(root=str(tmp_path), journal=journal, new_agent=lambda: Worker()))
    assert caught.value.code == "not_a_repository"
