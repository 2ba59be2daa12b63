"""Refusals of the runtime class (machine-protocol §1.6.2) that a command line reaches: exit 3, code, details, next."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.protocol.workspace import discover, unavailable_identity
from slipway_lite.store import connection
from slipway_lite.store.connection import open_store
from tests.machine_host import (
    COMMAND,
    Document,
    Host,
    Reply,
    database,
    decision,
    environment,
    git,
    invoke,
    outcome,
    process,
    raw,
    repository,
    whole_run,
)  # fmt: skip
from tests.store.tampering import tampered

DIGEST = "sha256:" + "a" * 64
ZERO = "00000000-0000-4000-8000-000000000000"


def refusal(reply: Reply, code: str) -> Document:
    document = reply.document
    assert (document["code"], reply.status) == (code, 3)
    return document


def derived(document: Document, host: Host) -> None:
    """Details name the Run and its state, and ``next`` is that of its status."""
    status = host.status()
    assert document["details"] == {"run_id": host.run_id, "state": status["state"]}
    assert document["next"] == status["next"]


def inspects(document: Document, identifier: str, *argv: str) -> None:
    (variant,) = document["next"]["variants"]
    assert document["next"]["operation"] == "command"
    assert variant == {"id": identifier, "base_argv": ["slipway", *argv], "inputs": []}


def submit(host: Host, document: Document, action_id: str | None = None) -> Reply:
    argv = host.argv("submit", "--outcome-stdin")
    if action_id is not None:
        argv[argv.index("--action") + 1] = action_id
    return invoke(*argv, stdin=raw(document))


def destructive(host: Host) -> str:
    """Bring a Run to a destructive pause; the digest of its scope."""
    from slipway_lite.protocol.rules import scope_sha256

    host.submit(suggested_actions=[{"kind": "implement", "brief": "Clean up."}])
    request: dict[str, Any] = {
        "request_id": "44444444-4444-4444-8444-444444444444",
        "targets": [{"kind": "path", "value": "/srv/data"}],
        "impact": "Drops the data.",
    }
    request["scope_sha256"] = scope_sha256(request)
    host.submit("needs_input", pause={"reason": "destructive_confirmation_required", "question": "Sure?",
                                      "destructive_request": request})  # fmt: skip
    return str(request["scope_sha256"])


# -- submit


def test_contract_version_mismatch(root: Path) -> None:
    host = Host(root)
    for wrong in (b"{}", b'{"contract_version":1}'):
        document = refusal(invoke(*host.argv("submit", "--outcome-stdin"), stdin=wrong), "contract_version_mismatch")
        inspects(document, "refresh-adapters", "install", "--refresh", "--root", str(root))


def test_invalid_outcome_of_meaning(root: Path) -> None:
    host = Host(root)
    document = refusal(submit(host, outcome(host.action, "partial", pause=decision())), "invalid_outcome")
    assert "details" not in document and document["next"] == host.status()["next"]


def test_run_not_active(root: Path) -> None:
    host = Host(root)
    ordered = outcome(host.action)
    host.ask()
    stale = host.action
    host.stop()
    for _ in range(2):
        reply = invoke("protocol", "submit", "--run", host.run_id, "--action", ZERO, "--root", str(root),
                       "--outcome-stdin", stdin=raw(ordered))  # fmt: skip
        derived(refusal(reply, "run_not_active"), host)
    assert stale["action_id"] != ZERO


def test_stale_action(root: Path) -> None:
    host = Host(root)
    document = refusal(submit(host, outcome(host.action), ZERO), "stale_action")
    derived(document, host)


def test_outcome_conflict(root: Path) -> None:
    host = Host(root)
    first = host.action
    host.submit()
    document = refusal(submit(host, outcome(first, summary="Another."), first["action_id"]), "outcome_conflict")
    derived(document, host)


def test_invalid_decision_supersession(root: Path) -> None:
    host = Host(root)
    pause = decision() | {"supersedes_answer_action_id": ZERO}
    document = refusal(submit(host, outcome(host.action, "needs_input", pause=pause)), "invalid_decision_supersession")
    derived(document, host)


# -- answer


def answer(host: Host, *argv: str, stdin: bytes | None = None) -> Reply:
    return invoke(*host.argv("answer", *argv, *(["--text-stdin"] if stdin is not None else [])), stdin=stdin or b"")


def test_answer_not_expected(root: Path) -> None:
    host = Host(root)
    derived(refusal(answer(host, "--text", "a"), "answer_not_expected"), host)


def test_answer_required(root: Path) -> None:
    host = Host(root)
    host.ask()
    for argv in ((), ("--text", ""), ("--text", " \n")):
        derived(refusal(answer(host, *argv), "answer_required"), host)


def test_answer_conflict(root: Path) -> None:
    host = Host(root)
    host.ask()
    asked = host.argv("answer")
    host.answer("yes")
    derived(refusal(invoke(*asked, "--text", "no"), "answer_conflict"), host)
    assert invoke(*asked, "--text", "yes").document == host.state


def test_answer_not_allowed(root: Path) -> None:
    host = Host(root)
    host.submit("needs_input", pause=decision() | {"reason": "environment_unavailable"})
    document = refusal(answer(host, "--text", "a"), "answer_not_allowed")
    assert [variant["id"] for variant in document["next"]["variants"]] == ["resume-ad-hoc"]


def test_destructive_refusals(root: Path) -> None:
    host = Host(root)
    host.ask()
    confirm = ("--confirm-destructive", "--scope-sha256")
    derived(refusal(answer(host, *confirm, DIGEST), "destructive_confirmation_not_expected"), host)
    host.answer("go on")
    scope = destructive(host)
    derived(refusal(answer(host, *confirm, "short"), "destructive_scope_required"), host)
    derived(refusal(answer(host, *confirm, DIGEST), "destructive_scope_mismatch"), host)
    assert answer(host, *confirm, scope).document["action"]["destructive_authorization"]["scope_sha256"] == scope


def test_a_confirmation_without_budget_is_on_record_and_refused(root: Path) -> None:
    host = Host(root, "goal", "--budget", "2")
    scope = destructive(host)
    for _ in range(2):
        document = refusal(answer(host, "--confirm-destructive", "--scope-sha256", scope), "budget_exhausted")
        assert document["next"]["variants"][0]["id"] == "resume-ad-hoc"
    assert host.status()["pause_reason"] == "budget_exhausted"


# -- skip, stop, resume


def test_a_run_that_is_over(root: Path) -> None:
    host = whole_run(root)
    options = ["--root", str(root)]
    skip = ["protocol", "skip", "--run", host.run_id, "--action", ZERO]
    for argv, code in (
        (skip, "run_not_skippable"),
        (["stop", host.run_id], "run_already_ended"),
        (["protocol", "resume", host.run_id], "run_already_ended"),
    ):
        document = refusal(invoke(*argv, *options), code)
        derived(document, host)
        assert document["next"]["operation"] == "none"


def test_skip_of_another_action(root: Path) -> None:
    host = Host(root)
    argv = host.argv("skip")
    argv[argv.index("--action") + 1] = ZERO
    derived(refusal(invoke(*argv), "stale_action"), host)


def test_run_not_resumable(root: Path) -> None:
    host = Host(root)
    derived(refusal(invoke("protocol", "resume", host.run_id, "--root", str(root)), "run_not_resumable"), host)


def test_source_mode_not_allowed(root: Path) -> None:
    host = Host(root)
    host.stop()
    document = refusal(
        invoke("protocol", "resume", host.run_id, "--use-pinned-source", "--root", str(root)), "source_mode_not_allowed"
    )
    derived(document, host)


# -- material


def test_material_refusals(root: Path) -> None:
    host = Host(root)
    for section, code in (("Not A Key", "material_section_invalid"), ("goal", "material_unavailable")):
        document = refusal(invoke(*host.argv("material", "--section", section)), code)
        inspects(document, "inspect-run", "status", host.run_id, "--root", str(root))
    argv = host.argv("material", "--section", "goal")
    argv[argv.index("--action") + 1] = ZERO
    refusal(invoke(*argv), "material_action_not_found")
    old = host.argv("material", "--section", "goal")
    host.submit()
    document = refusal(invoke(*old), "material_action_stale")
    assert document["next"] == host.status()["next"] and "details" not in document


# -- Runs that are not there, not ours, or not sound


def test_an_absent_run(root: Path) -> None:
    for argv in (["status", ZERO], ["status", ZERO, "--section", "goal"],
                 ["protocol", "material", "--run", ZERO, "--action", ZERO, "--section", "goal"]):  # fmt: skip
        inspects(
            refusal(invoke(*argv, "--root", str(root)), "run_not_found"), "list-runs", "status", "--root", str(root)
        )
    assert not database(root).parent.exists()
    for argv in (["stop", ZERO], ["protocol", "resume", ZERO], ["protocol", "skip", "--run", ZERO, "--action", ZERO]):
        document = refusal(invoke(*argv, "--root", str(root)), "runtime_error")
        inspects(document, "inspect-run", "status", ZERO, "--root", str(root))


def test_a_run_of_a_sibling_worktree(root: Path, tmp_path: Path) -> None:
    host = Host(root)
    sibling = tmp_path / "sibling"
    git(root, "worktree", "add", "--quiet", "--detach", str(sibling))
    for argv in (["status", host.run_id], ["stop", host.run_id]):
        document = refusal(invoke(*argv, "--root", str(sibling)), "workspace_identity_mismatch")
        inspects(document, "inspect-run-in-its-workspace", "status", "--root", str(root))
        assert document["next"]["workspace_identity"] == discover(str(root)).id
        assert document["details"] == {
            "expected_workspace_identity": discover(str(root)).id,
            "observed_workspace_identity": discover(str(sibling)).id,
        }


@pytest.mark.parametrize("damage", ["data = '{}'", "data = cast(x'7b7dff' as text)", "type = 'no_such_kind'"])
@pytest.mark.parametrize("sequence", [1, 2])
def test_a_journal_that_cannot_be_trusted(root: Path, damage: str, sequence: int) -> None:
    other = Host(root, "Sound")
    host = Host(root)
    host.submit()
    stream = f"stream = 'run:{host.run_id}' and sequence = {sequence}"
    tampered(database(root), f"update journal_events set {damage} where {stream}")
    here = ["--root", str(root)]
    for argv in (["status", host.run_id], ["status", host.run_id, "--section", "goal"]):
        inspects(refusal(invoke(*argv, *here), "run_journal_invalid"), "list-runs", "status", *here)
    refusal(invoke(*host.argv("material", "--section", "goal")), "runtime_error")
    document = refusal(submit(host, outcome(host.action)), ("runtime_error", "mutation_not_committed")[sequence - 1])
    if sequence == 2:
        assert document["details"]["phase"] == "replay" and document["details"]["committed"] is False
        assert document["next"]["operation"] == "none"
    listed = invoke("status", "--json", *here).document
    assert [run["id"] for run in listed["runs"]] == [other.run_id]
    assert [(run["id"], run["code"]) for run in listed["unavailable_runs"]] == [(host.run_id, "run_journal_invalid")]
    assert invoke("stop", *here).document["code"] == "run_id_required"
    other.submit()


# -- the store and git


def test_run_busy(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(root)
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.1)
    with open_store(str(database(root))) as store, store.immediate():
        document = refusal(submit(host, outcome(host.action)), "run_busy")
        inspects(document, "inspect-run", "status", host.run_id, "--root", str(root))
        assert document["details"] == {
            "phase": "lock_open", "committed": False, "projection_stale": False, "namespace_detached": False,
            "ambiguous": False,
        }  # fmt: skip
        assert host.status()["state"] == "active"
    host.submit()


@pytest.mark.parametrize("kind", ["garbage", "directory link", "file link", "foreign", "newer"])
def test_runstore_unavailable(root: Path, tmp_path: Path, kind: str) -> None:
    path = database(root)
    whole_run(repository(tmp_path / "other"))
    elsewhere = database(tmp_path / "other")
    if kind == "directory link":
        path.parent.symlink_to(elsewhere.parent)
    else:
        path.parent.mkdir()
        if kind == "file link":
            path.symlink_to(elsewhere)
        elif kind == "garbage":
            path.write_text("Not a database. " * 100)
        else:
            shutil.copy(elsewhere, path)
            offset, value = (68, b"ELSE") if kind == "foreign" else (60, b"\0\0\0\x63")
            path.write_bytes(path.read_bytes()[:offset] + value + path.read_bytes()[offset + 4 :])
    before = path.read_bytes()
    for argv in (["run", "goal"], ["stop", ZERO], ["status", ZERO], ["status"]):
        document = refusal(invoke(*argv, "--root", str(root)), "runstore_unavailable")
        inspects(document, "run-doctor", "doctor", "--root", str(root))
    assert path.read_bytes() == before


def test_git_observation_failed(root: Path) -> None:
    (root / ".git" / "index").write_bytes(b"garbage")
    document = refusal(invoke("run", "goal", "--budget", "3", "--root", str(root)), "git_observation_failed")
    (variant,) = document["next"]["variants"]
    assert (document["next"]["operation"], variant["id"]) == ("start", "retry-run")
    assert variant["base_argv"] == ["slipway", "run", "--budget", "3", "--json", "--root", str(root)]


def test_a_git_that_does_not_answer(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from slipway_lite.protocol import git as machine_git

    slow = root.parent / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 30\n")
    slow.chmod(0o755)
    monkeypatch.setattr(machine_git, "COMMAND_SECONDS", 0.2)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    document = refusal(invoke("status", "--root", str(root)), "git_repository_unavailable")
    inspects(document, "retry-doctor", "doctor", "--root", str(root), "--json")
    assert document["next"]["workspace_identity"] == unavailable_identity(str(root))


def test_an_action_that_got_too_large(root: Path) -> None:
    document = refusal(invoke("run", "--goal-stdin", "--root", str(root), stdin=b"a" * 262_000), "action_too_large")
    assert document["next"]["variants"][0]["id"] == "retry-run"
    assert invoke("status", "--json", "--root", str(root)).document["runs"] == []


def test_an_answer_that_no_action_can_carry(root: Path) -> None:
    host = Host(root)
    host.ask()
    document = refusal(answer(host, stdin=b"a\x01b"), "invalid_action")
    assert document["next"] == host.status()["next"]


@pytest.mark.parametrize("kilobytes", [0, 4, 16, 40, 80, 120, 200, 300])
def test_a_disk_that_is_full_leaves_all_or_nothing(root: Path, kilobytes: int) -> None:
    """The file may not grow past a limit: the reply says what is known, and the next look agrees with it."""
    host = Host(root)
    document = outcome(host.action, observations=["x" * 50_000])

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes << 10, kilobytes << 10))

    done = subprocess.run(
        [*COMMAND, *host.argv("submit", "--outcome-stdin")],
        input=raw(document), env=environment(), preexec_fn=limit, capture_output=True,
    )  # fmt: skip
    reply = Reply(done.returncode, done.stdout, done.stderr)
    actions = host.status()["actions"]
    if reply.status == 0:
        assert len(actions) == 2
    else:
        code = reply.document["code"]
        assert code in ("mutation_not_committed", "mutation_outcome_ambiguous", "runstore_unavailable")
        assert len(actions) == 1 or code == "mutation_outcome_ambiguous"
    assert len(host.submit(observations=["x" * 50_000])["action"]["action_id"]) == 36
    assert len(host.status()["actions"]) == 2
    assert process("db", "verify", cwd=root).status == 0
