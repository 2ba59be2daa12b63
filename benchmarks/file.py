"""What the file as a whole costs: proof, replay, backup, merge, in multiples of what cannot be avoided.

    python benchmarks/file.py [--directory DIR]

On the rich demo (300 Runs, 200 tasks). Backup is measured against copying and syncing the same bytes, the proof against
hashing the columns of every row once, replay and merge against the proof. Nothing here is a test.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from slipway_lite.observe.projection import projectors
from slipway_lite.observe.rich_demo import write_rich_demo
from slipway_lite.store.backup import backup
from slipway_lite.store.connection import Store, open_store
from slipway_lite.store.merge import merge
from slipway_lite.store.projections import rebuild
from slipway_lite.store.reading import read_store
from slipway_lite.store.tables import APPEND_ONLY
from slipway_lite.store.verify import verify

ROUNDS = 5


def best(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Seconds of the fastest of ``rounds``."""
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return min(taken)


def copied(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)
    descriptor = os.open(target, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    target.unlink()


def hashed(store: Store) -> None:
    digest = hashlib.sha256()
    for table in APPEND_ONLY:
        for row in store.rows(f"select * from {table}"):
            digest.update("\0".join(map(str, row)).encode())


def proved(path: Path) -> int:
    report = read_store(str(path), lambda store: verify(store, projectors()))
    assert report["problems"] == []
    return int(report["ledger_rows"])


def replayed(path: Path) -> None:
    with open_store(str(path)) as store:
        assert rebuild(store, projectors()) == []


def show(name: str, seconds: float, ratio: float, unit: str, rate: str = "") -> None:
    print(f"{name:<28} {seconds * 1e3:9.1f} ms {ratio:7.2f} x {unit:<22} {rate}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", default=None, help="where the files are made (default: a temporary directory)")
    with tempfile.TemporaryDirectory(dir=parser.parse_args().directory) as made:
        place = Path(made)
        one, other, target = place / "one.db", place / "other.db", place / "new.db"
        write_rich_demo(str(one))
        write_rich_demo(str(other), seed="another machine")
        rows = proved(one)
        print(f"{rows} rows of the ledger, {one.stat().st_size / 2**20:.1f} MiB")

        copying = best(lambda: copied(one, target))
        hashing = best(lambda: read_store(str(one), hashed))

        def backed_up() -> None:
            backup(str(one), str(target))
            target.unlink()

        def merged() -> None:
            merge([str(one), str(other)], str(target), projectors())
            target.unlink()

        show("copy and sync the file", copying, 1, "itself")
        taken = best(backed_up)
        show("db backup", taken, taken / copying, "the copy")
        show("hash every row once", hashing, 1, "itself")
        proof = best(lambda: proved(one))
        show("db verify", proof, proof / hashing, "the hashing", f"{rows / proof:,.0f} rows/s")
        taken = best(lambda: replayed(one))
        show("db rebuild", taken, taken / proof, "verify", f"{rows / taken:,.0f} rows/s")
        taken = best(merged, 2)
        show("db merge of two such files", taken, taken / proof, "verify", f"{2 * rows / taken:,.0f} rows/s")


if __name__ == "__main__":
    main()
