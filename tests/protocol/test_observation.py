"""One observation of a real worktree, case by case, bit for bit (machine-protocol §7.3 to §7.6, Appendix A.4)."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from slipway_lite.protocol.git import GitError
from slipway_lite.protocol.observation import observe, parse_status, snapshot_hash
from tests.protocol.conftest import Repository, create
from tests.protocol.observed import only, seen, sha256, with_status

EMPTY = "sha256:" + hashlib.sha256(b"").hexdigest()
# -- vectors (A.4)

A4_PATH = {
    "path": "new.txt",
    "category": "untracked",
    "state": "??",
    "observation": "regular",
    "size": 3,
    "modified_unix_nano": 1_700_000_000_000_000_000,
    "content_sha256": sha256(b"abc"),
    "content_fingerprint_kind": "full_sha256",
}
A4_NONE = "sha256:05fb5d609adb1851c4962fd36890ba92678a502bea69a2bf7787468523850a77"
A4_ONE = "sha256:17d3270768c979abc4a249bc6a8408d76693740659e0ccd4c488408b3887b4af"


def test_vectors_of_appendix_a_4_without_a_path(tmp_path: Path) -> None:
    document = with_status(tmp_path, b"")
    assert document["path_fingerprint"] == A4_NONE
    assert document["snapshot_hash"] == "sha256:0efe46bc51e44ba4f10f8b85d815bf22e84b6dad239e391743d7e99f6409c3f4"


def test_vectors_of_appendix_a_4_with_one_path(tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_bytes(b"abc")
    os.utime(tmp_path / "new.txt", ns=(0, 1_700_000_000_000_000_000))
    document = with_status(tmp_path, b"? new.txt\0")
    assert document["path_observations"] == [A4_PATH]
    assert document["path_fingerprint"] == A4_ONE
    # The vector has the same (empty) index and status output as the one before.
    vector = document | {"status_fingerprint": EMPTY, "index_fingerprint": EMPTY}
    assert document["content_bytes_hashed"] == 3
    assert snapshot_hash(vector) == "sha256:fe8ba430305e5e2398f9b3f8d72ca0b24f8f19c67a67223176859500c3f61e63"


def test_oversize_vector_of_appendix_a_4(repository: Repository) -> None:
    with open(repository.root / "zeros", "wb") as file:
        file.truncate(20_971_520)
    document = seen(repository)
    found = only(document, "zeros")
    assert found["observation"] == "oversize_sampled"
    assert found["size"] == 20_971_520
    assert found["content_fingerprint_kind"] == "oversize_samples_v1"
    assert found["content_sha256"] == "sha256:248ff0d4aa9a319a7b7ec758506c2404e873d62bcf92418a13380cea1b2ced51"
    assert document["content_bytes_hashed"] == 196_608
    assert document["content_observation_complete"] is True


def test_symlink_vector_of_appendix_a_4(repository: Repository) -> None:
    (repository.root / "link").symlink_to("README.md")
    assert only(seen(repository), "link") == {
        "path": "link",
        "category": "untracked",
        "state": "??",
        "observation": "symlink",
        "size": 9,
        "content_sha256": "sha256:b335630551682c19a781afebcf4d07bf978fb1f8ac04c6bf87428ed5106870f5",
        "content_fingerprint_kind": "symlink_target_sha256",
    }


# -- what git says (§7.3)


def test_a_clean_worktree_has_no_paths(repository: Repository) -> None:
    document = seen(repository)
    assert document["head"] == repository.git("rev-parse", "HEAD").decode().strip()
    assert (document["path_count"], document["dirty_files"], document["path_observations"]) == (0, [], [])
    assert document["path_fingerprint"] == A4_NONE
    assert document["content_observation_complete"] is True
    assert document["content_byte_limit"] == 67_108_864
    assert observe(str(repository.root)) == document


def test_a_repository_without_a_commit_is_unborn(tmp_path: Path) -> None:
    repository = create(tmp_path / "new")
    repository.write("a")
    assert seen(repository)["head"] == "unborn"


def test_a_detached_head_is_its_commit(repository: Repository) -> None:
    head = repository.git("rev-parse", "HEAD").decode().strip()
    repository.git("checkout", "-q", "--detach")
    assert seen(repository)["head"] == head


def test_a_broken_head_fails_the_observation(repository: Repository) -> None:
    (repository.root / ".git/HEAD").write_text("nonsense\n")
    with pytest.raises(GitError, match="failed with status"):
        observe(str(repository.root))


def test_ordinary_untracked_and_deleted_paths(repository: Repository) -> None:
    repository.commit("staged", "modified", "both", "deleted", "gone")
    repository.write("staged", "s")
    repository.git("add", "staged")
    repository.write("modified", "m")
    repository.write("both", "b")
    repository.git("add", "both")
    repository.write("both", "bb")
    repository.git("rm", "-q", "--cached", "deleted")
    (repository.root / "gone").unlink()
    repository.write("new/deep.txt", "n")
    document = seen(repository)
    assert {path["path"]: (path["category"], path["state"]) for path in document["path_observations"]} == {
        "both": ("ordinary", "MM"),
        "deleted": ("ordinary,untracked", "??,D."),
        "gone": ("ordinary", ".D"),
        "modified": ("ordinary", ".M"),
        "new/deep.txt": ("untracked", "??"),
        "staged": ("ordinary", "M."),
    }
    assert only(document, "gone") == {"path": "gone", "category": "ordinary", "state": ".D", "observation": "missing"}
    assert document["content_observation_complete"] is False
    assert document["content_bytes_hashed"] == 1 + 1 + 2 + len("content\n") + 1


def test_a_rename_names_both_ends_with_its_score(repository: Repository) -> None:
    repository.write("old name", "x\n" * 100)
    repository.commit()
    repository.git("mv", "old name", "new name")
    document = seen(repository)
    assert [(path["path"], path["category"], path["state"]) for path in document["path_observations"]] == [
        ("new name", "rename", "R. R100"),
        ("old name", "rename_origin", "R. R100"),
    ]
    assert only(document, "old name")["observation"] == "missing"


def test_a_copy_and_a_path_in_two_records_are_told_apart(tmp_path: Path) -> None:
    def renamed(score: str, new: str, old: str) -> bytes:
        return f"2 R. N... 100644 100644 100644 {'0' * 40} {'0' * 40} {score} {new}\0{old}\0".encode()

    assert parse_status(renamed("C75", "b", "a")) == {"b": ("copy", "R. C75"), "a": ("copy_origin", "R. C75")}
    merged = parse_status(renamed("R100", "b", "a") + b"? a\0")
    assert merged["a"] == ("rename_origin,untracked", "??,R. R100")
    assert parse_status(renamed("R090", "c", "a") + renamed("R100", "b", "a"))["a"] == (
        "rename_origin",
        "R. R090,R. R100",
    )


def test_an_unmerged_path(repository: Repository) -> None:
    repository.commit("f")
    repository.git("checkout", "-q", "-b", "side")
    repository.write("f", "side\n")
    repository.commit()
    repository.git("checkout", "-q", "main")
    repository.write("f", "main\n")
    repository.commit()
    repository.git("merge", "side", check=False)
    found = only(seen(repository), "f")
    assert (found["category"], found["state"], found["observation"]) == ("unmerged", "UU", "regular")


def test_a_submodule_with_changes_is_not_regular(repository: Repository, tmp_path: Path) -> None:
    inner = create(tmp_path / "inner")
    inner.commit("a")
    repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.root), "sub")
    repository.commit()
    Repository(repository.root / "sub").write("b")
    document = seen(repository)
    found = only(document, "sub")
    assert (found["category"], found["state"], found["observation"]) == ("ordinary", ".M", "non_regular")
    assert document["content_observation_complete"] is True


def test_an_untracked_repository_inside_has_a_slash(repository: Repository) -> None:
    create(repository.root / "nested").commit("a")
    found = only(seen(repository), "nested/")
    assert (found["category"], found["observation"]) == ("untracked", "non_regular")
    assert "content_sha256" not in found


def test_ignored_paths_are_nothing(repository: Repository) -> None:
    repository.write(".gitignore", "*.log\n")
    repository.commit()
    repository.write("a.log")
    assert seen(repository)["path_count"] == 0
    assert parse_status(b"! a.log\0? b\0") == {"b": ("untracked", "??")}


@pytest.mark.parametrize("name", ["a b", "tab\t", "two\nlines", '"quoted"', "é\u2028", "back\\slash", " lead"])
def test_any_utf8_name_is_taken_as_it_is(repository: Repository, name: str) -> None:
    repository.write(name, name)
    assert only(seen(repository), name)["content_sha256"] == sha256(name.encode())


def test_a_name_that_is_not_utf8_fails_the_observation(repository: Repository) -> None:
    with open(os.fsencode(repository.root) + b"/\xff", "wb"):
        pass
    with pytest.raises(GitError, match="not UTF-8"):
        observe(str(repository.root))
    repository.git("add", "-A")
    repository.git("commit", "-q", "-m", "tracked and clean")
    assert seen(repository)["path_count"] == 0


@pytest.mark.parametrize(
    "raw",
    [
        b"x y\0",
        b"1 .M N...\0",
        b"2 R. a\0",
        b"u UU\0",
        b"? \0",
        b"? /etc/passwd\0",
        b"? ../up\0",
        b"? a/../../up\0",
        b"\0",
    ],
)
def test_a_record_that_is_no_porcelain_v2_fails(raw: bytes) -> None:
    with pytest.raises(GitError):
        parse_status(raw)


def test_a_rename_without_its_origin_fails() -> None:
    raw = f"2 R. N... 100644 100644 100644 {'0' * 40} {'0' * 40} R100 new\0".encode()
    with pytest.raises(GitError):
        parse_status(raw)


def test_paths_sort_by_utf8_bytes(repository: Repository) -> None:
    for name in ("b", "a", "B", "é", "\uffff", "\U00010000", "a/b", "a-b"):
        if name != "a":
            repository.write(name)
    assert seen(repository)["dirty_files"] == ["B", "a-b", "a/b", "b", "é", "\uffff", "\U00010000"]


# -- nothing is disturbed


def test_observing_leaves_the_repository_as_it_was(repository: Repository) -> None:
    repository.write("new", "x")
    os.utime(repository.root / "README.md", (1, 1))

    def everything() -> list[tuple[str, int, int]]:
        return [
            (path, found.st_size, found.st_mtime_ns)
            for directory, _, files in os.walk(repository.root)
            for path in [os.path.join(directory, file) for file in sorted(files)]
            for found in [os.lstat(path)]
        ]

    before = everything()
    observe(str(repository.root))
    assert everything() == before


def test_touching_an_already_dirty_file_changes_the_snapshot_and_a_clean_one_does_not(repository: Repository) -> None:
    clean = seen(repository)
    os.utime(repository.root / "README.md", (1, 1))
    assert seen(repository)["snapshot_hash"] == clean["snapshot_hash"]
    file = repository.write("dirty")
    dirty = seen(repository)
    os.utime(file, (1, 1))
    assert seen(repository)["snapshot_hash"] != dirty["snapshot_hash"]
