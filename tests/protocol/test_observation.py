"""One observation of a real worktree, case by case, bit for bit (machine-protocol §7.3 to §7.6, Appendix A.4)."""

from __future__ import annotations

import hashlib
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from slipway_lite import clock
from slipway_lite.protocol import observation
from slipway_lite.protocol.git import GitError
from slipway_lite.protocol.observation import observe, parse_status, snapshot_hash
from tests.protocol.conftest import Repository, create

EMPTY = "sha256:" + hashlib.sha256(b"").hexdigest()
MIB = 1024 * 1024
KEYS = [
    "version", "head", "index_fingerprint", "status_fingerprint", "snapshot_hash", "path_count", "path_fingerprint",
    "details_truncated", "content_observation_complete", "content_bytes_hashed", "content_byte_limit",
    "content_byte_limit_exceeded", "content_deadline_exceeded", "dirty_files", "path_observations",
]  # fmt: skip
PATH_KEYS = [
    "path", "category", "state", "observation", "size", "modified_unix_nano", "content_sha256",
    "content_fingerprint_kind",
]  # fmt: skip
HEADER = [*KEYS[:4], *KEYS[5:13]]


def sha256(raw: bytes) -> str:
    return "sha256:" + hashlib.sha256(raw).hexdigest()


def sections(*pairs: tuple[str, Any]) -> str:
    """§7.2 and §7.5 by hand."""

    def shown(value: Any) -> bytes:
        if isinstance(value, bool):
            value = "true" if value else "false"
        return value if isinstance(value, bytes) else str(value).encode()

    raw = b"".join(
        b"\0" + name.encode() + b"\0" + str(len(shown(value))).encode() + b"\0" + shown(value) for name, value in pairs
    )
    return sha256(raw)


def path_pairs(paths: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    return [
        (name, path.get(name, "unknown" if name in ("size", "modified_unix_nano") else ""))
        for path in paths
        for name in PATH_KEYS
    ]


def seen(repository: Repository) -> dict[str, Any]:
    """Observe, and check the document against itself."""
    document = observe(str(repository.root))
    assert list(document) == KEYS
    paths = document["path_observations"]
    for path in paths:
        assert list(path) == [name for name in PATH_KEYS if name in path]
    assert document["dirty_files"] == [path["path"] for path in paths]
    assert document["dirty_files"] == sorted(document["dirty_files"], key=str.encode)
    pairs = [(name, document[name]) for name in HEADER] + [("retained_path_count", len(paths))]
    assert document["snapshot_hash"] == sections(*pairs, *path_pairs(paths))
    if not document["details_truncated"]:
        assert document["path_count"] == len(paths)
        assert document["path_fingerprint"] == sections(("path_count", len(paths)), *path_pairs(paths))
    assert document["status_fingerprint"] == sha256(
        repository.git("status", "--porcelain=v2", "-z", "--untracked-files=all")
    )
    assert document["index_fingerprint"] == sha256(repository.git("ls-files", "--stage", "-z"))
    return document


def only(document: dict[str, Any], path: str) -> dict[str, Any]:
    (found,) = [item for item in document["path_observations"] if item["path"] == path]
    return dict(found)


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


def a4_document(root: Path, status: bytes) -> dict[str, Any]:
    return observation.observation(str(root), "0" * 40, b"", status)


def test_vectors_of_appendix_a_4_without_a_path(tmp_path: Path) -> None:
    document = a4_document(tmp_path, b"")
    assert document["path_fingerprint"] == A4_NONE
    assert document["snapshot_hash"] == "sha256:0efe46bc51e44ba4f10f8b85d815bf22e84b6dad239e391743d7e99f6409c3f4"


def test_vectors_of_appendix_a_4_with_one_path(tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_bytes(b"abc")
    os.utime(tmp_path / "new.txt", ns=(0, 1_700_000_000_000_000_000))
    document = a4_document(tmp_path, b"? new.txt\0")
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


# -- what a path holds (§7.4)


def test_a_regular_file_is_hashed_whole_with_its_time(repository: Repository) -> None:
    file = repository.write("a", b"x" * 3_000_000)
    os.utime(file, ns=(0, 1_234_567_890_123_456_789))
    document = seen(repository)
    assert only(document, "a") == {
        "path": "a",
        "category": "untracked",
        "state": "??",
        "observation": "regular",
        "size": 3_000_000,
        "modified_unix_nano": 1_234_567_890_123_456_789,
        "content_sha256": sha256(b"x" * 3_000_000),
        "content_fingerprint_kind": "full_sha256",
    }
    assert document["content_bytes_hashed"] == 3_000_000


def test_exactly_16_mebibytes_are_hashed_whole_and_one_more_byte_is_sampled(repository: Repository) -> None:
    with open(repository.root / "a", "wb") as file:
        file.truncate(16 * MIB)
    with open(repository.root / "b", "wb") as file:
        file.truncate(16 * MIB + 1)
    document = seen(repository)
    assert only(document, "a")["content_fingerprint_kind"] == "full_sha256"
    assert only(document, "b")["content_fingerprint_kind"] == "oversize_samples_v1"
    assert document["content_bytes_hashed"] == 16 * MIB + 3 * 65_536


def test_an_oversize_file_is_sampled_at_its_start_middle_and_end(repository: Repository) -> None:
    size = 16 * MIB + 12_345
    with open(repository.root / "a", "wb") as file:
        file.truncate(size)
        for offset in (10, size // 2, size - 1):
            file.seek(offset)
            file.write(b"X")
    raw = (repository.root / "a").read_bytes()
    pairs: list[tuple[str, Any]] = [("mode", "oversize_samples_v1"), ("size", size)]
    for offset in (0, size // 2 - 32_768, size - 65_536):
        pairs += [("offset", offset), ("sample", raw[offset : offset + 65_536])]
    assert only(seen(repository), "a")["content_sha256"] == sections(*pairs)
    with open(repository.root / "a", "r+b") as file:
        file.seek(size // 4)
        file.write(b"unseen")
    assert only(seen(repository), "a")["content_sha256"] == sections(*pairs)


def test_the_budget_of_64_mebibytes_is_reserved_in_path_order(repository: Repository) -> None:
    for name, size in (("a", 16), ("b", 16), ("c", 16), ("d", 15), ("e", 2), ("g", 1)):
        with open(repository.root / name, "wb") as file:
            file.truncate(size * MIB)
    with open(repository.root / "f", "wb") as file:
        file.truncate(900 * MIB)  # sparse: planned as 196,608 bytes
    document = seen(repository)
    assert {path["path"]: path["observation"] for path in document["path_observations"]} == {
        "a": "regular",
        "b": "regular",
        "c": "regular",
        "d": "regular",
        "e": "content_unobserved",
        "f": "oversize_sampled",
        "g": "content_unobserved",  # the sample before it took what was left
    }
    assert only(document, "e").keys() == {
        "path", "category", "state", "observation", "size", "modified_unix_nano",
    }  # fmt: skip
    assert document["content_observation_complete"] is False
    assert document["content_byte_limit_exceeded"] is True
    assert document["content_deadline_exceeded"] is False
    assert document["content_bytes_hashed"] == 63 * MIB + 196_608


def test_a_smaller_file_after_one_that_did_not_fit_still_fits(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observation, "CONTENT_BYTE_LIMIT", 10)
    for name, size in (("a", 6), ("b", 5), ("c", 4), ("d", 1)):
        repository.write(name, b"x" * size)
    document = observe(str(repository.root))
    assert [path["observation"] for path in document["path_observations"]] == [
        "regular",
        "content_unobserved",
        "regular",
        "content_unobserved",
    ]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no fifos here")
def test_fifos_and_sockets_are_never_opened(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    # git itself does not list them, so they come in the place of a tracked file.
    repository.commit("fifo", "sock", "dir")
    for name in ("fifo", "sock", "dir"):
        (repository.root / name).unlink()
    os.mkfifo(repository.root / "fifo")
    monkeypatch.chdir(repository.root)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("sock")
    (repository.root / "dir").mkdir()
    document = observe(str(repository.root))
    for name in ("fifo", "sock", "dir"):
        found = only(document, name)
        assert found["observation"] == "non_regular"
        assert found.keys() == {"path", "category", "state", "observation", "size"}


def test_a_symlink_is_never_followed(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (repository.root / "out").symlink_to(tmp_path / "secret")
    os.symlink(b"\xff/dangling", os.fsencode(repository.root) + b"/raw")
    document = seen(repository)
    target = str(tmp_path / "secret").encode()
    assert (only(document, "out")["size"], only(document, "out")["content_sha256"]) == (len(target), sha256(target))
    assert only(document, "raw")["content_sha256"] == sha256(b"\xff/dangling")
    assert document["content_bytes_hashed"] == 0
    assert document["content_observation_complete"] is True


def test_a_directory_replaced_by_a_file_hides_its_files(repository: Repository) -> None:
    repository.commit("dir/inside")
    (repository.root / "dir/inside").unlink()
    (repository.root / "dir").rmdir()
    repository.write("dir", "now a file")
    document = seen(repository)
    assert only(document, "dir/inside")["observation"] == "missing"
    assert only(document, "dir")["observation"] == "regular"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_unreadable(repository: Repository) -> None:
    repository.write("a").chmod(0)
    document = seen(repository)
    assert only(document, "a")["observation"] == "unreadable"
    assert document["content_observation_complete"] is False


def test_a_file_that_changes_while_it_is_read_is_unreadable(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = repository.write("a", b"x" * 100)
    read = os.read

    def reading(descriptor: int, size: int) -> bytes:
        block = read(descriptor, size)
        if block == b"x" * 100:
            with open(file, "ab") as growing:
                growing.write(b"y")
        return block

    monkeypatch.setattr(os, "read", reading)
    document = observe(str(repository.root))
    found = only(document, "a")
    assert (found["observation"], found["size"]) == ("unreadable", 100)
    assert "content_sha256" not in found
    assert document["content_observation_complete"] is False


def test_a_file_swapped_for_a_symlink_before_it_is_opened_is_unreadable(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = repository.write("a", b"mine")
    (tmp_path / "secret").write_text("secret")
    opening = os.open

    def swapped(path: Any, flags: int, *more: Any, **options: Any) -> int:
        if os.fspath(path) == str(file):
            file.unlink()
            file.symlink_to(tmp_path / "secret")
        return opening(path, flags, *more, **options)

    monkeypatch.setattr(os, "open", swapped)
    document = observe(str(repository.root))
    assert only(document, "a")["observation"] == "unreadable"
    assert document["content_bytes_hashed"] == 0


# -- the wall clock (§7.4): a clock of our own, so that no test has to be slow


def after(monkeypatch: pytest.MonkeyPatch, ticks: int) -> None:
    """From the reading after ``ticks`` of the clock on, the deadline has passed."""
    readings = iter(range(10**9))
    monkeypatch.setattr(clock, "monotonic", lambda: 0.0 if next(readings) <= ticks else 1000.0)


def test_a_deadline_before_a_read_leaves_content_unobserved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"abc")
    after(monkeypatch, 0)
    document = a4_document(tmp_path, b"? a\0? b\0")
    assert [path["observation"] for path in document["path_observations"]] == ["content_unobserved"] * 2
    assert [path["size"] for path in document["path_observations"]] == [3, 3]
    assert document["content_deadline_exceeded"] is True
    assert document["content_byte_limit_exceeded"] is False
    assert document["content_observation_complete"] is False


@pytest.mark.parametrize("size", [3, 16 * MIB + 1])
def test_a_deadline_during_a_read_makes_it_unreadable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    with open(tmp_path / "a", "wb") as file:
        file.truncate(size)
    (tmp_path / "b").write_bytes(b"abc")
    after(monkeypatch, 1)
    document = a4_document(tmp_path, b"? a\0? b\0")
    one, other = document["path_observations"]
    assert one == {"path": "a", "category": "untracked", "state": "??", "observation": "unreadable", "size": size}
    assert other["observation"] == "content_unobserved"
    assert document["content_deadline_exceeded"] is True


def test_the_deadline_is_five_seconds() -> None:
    assert observation.CONTENT_SECONDS == 5.0


# -- how much detail is kept (§7.6)


def estimate(path: dict[str, Any]) -> int:
    return (
        12 * len(path["path"].encode())
        + 6 * (len(path["category"]) + len(path["state"]) + len(path["observation"]))
        + len(path.get("content_sha256", ""))
        + len(path.get("content_fingerprint_kind", ""))
        + 320
    )


def test_details_are_a_prefix_within_the_limit(tmp_path: Path) -> None:
    names = [f"{'é' * (number % 60)}{number:04d}" for number in range(700)]
    for name in names:
        (tmp_path / name).write_bytes(b"")
    status = b"".join(b"? " + name.encode() + b"\0" for name in names)
    document = a4_document(tmp_path, status)
    assert document["path_count"] == 700
    assert document["details_truncated"] is True
    kept = document["path_observations"]
    assert document["dirty_files"] == sorted(names, key=str.encode)[: len(kept)]
    total = sum(map(estimate, kept))
    following = kept[0] | {"path": sorted(names, key=str.encode)[len(kept)]}
    assert total <= 524_288 < total + estimate(following)
    assert document["content_observation_complete"] is True


def test_the_fingerprint_is_over_all_paths_and_the_snapshot_over_the_kept_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_bytes(b"abc")
    whole = a4_document(tmp_path, b"? a\0? b\0? c\0")
    monkeypatch.setattr(observation, "DETAIL_LIMIT", 2 * estimate(whole["path_observations"][0]))
    cut = a4_document(tmp_path, b"? a\0? b\0? c\0")
    assert cut["path_fingerprint"] == whole["path_fingerprint"]
    assert cut["path_observations"] == whole["path_observations"][:2]
    assert (cut["path_count"], cut["details_truncated"]) == (3, True)
    assert cut["snapshot_hash"] != whole["snapshot_hash"]


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
