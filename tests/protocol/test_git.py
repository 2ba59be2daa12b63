"""How git is run: with which environment, for how long, for how much output (machine-protocol §7.1)."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from slipway_lite.protocol import git
from slipway_lite.protocol.git import Git, GitDeadline, GitError, answer, wait
from tests.protocol.conftest import Repository

# §7.1 once more, and two families by prefix.
REMOVED = [
    "GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_INDEX_VERSION",
    "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_NAMESPACE",
    "GIT_REPLACE_REF_BASE", "GIT_NO_REPLACE_OBJECTS", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE",
    "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_KEY_17", "GIT_CONFIG_VALUE_0", "GIT_CONFIG_VALUE_17",
    "GIT_PREFIX",
]  # fmt: skip


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for git: a shell script that a test writes."""
    directory = tmp_path / "bin"
    directory.mkdir()
    script = directory / "git"
    script.touch()
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")
    return script


def write(script: Path, body: str) -> None:
    script.write_text(f"#!/bin/sh\n{body}\n")


@pytest.fixture(autouse=True)
def _no_process_is_left(spawned: list[int]) -> None:
    """Every test here ends without a process of its own."""


@pytest.mark.parametrize("name", REMOVED)
def test_a_variable_that_points_git_elsewhere_is_removed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "/elsewhere")
    monkeypatch.setenv(name.lower(), "/elsewhere")
    environment = git.environment()
    assert name not in environment
    assert name.lower() not in environment


def test_the_list_of_removed_variables_is_the_published_one() -> None:
    assert {name for name in REMOVED if not name[-1].isdigit()} | {"GIT_OPTIONAL_LOCKS"} == git.REMOVED_VARIABLES


def test_everything_else_is_inherited_and_optional_locks_are_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_OPTIONAL_LOCKS", "1")
    monkeypatch.setenv("git_optional_locks", "1")
    for name in ("GIT_TRACE_X", "GIT_EXEC_PATH_X", "GIT_CONFIGURED", "GITHUB_TOKEN_X", "GIT_CONFIG_KEYS"):
        monkeypatch.setenv(name, "kept")
        assert git.environment()[name] == "kept"
    environment = git.environment()
    assert environment["GIT_OPTIONAL_LOCKS"] == "0"
    assert "git_optional_locks" not in environment
    assert environment["PATH"] == os.environ["PATH"]


def test_git_is_called_without_fsmonitor_at_the_root(program: Path, tmp_path: Path) -> None:
    write(program, 'printf "%s\\n" "$@"; printf "locks=%s" "$GIT_OPTIONAL_LOCKS"; cat; echo oops >&2')
    process = Git("/some root", "status", "-z")
    wait([process])
    settings = b"-c\ncore.fsmonitor=false\n-c\nstatus.showStash=false\n"
    assert answer(process) == settings + b"-C\n/some root\nstatus\n-z\nlocks=0"  # and stdin is empty
    assert process.stderr == b"oops\n"


def test_the_output_is_read_whole_on_both_streams_side_by_side(program: Path) -> None:
    write(program, "head -c 3000000 /dev/zero; head -c 300000 /dev/zero >&2; head -c 7 /dev/zero")
    processes = [Git("/", "a"), Git("/", "b")]
    wait(processes)
    assert [(len(process.stdout), len(process.stderr)) for process in processes] == [(3_000_007, 300_000)] * 2


def test_a_failure_is_an_error_that_names_the_command_and_the_status(program: Path) -> None:
    write(program, "echo secret; exit 7")
    process = Git("/", "ls-files", "--stage")
    wait([process])
    with pytest.raises(GitError, match=r"^git ls-files failed with status 7$"):
        answer(process)


def test_a_killed_git_is_a_failure(program: Path) -> None:
    write(program, "kill -9 $$")
    process = Git("/", "status")
    wait([process])
    assert process.status == -9
    with pytest.raises(GitError):
        answer(process)


def test_the_deadline_ends_every_process(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(program, '[ "$7" = slow ] && exec sleep 60; echo done')
    monkeypatch.setattr(git, "COMMAND_SECONDS", 0.3)
    processes = [Git("/", "quick"), Git("/", "slow")]
    started = time.monotonic()
    with pytest.raises(GitDeadline):
        wait(processes)
    assert time.monotonic() - started < 10
    assert all(process.status is not None for process in processes)


def test_a_process_that_closes_its_streams_and_goes_on_is_given_up(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "COMMAND_SECONDS", 0.3)
    write(program, "exec >&- 2>&- sleep 60")
    with pytest.raises(GitDeadline):
        wait([Git("/", "status")])


def test_the_deadline_counts_from_the_start_of_the_process(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(program, "exec sleep 60")
    monkeypatch.setattr(git, "COMMAND_SECONDS", 0.2)
    process = Git("/", "status")
    time.sleep(0.25)
    started = time.monotonic()
    with pytest.raises(GitDeadline):
        wait([process])
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("stream", ["", " >&2"])
def test_more_output_than_the_limit_is_an_error(program: Path, monkeypatch: pytest.MonkeyPatch, stream: str) -> None:
    assert git.STREAM_LIMIT == 16_777_216
    monkeypatch.setattr(git, "STREAM_LIMIT", 1_000_000)
    write(program, f"head -c 1000000 /dev/zero{stream}")
    process = Git("/", "status")
    wait([process])
    assert process.status == 0
    write(program, f"head -c 1000001 /dev/zero{stream}; exec sleep 60")
    started = time.monotonic()
    with pytest.raises(GitError, match="more than 1000000 bytes"):
        wait([Git("/", "status")])
    assert time.monotonic() - started < 10


def test_a_git_that_cannot_be_started_is_an_error_and_leaks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(5):
        with pytest.raises(GitError, match="could not be started"):
            Git("/", "status")
    assert (len(os.listdir("/proc/self/fd")) if before else 0) == before


def test_an_abandoned_process_is_killed_and_reaped(program: Path) -> None:
    write(program, "exec sleep 60")
    process = Git("/", "status")
    process.abandon()
    assert process.status == -9
    process.abandon()


def test_a_host_that_ignores_sigpipe_does_not_make_git_ignore_it(program: Path) -> None:
    write(program, "yes 2>/dev/null | head -1; trap '' USR1; echo ok")
    process = Git("/", "status")
    wait([process])
    assert answer(process) == b"y\nok\n"


def test_configured_helpers_are_never_run(repository: Repository, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    repository.git("config", "core.fsmonitor", str(trap))
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "query-watchman", "post-checkout"):
        (hooks / name).symlink_to(trap)
    repository.git("config", "core.hooksPath", str(hooks))
    os.utime(repository.root / "README.md", (1, 1))
    index = (repository.root / ".git/index").read_bytes()
    process = Git(str(repository.root), "status", "--porcelain=v2", "-z")
    wait([process])
    assert answer(process) == b""
    assert not (tmp_path / "sprung").exists()
    # With optional locks off, not even a stale index is written.
    assert (repository.root / ".git/index").read_bytes() == index
