"""Documents are written below the root of the working tree and never through a link."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from slipway_lite.errors import SlipwayError
from slipway_lite.turns.writing import append_line, write_document
from tests.turns.conftest import Tree


def refused(tree: Tree, path: str) -> str:
    with pytest.raises(SlipwayError) as caught:
        write_document(str(tree.root), path, "ours")
    return caught.value.code


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A directory outside the tree with one file in it."""
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "x.md").write_text("theirs")
    return tmp_path / "victim"


def untouched(victim: Path) -> bool:
    return os.listdir(victim) == ["x.md"] and (victim / "x.md").read_text() == "theirs"


def test_a_document_is_written_whole(tree: Tree) -> None:
    write_document(str(tree.root), "docs/x.md", "a\nb\n")
    assert (tree.root / "docs/x.md").read_bytes() == b"a\nb\n"
    write_document(str(tree.root), "docs/x.md", "é")
    assert (tree.root / "docs/x.md").read_bytes() == "é".encode()
    assert os.listdir(tree.root / "docs") == ["x.md"]


def test_a_document_that_cannot_be_written_has_a_code(tree: Tree) -> None:
    (tree.root / "folder.md").mkdir()
    assert refused(tree, "README.md/x.md") == refused(tree, "folder.md") == "document_unwritable"
    assert sorted(os.listdir(tree.root)) == [".git", "README.md", "folder.md"]


def test_a_write_that_fails_half_way_leaves_the_old_document_and_no_draft(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    assert refused(tree, "README.md") == "document_unwritable"
    assert (tree.root / "README.md").read_text() == "# r\n"
    assert sorted(os.listdir(tree.root)) == [".git", "README.md"]


@pytest.mark.parametrize("link", ["docs", "docs/workflow"])
def test_nothing_is_written_through_a_linked_directory(tree: Tree, victim: Path, link: str) -> None:
    place = tree.root / link
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(victim)
    assert refused(tree, "docs/workflow/x.md") == "document_behind_link"
    assert not append_line(str(tree.root), "docs/workflow/x.md", "ours")
    assert untouched(victim)


def test_a_document_that_is_a_link_is_neither_followed_nor_replaced(tree: Tree, victim: Path) -> None:
    for name in ("x.md", "absent.md"):
        (tree.root / name).symlink_to(victim / name)
        assert refused(tree, name) == "document_behind_link"
        assert not append_line(str(tree.root), name, "ours")
        assert (tree.root / name).is_symlink()
    assert untouched(victim)


def test_a_link_under_the_old_fixed_name_of_a_draft_is_left_alone(tree: Tree, victim: Path) -> None:
    (tree.root / "y.md.slipway-draft").symlink_to(victim / "x.md")
    write_document(str(tree.root), "y.md", "ours")
    assert (tree.root / "y.md").read_text() == "ours" and untouched(victim)


def test_a_log_line_is_appended_and_a_failure_is_only_told(tree: Tree) -> None:
    assert append_line(str(tree.root), "log/run.log", "a") and append_line(str(tree.root), "log/run.log", "\ud800")
    assert (tree.root / "log/run.log").read_text() == "a\n\\ud800\n"
    assert not append_line(str(tree.root), "README.md/run.log", "a")


def test_a_named_pipe_in_the_place_of_a_log_holds_nothing_up(tree: Tree) -> None:
    os.mkfifo(tree.root / "run.log")
    assert not append_line(str(tree.root), "run.log", "a")
    reader = os.open(tree.root / "run.log", os.O_RDONLY | os.O_NONBLOCK)
    assert not append_line(str(tree.root), "run.log", "a")
    os.close(reader)
