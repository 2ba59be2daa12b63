"""Many processes at one Run: one wins, and everybody is told the truth."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.machine_host import COMMAND, Host, Reply, environment, invoke, outcome, raw

PROCESSES = 8


def at_once(commands: list[tuple[list[str], bytes]]) -> list[Reply]:
    """Every command in a process of its own, all of them started before the first gets its input."""
    running = [
        subprocess.Popen(
            [*COMMAND, *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
        )
        for argv, _ in commands
    ]
    for process, (_, stdin) in zip(running, commands, strict=True):
        assert process.stdin is not None
        process.stdin.write(stdin)
    for process in running:
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    replies = []
    for process in running:
        out, err = process.communicate(timeout=60)
        replies.append(Reply(process.returncode, out, err))
    return replies


def sound(root: Path) -> None:
    reply = invoke("db", "verify", "--root", str(root))
    assert reply.status == 0, reply.err


def test_different_outcomes_for_one_action_have_one_winner(root: Path) -> None:
    host = Host(root)
    argv = host.argv("submit", "--outcome-stdin")
    documents = [outcome(host.action, summary=f"Outcome {number}.") for number in range(PROCESSES)]
    replies = at_once([(argv, raw(document)) for document in documents])
    won = [number for number, reply in enumerate(replies) if reply.status == 0]
    assert len(won) == 1
    for number, reply in enumerate(replies):
        if number not in won:
            assert reply.code in ("outcome_conflict", "stale_action")
            assert reply.document["details"] == {"run_id": host.run_id, "state": "active"}
    actions = host.status()["actions"]
    assert len(actions) == 2
    assert actions[0]["outcome"] == documents[won[0]]
    assert replies[won[0]].document["action"] == actions[1]["action"]
    sound(root)


def test_identical_outcomes_all_succeed_and_issue_one_action(root: Path) -> None:
    host = Host(root)
    argv, document = host.argv("submit", "--outcome-stdin"), outcome(host.action)
    replies = at_once([(argv, raw(document))] * PROCESSES)
    assert {reply.status for reply in replies} == {0}
    assert len({reply.out for reply in replies}) == 1
    assert len(host.status()["actions"]) == 2
    sound(root)


def test_different_answers_to_one_question_have_one_winner(root: Path) -> None:
    host = Host(root)
    host.ask()
    argv = host.argv("answer", "--text-stdin")
    replies = at_once([(argv, f"Answer {number}.".encode()) for number in range(PROCESSES)])
    assert [reply.status for reply in replies].count(0) == 1
    assert {reply.code for reply in replies if reply.status} == {"answer_conflict"}
    assert len(host.status()["answers"]) == 1
    sound(root)


def test_skips_of_one_action_have_one_winner(root: Path) -> None:
    host = Host(root)
    replies = at_once([(host.argv("skip"), b"")] * 4)
    assert [reply.status for reply in replies].count(0) == 1
    assert {reply.code for reply in replies if reply.status} == {"stale_action"}
    sound(root)


def test_first_runs_of_a_repository_all_start(root: Path) -> None:
    """Four processes make the directory, the file and the schema at once."""
    argv = ["run", "--goal-stdin", "--json", "--root", str(root)]
    replies = at_once([(argv, f"Goal {number}".encode()) for number in range(4)])
    assert {reply.status for reply in replies} == {0}, [reply.err for reply in replies]
    listed = invoke("status", "--json", "--root", str(root)).document["runs"]
    assert {run["id"] for run in listed} == {reply.document["run_id"] for reply in replies}
    sound(root)


def test_readers_see_whole_steps_while_others_write(root: Path) -> None:
    hosts = [Host(root, f"Run {number}", "--no-review") for number in range(3)]
    writes = [(host.argv("submit", "--outcome-stdin"), raw(outcome(host.action))) for host in hosts]
    reads = [(["status", host.run_id, "--json", "--root", str(root)], b"") for host in hosts]
    replies = at_once([command for pair in zip(writes, reads, strict=True) for command in pair])
    for reply in replies:
        assert reply.status == 0, reply.err
    for status in (reply.document for reply in replies[1::2]):
        assert len(status["actions"]) == 1 + ("outcome" in status["actions"][0])
    sound(root)
