"""Output that is not taken, and streams that are not there (machine-protocol §1.2, §1.7): the exact exit, each time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from slipway_lite.cli import streams
from tests.machine_host import COMMAND, Host, Reply, database, environment, outcome, raw
from tests.store.files import plain

LOST = {
    "phase": "response_output", "committed": True, "projection_stale": False, "namespace_detached": False,
    "ambiguous": False,
}  # fmt: skip


KINDS = ("full", "broken", "closed")
"""A device that takes nothing, a pipe that nobody reads, and no stream at all."""


def _opened(kind: str) -> int:
    if kind == "full":
        return os.open("/dev/full", os.O_WRONLY)
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def command(*argv: str, input: str = "", **kinds: str) -> Reply:
    """Run a command in a process of its own, some of whose streams are of the kind that is named."""
    names = ("stdin", "stdout", "stderr")
    closed = [number for number, name in enumerate(names) if kinds.get(name) == "closed"]
    opened = {name: _opened(kind) for name, kind in kinds.items() if kind != "closed"}

    def close() -> None:
        for number in closed:
            os.close(number)

    with subprocess.Popen(
        [*COMMAND, *argv],
        stdin=opened.get("stdin", subprocess.PIPE),
        stdout=opened.get("stdout", subprocess.PIPE),
        stderr=opened.get("stderr", subprocess.PIPE),
        env=environment(),
        preexec_fn=close,
    ) as process:
        for descriptor in opened.values():
            os.close(descriptor)
        out, err = process.communicate(input.encode() or None, timeout=60)
    return Reply(process.returncode, out or b"", err or b"")


def lost(reply: Reply, run_id: str | None = None) -> str:
    """The reply of a mutation that is on record although its answer was lost; the id of its Run."""
    assert (reply.status, reply.out) == (3, b"")
    document = json.loads(reply.err)
    assert reply.err.count(b"\n") == 1
    assert (document["code"], document["details"]) == ("mutation_committed_output_failed", LOST)
    (variant,) = document["next"]["variants"]
    assert variant["id"] == "inspect-run" and variant["base_argv"][:2] == ["slipway", "status"]
    found: str = variant["base_argv"][2]
    assert run_id in (None, found)
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("json_flag", [["--json"], []], ids=["json", "text"])
def test_a_committed_step_whose_answer_is_lost(root: Path, kind: str, json_flag: list[str]) -> None:
    where = ["--root", str(root)]
    run_id = lost(command("run", "goal", *json_flag, *where, stdout=kind))
    host = Host.__new__(Host)
    host.root, host.run_id = root, run_id
    status = host.status()
    assert (status["state"], len(status["actions"])) == ("active", 1)
    host.state = {"action": status["current_action"]}
    argv = host.argv("submit", "--outcome-stdin")
    document = raw(outcome(host.action)).decode()
    lost(command(*argv, input=document, stdout=kind), run_id)
    assert len(host.status()["actions"]) == 2
    lost(command(*argv, input=document, stdout=kind), run_id)  # a replay is on record as well
    lost(command("stop", run_id, *json_flag, *where, stdout=kind), run_id)
    assert host.status()["state"] == "stopped"


@pytest.mark.parametrize("kind", KINDS)
def test_a_read_whose_answer_is_lost(root: Path, kind: str) -> None:
    host = Host(root)
    for argv in (["status"], ["status", "--json"], ["status", host.run_id, "--json"], ["list"], ["doctor", "--json"]):
        reply = command(*argv, "--root", str(root), stdout=kind)
        assert (reply.status, reply.out, json.loads(reply.err)["code"]) == (3, b"", "runtime_error")


@pytest.mark.parametrize("kind", KINDS)
def test_our_own_commands_whose_answer_is_lost(root: Path, kind: str) -> None:
    Host(root)
    for argv in (
        ["db", "path"],
        ["db", "info", "--json"],
        ["db", "head"],
        ["db", "verify"],
        ["db", "rebuild", "--json"],
    ):
        reply = command(*argv, "--root", str(root), stdout=kind)
        assert (reply.status, reply.out, json.loads(reply.err)["code"]) == (3, b"", "output_failed")


@pytest.mark.parametrize("kind", KINDS)
def test_a_write_of_ours_whose_answer_is_lost_is_on_record(root: Path, kind: str) -> None:
    words = ["--title", "T", "--objective", "O", "--typed-ref", "agent-taskstate:task:local:1", "--repo", "octo/hub"]
    reply = command("task", "create", *words, "--root", str(root), stdout=kind)
    refusal = json.loads(reply.err)
    assert (reply.status, reply.out, refusal["code"]) == (3, b"", "output_failed")
    assert refusal["message"].endswith("What the command has written is on record.")
    assert len(json.loads(command("task", "list", "--json", "--root", str(root)).out)["items"]) == 1


@pytest.mark.parametrize("argv", [["--help"], ["run", "--help"], ["db", "--help"], ["--version"]])
def test_help_that_is_lost(argv: list[str]) -> None:
    reply = command(*argv, stdout="full")
    assert (reply.status, reply.out, json.loads(reply.err)["code"]) == (3, b"", "output_failed")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("argv", [["status", "--nope"], ["run"], ["db", "--nope"], ["nope"]])
def test_a_refusal_that_cannot_be_told_is_exit_1(kind: str, argv: list[str]) -> None:
    reply = command(*argv, stderr=kind)
    assert (reply.status, reply.out) == (1, b"")


def test_nothing_at_all_to_write_to_is_exit_1_and_still_on_record(root: Path) -> None:
    reply = command("run", "goal", "--json", "--root", str(root), stdout="full", stderr="full")
    assert reply.status == 1
    assert command("status", "--root", str(root)).out.count(b"active") == 1


@pytest.mark.parametrize("closed", [("stdin",), ("stdout",), ("stderr",), ("stdin", "stdout", "stderr")])
def test_the_database_is_never_a_standard_stream(root: Path, closed: tuple[str, ...]) -> None:
    """A file that opens as descriptor 1 or 2 would take the reply or the error right into its pages."""
    for argv in (["run", "goal", "--json"], ["status", "--nope"], ["stop"]):
        command(*argv, "--root", str(root), **dict.fromkeys(closed, "closed"))
    connection = plain(database(root))
    assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
    connection.close()
    assert command("db", "verify", "--root", str(root)).status == 0
    assert b"contract_version" not in database(root).read_bytes()[:100]
    assert len(json.loads(command("status", "--json", "--root", str(root)).out)["runs"]) == 1


@pytest.mark.parametrize(("argv", "code"), [
    (["run", "--goal-stdin"], "goal_required"),
    (["protocol", "submit", "--run", "r", "--action", "a", "--outcome-stdin"], "invalid_outcome"),
])  # fmt: skip
def test_a_closed_standard_input_reads_as_empty(root: Path, argv: list[str], code: str) -> None:
    reply = command(*argv, "--root", str(root), stdin="closed")
    assert (reply.status, reply.code) == (2, code)


def test_a_command_that_nobody_listens_to_is_not_killed(root: Path) -> None:
    reply = command("run", "goal", "--root", str(root), stdout="broken")
    assert reply.status != -signal.SIGPIPE and reply.status == 3


def test_a_long_answer_is_written_whole(root: Path) -> None:
    """A pipe takes 64 KiB at a time."""
    goal = "é" * 100_000
    reply = command("run", "--goal-stdin", "--json", "--root", str(root), input=goal)
    assert reply.document["action"]["goal"] == goal


def test_write_raises_what_the_stream_says() -> None:
    descriptor = os.open("/dev/full", os.O_WRONLY)
    with pytest.raises(OSError, match="No space"):
        streams.write(descriptor, "text")
    os.close(descriptor)


def test_write_takes_text_that_is_no_text() -> None:
    reader, writer = os.pipe()
    streams.write(writer, "a\udcff\u2028")
    os.close(writer)
    assert os.read(reader, 100) == "a\\udcff\u2028".encode()
    os.close(reader)


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["run", "--goal-stdin"], "goal_unavailable"),
        (["protocol", "answer", "--run", "r", "--action", "a", "--text-stdin"], "answer_unavailable"),
        (["protocol", "submit", "--run", "r", "--action", "a", "--outcome-stdin"], "outcome_unavailable"),
    ],
)
def test_a_standard_input_that_cannot_be_read_is_unavailable(
    root: Path, tmp_path: Path, argv: list[str], code: str
) -> None:
    with (tmp_path / "write-only").open("wb") as stdin:
        done = subprocess.run(
            [*COMMAND, *argv, "--root", str(root)], stdin=stdin, env=environment(), capture_output=True, check=False
        )
    assert done.returncode == 2, done.stderr
    assert json.loads(done.stderr)["code"] == code


def test_a_standard_input_that_does_not_block_is_read_to_its_end(root: Path) -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    argv = [*COMMAND, "run", "--goal-stdin", "--json", "--root", str(root)]
    with subprocess.Popen(argv, stdin=reader, stdout=subprocess.PIPE, env=environment()) as command:
        os.close(reader)
        time.sleep(0.3)
        os.write(writer, b"late")
        time.sleep(0.1)
        os.write(writer, b" goal")
        os.close(writer)
        out, _ = command.communicate(timeout=30)
    assert json.loads(out)["action"]["goal"] == "late goal"
