"""Backups beside writers, copies and merges that are killed, splits of every shape, and merges that stay small."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from slipway_lite.store.backup import backup
from slipway_lite.store.draft import PREFIX
from tests.adversarial.scale import scaled
from tests.machine_host import environment
from tests.store.files import directory_state, event, filled
from tests.store.machines import machine, merged, newest, problems
from tests.store.test_backup import check_backups_beside_writers
from tests.store.test_merge import check_split, split
from tests.store.writers import killed

pytestmark = pytest.mark.adversarial
TRIALS = scaled(12, 300)


@pytest.mark.parametrize("half", range(2))
def test_backups_beside_writers_are_prefixes_of_the_later_chain(tmp_path: Path, half: int) -> None:
    path = tmp_path / "place" / "slipway.db"
    filled(path).close()
    check_backups_beside_writers(path, tmp_path, scaled(6, 50))


def left(directory: Path) -> list[str]:
    """What a killed command left, but for its draft."""
    return [found.name for found in directory.iterdir() if not found.name.startswith(PREFIX)]


def test_a_backup_killed_at_any_moment_is_not_there_or_whole(tmp_path: Path) -> None:
    path = tmp_path / "place" / "slipway.db"
    with filled(path) as store, store.immediate() as tx:
        for number in range(3, 600):
            event(tx, "note:a", number, '{"text":"%s"}' % ("x" * 2000))
    before = directory_state(path.parent)
    outcomes = set()
    for trial in range(TRIALS):
        target = tmp_path / str(trial) / "backup.db"
        target.parent.mkdir()
        is_done = killed("backup(*sys.argv[1:])", 0.002 * (trial % 25), str(path), str(target))
        assert left(target.parent) == ["backup.db"] or (left(target.parent) == [] and not is_done)
        outcomes.add(target.exists())
        if not target.exists():
            backup(str(path), str(target))
        assert problems(target, newest(path)) == []
        assert directory_state(path.parent) == before
    assert False in outcomes


def test_a_merge_killed_at_any_moment_is_not_there_or_whole(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    paths = [
        machine(place / f"{name}.db", *((n, ("journal_events", f"note:{name}", str(n))) for n in range(100)))
        for name in "ab"
    ]
    before = directory_state(place)
    head = merged(tmp_path / "whole.db", *paths)["head"]
    outcomes = set()
    for trial in range(TRIALS):
        out = tmp_path / str(trial) / "merged.db"
        out.parent.mkdir()
        statement = "merge(sys.argv[2:], sys.argv[1], projectors())"
        is_done = killed(statement, 0.02 * (trial % 25), str(out), *map(str, paths))
        assert left(out.parent) == ["merged.db"] or (left(out.parent) == [] and not is_done)
        outcomes.add(out.exists())
        if not out.exists():
            merged(out, *paths)
        assert problems(out, (head["seq"], head["sha256"])) == []
        assert directory_state(place) == before
    assert False in outcomes


@settings(max_examples=scaled(15, 500), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@split
def test_rows_split_in_many_ways_are_merged_whole(files: int, steps: list[tuple[int, int, int, int]]) -> None:
    check_split(files, steps)


MEASURED = """
import resource, sys
from pathlib import Path
from tests.store.machines import merged

merged(*map(Path, sys.argv[1:]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def kibibytes(tmp_path: Path, count: int) -> int:
    """The most memory that merging two files of ``count`` rows takes."""
    paths = [
        machine(
            tmp_path / f"{name}-{count}.db",
            *((n, ("audit_events", f"task:{name}{n % 50}", f"{name}{n}")) for n in range(count)),
        )
        for name in "ab"
    ]
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(tmp_path / f"{count}.db"), *map(str, paths)],
        env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return int(done.stdout)


def test_merging_ten_times_the_rows_takes_no_more_memory(tmp_path: Path) -> None:
    few = scaled(1_000, 5_000)
    assert kibibytes(tmp_path, 10 * few) < kibibytes(tmp_path, few) + 4_000
