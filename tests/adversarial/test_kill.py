"""Killed with SIGKILL at any moment: the next command sees all or nothing, and nothing acknowledged is missing."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.machine_host import COMMAND, Document, Host, database, environment, invoke, outcome, raw, repository, suggest

BUDGET = "1000"


def sound(root: Path) -> None:
    reply = invoke("db", "verify", "--root", str(root))
    assert reply.status == 0, reply.err


class Script:
    """A Run that never ends, told what was acknowledged: each Orient suggests a Clarify, each Clarify the next."""

    def __init__(self, root: Path) -> None:
        self.host = Host(root, "Survive", "--budget", BUDGET)
        self.acknowledged = 1
        self.count = 0

    def command(self) -> tuple[list[str], bytes]:
        """The next command line and its input."""
        self.count += 1
        document = outcome(self.host.action, suggested_actions=suggest("clarify"), summary=f"Step {self.count}.")
        return self.host.argv("submit", "--outcome-stdin"), raw(document)

    def settle(self, argv: list[str], stdin: bytes, out: bytes) -> bool:
        """Look at what the interrupted command left, do it again, and say whether it had been committed."""
        status = self.host.status()
        actions = status["actions"]
        committed = len(actions) == self.acknowledged + 1
        assert committed or len(actions) == self.acknowledged, "neither all nor nothing"
        if out.endswith(b"\n"):
            assert committed, "acknowledged, and missing"
            assert json.loads(out)["action"]["action_id"] == actions[-1]["action"]["action_id"]
        assert ("outcome" in actions[self.acknowledged - 1]) == committed
        sound(self.host.root)
        reply = invoke(*argv, stdin=stdin)
        assert reply.status == 0, reply.err
        self.host.state = reply.document
        self.acknowledged += 1
        assert len(self.host.status()["actions"]) == self.acknowledged
        return committed


def duration(script: Script) -> float:
    """How long one command takes, so that the moments are spread over all of it."""
    argv, stdin = script.command()
    started = time.monotonic()
    done = subprocess.run([*COMMAND, *argv], input=stdin, capture_output=True, env=environment())
    taken = time.monotonic() - started
    assert script.settle(argv, stdin, done.stdout)
    return taken


def campaign(root: Path, kills: int, seed: int) -> None:
    moments = random.Random(seed)
    script = Script(root)
    longest = 1.1 * max(duration(script) for _ in range(3))
    committed = 0
    for _ in range(kills):
        argv, stdin = script.command()
        with subprocess.Popen(
            [*COMMAND, *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
        ) as process:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(stdin)
            process.stdin.close()
            time.sleep(moments.uniform(0, longest))
            process.send_signal(signal.SIGKILL)
            out = process.stdout.read()
        committed += script.settle(argv, stdin, out)
    sound(root)
    assert script.acknowledged == kills + 4


def test_killed_at_20_random_moments(root: Path) -> None:
    campaign(root, 20, seed=7)


@pytest.mark.adversarial
def test_killed_at_200_random_moments(root: Path) -> None:
    campaign(root, 200, seed=11)


KILLER = """
import os, signal, sys
count, when = 0, int(sys.argv[1])
WATCHED = ("execute", "write", "close", "open", "makedirs")

def moment(frame, event, argument):
    global count
    if event in ("c_call", "c_return") and argument.__name__ in WATCHED:
        count += 1
        if count == when:
            os.kill(os.getpid(), signal.SIGKILL)

from slipway_lite.cli.main import execute
sys.setprofile(moment)
status = execute(sys.argv[2:])
sys.setprofile(None)
sys.stderr.write(str(count))
sys.exit(status)
"""
"""Runs one command line and dies before or after its n-th call into SQLite or the operating system."""


def killed(when: int, argv: list[str], stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", KILLER, str(when), *argv], input=stdin, capture_output=True, env=environment()
    )


def statements_of_a_submit(root: Path, points: int) -> None:
    script = Script(root)
    argv, stdin = script.command()
    done = killed(0, argv, stdin)
    script.settle(argv, stdin, done.stdout)
    moments = int(done.stderr)
    assert moments > 30
    committed = []
    for when in spread(moments, points):
        argv, stdin = script.command()
        done = killed(when, argv, stdin)
        assert done.returncode == -signal.SIGKILL, (when, done)
        committed.append(script.settle(argv, stdin, done.stdout))
    assert committed == sorted(committed), "committed once, and from then on"
    assert not committed[0] and committed[-1]


def spread(moments: int, points: int) -> list[int]:
    """The first and the last moment and others between them, evenly."""
    return sorted({1 + round(number * (moments - 1) / (points - 1)) for number in range(points)})


def test_killed_before_and_after_statements_of_a_submit(root: Path) -> None:
    statements_of_a_submit(root, 12)


@pytest.mark.adversarial
def test_killed_before_and_after_every_statement_of_a_submit(root: Path) -> None:
    statements_of_a_submit(root, 1000)


def first_runs(directory: Path, points: int) -> None:
    moments = int(killed(0, ["run", "goal", "--root", str(repository(directory / "probe"))], b"").stderr)
    for when in spread(moments, points):
        place = repository(directory / str(when))
        done = killed(when, ["run", "goal", "--json", "--root", str(place)], b"")
        assert done.returncode == -signal.SIGKILL
        listed = runs(place)
        assert len(listed) <= 1
        if done.stdout.endswith(b"\n"):
            assert [run["id"] for run in listed] == [json.loads(done.stdout)["run_id"]]
        Host(place, "The next one")
        assert len(runs(place)) == len(listed) + 1
        sound(place)
        assert database(place).exists()


def test_killed_while_the_very_first_run_makes_the_file(tmp_path: Path) -> None:
    """The directory, the schema and the Run: whatever is there afterwards, the next Run starts."""
    first_runs(tmp_path, 6)


@pytest.mark.adversarial
def test_killed_at_many_moments_of_the_very_first_run(tmp_path: Path) -> None:
    first_runs(tmp_path, 80)


def runs(root: Path) -> list[Document]:
    reply = invoke("status", "--json", "--root", str(root))
    if reply.status == 3:  # a file that was made and not yet filled
        assert reply.code == "runstore_unavailable"
        return []
    found: Any = reply.document
    assert found["unavailable_runs"] == []
    return list(found["runs"])
