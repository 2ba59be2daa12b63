"""A served instance and machine commands at work on one file, killed at random: nothing acknowledged is missing."""

from __future__ import annotations

import random
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from tests.adversarial.scale import scaled
from tests.http.load import Load
from tests.http.served import Served
from tests.machine_host import COMMAND, Host, Reply, environment, outcome, process, raw, suggest

ROUNDS = scaled(1, 50)


class Hand:
    """Hands in one Outcome after the other with command lines of its own until it is told to stop, or dies in one."""

    def __init__(self, root: Path, db: Path) -> None:
        self._environment = {"SLIPWAY_DB": str(db)}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._process: subprocess.Popen[bytes] | None = None
        self.host = Host.__new__(Host)
        self.host.root = root
        self.host.state = self._command("run", "Survive", "--json", "--budget", "1000", "--root", str(root)).document
        self.host.run_id = self.host.state["run_id"]
        self.acknowledged = [self.host.action["action_id"]]
        self._thread.start()

    def _command(self, *argv: str) -> Reply:
        return process(*argv, env=self._environment)

    def _work(self) -> None:
        while not self._stopped.is_set():
            document = outcome(self.host.action, suggested_actions=suggest("clarify"))
            argv = [*COMMAND, *self.host.argv("submit", "--outcome-stdin")]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            with subprocess.Popen(argv, env=environment(**self._environment), **pipes) as self._process:
                out, err = self._process.communicate(raw(document))
            if self._process.returncode == -signal.SIGKILL:
                break
            self.host.state = Reply(self._process.returncode, out, err).document
            assert self._process.returncode == 0, err
            self.acknowledged.append(self.host.action["action_id"])

    def kill(self) -> None:
        self._stopped.set()
        if self._process is not None:
            self._process.kill()
        self._thread.join()

    def check(self) -> None:
        """Every acknowledged step is on record, in order, and at most one more."""
        status = self._command("status", self.host.run_id, "--root", str(self.host.root), "--json").document
        found = [item["action"]["action_id"] for item in status["actions"]]
        assert found[: len(self.acknowledged)] == self.acknowledged
        assert len(found) <= len(self.acknowledged) + 1


@pytest.mark.adversarial
@pytest.mark.parametrize("seed", range(2))
def test_killed_under_load_with_machine_commands_on_the_same_file(tmp_path: Path, root: Path, seed: int) -> None:
    db = tmp_path / "x.db"
    moments = random.Random(seed)
    for _ in range(ROUNDS):
        hands = [Hand(root, db), Hand(root, db)]
        with Served(db) as served, Load(served) as load:
            time.sleep(moments.uniform(0.2, 1.2))
            served.stop(signal.SIGKILL)
        for hand in hands:
            hand.kill()
        with Served(db) as served:
            load.check(served.client())
        for hand in hands:
            hand.check()
        assert process("db", "verify", "--db", str(db)).status == 0
