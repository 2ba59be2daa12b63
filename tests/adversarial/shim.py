"""The shim between a process and its files: built, preloaded into a program, and told when to strike."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.machine_host import environment, repository

SOURCE = Path(__file__).with_suffix(".c")
COMPILER = shutil.which("gcc") or shutil.which("cc")

COUNT, KILL, TEAR, POWER, FAIL, FAIL_FROM = range(6)
"""What happens at the chosen call; the order of ``enum mode``."""
WRITES = "cwstum"
"""The kinds of calls that change something: create, write, sync, truncate, unlink, make a directory."""


def play(program: str, directory: Path, **order: Any) -> dict[str, Any]:
    """Run ``tests.adversarial.PROGRAM`` in ``directory`` with the shim below it; what it reports.

    ``order`` is what it is to play, without the places.
    """
    assert COMPILER is not None
    library = directory / "shim.so"
    warnings = ("-Wall", "-Wextra", "-Werror")
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O2", *warnings, "-o", library, SOURCE, "-ldl"], check=True)
    files = directory / "files"
    files.mkdir()
    order |= {"directory": str(files), "root": str(repository(directory / "repository"))}
    done = subprocess.run(
        [sys.executable, "-m", f"tests.adversarial.{program}", json.dumps(order)],
        env=environment(LD_PRELOAD=str(library), GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1"),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def arm(directory: str, kinds: str, at: int, mode: int, argument: int = 0) -> None:
    """From now on count the calls of ``kinds`` below ``directory`` and do ``mode`` at the ``at``-th."""
    shim = ctypes.CDLL(None)
    shim.shim_arm(directory.encode(), kinds.encode(), ctypes.c_long(at), mode, argument)


def strike() -> None:
    """Die now, as the chosen call would."""
    ctypes.CDLL(None).shim_strike()


def disarm() -> str:
    """Stop counting; the kinds of the calls that were counted, in order."""
    shim = ctypes.CDLL(None)
    shim.shim_disarm()
    shim.shim_trace.restype = ctypes.c_char_p
    found: bytes = shim.shim_trace()
    return found.decode()
