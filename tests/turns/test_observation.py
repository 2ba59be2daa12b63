"""Looking at a working tree, pinning its repository state and replacing it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.errors import SlipwayError
from slipway_lite.turns.envelope import validate_envelope
from slipway_lite.turns.observation import (
    PinnedJournal,
    draft_repository_state,
    observe_worktree,
    replace_repository_state,
    try_to_observe,
)
from slipway_lite.turns.repository_state import Contradiction, RepositoryState, read_repository_state
from slipway_lite.turns.snapshot import validate_workflow_snapshot
from slipway_lite.turns.status_forms import PUBLISHED_FORMS
from tests.turns.conftest import FROZEN, STATE, Tree


def test_a_tree_compiles_at_its_head(tree: Tree) -> None:
    head = tree.plan()
    compiled = observe_worktree(str(tree.root)).snapshot()
    assert compiled.snapshot is not None and validate_workflow_snapshot(compiled.snapshot).ok
    assert compiled.snapshot["sourceRevision"] == compiled.snapshot["repository"]["headSha"] == head
    assert compiled.snapshot["repositoryState"] == "frozen"
    assert compiled.snapshot["phase"] == {
        "current": "P2",
        "total": 2,
        "completed": 1,
        "names": ["P1 — Parser", "P2 — Writer"],
    }
    assert compiled.snapshot["unknowns"] == []


def test_table_form_is_read_from_a_tree_unless_the_published_form_is_asked_for(tree: Tree) -> None:
    tree.plan(state="| Status | frozen |\n")
    observed = observe_worktree(str(tree.root))
    compiled = observed.snapshot()
    assert compiled.snapshot is not None and compiled.snapshot["repositoryState"] == "frozen"
    assert compiled.readings[0]["form"] == "table"
    published = observed.snapshot(PUBLISHED_FORMS).snapshot
    assert published is not None and published["repositoryState"] == "unknown"


def test_a_tree_is_sensed_and_what_cannot_be_read_is_named(tree: Tree) -> None:
    tree.plan()
    tree.write("docs/features/12-csv/progress.md", b"\xff")
    envelope = observe_worktree(str(tree.root)).envelope()
    assert validate_envelope(envelope).ok
    assert envelope["detail"]["degradations"] == ["not-utf8:docs/features/12-csv/progress.md"]
    assert envelope["detail"]["crash_recovery"]["verdict"] == "RESUMABLE"


def test_the_document_that_is_planned_from_is_pinned_by_path_revision_and_digest(tree: Tree) -> None:
    assert observe_worktree(str(tree.root)).pinned_document() is None
    head = tree.plan()
    digest = "sha256:" + hashlib.sha256(FROZEN.encode()).hexdigest()
    assert observe_worktree(str(tree.root)).pinned_document() == {"path": STATE, "revision": head, "sha256": digest}


def test_the_repository_state_is_a_document(tree: Tree) -> None:
    assert observe_worktree(str(tree.root)).repository_state_document() == {"path": STATE, "status": "missing"}
    tree.plan()
    document = observe_worktree(str(tree.root)).repository_state_document()
    assert (document["status"], document["snapshot_id"], document["facts"]) == ("frozen", "S1", [])
    assert document["open_contradictions"] == []


def test_a_repository_state_that_cannot_be_read_is_unknown_and_not_missing(tree: Tree) -> None:
    tree.plan()
    tree.write(STATE, b"\xff")
    observed = observe_worktree(str(tree.root))
    assert observed.repository_state_document() == {
        "path": STATE, "status": "unknown", "degradations": [f"not-utf8:{STATE}"],
    }  # fmt: skip
    assert observed.envelope()["state"] == "BLOCKED"
    compiled = observed.snapshot().snapshot
    assert compiled is not None and compiled["repositoryState"] == "unknown"
    with pytest.raises(SlipwayError) as caught:
        draft_repository_state(observed)
    assert caught.value.code == "document_unreadable"


def test_a_draft_cites_the_head_and_claims_nothing_else(tree: Tree) -> None:
    observed = observe_worktree(str(tree.root))
    draft_repository_state(observed)
    state = read_repository_state((tree.root / STATE).read_text("utf-8"))
    assert (state.status, state.source_revision, state.facts) == ("draft", observed.git.head, ())
    with pytest.raises(SlipwayError) as caught:
        draft_repository_state(observe_worktree(str(tree.root)))
    assert caught.value.code == "document_exists"


def test_a_document_is_replaced_only_without_loss(tree: Tree) -> None:
    root = str(tree.root)
    conflict = Contradiction("C1", "a", "b", "", "")
    replace_repository_state(root, RepositoryState(status="contradicted", contradictions=(conflict,)), role="x")
    before = (tree.root / STATE).read_bytes()
    with pytest.raises(SlipwayError) as caught:
        replace_repository_state(root, RepositoryState(status="frozen"), role="discover-repository-state")
    assert caught.value.code == "contradiction_would_be_lost" and (tree.root / STATE).read_bytes() == before
    tree.write(STATE, b"\xff")
    with pytest.raises(SlipwayError) as caught:
        replace_repository_state(root, RepositoryState(status="frozen"), role="discover-repository-state")
    assert caught.value.code == "document_unreadable"


def test_a_pinned_journal_adds_the_document_the_facts_and_the_revision_at_the_end(tree: Tree) -> None:
    before = tree.plan()
    appended: list[Any] = []

    class Journal:
        append_turn = staticmethod(appended.append)
        append_snapshot = staticmethod(appended.append)

    pinned = observe_worktree(str(tree.root)).pinned_document()
    journal = PinnedJournal(Journal(), str(tree.root), pinned, {"evidence": [1]})
    after = tree.commit()
    journal.append_turn({"skill": "x"})
    journal.append_snapshot({"snapshot": 1})
    turn, snapshot = appended
    assert (turn["document_path"], turn["document_revision"], turn["source_revision"]) == (STATE, before, after)
    assert turn["evidence"] == [1] and snapshot == {"snapshot": 1}


def test_a_turn_is_journaled_even_where_no_revision_can_be_read(tmp_path: Path) -> None:
    appended: list[Any] = []

    class Journal:
        append_turn = staticmethod(appended.append)
        append_snapshot = staticmethod(appended.append)

    PinnedJournal(Journal(), str(tmp_path)).append_turn({"skill": "x"})
    assert appended == [{"skill": "x", "source_revision": None}]


def test_a_place_without_a_repository_or_a_commit_cannot_be_observed(tree: Tree, tmp_path: Path) -> None:
    assert try_to_observe(str(tmp_path)) is None
    Tree(tmp_path).git("init", "--quiet")
    assert try_to_observe(str(tmp_path)) is None
    assert try_to_observe(str(tree.root)) is not None
    (tree.root / ".git" / "index").write_bytes(b"broken")
    with pytest.raises(SlipwayError) as caught:
        try_to_observe(str(tree.root))
    assert caught.value.code == "git_failed"


def test_the_conductors_run_log_is_no_uncommitted_work(tree: Tree) -> None:
    tree.plan()
    tree.write(".agentic-workflow/advance-run.log", "x")
    assert not observe_worktree(str(tree.root)).git.dirty
    assert observe_worktree(str(tree.root), ()).git.dirty


def test_a_tree_below_the_root_is_the_same_tree(tree: Tree) -> None:
    tree.plan()
    assert observe_worktree(str(tree.root / "docs")).documents == observe_worktree(str(Path(tree.root))).documents
