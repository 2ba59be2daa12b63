"""Whenever install or uninstall is killed, every host file is old or new, and the next install repairs."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import slipway_lite

from .conftest import Repository
from .crash_points import SCENARIOS, check, worktree

TESTS_ROOT = Path(__file__).resolve().parents[len(__package__.split("."))]
ROOTS = (Path(slipway_lite.__file__).resolve().parents[1], TESTS_ROOT)
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, ROOTS)), "PYTHONDONTWRITEBYTECODE": "1"}
#: How many moments each scenario has at least: fewer would mean that the moments are no longer found.
MOMENTS = {"install": 100, "refresh": 20, "uninstall": 60}


def play(directory: Path, scenario: str, stride: int) -> int:
    command = [sys.executable, "-m", f"{__package__}.crash_points", str(directory), scenario, str(stride)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_kill_at_some_moments_is_repaired(tmp_path: Path, scenario: str) -> None:
    assert play(tmp_path, scenario, 13) >= MOMENTS[scenario]


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_kill_at_every_moment_is_repaired(tmp_path: Path, scenario: str) -> None:
    assert play(tmp_path, scenario, 1) >= MOMENTS[scenario]


INSTALL_ALL = """
import sys
from pathlib import Path
from slipway_lite.hosts import render
from slipway_lite.hosts.adapters import install
from slipway_lite.hosts.registry import HOSTS
for host in HOSTS:
    for surface in host.entries:
        render.rendered(host, surface)
print("ready", flush=True)
install(sys.argv[1], sys.argv[2], tools=["all"], surface="ide", refresh=False, command_next=dict)
print("done", flush=True)
"""


def kill_while_installing(repository: Repository, seconds: float) -> bool:
    """Whether the process was killed before it was done."""
    command = [sys.executable, "-c", INSTALL_ALL, str(repository.root), str(repository.git_dir)]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(seconds)
        child.send_signal(signal.SIGKILL)
        return child.stdout.read() == ""


def kill_at_random(directory: Path, times: int) -> None:
    whole = Repository(directory / "whole")
    before = worktree(whole)
    start = time.monotonic()
    whole.install("all", surface="ide")
    seconds = time.monotonic() - start
    after = worktree(whole)
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    killed = 0
    for number in range(10 * times):
        repository = Repository(directory / str(number))
        if kill_while_installing(repository, chance.uniform(0, seconds)):
            killed += 1
        else:  # it was done before: how long it takes depends on who else uses the disk
            seconds *= 0.8
        check(before, after, worktree(repository))
        repository.install("all", surface="ide")
        assert worktree(repository) == after, f"seed {seed}, kill {number}"
        repository.uninstall("all")
        assert repository.snapshot() == {".git": None}, f"seed {seed}, kill {number}"
        if killed == times:
            return
    pytest.fail(f"seed {seed}: only {killed} kills came in time")


def test_random_kills_of_an_install_for_all_hosts_are_repaired(tmp_path: Path) -> None:
    kill_at_random(tmp_path, 3)


@pytest.mark.slow
def test_fifty_random_kills_of_an_install_for_all_hosts_are_repaired(tmp_path: Path) -> None:
    kill_at_random(tmp_path, 50)
