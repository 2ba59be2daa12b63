from __future__ import annotations

import os
from pathlib import Path

import pytest

from slipway_lite.canon import sha256
from slipway_lite.hosts.tree import MANAGED_FILE_LIMIT, Tree, UnsafePath, parents, reason


@pytest.fixture
def tree(tmp_path: Path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("secret")
    with Tree(str(tmp_path / "inside")) as tree:
        yield tree


@pytest.fixture
def inside(tree: Tree, tmp_path: Path) -> Path:
    return tmp_path / "inside"


def test_reading_gives_bytes_and_digest(tree: Tree, inside: Path) -> None:
    (inside / "a").mkdir()
    (inside / "a/b").write_bytes(b"x")
    assert tree.read("a/b") == (b"x", sha256(b"x"))


def test_nothing_there_reads_as_none(tree: Tree, inside: Path) -> None:
    (inside / "file").write_text("x")
    assert tree.read("a/b") is None
    assert tree.read("file/below") is None


def test_a_link_is_never_read(tree: Tree, inside: Path) -> None:
    (inside / "link").symlink_to("../outside/secret")
    with pytest.raises(UnsafePath, match="link is a symbolic link"):
        tree.read("link")


OPERATIONS = {
    "read": lambda tree, path: tree.read(path),
    "write_new": lambda tree, path: tree.write_new(path, b"", 0o600),
    "link": lambda tree, path: tree.link(path, path + "2"),
    "rename": lambda tree, path: tree.rename(path, path + "2"),
    "remove": lambda tree, path: tree.remove(path),
    "make_directory": lambda tree, path: tree.make_directory(path + "2"),
    "remove_directory": lambda tree, path: tree.remove_directory(path),
    "is_directory": lambda tree, path: tree.is_directory(path),
    "is_same_file": lambda tree, path: tree.is_same_file(path, path),
    "sync": lambda tree, path: tree.sync(path),
}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
@pytest.mark.parametrize("path", ["d/secret", "e/f/secret"])
def test_no_operation_goes_through_a_linked_directory(tree: Tree, inside: Path, operation, path: str) -> None:
    (inside / "d").symlink_to("../outside")
    (inside / "e").mkdir()
    (inside / "e/f").symlink_to("../../outside")
    with pytest.raises(UnsafePath, match="is a symbolic link"):
        operation(tree, path)
    assert os.listdir(inside / "d") == ["secret"]


@pytest.mark.parametrize("kind", ["directory", "fifo"])
def test_only_regular_files_are_read(tree: Tree, inside: Path, kind: str) -> None:
    path = inside / "odd"
    if kind == "directory":
        path.mkdir()
    else:
        os.mkfifo(path)
    with pytest.raises(UnsafePath, match="odd is not a regular file"):
        tree.read("odd")


def test_a_file_above_one_mebibyte_is_refused(tree: Tree, inside: Path) -> None:
    (inside / "big").write_bytes(b"x" * MANAGED_FILE_LIMIT)
    assert tree.read("big") is not None
    (inside / "big").write_bytes(b"x" * (MANAGED_FILE_LIMIT + 1))
    with pytest.raises(UnsafePath, match="larger than 1 MiB"):
        tree.read("big")


@pytest.mark.parametrize("path", ["../outside/secret", "a/../../outside/secret", "/etc/hostname", "", "a//b", "."])
def test_a_path_that_is_not_plain_names_is_a_defect(tree: Tree, inside: Path, path: str) -> None:
    (inside / "a").mkdir()
    with pytest.raises(ValueError, match="not a plain file name"):
        tree.read(path)


def test_a_new_file_has_its_mode_whatever_the_umask_says(tree: Tree, inside: Path) -> None:
    before = os.umask(0o077)
    try:
        tree.write_new("open", b"x", 0o644)
    finally:
        os.umask(before)
    tree.write_new("private", b"x", 0o600)
    assert [os.stat(inside / name).st_mode & 0o777 for name in ("open", "private")] == [0o644, 0o600]


def test_a_new_file_and_a_link_replace_nothing(tree: Tree, inside: Path) -> None:
    (inside / "there").write_text("mine")
    (inside / "other").write_text("other")
    with pytest.raises(FileExistsError):
        tree.write_new("there", b"x", 0o600)
    with pytest.raises(FileExistsError):
        tree.link("other", "there")
    assert (inside / "there").read_text() == "mine"


def test_two_names_of_one_file_are_told_from_two_equal_files(tree: Tree, inside: Path) -> None:
    for name in ("one", "equal"):
        (inside / name).write_text("x")
    tree.link("one", "two")
    assert tree.is_same_file("one", "two") and not tree.is_same_file("one", "equal")
    assert not tree.is_same_file("one", "gone") and not tree.is_same_file("no/one", "no/two")


def test_a_directory_that_was_there_is_not_made(tree: Tree, inside: Path) -> None:
    assert tree.make_directory("d") is True
    assert tree.make_directory("d") is False
    (inside / "file").write_text("")
    with pytest.raises(UnsafePath, match="file is not a directory"):
        tree.make_directory("file")


def test_only_an_empty_directory_goes(tree: Tree, inside: Path) -> None:
    (inside / "d").mkdir()
    (inside / "d/mine").write_text("")
    assert tree.remove_directory("d") is False
    (inside / "d/mine").unlink()
    assert tree.remove_directory("d") is True
    assert tree.remove_directory("d") is True
    assert tree.remove_directory("d/below") is True


def test_writing_below_a_missing_directory_says_so(tree: Tree) -> None:
    with pytest.raises(FileNotFoundError):
        tree.write_new("no/file", b"", 0o600)
    tree.remove("no/file")
    tree.sync("no")


def test_parents_are_named_outermost_first() -> None:
    assert parents("a/b/c") == ["a", "a/b"]
    assert parents("a") == []


def test_a_reason_is_one_sentence_without_a_path() -> None:
    assert reason(PermissionError(13, "Permission denied", "/secret/path")) == "Permission denied."
    assert reason(UnsafePath("a", "is a symbolic link")) == "a is a symbolic link."


def test_a_path_that_is_refused_leaves_no_descriptor_open(tree: Tree) -> None:
    before = os.listdir("/dev/fd")
    for path in ("a/../b", "/a/b", "a//b", "./a/b"):
        with pytest.raises(ValueError, match="not a plain file name"):
            tree.read(path)
    assert os.listdir("/dev/fd") == before
