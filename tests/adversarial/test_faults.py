"""Disks that are full, read-only or broken: an exact refusal, nothing lost, and the same command works afterwards."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adversarial import shim
from tests.adversarial.commands import READING, WRITING
from tests.adversarial.scale import FULL, scaled
from tests.control.world import create_body
from tests.http.served import Served
from tests.machine_host import Host, Reply, outcome, process, raw, suggest
from tests.store.files import plain

needs_shim = pytest.mark.skipif(shim.COMPILER is None, reason="there is no C compiler for the shim")
NAMES = [*WRITING, *READING]
SHARES = 6


@needs_shim
def test_a_sync_that_fails_leaves_it_open_whether_the_step_is_on_record(memory: Path) -> None:
    """Only a commit that was synced is acknowledged, and only one that was not written is refused (§1.7, §6.6)."""
    report = shim.play("fault_points", memory, names=["submit"], faults=["a sync fails"])
    assert report["failures"] == []
    assert report["codes"] == ["mutation_outcome_ambiguous"]


@needs_shim
@pytest.mark.adversarial
@pytest.mark.parametrize("share", range(SHARES))
def test_every_call_of_a_command_to_its_files_fails(memory: Path, share: int, record_property: Any) -> None:
    names = NAMES[share::SHARES]
    report = shim.play("fault_points", memory, names=names, limit=scaled(4, 0), is_live=share % 2 == 1, size=500)
    record_property("points", report["points"])
    print(f"{report['points']} failing calls")
    assert report["failures"] == []


# -- the same with a real file system


def mounted(place: Path, *options: str) -> None:
    subprocess.run(["mount", *options, "-t", "tmpfs", "slipway", str(place)], check=True, capture_output=True)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of one MiB."""
    place = tmp_path / "small"
    place.mkdir()
    try:
        mounted(place, "-o", "size=1m")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a file system may not be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


Command = Callable[..., Reply]


@pytest.fixture
def command(small: Path) -> Command:
    return lambda *argv, stdin=b"": process(*argv, stdin=stdin, env={"SLIPWAY_DB": str(small / "slipway.db")})


def started(command: Command, root: Path) -> Host:
    host = Host.__new__(Host)
    host.root = root
    host.state = command("run", "Fill it", "--json", "--budget", "1000", "--root", str(root)).document
    host.run_id = host.state["run_id"]
    return host


def fill(place: Path, left: int) -> None:
    """Leave ``left`` bytes of the file system, to the page."""
    free = os.statvfs(place)
    (place / "filler").write_bytes(bytes(max(free.f_bavail * free.f_frsize - left, 0)))


@pytest.mark.adversarial
def test_every_amount_of_room_on_a_full_disk(command: Command, small: Path, root: Path) -> None:
    """One Outcome after the other with ever more room (bytes) left: refused or on record, and done afterwards."""
    codes = set()
    host = started(command, root)
    for room in range(0, 160_000, 4096 if FULL else 32_768):
        document = outcome(host.action, suggested_actions=suggest("clarify"), summary="s" * 2000)
        argv = host.argv("submit", "--outcome-stdin")
        before = actions(command, host)
        fill(small, room)
        reply = command(*argv, stdin=raw(document))
        (small / "filler").unlink()
        assert reply.status in (0, 3), reply
        assert actions(command, host) == before + (reply.status == 0)
        if reply.status:
            codes.add(reply.code)
        assert command("db", "verify").status == 0
        host.state = command(*argv, stdin=raw(document)).document
    assert codes <= {"mutation_not_committed", "runstore_unavailable"} and codes


def actions(command: Command, host: Host) -> int:
    """How many Actions of the Run are on record."""
    return len(command("status", host.run_id, "--json", "--root", str(host.root)).document["actions"])


def test_a_read_only_file_system_is_read_and_not_written(command: Command, small: Path, root: Path) -> None:
    host = started(command, root)
    argv = host.argv("submit", "--outcome-stdin")
    document = raw(outcome(host.action))
    shown = command("status", host.run_id, "--json", "--root", str(root))
    mounted(small, "-o", "remount,ro")
    assert command("status", host.run_id, "--json", "--root", str(root)) == shown
    assert command("db", "verify").status == 0
    for words in (argv, ["run", "Another", "--root", str(root)], ["stop", host.run_id, "--root", str(root)]):
        reply = command(*words, stdin=document)
        assert (reply.status, reply.code) == (3, "runstore_unavailable")
    reply = command("task", "create", "--file", "-", stdin=b"{}")
    assert (reply.status, json.loads(reply.err)["code"]) == (3, "database_unavailable")
    mounted(small, "-o", "remount,rw")
    assert command("status", host.run_id, "--json", "--root", str(root)) == shown
    assert command(*argv, stdin=document).status == 0


def test_a_log_that_is_not_folded_in_is_not_read_past_on_a_read_only_file_system(
    command: Command, small: Path, root: Path
) -> None:
    """The newest rows are in the log; without a place for its index a reader refuses rather than tell old news."""
    host = started(command, root)
    reader = plain(small / "slipway.db")
    reader.execute("select count(*) from ledger").fetchone()
    assert command(*host.argv("skip")).status == 0
    copy = small / "copy.db"
    for suffix in ("", "-wal"):
        shutil.copy(small / f"slipway.db{suffix}", f"{copy}{suffix}")
    reader.close()
    env = {"SLIPWAY_DB": str(copy)}
    status = ("status", host.run_id, "--json", "--root", str(root))
    mounted(small, "-o", "remount,ro")
    reply = process(*status, env=env)
    assert (reply.status, reply.code) == (3, "runstore_unavailable")
    mounted(small, "-o", "remount,rw")
    assert process(*status, env=env) == command(*status)


def test_a_served_instance_refuses_while_the_disk_is_full_and_goes_on_afterwards(small: Path) -> None:
    db = small / "slipway.db"
    with Served(db) as served:
        client = served.client()
        assert client.post("/v1/tasks", create_body())[0] == 201
        fill(small, 0)
        replies = [client.post("/v1/tasks", create_body(description="d" * 9000)) for _ in range(5)]
        (small / "filler").unlink()
        refused = [document["code"] for status, document in replies if status == 503]
        assert refused, replies
        assert set(refused) == {"STORAGE_UNAVAILABLE"}
        assert {status for status, _ in replies} <= {201, 503}
        assert client.post("/v1/tasks", create_body())[0] == 201
        assert len(client.get("/v1/tasks")[1]["items"]) == 2 + len(replies) - len(refused)
    assert process("db", "verify", "--db", str(db)).status == 0
