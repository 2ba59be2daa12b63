"""The built-in sensor: a strict envelope, nothing guessed (turn-contract §13)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.turns.envelope import validate_envelope
from slipway_lite.turns.repository_state import Contradiction, RepositoryState, render_repository_state
from slipway_lite.turns.sensor import NOT_OBSERVED, build_envelope, unit_folders
from slipway_lite.turns.worktree import Documents, GitFacts
from tests.turns.conftest import FROZEN, ROADMAP, STATE

GIT = GitFacts(root="/r", common_dir="/r/.git", branch="feat/12-csv", head="abc", porcelain="", ahead=0)
HEAD = "| # | Slug | Status | Depends on | Title |\n|---|---|---|---|---|\n"
SPEC, PROGRESS = "docs/features/12-csv/SPEC.md", "docs/features/12-csv/progress.md"
PLANNED = {
    STATE: FROZEN,
    ROADMAP: HEAD + "| 11 | x | done | — | X |\n| 12 | csv | in-progress | 11 | CSV |\n",
    SPEC: "## P1 — A\n## P2 — B\n",
    PROGRESS: "- Done: P1\n- Remains: P2\n",
}


def sense(documents: dict[str, str], git: GitFacts = GIT, degradations: tuple[str, ...] = ()) -> dict[str, Any]:
    listed = [{"path": path, "content": content} for path, content in documents.items()]
    envelope = build_envelope(git, Documents(listed, list(degradations)))
    assert validate_envelope(envelope, strict=True).ok
    return envelope


def step(documents: dict[str, str], git: GitFacts = GIT) -> tuple[str, str, str]:
    found = sense(documents, git)
    return found["state"], found["next"]["recommended"], found["next"]["tier"]


def test_a_unit_in_progress_continues_with_its_remaining_phase() -> None:
    found = sense(PLANNED)
    assert step(PLANNED) == ("OK", "/execute-phase 12-csv P2", "cheap")
    assert found["unit"] == {"type": "feature", "id": "12-csv", "issue": None, "branch": "feat/12-csv"}
    assert found["phase"] == {"current": "P2", "total": 2, "completed": 1}
    assert found["blockers"] == [] and found["needs_input"] is None
    detail = found["detail"]
    assert detail["repository_state"] == {"status": "frozen", "snapshot_id": "S1", "source_revision": "abc"}
    assert detail["features"] == [
        {
            "id": "12-csv",
            "status": "in-progress",
            "deps": ["11-x"],
            "deps_unmet": [],
            "phase": {"current": "P2", "total": 2},
            "pr": None,
            "review_pending": None,
            "audit_pending": None,
            "merge_ready": None,
        }
    ]
    assert detail["startable_now"] == ["12-csv"] and detail["fixes"] == [] and detail["blocked_units"] == {}


def test_what_only_a_forge_knows_is_null_or_empty_and_named() -> None:
    found = sense(PLANNED)
    detail = found["detail"]
    assert detail["not_observed"] == list(NOT_OBSERVED)
    for key in ("open_prs", "pending_triage", "untriaged_issues", "urgent", "review_loop_cycles"):
        assert detail[key] is None
    assert found["pr"] == {
        "number": None,
        "url": None,
        "state": "none",
        "head_sha": None,
        "merge_ready": None,
        "ci": None,
    }
    assert set(found["gates"].values()) == {None}


def test_the_branch_of_a_unit_is_known_only_from_its_name() -> None:
    assert sense(PLANNED, replace(GIT, branch="main"))["unit"]["branch"] is None


def test_without_a_receipt_the_first_open_phase_is_next() -> None:
    assert step({**PLANNED, PROGRESS: "- Done: P1\n"})[1] == "/execute-phase 12-csv P2"
    assert step({**PLANNED, PROGRESS: ""})[1] == "/execute-phase 12-csv P1"
    strange = sense({**PLANNED, PROGRESS: "- Done: P9\n"})
    assert strange["phase"] == {"current": "P1", "total": 2, "completed": None}


def test_with_every_phase_done_the_change_is_ready_for_review() -> None:
    done = {**PLANNED, PROGRESS: "- Done: P1\n- Done: P2\n"}
    assert step(done) == ("READY_FOR_REVIEW", "/review-change 12-csv", "strong")


@pytest.mark.parametrize(
    ("documents", "command"),
    [
        ({ROADMAP: "| 12 | csv | idea |\n"}, "/design-feature 12-csv"),
        ({ROADMAP: "| 12 | csv | planned |\n"}, "/design-feature 12-csv"),
        ({ROADMAP: "| 12 | csv | planned |\n", SPEC: "# none\n"}, "/plan-feature 12-csv"),
        ({"docs/fix/README.md": "| 134-crash | planned |\n"}, "/plan-fix 134-crash"),
        ({ROADMAP: "| 12 | csv | done |\n"}, ""),
        ({}, ""),
    ],
)
def test_what_has_no_plan_is_designed_or_planned(documents: dict[str, str], command: str) -> None:
    assert step({STATE: FROZEN, **documents})[:2] == ("OK", command)


def test_a_design_candidate_is_listed() -> None:
    found = sense({STATE: FROZEN, ROADMAP: "| 12 | csv | idea · later |\n"})
    candidate = {"id": "12-csv", "status": "idea · later", "next": "/design-feature 12-csv"}
    assert found["detail"]["design_candidates"] == [candidate]


def contradicted(**changes: Any) -> str:
    row = Contradiction("C007", "F1", "x", "", "")
    return render_repository_state(RepositoryState(status="contradicted", contradictions=(row,), **changes))


@pytest.mark.parametrize(
    ("state", "command"),
    [
        (None, "/discover-repository-state"),
        ("Status: draft", "/discover-repository-state"),
        ("", "/discover-repository-state"),
        ("Status: resolved", "/discover-repository-state"),
        (contradicted(), "/resolve-repository-state C007"),
        ("Status: contradicted", "/resolve-repository-state"),
        ("Status: needs-input", "/resolve-repository-state"),
    ],
)
def test_without_a_frozen_state_the_run_is_blocked_and_nothing_can_start(state: str | None, command: str) -> None:
    documents = {key: value for key, value in PLANNED.items() if key != STATE}
    found = sense(documents if state is None else {**documents, STATE: state})
    assert (found["state"], found["next"]["recommended"], found["next"]["tier"]) == ("BLOCKED", command, "strong")
    assert [(row["kind"], row["scope"]) for row in found["blockers"]] == [("substrate", "run")]
    assert found["detail"]["startable_now"] == []


def test_a_unit_that_waits_is_blocked_unless_another_can_start() -> None:
    rows = HEAD + "| 10 | a | planned | — | A |\n| 11 | b | planned | 10 | B |\n| 12 | csv | planned | 11 | C |\n"
    found = sense({STATE: FROZEN, ROADMAP: rows})
    assert found["unit"]["id"] == "10-a" and found["state"] == "OK"
    assert found["detail"]["blocked_units"]["12-csv"] == {"unmet": ["11-b"], "build_order": ["10-a", "11-b"]}
    assert found["detail"]["startable_now"] == ["10-a"]
    stuck = sense({STATE: FROZEN, ROADMAP: HEAD + "| 12 | csv | in-progress | 77 | C |\n"})
    assert stuck["state"] == "BLOCKED" and stuck["next"]["recommended"] == ""
    assert [(row["kind"], row["scope"], row["id"]) for row in stuck["blockers"]] == [("dependency", "unit", "77")]
    assert stuck["dependencies"] == {"unmet": ["77"], "build_order": ["77"]}


DIRTY = replace(GIT, porcelain=" M src/a.py")


def test_uncommitted_work_of_one_unit_in_progress_is_resumable() -> None:
    assert step(PLANNED, DIRTY)[:2] == ("CONTINUE", "/execute-phase 12-csv P2")
    assert sense(PLANNED, DIRTY)["detail"]["crash_recovery"] == {"verdict": "RESUMABLE", "branches": ["feat/12-csv"]}
    assert sense(PLANNED)["detail"]["crash_recovery"] == {"verdict": "CLEAN", "branches": []}


@pytest.mark.parametrize(
    "roadmap", ["", "| 12 | csv | planned |\n", "| 11 | a | in-progress |\n| 12 | csv | in-progress |\n"]
)
def test_uncommitted_work_of_no_or_of_several_units_asks(roadmap: str) -> None:
    found = sense({**PLANNED, ROADMAP: roadmap}, DIRTY)
    assert found["state"] == "NEEDS_INPUT" and found["needs_input"]["question"]
    assert found["detail"]["crash_recovery"]["verdict"] == "AMBIGUOUS"


def test_a_source_that_could_not_be_read_is_a_degradation_and_not_a_missing_one() -> None:
    found = sense({ROADMAP: PLANNED[ROADMAP]}, degradations=(f"not-utf8:{STATE}",))
    assert found["detail"]["degradations"] == [f"not-utf8:{STATE}"]
    assert found["detail"]["repository_state"]["status"] == "unknown"
    assert found["detail"]["startable_now"] == []


@pytest.mark.parametrize("path", [STATE, ROADMAP, "docs/fix/README.md", SPEC, PROGRESS])
def test_a_document_that_cannot_be_read_blocks_the_run_and_never_looks_like_nothing_to_do(path: str) -> None:
    readable = {name: content for name, content in PLANNED.items() if name != path}
    found = sense(readable, degradations=(f"not-utf8:{path}",))
    assert (found["state"], found["next"]["recommended"]) == ("BLOCKED", "")
    told = f"{path} exists and cannot be read (not-utf8)."
    assert found["summary"] == told and found["blockers"] == [
        {"kind": "substrate", "id": "unreadable-document", "scope": "run", "detail": told}
    ]
    assert found["detail"]["startable_now"] == []


def test_the_files_of_open_units_are_asked_for() -> None:
    rows = "| 11 | a | done |\n| 12 | csv | planned |\n"
    documents = Documents(
        [{"path": ROADMAP, "content": rows}, {"path": "docs/fix/README.md", "content": "| 134-x | planned |\n"}], []
    )
    assert unit_folders(documents) == ["docs/features/12-csv", "docs/fix/134-x"]


texts = st.lists(
    st.sampled_from(
        ["|", "12", "13", "csv", "done", "idea", "in-progress", "\n", "Depends on", "#", "Status:", "frozen", "P1"]
    )
    | st.sampled_from(
        ["## P1 — A\n", "- Done: P1\n", "Status: frozen\n", "| 12 | csv | in-progress | 13 |\n", "134-x", "\ud7ff", "·"]
    ),
    max_size=20,
).map("".join)


@given(state=texts, roadmap=texts, spec=texts, progress=texts, dirty=st.booleans())
@settings(deadline=None, max_examples=200)
def test_any_documents_give_the_same_strict_envelope_twice(
    state: str, roadmap: str, spec: str, progress: str, dirty: bool
) -> None:
    documents = {STATE: state, ROADMAP: roadmap, SPEC: spec, PROGRESS: progress}
    git = DIRTY if dirty else GIT
    assert sense(documents, git) == sense(documents, git)
