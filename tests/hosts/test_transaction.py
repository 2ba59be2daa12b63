from __future__ import annotations

import errno
import fcntl
import json
import os
from pathlib import Path

import pytest

from slipway_lite.canon import sha256
from slipway_lite.hosts import transaction
from slipway_lite.hosts.plan import Change
from slipway_lite.hosts.transaction import (
    COMMITTED,
    PREPARED,
    STATE,
    Unsettled,
    execute,
    locked,
    read_directories,
    recover,
)
from slipway_lite.hosts.tree import Tree

from .conftest import snapshot

OLD, NEW, EDIT = b"old", b"new", b"somebody's edit"
CREATE = Change("d/create", None, NEW)
REMOVE = Change("remove", sha256(OLD), None)
REPLACE = Change("replace", sha256(OLD), NEW)
VERIFY = Change("verify", sha256(OLD), OLD)
ALL = (CREATE, REMOVE, REPLACE, VERIFY)


class Place:
    def __init__(self, path: Path) -> None:
        self.root, self.git_dir = path / "root", path / "git"
        self.root.mkdir()
        self.git_dir.mkdir()
        for name in ("remove", "replace", "verify"):
            (self.root / name).write_bytes(OLD)
        self.tree, self.state = Tree(str(self.root)), Tree(str(self.git_dir))
        self.before = snapshot(self.root)

    def execute(self, *changes, made=("d",), prune=(), directories=None):
        return execute(self.tree, self.state, changes, made=made, prune=prune, directories=directories or {"x": ["d"]})

    def content(self, name):
        return (self.root / name).read_bytes()


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    with place.tree, place.state:
        yield place


AFTER = {"d": None, "d/create": NEW, "replace": NEW, "verify": OLD}


def test_all_changes_are_made(place) -> None:
    result = place.execute(*ALL)
    assert result == ("committed", ((), ()), None)
    assert snapshot(place.root) == AFTER
    assert snapshot(place.git_dir) == {STATE: None, f"{STATE}/directories.json": b'{"x":["d"]}'}
    assert read_directories(place.state) == {"x": ["d"]}


def test_the_journal_says_everything_before_the_first_change(place, just_before) -> None:
    seen = {}

    def look() -> None:
        seen["root"] = snapshot(place.root)
        seen["journal"] = json.loads((place.git_dir / PREPARED).read_bytes())

    just_before("os.mkdir", "d", look)
    place.execute(*ALL)
    assert seen["root"] == place.before
    assert seen["journal"]["steps"] == [[c.path, c.before, c.after_sha256] for c in ALL]
    assert seen["journal"]["made"] == ["d"]


@pytest.mark.parametrize("change", ALL, ids=lambda change: change.path)
def test_a_file_that_changed_since_the_plan_rolls_everything_back(place, change) -> None:
    path = place.root / change.path
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(EDIT)
    before = snapshot(place.root)
    result = place.execute(*ALL)
    assert result.outcome == "rolled_back" and change.path in result.problem
    assert snapshot(place.root) == before
    assert snapshot(place.git_dir) == {}


def test_the_last_change_failing_undoes_all_others(place) -> None:
    result = place.execute(*ALL, Change("verify", None, NEW))
    assert result.outcome == "rolled_back"
    assert snapshot(place.root) == place.before


def test_a_file_that_appears_at_the_last_moment_is_never_replaced(place, just_before) -> None:
    just_before("os.link", "create", lambda: (place.root / "d/create").write_bytes(EDIT))
    result = place.execute(*ALL)
    assert result.outcome == "rolled_back" and result.settled.preserved == ("d/create",)
    assert snapshot(place.root) == {**place.before, "d": None, "d/create": EDIT}


def test_the_same_bytes_from_somebody_else_are_not_ours_to_remove(place, just_before) -> None:
    just_before("os.link", "create", lambda: (place.root / "d/create").write_bytes(NEW))
    result = place.execute(*ALL)
    assert result.outcome == "rolled_back" and result.settled.preserved == ("d/create",)
    assert snapshot(place.root) == {**place.before, "d": None, "d/create": NEW}


def test_an_edit_of_a_file_that_was_just_made_survives_the_undoing(place, just_before) -> None:
    for path in ("d/create", "e"):
        just_before("os.link", "late", lambda path=path: (place.root / path).write_bytes(EDIT))
        result = place.execute(CREATE, Change("e", None, NEW), Change("late", None, NEW), Change("verify", None, NEW))
        assert result.outcome == "rolled_back" and set(result.settled.preserved) == {path, "verify"}
        assert place.content(path) == EDIT
        (place.root / path).unlink()
        remove_empty(place.root)
        assert snapshot(place.root) == place.before


def remove_empty(root: Path) -> None:
    for path in root.iterdir():
        if path.is_dir() and not list(path.iterdir()):
            path.rmdir()


@pytest.mark.parametrize("name", ["remove", "replace"])
def test_an_edit_at_the_last_moment_is_put_back_in_its_place(place, just_before, name) -> None:
    event = "os.rename" if name == "remove" else "os.link"
    just_before(event, name, lambda: (place.root / name).write_bytes(EDIT))
    result = place.execute(*ALL)
    assert result.outcome == "rolled_back" and name in result.problem
    assert snapshot(place.root) == {**place.before, name: EDIT}


def test_an_edit_through_an_open_file_is_found_before_the_old_file_goes(place, just_before) -> None:
    editor = open(place.root / "remove", "r+b")  # noqa: SIM115 (it stays open across the transaction)

    def save() -> None:
        with editor:
            editor.write(EDIT)

    just_before("os.rename", "committed.json", save)
    result = place.execute(*ALL)
    assert result.outcome == "committed" and result.settled.preserved == ("remove",)
    assert snapshot(place.root) == {**AFTER, "remove": EDIT}


def test_an_edit_whose_place_is_taken_stays_aside_as_a_recovery_artifact(place, just_before) -> None:
    editor = open(place.root / "remove", "r+b")  # noqa: SIM115 (it stays open across the transaction)

    def save_and_create_again() -> None:
        with editor:
            editor.write(EDIT)
        (place.root / "remove").write_bytes(b"created again")

    just_before("os.rename", "committed.json", save_and_create_again)
    result = place.execute(*ALL)
    [artifact] = result.settled.artifacts
    assert result.outcome == "committed" and place.content(artifact) == EDIT
    assert place.content("remove") == b"created again"


def test_a_removed_file_that_somebody_made_anew_is_kept_beside_the_old_one(place, just_before) -> None:
    just_before("os.link", "replace", lambda: (place.root / "remove").write_bytes(EDIT))
    result = place.execute(*ALL, Change("verify", None, NEW))
    [artifact] = result.settled.artifacts
    assert result.outcome == "rolled_back"
    assert place.content("remove") == EDIT and place.content(artifact) == OLD


def test_a_replaced_file_that_somebody_edited_keeps_both(place, just_before) -> None:
    just_before("os.link", "late", lambda: (place.root / "replace").write_bytes(EDIT))
    result = place.execute(*ALL, Change("late", None, NEW), Change("verify", None, NEW))
    [artifact] = result.settled.artifacts
    assert result.outcome == "rolled_back"
    assert place.content("replace") == EDIT and place.content(artifact) == OLD


def test_a_directory_that_somebody_used_meanwhile_stays(place, just_before) -> None:
    just_before("os.link", "create", lambda: (place.root / "d/mine").write_bytes(EDIT))
    assert place.execute(*ALL, Change("verify", None, NEW)).outcome == "rolled_back"
    assert snapshot(place.root) == {**place.before, "d": None, "d/mine": EDIT}


def test_pruned_directories_go_only_when_they_are_empty(place) -> None:
    for name in ("empty/deep", "full/deep"):
        (place.root / name).mkdir(parents=True)
    (place.root / "full/mine").write_bytes(EDIT)
    result = place.execute(REMOVE, made=(), prune=("empty", "empty/deep", "full", "full/deep", "never"))
    assert result.outcome == "committed"
    assert snapshot(place.root) == {"replace": OLD, "verify": OLD, "full": None, "full/mine": EDIT}


def test_without_a_journal_nothing_is_touched(place) -> None:
    (place.git_dir / STATE).write_text("in the way")
    result = place.execute(*ALL)
    assert result.outcome == "not_committed" and result.problem
    assert snapshot(place.root) == place.before


def test_what_cannot_be_undone_is_ambiguous_and_settled_by_the_next_command(place, just_before) -> None:
    def link_the_directory() -> None:
        (place.root / "d").rename(place.root / "moved")
        (place.root / "d").symlink_to("moved")

    just_before("os.rename", "remove", link_the_directory)
    result = place.execute(*ALL)
    assert result.outcome == "ambiguous" and "d is a symbolic link" in result.problem
    with pytest.raises(Unsettled, match="d is a symbolic link"):
        recover(place.tree, place.state)
    assert (place.git_dir / PREPARED).exists()
    (place.root / "d").unlink()
    (place.root / "moved").rename(place.root / "d")
    assert recover(place.tree, place.state) == ((), ())
    assert snapshot(place.root) == place.before and snapshot(place.git_dir) == {}


def test_a_commit_that_is_refused_is_rolled_back(place, just_before) -> None:
    in_the_way = place.git_dir / COMMITTED
    just_before("os.rename", "committed.json", in_the_way.mkdir)
    assert place.execute(*ALL).outcome == "rolled_back"
    assert snapshot(place.root) == place.before
    assert snapshot(place.git_dir) == {STATE: None, COMMITTED: None}


def test_a_commit_whose_clean_up_fails_is_committed_and_finished_later(place, just_before) -> None:
    (place.root / "p").mkdir()

    def link_the_directory() -> None:
        (place.root / "p").rmdir()
        (place.root / "p").symlink_to("d")

    just_before("os.rename", "committed.json", link_the_directory)
    result = place.execute(*ALL, prune=("p/below",))
    assert result.outcome == "committed" and "p is a symbolic link" in result.problem
    assert (place.git_dir / COMMITTED).exists() and place.content("d/create") == NEW
    (place.root / "p").unlink()
    assert recover(place.tree, place.state) == ((), ())
    assert snapshot(place.root) == AFTER


def test_nothing_to_recover_is_none_and_leaves_nothing(place) -> None:
    assert recover(place.tree, place.state) is None
    (place.git_dir / STATE).mkdir()
    (place.git_dir / STATE / "draft").write_text("torn")
    assert recover(place.tree, place.state) is None
    assert snapshot(place.git_dir) == {} and snapshot(place.root) == place.before


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"garbage",
        b"[]",
        b"{}",
        b'{"id":"i","steps":[["../../x",null,"d"]],"made":[],"prune":[],"directories":{}}',
        b'{"id":"i","steps":[1],"made":[],"prune":[],"directories":{}}',
        b'{"id":"i","steps":[[["a"],null,"d"]],"made":[],"prune":[],"directories":{}}',
        b'{"id":"i","steps":[["a",1,"d"]],"made":[],"prune":[],"directories":{}}',
        b'{"id":1,"steps":[],"made":[],"prune":[],"directories":{}}',
        b'{"id":"i","steps":[],"made":[-1],"prune":[],"directories":{}}',
        b'{"id":"i","steps":[],"made":"a","prune":[],"directories":{}}',
        b'{"id":"i","steps":[],"made":[],"prune":[],"directories":[]}',
        b'{"id":"i","steps":[],"made":[],"prune":[],"directories":{"kiro":[0]}}',
    ],
)
def test_a_damaged_journal_stops_everything_and_stays(place, raw) -> None:
    (place.git_dir / STATE).mkdir()
    (place.git_dir / PREPARED).write_bytes(raw)
    with pytest.raises(Unsettled):
        recover(place.tree, place.state)
    assert (place.git_dir / PREPARED).read_bytes() == raw and snapshot(place.root) == place.before


def test_a_disk_that_cannot_be_written_is_no_interrupted_install(place, monkeypatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    for call in ("unlink", "rmdir", "mkdir"):
        monkeypatch.setattr(os, call, refuse)
    assert recover(place.tree, place.state) is None
    assert place.execute(*ALL) == ("not_committed", ((), ()), "Read-only file system.")


@pytest.mark.parametrize("raw", [b"garbage", b"[]", b'{"claude":1}'])
def test_a_damaged_record_of_directories_remembers_nothing(place, raw) -> None:
    (place.git_dir / STATE).mkdir()
    (place.git_dir / transaction.DIRECTORIES).write_bytes(raw)
    assert read_directories(place.state) == {}


def test_the_record_goes_with_the_last_host(place) -> None:
    place.execute(CREATE)
    place.execute(Change("d/create", sha256(NEW), None), made=(), prune=("d",), directories={"x": []})
    assert (place.git_dir / STATE).exists()
    execute(place.tree, place.state, (VERIFY,), made=(), prune=(), directories={})
    assert snapshot(place.git_dir) == {} and snapshot(place.root) == place.before


def test_only_one_command_at_a_time(place, monkeypatch) -> None:
    monkeypatch.setattr(transaction, "LOCK_SECONDS", 0.05)
    other = os.open(place.git_dir, os.O_RDONLY)
    try:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(TimeoutError), locked(str(place.git_dir)):
            pytest.fail("the lock was taken twice")
        fcntl.flock(other, fcntl.LOCK_UN)
        with locked(str(place.git_dir)), pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(other)
