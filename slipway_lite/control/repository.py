"""Integrate on a real repository: build the integration branch, run its checks, fast-forward the target.

A failure leaves branches and worktrees of the repository as they were. The task's lock on the target branch is held
all the while (it is taken by the integrate request and given up when the task leaves ``integrating``).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any

from slipway_lite import clock
from slipway_lite.control import instants, repositories
from slipway_lite.control.git import Git, GitFailed, environment
from slipway_lite.control.integration import same_sha
from slipway_lite.control.refs import repo_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slipway_lite.store.connection import Store

TIMED_OUT = 124
POLL_SECONDS = 0.2
MARGIN_SECONDS = 5
"""How long before its timeout an integration stops waiting for its checks."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to integrate, where, and until when."""

    task_id: str
    run_id: str
    path: str
    ci_command: str | None
    target: str
    base_sha: str
    integration_branch: str
    change: Mapping[str, Any]
    moves_target: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it went: the body of integrate/complete, and what the record keeps beside it."""

    body: Mapping[str, Any]
    exit_code: int | None = None
    duration_ms: int = 0
    obstacle: str | None = None


class NotIntegrable(Exception):
    """The change cannot be put onto the base; the message says why."""


def plan(store: Store, task_id: str) -> Plan | None:
    """The plan of a task that is integrating, or ``None`` when its repository is not configured."""
    rows = store.rows("select document, memory from tasks where task_id = ? and state = 'integrating'", (task_id,))
    if not rows:
        return None
    task, memory = json.loads(rows[0][0]), json.loads(rows[0][1])
    configured = repositories.find(store, repo_key(task["repo_ref"]))
    if configured is None or "integration" not in task:
        return None
    policy = task["repo_policy"]
    now = instants.from_micros(clock.timestamp())
    left = instants.milliseconds(task["integration_run"]["timeout_at"]) - instants.milliseconds(now)
    return Plan(
        task_id=task_id,
        run_id=task["integration_run"]["run_id"],
        path=configured["path"],
        ci_command=configured.get("ci_command"),
        target=task["repo_ref"]["default_branch"],
        base_sha=task["integration"]["original_base_sha"],
        integration_branch=task["integration"]["integration_branch"],
        change=memory.get("change", {}),
        moves_target=policy["update_strategy"] != "pull_request" and policy["main_push_actor"] != "human",
        seconds=max(1.0, left / 1000 - MARGIN_SECONDS),
    )


def integrate(plan: Plan, is_wanted: Callable[[], bool], stop: Event | None = None) -> Outcome:
    """Run ``plan`` to its end and say how it went; never raises for what the repository does.

    ``is_wanted`` is asked right before the target branch moves: a task that was cancelled meanwhile leaves it alone.
    Setting ``stop`` ends the checks early, as failed.
    """
    git = Git(plan.path)
    try:
        base = git.commit_of(f"refs/heads/{plan.target}")
        if not same_sha(base, plan.base_sha):
            return Outcome({"checks_passed": False, "current_base_sha": base})
        return _on_base(git, plan, base, is_wanted, stop or Event())
    except NotIntegrable as error:
        body = {"checks_passed": False, "has_conflicts": True, "current_base_sha": plan.base_sha}
        return Outcome(body, obstacle=str(error))
    except (GitFailed, OSError) as error:
        body = {"checks_passed": False, "current_base_sha": plan.base_sha}
        return Outcome(body, obstacle=str(error) if isinstance(error, GitFailed) else "git cannot be run")


def _on_base(git: Git, plan: Plan, base: str, is_wanted: Callable[[], bool], stop: Event) -> Outcome:
    reference = f"refs/heads/{plan.integration_branch}"
    started = clock.monotonic()
    exit_code: int | None = None
    with git.worktree(base) as tree:
        head = _apply_change(git, tree, plan)
        git.run("update-ref", reference, head)
        try:
            if plan.ci_command is not None:
                exit_code = run_checks(plan.ci_command, tree.path, plan.seconds, stop)
        except BaseException:
            git.run("update-ref", "-d", reference)
            raise
    duration = round((clock.monotonic() - started) * 1000)
    body = {"checks_passed": exit_code in (None, 0), "integration_head_sha": head, "current_base_sha": base}
    moved = False
    try:
        if body["checks_passed"] and plan.moves_target and is_wanted():
            git.fast_forward(plan.target, head, base)
            moved = True
    except GitFailed:
        now = git.commit_of(f"refs/heads/{plan.target}")
        if now == base:
            return Outcome({**body, "checks_passed": False}, exit_code, duration, "the target branch cannot be moved")
        return Outcome({**body, "current_base_sha": now}, exit_code, duration)
    finally:
        if not moved and (plan.moves_target or not body["checks_passed"]):
            git.run("update-ref", "-d", reference)
    if moved:
        body |= {"main_updated_sha": head, "is_fast_forward": True}
    return Outcome(body, exit_code, duration)


def _apply_change(git: Git, tree: Git, plan: Plan) -> str:
    """Put the change onto the base in ``tree``; the commit it makes. Raises :class:`NotIntegrable`."""
    message = f"Integrate {plan.task_id}"
    branch = plan.change.get("branch_ref")
    if branch is not None:
        return _merge(git, tree, branch, message)
    patch = plan.change.get("patch_ref")
    if not isinstance(patch, dict) or patch["format"] == "url":
        raise NotIntegrable("the patch is only named, its text is not here")
    try:
        tree.run("apply", "--index", "-", stdin=patch["content"] + "\n")
        tree.run("commit", "--quiet", "--message", message)
    except GitFailed:
        raise NotIntegrable("the patch does not apply to the base") from None
    return tree.commit_of("HEAD")


def _merge(git: Git, tree: Git, branch: str | Mapping[str, Any], message: str) -> str:
    name = branch if isinstance(branch, str) else branch["name"]
    try:
        commit = git.commit_of(f"refs/heads/{name.removeprefix('refs/heads/')}")
    except GitFailed:
        raise NotIntegrable("the branch does not exist") from None
    if not isinstance(branch, str) and "head_sha" in branch and not same_sha(commit, branch["head_sha"]):
        raise NotIntegrable("the branch is not where it was when it was handed in")
    try:
        tree.run("merge", "--quiet", "-m", message, commit)
    except GitFailed:
        raise NotIntegrable("the branch conflicts with the base") from None
    return tree.commit_of("HEAD")


def run_checks(command: str, directory: str, seconds: float, stop: Event) -> int:
    """The exit code of ``command`` in the shell; 124 when it was ended: after ``seconds``, or because of ``stop``.

    Its output goes nowhere: raw output is nothing for the record.
    """
    process = subprocess.Popen(
        command,
        shell=True,
        cwd=directory,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = clock.monotonic() + seconds
    try:
        while not stop.is_set() and clock.monotonic() < deadline:
            try:
                return process.wait(POLL_SECONDS)
            except subprocess.TimeoutExpired:
                continue
        return TIMED_OUT
    finally:
        _end_group(process)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End whatever the checks left running, and reap them."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        process.wait()
