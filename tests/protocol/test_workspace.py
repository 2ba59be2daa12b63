"""Which worktree a root is in, and its identity bit for bit (machine-protocol §1.3, §7.1, §7.2)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from slipway_lite.errors import SlipwayError
from slipway_lite.protocol import git, workspace
from slipway_lite.protocol.workspace import Discovery, discover, identity, unavailable_identity
from tests.protocol.conftest import Repository, create


def required(root: str | os.PathLike[str]) -> None:
    with pytest.raises(SlipwayError) as caught:
        discover(os.fspath(root))
    assert (caught.value.code, caught.value.exit_code) == ("git_repository_required", 2)


def test_identity_vector_of_appendix_a_4() -> None:
    assert identity("/home/dev/repo", "/home/dev/repo/.git", "/home/dev/repo/.git") == (
        "sha256:8d667c5b0cac86b0f43b4477b6eb18ccb653d254fc019492ec7d9328fefac687"
    )


def test_unavailable_identity_vector_of_appendix_a_4() -> None:
    vector = "sha256:247299ce0d8db60da58cf0a638414e19292269a89af3308f30a5e2b936e6dd7e"
    assert unavailable_identity("/home/dev/repo") == vector
    assert unavailable_identity("/home/./dev//other/../repo/") == vector


def test_every_path_is_part_of_the_identity() -> None:
    paths = [("/a", "/b", "/c"), ("/x", "/b", "/c"), ("/a", "/x", "/c"), ("/a", "/b", "/x"), ("/a/b", "", "/c")]
    assert len({identity(*three) for three in paths}) == len(paths)


def test_a_worktree_is_named_by_its_canonical_paths(repository: Repository) -> None:
    root = str(repository.root)
    found = discover(root)
    assert found.document() == {
        "version": 1,
        "worktree_root": root,
        "git_dir": f"{root}/.git",
        "git_common_dir": f"{root}/.git",
        "id": identity(root, f"{root}/.git", f"{root}/.git"),
    }


def test_a_directory_or_a_file_below_stands_for_the_worktree(repository: Repository) -> None:
    repository.write("a/b/c.txt")
    expected = discover(str(repository.root)).document()
    assert discover(str(repository.root / "a/b")).document() == expected
    assert discover(str(repository.root / "a/b/c.txt")).document() == expected


def test_no_root_is_the_current_directory(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository.root)
    assert discover("").worktree_root == str(repository.root)
    assert discover(".").worktree_root == str(repository.root)


def test_a_symlinked_root_is_resolved(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repository.root)
    (tmp_path / "file").symlink_to(repository.root / "README.md")
    expected = discover(str(repository.root)).document()
    assert discover(str(tmp_path / "link")).document() == expected
    # A file is replaced by its parent as it is named; that one is no repository here.
    required(tmp_path / "file")


def test_a_linked_worktree_differs_by_its_git_dir(repository: Repository, tmp_path: Path) -> None:
    repository.git("worktree", "add", "-q", str(tmp_path / "linked"))
    main, linked = discover(str(repository.root)), discover(str(tmp_path / "linked"))
    assert linked.worktree_root == str((tmp_path / "linked").resolve())
    assert linked.git_dir == f"{repository.root}/.git/worktrees/linked"
    assert linked.git_common_dir == main.git_common_dir == f"{repository.root}/.git"
    assert linked.id != main.id


def test_a_moved_git_directory_is_followed(repository: Repository, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere.git"
    (repository.root / ".git").rename(moved)
    (repository.root / ".git").write_text(f"gitdir: {moved}\n")
    found = discover(str(repository.root))
    assert found.git_dir == found.git_common_dir == str(moved.resolve())


def test_a_submodule_is_a_worktree_of_its_own(repository: Repository, tmp_path: Path) -> None:
    inner = create(tmp_path / "inner")
    inner.commit("a.txt")
    repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.root), "sub")
    found = discover(str(repository.root / "sub"))
    assert found.worktree_root == f"{repository.root}/sub"
    assert found.git_dir == f"{repository.root}/.git/modules/sub"


@pytest.mark.parametrize("name", ["two\nlines", "\n", "tab\tquote\"'$(x)", "é\u2028", "trailing ", "-dash"])
def test_any_utf8_path_is_found(tmp_path: Path, name: str) -> None:
    root = (tmp_path / name / "repo").resolve()
    create(root)
    found = discover(str(root))
    assert found.worktree_root == str(root)
    assert found.git_dir == found.git_common_dir == f"{root}/.git"


def test_a_path_that_ends_in_a_line_feed_is_found(tmp_path: Path) -> None:
    root = (tmp_path / "repo\n").resolve()
    create(root)
    assert discover(str(root)).worktree_root == str(root)


def test_what_is_no_worktree_is_refused(tmp_path: Path, repository: Repository) -> None:
    bare = tmp_path / "bare.git"
    create(tmp_path / "seed").git("clone", "-q", "--bare", str(repository.root), str(bare))
    (tmp_path / "plain").mkdir()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    required(bare)
    required(repository.root / ".git")
    required(tmp_path / "plain")
    required(tmp_path / "absent")
    required(tmp_path / "dangling")
    required(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    required(f"{tmp_path}/\0")


def test_a_root_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    root = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    os.mkdir(root)
    required(root)


def test_git_variables_do_not_point_elsewhere(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = create(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other.root / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.root))
    monkeypatch.setenv("GIT_COMMON_DIR", str(other.root / ".git"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(repository.root))
    repository.write("a/b.txt")
    assert discover(str(repository.root / "a")).worktree_root == str(repository.root)


def test_a_git_that_does_not_answer_is_unavailable_and_not_absent(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    silent = tmp_path / "bin" / "git"
    silent.parent.mkdir()
    silent.write_text("#!/bin/sh\nexec sleep 60\n", "utf-8")
    silent.chmod(0o755)
    monkeypatch.setenv("PATH", f"{silent.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(git, "COMMAND_SECONDS", 0.1)
    with pytest.raises(SlipwayError) as caught:
        discover(str(repository.root))
    assert (caught.value.code, caught.value.exit_code) == ("git_repository_unavailable", 3)


@pytest.mark.parametrize("prints", ["", "echo; echo; echo", "printf '.\\n.\\n.\\n'", "printf '/nowhere\\n/\\n/\\n'"])
def test_only_an_absolute_place_that_is_there_is_believed(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, prints: str
) -> None:
    """Anything else would be looked for below the current directory, and the record would begin there."""
    (tmp_path / "git").write_text(f"#!/bin/sh\n{prints}\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(repository.root)
    required(repository.root)


def test_without_git_nothing_is_found(repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    required(repository.root)


def test_a_discovery_can_be_abandoned(repository: Repository, spawned: list[int]) -> None:
    discovery = Discovery(str(repository.root))
    discovery.abandon()
    discovery.abandon()
    assert len(spawned) == 1


def test_sections_cannot_run_into_each_other() -> None:
    def digest(*pairs: tuple[str, str]) -> str:
        sections = workspace.Sections()
        for name, value in pairs:
            sections.add(name, value)
        return sections.digest()

    assert digest(("a", "b"), ("c", "d")) != digest(("a", "b\0c\0001\0d"))
    assert digest(("a", "")) != digest(("", "a"))
