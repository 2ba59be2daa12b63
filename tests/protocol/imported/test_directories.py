"""Run directories as somebody hostile leaves them: read or refused, never followed, never changed (§6.1, §6.7)."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from slipway_lite.protocol.imported.directories import (
    JOURNAL_LIMIT,
    MATERIAL_LIMIT,
    Place,
    RunDirectory,
    Unreadable,
    published_place,
)
from tests.protocol.stored import refused


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """``slipway/runs`` with one Run in it."""
    directory = tmp_path / "slipway" / "runs" / "run-1"
    directory.mkdir(parents=True)
    (directory / "journal.jsonl").write_bytes(b"one\n")
    return directory.parent


def names(path: Path) -> list[str]:
    with Place(str(path)) as place:
        return place.run_ids


def journal(runs: Path, run_id: str = "run-1", seconds: float = 0) -> bytes:
    with Place(str(runs)) as place, RunDirectory(place, run_id, seconds) as directory, directory.journal() as file:
        return file.read()


def unreadable(runs: Path, run_id: str = "run-1", seconds: float = 0) -> str:
    with pytest.raises(Unreadable) as caught:
        journal(runs, run_id, seconds)
    assert str(runs) not in str(caught.value)
    return str(caught.value)


def test_the_published_place_is_in_the_common_git_directory() -> None:
    assert published_place("/repo/.git") == "/repo/.git/slipway"


def test_the_namespace_its_runs_and_one_run_are_places(runs: Path) -> None:
    (runs / "run-2").mkdir()
    assert names(runs.parent) == names(runs) == ["run-1", "run-2"]
    assert names(runs / "run-1") == ["run-1"]
    assert journal(runs.parent) == journal(runs) == journal(runs / "run-1") == b"one\n"


def test_the_place_itself_may_be_reached_through_a_link(runs: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(runs.parent)
    assert names(link) == ["run-1"]
    (tmp_path / "one").symlink_to(runs / "run-1")
    assert names(tmp_path / "one") == ["run-1"]


def test_names_that_are_no_run_id_do_not_count(runs: Path) -> None:
    for name in ("run 2", ".hidden", "run.3", "x" * 129, "é"):
        (runs / name).mkdir()
    os.mkdir(os.fsencode(runs) + b"/\xff")
    (runs / "notes.txt").write_text("x")
    assert names(runs) == ["run-1"]


def test_an_empty_place_has_no_runs(tmp_path: Path) -> None:
    assert names(tmp_path) == []


def test_a_journal_in_a_directory_that_is_named_after_no_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "my run").mkdir()
    (tmp_path / "my run" / "journal.jsonl").write_bytes(b"")
    error = refused(lambda: names(tmp_path / "my run"), "journal_directory_not_found")
    assert "no Run id" in error.message


def test_a_path_with_nul_is_refused() -> None:
    refused(lambda: Place("a\0b"), "journal_directory_not_found")


@pytest.mark.parametrize("kind", ["missing", "file", "fifo", "linked runs"])
def test_a_place_that_is_no_directory_is_refused(tmp_path: Path, runs: Path, kind: str) -> None:
    place = tmp_path / "place"
    if kind == "file":
        place.write_text("x")
    elif kind == "fifo":
        os.mkfifo(place)
    elif kind == "linked runs":
        place.mkdir()
        (place / "runs").symlink_to(runs)
    refused(lambda: names(place), "journal_directory_not_found")


@pytest.mark.parametrize("kind", ["file", "link", "fifo"])
def test_an_entry_that_is_no_directory_is_unreadable(runs: Path, kind: str) -> None:
    entry = runs / "run-2"
    if kind == "file":
        entry.write_text("x")
    elif kind == "link":
        entry.symlink_to(runs / "run-1")
    else:
        os.mkfifo(entry)
    assert "no directory" in unreadable(runs, "run-2")


@pytest.mark.parametrize("kind", ["missing", "link", "dangling", "fifo", "directory", "device", "endless"])
def test_a_journal_that_is_no_regular_file_of_some_size_is_unreadable(runs: Path, kind: str) -> None:
    file = runs / "run-1" / "journal.jsonl"
    file.unlink()
    if kind == "link":
        (runs / "journal").write_text("x")
        file.symlink_to(runs / "journal")
    elif kind == "dangling":
        file.symlink_to(runs / "nowhere")
    elif kind == "fifo":
        os.mkfifo(file)
    elif kind == "directory":
        file.mkdir()
    elif kind == "device":
        file.symlink_to("/dev/zero")
    elif kind == "endless":
        with file.open("wb") as sparse:
            sparse.truncate(JOURNAL_LIMIT + 1)
    assert "journal.jsonl" in unreadable(runs)


def test_a_material_is_read_by_its_digest_and_no_further_than_its_limit(runs: Path) -> None:
    materials = runs / "run-1" / "materials"
    with Place(str(runs)) as place, RunDirectory(place, "run-1") as directory:
        with pytest.raises(Unreadable, match="its materials cannot be read"):
            directory.material("sha256:abc")
        (runs / "elsewhere").mkdir()
        materials.symlink_to(runs / "elsewhere")
        with pytest.raises(Unreadable, match="its materials cannot be read"):
            directory.material("sha256:abc")
        materials.unlink()
        materials.mkdir()
        (materials / "abc").write_bytes(b"x" * MATERIAL_LIMIT)
        assert len(directory.material("sha256:abc")) == MATERIAL_LIMIT
        (materials / "abc").write_bytes(b"x" * (MATERIAL_LIMIT + 1))
        with pytest.raises(Unreadable, match="no regular file"):
            directory.material("sha256:abc")


def test_a_run_that_is_written_to_is_waited_for_and_then_refused(runs: Path) -> None:
    holder = os.open(runs / "run-1", os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    assert unreadable(runs, seconds=0.1) == "it is in use; try again when its command has ended"
    fcntl.flock(holder, fcntl.LOCK_SH)
    assert journal(runs) == b"one\n", "other readers do not matter"
    fcntl.flock(holder, fcntl.LOCK_UN)
    with Place(str(runs)) as place, RunDirectory(place, "run-1"), pytest.raises(BlockingIOError):
        fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(holder)


def test_no_descriptor_is_left_open(runs: Path) -> None:
    os.mkfifo(runs / "run-2")
    (runs / "run-3").mkdir()
    before = os.listdir("/proc/self/fd")
    journal(runs)
    for run_id in ("run-2", "run-3", "run-4"):
        unreadable(runs, run_id)
    assert os.listdir("/proc/self/fd") == before
