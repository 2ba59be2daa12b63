"""Repositories made to hurt whoever looks at them: no helper of theirs runs, nothing hangs, refusals have codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from slipway_lite.protocol import git as protocol_git
from slipway_lite.turns import worktree
from tests.adversarial.scale import scaled
from tests.machine_host import COMMAND, Reply, environment, git, invoke, process, repository

LOOKING = (
    ["run", "Look", "--json"],
    ["status", "--json"],
    ["doctor", "--json"],
    ["list", "--json"],
    ["db", "path", "--json"],
    ["turn", "snapshot", "--json"],
    ["turn", "sense", "--json"],
)
"""Commands that ask git something."""
EACH = [
    pytest.param(argv, id=" ".join(argv), marks=() if argv[0] in ("run", "turn") else pytest.mark.adversarial)
    for argv in LOOKING
]

HELPERS = (
    "core.pager", "core.editor", "core.askPass", "core.sshCommand", "core.gitProxy", "core.fsmonitor",
    "core.alternateRefsCommand", "credential.helper", "diff.external", "diff.x.textconv", "diff.x.command",
    "filter.x.smudge", "merge.x.driver", "gpg.program", "sequence.editor", "interactive.diffFilter", "pager.status",
    "uploadpack.packObjectsHook",
)  # fmt: skip
ALIASES = ("status", "rev-parse", "ls-files", "worktree")
HOOKS = (
    "post-index-change", "fsmonitor-watchman", "query-watchman", "reference-transaction", "post-checkout",
    "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-auto-gc", "post-merge", "post-rewrite",
)  # fmt: skip


def at(root: Path, argv: list[str], **more: str) -> Reply:
    """One command at ``root`` in a process of its own, with ``more`` in its environment."""
    return all_right_or_refused(process(*argv, "--root", str(root), env=more))


def all_right_or_refused(reply: Reply) -> Reply:
    """Never a traceback, and nothing but one document."""
    assert reply.status in (0, 2, 3), reply.err
    document = json.loads(reply.out if reply.status == 0 else reply.err)
    assert document if reply.status == 0 else document["code"]
    return reply


class Traps:
    """Programs that only say that they were run."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._sprung = directory / "sprung"
        self._sprung.mkdir(parents=True)

    def set(self, name: str) -> str:
        """A program that remembers being run as ``name``, and passes its input on."""
        path = self._directory / name
        path.write_text(f'#!/bin/sh\n: > "{self._sprung}/{name}"\nexec cat\n')
        path.chmod(0o755)
        return str(path)

    @property
    def sprung(self) -> set[str]:
        return {path.name for path in self._sprung.iterdir()}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo")


@pytest.fixture
def traps(tmp_path: Path) -> Traps:
    return Traps(tmp_path / "traps")


def trapped(root: Path, traps: Traps) -> None:
    """A trap in every place where the configuration of a repository names a program."""
    (root / ".gitattributes").write_text("*.dat diff=x merge=x\n")
    (root / "a.dat").write_text("one\n")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "Data")
    for helper in HELPERS:
        git(root, "config", helper, traps.set(helper))
    for alias in ALIASES:
        git(root, "config", f"alias.{alias}", "!" + traps.set(f"alias.{alias}"))
    hooks = Path(traps.set("hooks")).with_name("hooks.d")
    hooks.mkdir()
    for hook in HOOKS:
        (hooks / hook).symlink_to(traps.set(f"hook.{hook}"))
    included = root.parent / "included"
    included.write_text(f'[core]\n\thooksPath = {hooks}\n[alias]\n\tst = "!{traps.set("included")}"\n')
    git(root, "config", "include.path", str(included))
    # Stale times make git compare the contents, and want to refresh the index.
    (root / "a.dat").write_text("two\n")
    os.utime(root / "README.md", (1, 1))


@pytest.mark.parametrize("argv", EACH)
def test_looking_runs_nothing_that_a_repository_names(root: Path, traps: Traps, argv: list[str]) -> None:
    trapped(root, traps)
    index = (root / ".git/index").read_bytes()
    assert at(root, argv).status == 0
    assert traps.sprung == set()
    assert (root / ".git/index").read_bytes() == index


def test_a_clean_filter_runs_where_git_status_itself_would_run_it(root: Path, traps: Traps) -> None:
    """Whether a file differs is what its filter says (large-file storage): there is no other answer to give."""
    (root / ".gitattributes").write_text("*.dat filter=x\n")
    (root / "a.dat").write_text("one\n")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "Data")
    git(root, "config", "filter.x.clean", traps.set("clean"))
    os.utime(root / "a.dat", (1, 1))
    assert at(root, ["run", "Look", "--json"]).status == 0
    assert traps.sprung == {"clean"}


@pytest.mark.parametrize("argv", EACH)
def test_the_environment_points_git_nowhere_else(root: Path, tmp_path: Path, traps: Traps, argv: list[str]) -> None:
    other = repository(tmp_path / "other")
    (root / "new.txt").write_text("new\n")
    plain = at(root, argv).out
    redirected = {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": str(other / ".git/index"),
        "GIT_OBJECT_DIRECTORY": str(other / ".git/objects"),
        "GIT_CEILING_DIRECTORIES": str(root.parent),
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": traps.set("monitor"),
        "GIT_CONFIG_KEY_1": "core.worktree",
        "GIT_CONFIG_VALUE_1": str(other),
        "GIT_CONFIG_PARAMETERS": f"'core.worktree={other}'",
        "GIT_PAGER": traps.set("pager"),
        "GIT_EDITOR": traps.set("editor"),
        "GIT_EXTERNAL_DIFF": traps.set("diff"),
        "GIT_SSH_COMMAND": traps.set("ssh"),
        "GIT_ASKPASS": traps.set("askpass"),
        "GIT_TRACE": str(tmp_path / "trace"),
    }
    answer = at(root, argv, **redirected).out
    assert answer == plain or argv[0] == "run"
    assert str(other).encode() not in answer
    assert traps.sprung == set()
    assert not (other / ".git/slipway-lite").exists()


# -- broken repositories


def _write(name: str, raw: bytes) -> Callable[[Path], object]:
    return lambda root: (root / ".git" / name).write_bytes(raw)


def _replace(name: str, make: Callable[[Path], object]) -> Callable[[Path], object]:
    def spoil(root: Path) -> None:
        path = root / name
        if path.is_dir():
            path.rename(root.parent / "taken-away")
        elif path.exists():
            path.unlink()
        make(path)

    return spoil


def _config(text: str) -> Callable[[Path], object]:
    def spoil(root: Path) -> None:
        with open(root / ".git/config", "a") as config:
            config.write(text)

    return spoil


def _nested(root: Path) -> None:
    for depth in range(40):
        root = root / f"d{depth}"
        repository(root) if depth % 10 == 0 else root.mkdir()
        (root / "file").touch()


def _flagged(root: Path) -> None:
    (root / "other.txt").write_text("other\n")
    git(root, "add", ".")
    git(root, "update-index", "--assume-unchanged", "README.md")
    git(root, "update-index", "--skip-worktree", "other.txt")
    git(root, "sparse-checkout", "set", "nothing")


def _submodule(root: Path) -> None:
    inner = repository(root.parent / "inner")
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    (root / "sub/README.md").write_text("dirty\n")
    (root / ".gitmodules").write_text(
        '[submodule "../../evil"]\n\tpath = sub\n\turl = -u./payload\n\tupdate = !touch /tmp/never\n\tignore = all\n'
    )


BROKEN: dict[str, Callable[[Path], object]] = {
    "a lock that somebody left": _write("index.lock", b""),
    "an index of garbage": _write("index", b"\xff" * 4096),
    "an index that was cut": lambda root: os.truncate(root / ".git/index", 40),
    "an index that is a directory": _replace(".git/index", Path.mkdir),
    "a HEAD of garbage": _write("HEAD", b"\x1b[31m\x00\xff"),
    "an empty HEAD": _write("HEAD", b""),
    "a HEAD that leads outside": _write("HEAD", b"ref: ../../../../etc/passwd\n"),
    "a HEAD that is a directory": _replace(".git/HEAD", Path.mkdir),
    "packed refs of garbage": _write("packed-refs", b"\xff\x00\n" * 1000),
    "no objects": _replace(".git/objects", Path.mkdir),
    "a configuration of garbage": _write("config", b"\xff[[[\x00"),
    "a configuration that includes itself": _config("[include]\n\tpath = config\n"),
    "a worktree elsewhere": _config("[core]\n\tworktree = /\n"),
    "a bare repository": _config("[core]\n\tbare = true\n"),
    "a .git that is a file of garbage": _replace(".git", lambda path: path.write_bytes(b"gitdir: \xff\x00\x1b")),
    "a .git that points to itself": _replace(".git", lambda path: path.write_text("gitdir: .git\n")),
    "a .git that points to a device": _replace(".git", lambda path: path.write_text("gitdir: /dev/zero\n")),
    "a .git that links to itself": _replace(".git", lambda path: path.symlink_to(".git")),
    "a .git that is a fifo": _replace(".git", os.mkfifo),
    "a .git that is gone": _replace(".git", lambda path: None),
    "alternates that lead in a circle": _write("objects/info/alternates", b"../../.git/objects\n/dev/zero\n"),
    "repositories inside": _nested,
    "files that git is told not to look at": _flagged,
    "a hostile submodule": _submodule,
}


@pytest.mark.adversarial
@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_repository_is_seen_or_refused(root: Path, how: str) -> None:
    invoke("run", "Before", "--json", "--root", str(root))
    BROKEN[how](root)
    started = time.monotonic()
    for argv in LOOKING:
        all_right_or_refused(invoke(*argv, "--root", str(root)))
    assert time.monotonic() - started < 20


def test_a_repository_that_vanishes_between_two_calls(root: Path) -> None:
    state = at(root, ["run", "Look", "--json"]).document
    root.rename(root.parent / "moved")
    assert at(root, ["status", state["run_id"], "--json"]).code == "git_repository_required"
    root.mkdir()
    assert at(root, ["stop", state["run_id"], "--json"]).code == "git_repository_required"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to somebody else")
def test_a_repository_of_somebody_else_is_refused_as_git_refuses_it(root: Path) -> None:
    os.chown(root, 12345, 12345)
    os.chown(root / ".git", 12345, 12345)
    for argv in (["run", "Look", "--json"], ["status", "--json"]):
        assert at(root, argv).code == "git_repository_required"
    assert not (root / ".git/slipway-lite").exists()


# -- a git that is none


def false_git(programs: Path, does: str, monkeypatch: pytest.MonkeyPatch) -> None:
    programs.mkdir()
    (programs / "git").write_text(f"#!/bin/sh\n{does}\n")
    (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")


FALSE_GITS = {
    "fails": "exit 1",
    "fails loudly": 'printf "\\033[2J%0100000d" 0 >&2; exit 128',
    "says nothing": "exit 0",
    "prints garbage": "head -c 100000 /dev/urandom",
    "prints paths that are none": "printf '/nowhere\\n/nowhere\\n/nowhere\\n'",
    "prints a hundred megabytes": "head -c 100000000 /dev/zero",
    "prints for ever": "exec yes",
    "is killed": "kill -9 $$",
}


@pytest.mark.adversarial
@pytest.mark.parametrize("how", FALSE_GITS)
def test_whatever_is_called_git_cannot_crash_a_command(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    false_git(tmp_path / "bin", FALSE_GITS[how], monkeypatch)
    monkeypatch.chdir(tmp_path)
    for argv in LOOKING:
        reply = all_right_or_refused(invoke(*argv, "--root", str(root)))
        assert reply.status in (2, 3), (argv, reply.out)
    assert not (root / ".git/slipway-lite").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"repo", "bin"}


@pytest.mark.parametrize("how", ["exec sleep 600", "exec >&- 2>&- sleep 600"])
def test_a_git_that_hangs_is_given_up(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    false_git(tmp_path / "bin", how, monkeypatch)
    monkeypatch.setattr(protocol_git, "COMMAND_SECONDS", 0.3)
    monkeypatch.setattr(worktree, "GIT_SECONDS", 0.3)
    assert invoke("run", "Look", "--json", "--root", str(root)).code == "git_repository_unavailable"
    assert invoke("turn", "snapshot", "--json", "--root", str(root)).code == "git_failed"


# -- size

MEASURED = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(done.returncode)
"""
"""Runs a command, and prints how many kilobytes it took at most."""


def huge(root: Path, entries: int) -> None:
    """An index of ``entries`` files that all have the content of one, and none of which is there."""
    blob = git(root, "hash-object", "-w", "README.md").strip()
    lines = "".join(f"100644 {blob}\tdirectory-{number // 1000}/file-{number}\n" for number in range(entries))
    done = subprocess.run(["git", "update-index", "--index-info"], cwd=root, input=lines.encode(), env=environment())
    assert done.returncode == 0


@pytest.mark.adversarial
@pytest.mark.parametrize("entries", [scaled(20_000, 100_000)])
def test_a_huge_index_is_observed_in_seconds_and_bounded_memory(root: Path, entries: int) -> None:
    huge(root, entries)
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *COMMAND, "run", "Look", "--json", "--root", str(root)],
        env=environment(), capture_output=True,
    )  # fmt: skip
    taken = time.monotonic() - started
    answer, kilobytes = done.stdout.splitlines()
    assert done.returncode == 0 and json.loads(answer)["state"] == "active"
    assert taken < 30 and int(kilobytes) < 600_000, (taken, kilobytes)
