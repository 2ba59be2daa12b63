"""Killed with SIGKILL at any moment: the next command sees all or nothing, and nothing acknowledged is missing.

Here the moments are random and the process is a whole command, or a served instance with others at work on its file;
every point on the way to the disk is in `test_crash.py`.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.adversarial.scale import scaled
from tests.machine_host import COMMAND, Host, environment, invoke, outcome, raw, suggest

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


def test_killed_at_random_moments(root: Path) -> None:
    campaign(root, 6, seed=7)


@pytest.mark.adversarial
@pytest.mark.parametrize("seed", [11, 12])
def test_killed_at_many_random_moments(root: Path, seed: int) -> None:
    campaign(root, scaled(10, 200), seed)
