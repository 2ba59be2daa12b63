"""Kill install and uninstall at every moment at which they change something, and see what the next install
makes of it.

``python -m hosts.crash_points DIRECTORY SCENARIO STRIDE`` plays one scenario once for each ``STRIDE``-th
moment, each time in a fresh repository below ``DIRECTORY``, and prints how many moments there were. A moment
is the instant before a call that changes the file system; a forked child kills itself there with SIGKILL. It
is a program of its own because forking a test runner is not safe.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

from .conftest import Repository

TOOLS = ("claude", "kilo")
EDITED = ".claude/skills/slipway-run/SKILL.md"
MISSING = ".kilocode/slipway/capabilities/slipway-run.md"
CHANGING = {"os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "os.chmod"}


def prepare_fresh(repository: Repository) -> None:
    repository.path(".claude").mkdir()


def prepare_installed(repository: Repository) -> None:
    prepare_fresh(repository)
    repository.install(*TOOLS)


def prepare_damaged(repository: Repository) -> None:
    prepare_installed(repository)
    repository.path(EDITED).write_text("edited")
    repository.path(MISSING).unlink()


SCENARIOS = {
    "install": (prepare_fresh, lambda repository: repository.install(*TOOLS)),
    "refresh": (prepare_damaged, lambda repository: repository.install(*TOOLS, refresh=True)),
    "uninstall": (prepare_installed, lambda repository: repository.uninstall(*TOOLS)),
}


def killed_at(moment: int, repository: Repository, command: Any) -> bool:
    """Whether the command was still at work at that moment."""
    child = os.fork()
    if child == 0:
        left = moment

        def count(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal left
            writing = event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_CREAT
            if event in CHANGING or writing:
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        command(repository)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.WEXITSTATUS(status) == 0, "the command failed by itself"
    return False


def worktree(repository: Repository) -> dict[str, bytes | None]:
    return {name: raw for name, raw in repository.snapshot().items() if name.split("/")[0] != ".git"}


def check(before: dict[str, bytes | None], after: dict[str, bytes | None], found: dict[str, bytes | None]) -> None:
    """Every file is as before or as after; what else is there is a file of ours on its way."""
    for name in before | after | found:
        if ".slipway-" not in name:
            assert found.get(name, "absent") in (before.get(name, "absent"), after.get(name, "absent")), name


def play(directory: Path, prepare: Any, command: Any, stride: int) -> int:
    whole = Repository(directory / "whole")
    prepare(whole)
    before = worktree(whole)
    command(whole)
    after = worktree(whole)
    clean = Repository(directory / "clean")
    prepare_installed(clean)
    installed = worktree(clean)
    moment = 1
    while True:
        repository = Repository(directory / str(moment))
        prepare(repository)
        if not killed_at(moment, repository, command):
            return moment - 1
        check(before, after, worktree(repository))
        report = repository.install(*TOOLS)
        assert report["transaction_outcome"] == "committed" and report["recovery_artifacts"] == []
        if prepare is prepare_damaged:
            assert worktree(repository) in (before, after)
            assert repository.path(EDITED).read_text() == "edited"
            repository.install(*TOOLS, refresh=True)
            assert worktree(repository) == after
        else:
            assert worktree(repository) == installed
            repository.uninstall(*TOOLS)
            assert repository.snapshot() == {".git": None, ".claude": None}
        shutil.rmtree(repository.root)
        moment += stride


if __name__ == "__main__":
    print(play(Path(sys.argv[1]), *SCENARIOS[sys.argv[2]], int(sys.argv[3])))
