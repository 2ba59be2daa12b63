"""Backup and merge from Python: the reports of the store, typed, and its refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipway_lite import Slipway, SlipwayError, merge_files
from slipway_lite.store.backup import file_sha256
from tests.machine_host import repository
from tests.store.machines import machine, newest, problems


def test_a_backup_and_the_file_go_on_and_are_merged(tmp_path: Path) -> None:
    slipway = Slipway.open(str(repository(tmp_path / "repo")))
    slipway.run("First")
    made = slipway.backup(tmp_path / "backup.db")
    assert (made.head.seq, made.head.sha256) == newest(tmp_path / "backup.db")
    assert made.sha256 == file_sha256(str(tmp_path / "backup.db"))
    slipway.run("Second")
    merged = merge_files([slipway.path, tmp_path / "backup.db"], tmp_path / "merged.db")
    assert [file.name for file in merged.files] == ["slipway.db", "backup.db"]
    assert merged.files[1].head == made.head
    assert problems(tmp_path / "merged.db", (made.head.seq, made.head.sha256)) == []
    assert merged.ledger_rows == merged.files[0].head.seq + 2


def test_a_backup_of_nothing_is_refused(tmp_path: Path) -> None:
    slipway = Slipway.open(str(repository(tmp_path / "repo")))
    with pytest.raises(SlipwayError) as refused:
        slipway.backup(tmp_path / "backup.db")
    assert refused.value.code == "database_not_found"
    assert refused.value.next is not None and refused.value.next["operation"] == "none"
    assert list(tmp_path.iterdir()) == [tmp_path / "repo"]


def test_clashes_are_in_the_details(tmp_path: Path) -> None:
    one = machine(tmp_path / "one.db", (1, ("audit_events", "task:t", "e-1")))
    other = machine(tmp_path / "other.db", (1, ("audit_events", "task:t", "e-2")))
    with pytest.raises(SlipwayError) as refused:
        merge_files([one, other], tmp_path / "merged.db")
    assert refused.value.code == "merge_conflict"
    assert refused.value.details == {"count": 1, "clashes": [{"name": "task_id", "id": "t", "files": [1, 2]}]}
