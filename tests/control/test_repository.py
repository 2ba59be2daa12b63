from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from threading import Event, Timer
from typing import Any

import pytest

from slipway_lite.control import repositories, repository
from slipway_lite.control.git import Git, GitFailed, environment
from slipway_lite.control.refusals import Refused
from tests.control.world import World

NAME = "github:octo/hub"


class Checkout:
    """A repository with ``main`` and a branch ``work`` that is one commit ahead of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit("base", "f", "one\n")
        self.git("checkout", "--quiet", "-b", "work")
        self.commit("work", "f", "one\ntwo\n")
        self.git("checkout", "--quiet", "main")

    def git(self, *arguments: str) -> str:
        identity = ("-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgSign=false")
        done = subprocess.run(
            ["git", *identity, *arguments],
            cwd=self.path,
            env=environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def commit(self, message: str, name: str, text: str) -> None:
        (self.path / name).write_text(text)
        self.git("add", name)
        self.git("commit", "--quiet", "-m", message)

    def head(self, name: str = "main") -> str:
        return self.git("rev-parse", name)

    def picture(self) -> dict[str, Any]:
        """Everything that a failure has to leave alone."""
        return {
            "refs": self.git("for-each-ref"),
            "worktrees": self.git("worktree", "list"),
            "status": self.git("status", "--porcelain"),
            "head": self.git("symbolic-ref", "HEAD"),
            "f": (self.path / "f").read_text(),
        }


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "hub")


def integrating(world: World, checkout: Checkout, ci: str | None = None, **members: Any) -> str:
    """A task that is integrating on the configured ``checkout``."""
    repositories.add(world.plane.store, NAME, str(checkout.path), ci)
    task_id = world.bring("accepted", repo_policy=members.pop("repo_policy", None) or POLICY)
    world.integrate(task_id, **({"base_sha": checkout.head(), "branch_ref": "work"} | members))
    return task_id


POLICY = {"update_strategy": "fast_forward_only", "main_push_actor": "bot", "require_ci_pass": True}


def test_passing_checks_fast_forward_the_target(world: World, checkout: Checkout) -> None:
    task_id = integrating(world, checkout, ci="grep two f")
    answer = world.plane.run_integration(task_id)
    assert answer is not None
    assert answer["state"] == "integrated"
    assert checkout.head() == checkout.head("work")
    assert (checkout.path / "f").read_text() == "one\ntwo\n"
    assert checkout.git("status", "--porcelain") == ""
    assert checkout.head(f"cp/integrate/{task_id}") == checkout.head()
    assert len(checkout.git("worktree", "list").splitlines()) == 1
    task = world.task(task_id)
    assert task["integration"]["main_updated_sha"] == checkout.head()
    checks = next(event for event in world.audits(task_id) if event["event_type"] == "run.checksCompleted")
    assert checks["payload"]["exit_code"] == 0
    assert "run.main_updated" in world.audit_types(task_id)
    assert world.publish(task_id, "apply")["state"] == "publishing"


@pytest.mark.parametrize("ci", ["exit 7", "kill -9 $$"])
def test_failing_checks_leave_the_repository_as_it_was(world: World, checkout: Checkout, ci: str) -> None:
    before = checkout.picture()
    task_id = integrating(world, checkout, ci=ci)
    answer = world.plane.run_integration(task_id)
    assert answer is not None and answer["state"] == "blocked"
    assert checkout.picture() == before
    checks = next(event for event in world.audits(task_id) if event["event_type"] == "run.checksCompleted")
    assert checks["payload"]["exit_code"] in (7, -9)
    assert world.plane.store.rows("select * from _locks") == []


def test_a_moved_base_is_drift(world: World, checkout: Checkout) -> None:
    task_id = integrating(world, checkout)
    checkout.commit("somebody", "g", "x\n")
    before = checkout.picture()
    answer = world.plane.run_integration(task_id)
    assert answer is not None
    assert (answer["state"], answer["needs_rebase"]) == ("blocked", True)
    assert world.task(task_id)["blocked_context"]["reason"] == "base_sha_changed"
    assert checkout.picture() == before


def test_a_conflicting_branch_is_blocked(world: World, checkout: Checkout) -> None:
    checkout.commit("other", "f", "three\n")
    before = checkout.picture()
    task_id = integrating(world, checkout)
    answer = world.plane.run_integration(task_id)
    assert answer is not None and answer["state"] == "blocked"
    assert world.task(task_id)["blocked_context"]["reason"] == "the branch conflicts with the base"
    assert checkout.picture() == before


def test_a_diverged_branch_is_merged_in_the_worktree(world: World, checkout: Checkout) -> None:
    checkout.commit("other", "g", "x\n")
    base = checkout.head()
    task_id = integrating(world, checkout, ci="test -f g && grep two f")
    assert (world.plane.run_integration(task_id) or {})["state"] == "integrated"
    checkout.git("merge-base", "--is-ancestor", base, "main")
    checkout.git("merge-base", "--is-ancestor", "work", "main")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"branch_ref": "nowhere"}, "the branch does not exist"),
        ({"branch_ref": "--upload-pack=x"}, "the branch does not exist"),
        (
            {"branch_ref": {"name": "work", "head_sha": "abcdef1"}},
            "the branch is not where it was when it was handed in",
        ),
        ({"branch_ref": None, "patch_ref": "artifact-1"}, "the patch is only named, its text is not here"),
        (
            {"branch_ref": None, "patch_ref": {"format": "unified_diff", "content": "nonsense"}},
            "the patch does not apply to the base",
        ),
    ],
)
def test_a_change_that_is_none_is_blocked(world: World, checkout: Checkout, change: Any, reason: str) -> None:
    before = checkout.picture()
    repositories.add(world.plane.store, NAME, str(checkout.path), None)
    task_id = world.bring("accepted")
    body = {"expected_state": "accepted", "base_sha": checkout.head(), "branch_ref": "work"} | change
    world.plane.integrate(task_id, {name: value for name, value in body.items() if value is not None})
    world.plane.run_integration(task_id)
    assert world.task(task_id)["blocked_context"]["reason"] == reason
    assert checkout.picture() == before


def test_a_patch_is_committed_onto_the_base(world: World, checkout: Checkout) -> None:
    patch = {"format": "unified_diff", "content": checkout.git("diff", "main", "work")}
    repositories.add(world.plane.store, NAME, str(checkout.path), None)
    task_id = world.bring("accepted")
    world.plane.integrate(task_id, {"expected_state": "accepted", "base_sha": checkout.head()[:12], "patch_ref": patch})
    assert (world.plane.run_integration(task_id) or {})["state"] == "integrated"
    assert (checkout.path / "f").read_text() == "one\ntwo\n"


def test_a_target_with_local_changes_in_the_way_is_not_moved(world: World, checkout: Checkout) -> None:
    (checkout.path / "f").write_text("mine\n")
    before = checkout.picture()
    task_id = integrating(world, checkout)
    world.plane.run_integration(task_id)
    assert world.task(task_id)["blocked_context"]["reason"] == "the target branch cannot be moved"
    assert checkout.picture() == before


def test_a_target_that_nobody_has_checked_out_is_moved(world: World, checkout: Checkout) -> None:
    checkout.git("checkout", "--quiet", "--detach")
    task_id = integrating(world, checkout)
    assert (world.plane.run_integration(task_id) or {})["state"] == "integrated"
    assert checkout.head() == checkout.head("work")


@pytest.mark.parametrize("policy", [{"update_strategy": "pull_request"}, {"main_push_actor": "human"}])
def test_a_target_that_is_not_ours_to_move_keeps_its_place(
    world: World, checkout: Checkout, policy: dict[str, str]
) -> None:
    before = checkout.head()
    task_id = integrating(world, checkout, repo_policy=POLICY | policy)
    assert (world.plane.run_integration(task_id) or {})["state"] == "integrated"
    assert checkout.head() == before
    assert checkout.head(f"cp/integrate/{task_id}") == checkout.head("work")
    assert "main_updated_sha" not in world.task(task_id)["integration"]


def test_a_task_cancelled_meanwhile_leaves_the_target_alone(world: World, checkout: Checkout) -> None:
    before = checkout.picture()
    task_id = integrating(world, checkout, ci="true")
    plan = repository.plan(world.plane.store, task_id)
    assert plan is not None
    world.plane.cancel(task_id)
    outcome = repository.integrate(plan, lambda: False)
    assert "main_updated_sha" not in outcome.body
    assert checkout.picture() == before
    assert world.plane.run_integration(task_id) is None


def test_checks_end_at_their_time_and_on_stop_with_everything_they_started(checkout: Checkout, tmp_path: Path) -> None:
    mark = tmp_path / "late"
    command = f"(sleep 2; touch {mark}) & sleep 30"
    assert repository.run_checks(command, str(checkout.path), 0.4, Event()) == repository.TIMED_OUT
    stop = Event()
    Timer(0.3, stop.set).start()
    assert repository.run_checks("sleep 30", str(checkout.path), 60, stop) == repository.TIMED_OUT
    Event().wait(2.2)
    assert not mark.exists()


def test_hooks_of_the_repository_do_not_run(world: World, checkout: Checkout) -> None:
    hooks = checkout.path / ".git" / "hooks"
    for name in ("post-checkout", "post-merge", "pre-merge-commit", "reference-transaction"):
        hook = hooks / name
        hook.write_text(f"#!/bin/sh\ntouch {checkout.path}/ran\n")
        hook.chmod(0o755)
    task_id = integrating(world, checkout)
    assert (world.plane.run_integration(task_id) or {})["state"] == "integrated"
    assert not (checkout.path / "ran").exists()


def test_our_secrets_do_not_reach_the_checks(
    world: World, checkout: Checkout, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SLIPWAY_TOKEN", "secret")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    task_id = integrating(world, checkout, ci='test -z "$SLIPWAY_TOKEN$GIT_DIR"')
    assert (world.plane.run_integration(task_id) or {})["state"] == "integrated"
    assert "GIT_DIR" not in environment()
    assert os.environ["GIT_DIR"] == "/nowhere"


def test_a_task_without_a_configured_repository_waits_to_be_told(world: World) -> None:
    task_id = world.bring("integrating")
    assert world.plane.run_integration(task_id) is None
    assert world.state(task_id) == "integrating"


def test_a_repository_that_is_gone_blocks(world: World, checkout: Checkout) -> None:
    task_id = integrating(world, checkout)
    plan = repository.plan(world.plane.store, task_id)
    assert plan is not None
    outcome = repository.integrate(replace(plan, path=str(checkout.path / "gone")), lambda: True)
    assert outcome.obstacle == "git cannot be run"
    outcome = repository.integrate(replace(plan, target="gone"), lambda: True)
    assert outcome.obstacle == "git rev-parse failed"


def test_repositories_are_added_listed_and_removed(world: World, checkout: Checkout) -> None:
    store = world.plane.store
    added = repositories.add(store, NAME, str(checkout.path), "make test")
    assert repositories.listed(store) == [added]
    assert repositories.find(store, "github:octo/other") is None
    assert repositories.remove(store, NAME) == added
    with pytest.raises(Refused) as refused:
        repositories.remove(store, NAME)
    assert refused.value.code == "NOT_FOUND"


@pytest.mark.parametrize("name", ["octo/hub", "gitlab:octo/hub", "github:octo", "github:a b/c"])
def test_a_repository_has_a_name_of_one_form_and_a_path_with_git(world: World, tmp_path: Path, name: str) -> None:
    with pytest.raises(Refused) as refused:
        repositories.add(world.plane.store, name, str(tmp_path), None)
    assert refused.value.code == "INVALID_REQUEST"
    with pytest.raises(Refused):
        repositories.add(world.plane.store, NAME, str(tmp_path), None)


def test_a_branch_that_moved_is_not_fast_forwarded(checkout: Checkout) -> None:
    base, head = checkout.head(), checkout.head("work")
    git = Git(str(checkout.path))
    git.fast_forward("main", head, base)
    with pytest.raises(GitFailed):
        git.fast_forward("main", head, base)
