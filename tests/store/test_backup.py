"""A backup is one snapshot, whole or not there, whoever writes meanwhile; and the database stays as it was."""

from __future__ import annotations

import errno
import hashlib
import os
import signal
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.errors import SlipwayError
from slipway_lite.store import backup as copying
from slipway_lite.store import draft
from slipway_lite.store.backup import backup
from slipway_lite.store.connection import Store, open_store
from slipway_lite.store.reading import read_store
from tests.store.files import TABLES, directory_state, dump, event, plain
from tests.store.machines import newest, problems
from tests.store.older import VERSIONS, facts, older
from tests.store.writers import writers

OPENERS = {"resting": False, "written to": True}


def rows(path: Path) -> dict[str, Any]:
    return read_store(str(path), lambda store: dump(store.connection, TABLES))


def refused(path: Path, target: Path) -> SlipwayError:
    """The refusal of a backup; nothing of it is left."""
    before = sorted(target.parent.iterdir()) if target.parent.is_dir() else []
    with pytest.raises(SlipwayError) as caught:
        backup(str(path), str(target))
    assert (sorted(target.parent.iterdir()) if target.parent.is_dir() else []) == before
    return caught.value


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere").mkdir()
    return tmp_path / "elsewhere" / "backup.db"


@pytest.mark.parametrize("is_written_to", OPENERS.values(), ids=OPENERS.keys())
def test_a_backup_has_every_row_and_the_same_head(small: Path, target: Path, is_written_to: bool) -> None:
    with open_store(str(small)) as store:
        if is_written_to:
            with store.immediate() as tx:
                event(tx, "note:a", 3)
        else:
            store.close()
        report = backup(str(small), str(target))
        assert rows(target) == rows(small)
    assert report["head"] == dict(zip(("seq", "sha256"), newest(small), strict=True))
    assert problems(target, newest(small)) == []


def test_the_digest_is_that_of_the_new_file(small: Path, target: Path) -> None:
    report = backup(str(small), str(target))
    raw = target.read_bytes()
    assert report["sha256"] == f"sha256:{hashlib.sha256(raw).hexdigest()}"
    assert report["bytes"] == len(raw)


def test_a_backup_is_one_private_resting_file(small: Path, target: Path) -> None:
    backup(str(small), str(target))
    assert [path.name for path in target.parent.iterdir()] == ["backup.db"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert target.read_bytes()[68:72] == b"SLPW"


def test_a_resting_database_is_left_as_it_was(small: Path, target: Path) -> None:
    before = directory_state(small.parent)
    backup(str(small), str(target))
    assert directory_state(small.parent) == before


def test_a_backup_is_written_on_where_the_database_was(small: Path, target: Path) -> None:
    backup(str(small), str(target))
    os.replace(target, small)
    with open_store(str(small)) as store, store.immediate() as tx:
        assert event(tx, "note:a", 3) == 5
    assert problems(small) == []


def test_a_backup_of_a_backup_is_the_same_file(small: Path, target: Path) -> None:
    first = backup(str(small), str(target))
    assert backup(str(target), str(target.with_name("again.db"))) == first


@pytest.mark.parametrize("version", VERSIONS)
def test_an_older_database_is_backed_up_as_it_is(path: Path, target: Path, version: int) -> None:
    older(path, version)
    backup(str(path), str(target))
    assert facts(target) == facts(path)
    connection = plain(target)
    assert connection.execute("pragma user_version").fetchone() == (version,)
    connection.close()


def test_progress_counts_pages_to_the_last(small: Path, target: Path) -> None:
    seen: list[tuple[int, int]] = []
    backup(str(small), str(target), lambda done, total: seen.append((done, total)))
    assert seen and seen[-1][0] == seen[-1][1]


# -- refusals


@pytest.mark.parametrize("kind", ["file", "directory", "link", "dangling link"])
def test_what_is_there_is_never_replaced(small: Path, target: Path, kind: str) -> None:
    other = target.with_name("other")
    if kind == "file":
        target.write_text("precious")
    elif kind == "directory":
        target.mkdir()
    else:
        target.symlink_to(other)
        if kind == "link":
            other.write_text("precious")
    assert refused(small, target).code == "output_exists"
    assert kind != "file" or target.read_text() == "precious"
    assert kind != "link" or other.read_text() == "precious"
    assert kind != "dangling link" or not other.exists()


def test_a_file_that_appears_meanwhile_is_not_replaced(small: Path, target: Path) -> None:
    def appear(done: int, total: int) -> None:
        target.write_text("precious")

    with pytest.raises(SlipwayError) as caught:
        backup(str(small), str(target), appear)
    assert caught.value.code == "output_exists"
    assert target.read_text() == "precious"
    assert [path.name for path in target.parent.iterdir()] == ["backup.db"]


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
def test_the_database_and_what_sqlite_keeps_beside_it_are_no_target(small: Path, suffix: str) -> None:
    error = refused(small, small.with_name(small.name + suffix))
    assert (error.code, error.exit_code) == ("output_is_source", 2)
    link = small.parent.with_name("link")
    link.symlink_to(small.parent)
    assert refused(small, link / (small.name + suffix)).code == "output_is_source"


def test_a_missing_directory_is_named(small: Path, tmp_path: Path) -> None:
    assert refused(small, tmp_path / "nowhere" / "backup.db").code == "output_directory_missing"


@contextmanager
def small_disk(place: Path, size: int) -> Iterator[Path]:
    """A file system of its own that has room for ``size`` bytes; only an administrator may make one."""
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(place)], capture_output=True)
    if made.returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@contextmanager
def small_files(limit: int) -> Iterator[None]:
    """No file grows past ``limit`` bytes."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


def test_a_file_system_that_takes_no_more_is_told(small: Path, target: Path) -> None:
    with small_files(small.stat().st_size // 2):
        error = refused(small, target)
    assert (error.code, error.exit_code) == ("output_failed", 3)


def test_a_full_disk_is_told(small: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", small.stat().st_size // 2) as disk:
        error = refused(small, disk / "backup.db")
    assert (error.code, error.exit_code) == ("disk_full", 3)


@pytest.mark.parametrize(("number", "code"), [(errno.ENOSPC, "disk_full"), (errno.EIO, "output_failed")])
@pytest.mark.parametrize("what", [stat.S_ISREG, stat.S_ISDIR], ids=["the file's", "the directory's"])
def test_a_failing_sync_leaves_nothing(
    small: Path, target: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: str, what: Callable[[int], bool]
) -> None:
    def fail(descriptor: int) -> None:
        if what(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    assert refused(small, target).code == code


def test_a_file_with_a_trigger_that_is_not_ours_is_backed_up_as_it_is(small: Path, target: Path) -> None:
    connection = plain(small)
    connection.execute("create trigger x after insert on turns begin select 1; end")
    connection.close()
    backup(str(small), str(target))
    with pytest.raises(SlipwayError) as refused:
        read_store(str(target), lambda store: None)
    assert refused.value.code == "database_altered"


@pytest.mark.parametrize(("error", "is_kept"), [(errno.EIO, False), (errno.EACCES, True)])
def test_a_name_that_may_not_be_durable_is_taken_away_again(
    small: Path, target: Path, error: int, is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for a directory that may not be read, which nobody can sync."""
    sync = draft._sync

    def fail(path: str) -> None:
        if os.path.isdir(path):
            raise OSError(error, os.strerror(error))
        sync(path)

    monkeypatch.setattr(draft, "_sync", fail)
    if is_kept:
        backup(str(small), str(target))
    else:
        with pytest.raises(SlipwayError) as refused:
            backup(str(small), str(target))
        assert refused.value.code == "output_failed"
    assert target.exists() == is_kept


def test_a_copy_that_cannot_be_read_back_is_not_kept(
    small: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = copying._pages

    def spoil(store: Store, path: str, progress: Any) -> None:
        pages(store, path, progress)
        Path(path).write_bytes(b"no database" * 1000)

    monkeypatch.setattr(copying, "_pages", spoil)
    with pytest.raises(SlipwayError) as refused:
        backup(str(small), str(target))
    assert refused.value.code == "output_failed"
    assert not target.exists()


def test_without_hard_links_the_file_is_renamed(small: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(source: str, link: str) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", fail)
    backup(str(small), str(target))
    assert problems(target, newest(small)) == []
    assert refused(small, target).code == "output_exists"


@pytest.mark.parametrize(
    ("raw", "code"), [(b"x" * 5000, "database_unreadable"), (b"", "database_blank"), (None, "database_foreign")]
)
def test_only_a_database_of_ours_is_backed_up(tmp_path: Path, target: Path, raw: bytes | None, code: str) -> None:
    path = tmp_path / "other.db"
    if raw is None:
        connection = plain(path)
        connection.execute("create table t (x)")
        connection.close()
    else:
        path.write_bytes(raw)
    assert refused(path, target).code == code


# -- while others write


def check_backups_beside_writers(path: Path, tmp_path: Path, count: int) -> None:
    heads = []
    with writers(path, 2):
        for number in range(count):
            target = tmp_path / f"{number}.db"
            report = backup(str(path), str(target))
            assert newest(target) == (report["head"]["seq"], report["head"]["sha256"])
            assert problems(target) == []
            heads.append(newest(target))
            target.unlink()
    assert heads == sorted(heads)
    for head in heads:
        assert problems(path, head) == []


def test_backups_beside_writers_are_prefixes_of_the_later_chain(small: Path, tmp_path: Path) -> None:
    check_backups_beside_writers(small, tmp_path, 3)
