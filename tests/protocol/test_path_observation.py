"""What an observation says of each dirty path: kinds, hashes, budgets, deadlines, details (§7.4 to §7.6)."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from slipway_lite import clock
from slipway_lite.protocol import observation
from slipway_lite.protocol.observation import observe
from tests.protocol.conftest import Repository
from tests.protocol.observed import only, sections, seen, sha256, with_status

MIB = 1024 * 1024

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
    document = with_status(tmp_path, b"? a\0? b\0")
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
    document = with_status(tmp_path, b"? a\0? b\0")
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
    document = with_status(tmp_path, status)
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
    whole = with_status(tmp_path, b"? a\0? b\0? c\0")
    monkeypatch.setattr(observation, "DETAIL_LIMIT", 2 * estimate(whole["path_observations"][0]))
    cut = with_status(tmp_path, b"? a\0? b\0? c\0")
    assert cut["path_fingerprint"] == whole["path_fingerprint"]
    assert cut["path_observations"] == whole["path_observations"][:2]
    assert (cut["path_count"], cut["details_truncated"]) == (3, True)
    assert cut["snapshot_hash"] != whole["snapshot_hash"]


def test_a_file_behind_a_directory_that_became_a_symlink_is_missing(repository: Repository, tmp_path: Path) -> None:
    repository.commit("dir/inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "inside").write_text("secret")
    (repository.root / "dir/inside").unlink()
    (repository.root / "dir").rmdir()
    (repository.root / "dir").symlink_to(tmp_path / "outside")
    document = seen(repository)
    assert only(document, "dir/inside").keys() == {"path", "category", "state", "observation"}
    assert only(document, "dir/inside")["observation"] == "missing"
    assert only(document, "dir")["observation"] == "symlink"


def test_a_stash_that_status_would_show_does_not_matter(repository: Repository) -> None:
    repository.git("config", "status.showStash", "true")
    repository.commit("tracked")
    repository.write("tracked", "stashed")
    repository.git("stash")
    assert observe(str(repository.root))["path_count"] == 0
