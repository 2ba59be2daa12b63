"""Processes that write to a file, and processes that are killed while they do something with one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slipway_lite import clock
from tests.machine_host import environment

WRITE = """
import sys
from slipway_lite.store.connection import open_store
from tests.store.files import event

with open_store(sys.argv[1]) as store:
    print("ready", flush=True)
    while True:
        with store.immediate() as tx:
            for _ in range(3):
                event(tx, sys.argv[2], tx.next_sequence("journal_events", sys.argv[2]), '{"text":"%s"}' % ("x" * 500))
"""


@contextmanager
def writers(path: Path, count: int) -> Iterator[None]:
    """``count`` processes that write without a pause."""
    running = []
    try:
        for number in range(count):
            process = subprocess.Popen(
                [sys.executable, "-c", WRITE, str(path), f"note:{number}"],
                env=environment(), stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            running.append(process)
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
        yield
        assert [process.poll() for process in running] == [None] * count
    finally:
        for process in running:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


KILLED = """
import sys
from slipway_lite.observe.projection import projectors
from slipway_lite.store.backup import backup
from slipway_lite.store.connection import open_store
from slipway_lite.store.merge import merge
import sqlite_utils

print("ready", flush=True)
sys.stdin.readline()
{}
print("done", flush=True)
"""


def killed(statement: str, seconds: float, *argv: str) -> bool:
    """Run ``statement`` in a process of its own and kill that after ``seconds``; whether it was done by then.

    ``statement`` finds ``argv`` in ``sys.argv[1:]``, and what copies, merges and upgrades a file imported.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED.format(statement), *argv],
        env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("go\n")
    process.stdin.flush()
    clock.pause(seconds)
    process.kill()
    out, _ = process.communicate(timeout=60)
    return out == "done\n"
