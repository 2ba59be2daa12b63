"""Git facts and documents of a real working tree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from slipway_lite.errors import SlipwayError
from slipway_lite.turns import worktree
from slipway_lite.turns.worktree import observe_git, park, read_documents
from tests.turns.conftest import Tree


def test_git_facts(tree: Tree) -> None:
    below = tree.root / "a" / "b"
    below.mkdir(parents=True)
    facts = observe_git(str(below))
    assert (facts.root, facts.branch, facts.head) == (str(tree.root), "main", tree.git("rev-parse", "HEAD"))
    assert facts.common_dir == str(tree.root / ".git")
    assert facts.as_repository() == {"branch": "main", "headSha": facts.head, "dirty": False}


def test_a_branch_without_an_upstream_is_one_ahead(tree: Tree) -> None:
    assert observe_git(str(tree.root)).ahead == 1
    tree.git("branch", "base")
    tree.git("branch", "--set-upstream-to=base")
    assert observe_git(str(tree.root)).ahead == 0
    tree.commit()
    tree.commit()
    assert observe_git(str(tree.root)).ahead == 2


def test_a_detached_head_has_no_branch(tree: Tree) -> None:
    tree.git("checkout", "--quiet", "--detach")
    assert observe_git(str(tree.root)).branch == ""


def test_uncommitted_work_is_dirty_but_for_what_is_ignored(tree: Tree) -> None:
    tree.write(".agentic-workflow/advance-run.log", "x")
    assert observe_git(str(tree.root)).dirty
    assert not observe_git(str(tree.root), [".agentic-workflow/advance-run.log"]).dirty


def test_variables_that_redirect_git_are_not_followed(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert observe_git(str(tree.root)).branch == "main"


def test_no_repository_and_no_revision_have_codes(tree: Tree, tmp_path: Path) -> None:
    with pytest.raises(SlipwayError) as caught:
        observe_git(str(tmp_path))
    assert caught.value.code == "not_a_repository"
    empty = tmp_path / "empty"
    empty.mkdir()
    Tree(empty).git("init", "--quiet")
    with pytest.raises(SlipwayError) as caught:
        observe_git(str(empty))
    assert caught.value.code == "no_revision"


def test_git_that_cannot_be_run_has_a_code(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SlipwayError) as caught:
        observe_git(str(tree.root))
    assert caught.value.code == "git_failed"


@pytest.mark.parametrize("prints", ["", "echo; echo", "printf '.\\n.\\n'", "exec yes", "printf '/\\n/\\n'"])
def test_a_git_that_says_what_git_never_says_has_a_code(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prints: str
) -> None:
    monkeypatch.setattr(worktree, "OUTPUT_LIMIT", 100_000)
    (tmp_path / "git").write_text(f"#!/bin/sh\n{prints}\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(SlipwayError) as caught:
        observe_git(str(tree.root))
    assert caught.value.code == "git_failed"


def test_looking_writes_no_index_and_runs_no_hook(tree: Tree, tmp_path: Path) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "post-index-change").write_text(f"#!/bin/sh\n: > {tmp_path}/sprung\n")
    (hooks / "post-index-change").chmod(0o755)
    tree.git("config", "core.hooksPath", str(hooks))
    os.utime(tree.root / "README.md", (1, 1))
    index = (tree.root / ".git/index").read_bytes()
    observe_git(str(tree.root))
    assert (tree.root / ".git/index").read_bytes() == index
    assert not (tmp_path / "sprung").exists()


def test_a_broken_index_has_a_code(tree: Tree) -> None:
    (tree.root / ".git" / "index").write_bytes(b"broken")
    with pytest.raises(SlipwayError) as caught:
        observe_git(str(tree.root))
    assert caught.value.code == "git_failed"


def test_parking_commits_everything_but_what_is_ignored(tree: Tree) -> None:
    tree.write("a.txt", "x")
    tree.write("run.log", "x")
    park(observe_git(str(tree.root)), "WIP", ["run.log"])
    assert tree.git("log", "-1", "--format=%s") == "WIP"
    assert tree.git("status", "--porcelain") == "?? run.log"


def test_parking_a_clean_tree_does_nothing(tree: Tree) -> None:
    before = tree.git("rev-parse", "HEAD")
    park(observe_git(str(tree.root)), "WIP")
    assert tree.git("rev-parse", "HEAD") == before


def test_parking_that_fails_has_a_code(tree: Tree) -> None:
    tree.write("a.txt", "x")
    facts = observe_git(str(tree.root))
    (tree.root / ".git" / "index.lock").write_bytes(b"")
    with pytest.raises(SlipwayError) as caught:
        park(facts, "WIP")
    assert caught.value.code == "git_failed"


def test_documents_are_read_in_order_and_absent_ones_left_out(tree: Tree) -> None:
    tree.write("b.md", "B\r\n")
    found = read_documents(str(tree.root), ["b.md", "absent.md", "README.md"])
    assert found.documents == [{"path": "b.md", "content": "B\r\n"}, {"path": "README.md", "content": "# r\n"}]
    assert found.degradations == []
    assert found.content("README.md") == "# r\n" and found.content("absent.md") is None


def test_a_source_that_exists_and_cannot_be_read_is_named(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worktree, "DOCUMENT_LIMIT", 8)
    (tmp_path / "secret.md").write_text("s")
    (tree.root / "dir.md").mkdir()
    tree.write("latin.md", b"\xe9")
    tree.write("long.md", "x" * 9)
    (tree.root / "link.md").symlink_to(tmp_path / "secret.md")
    (tree.root / "dangling.md").symlink_to(tree.root / "absent.md")
    os.mkfifo(tree.root / "fifo.md")
    names = ["dir.md", "latin.md", "long.md", "link.md", "dangling.md", "fifo.md"]
    found = read_documents(str(tree.root), names)
    assert found.documents == []
    assert found.degradations == [
        "unreadable:dir.md",
        "not-utf8:latin.md",
        "too-large:long.md",
        "outside:link.md",
        "unreadable:dangling.md",
        "unreadable:fifo.md",
    ]


def test_a_document_that_may_not_be_opened_is_named(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*arguments: object, **options: object) -> None:
        raise PermissionError

    monkeypatch.setattr(worktree, "open", denied, raising=False)
    assert read_documents(str(tree.root), ["README.md"]).degradations == ["unreadable:README.md"]


def test_a_document_whose_directory_cannot_be_entered_is_not_an_absent_one(tree: Tree) -> None:
    (tree.root / "loop").symlink_to(tree.root / "loop")
    found = read_documents(str(tree.root), ["loop/x.md", "README.md/x.md"])
    assert found.degradations == ["unreadable:loop/x.md"]
