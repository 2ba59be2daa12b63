"""Commands as the agent and as the sensor."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from slipway_lite.errors import SlipwayError
from slipway_lite.turns import agent as module
from slipway_lite.turns.agent import ProcessAgent, run_sensor
from tests.turns.conftest import Tree
from tests.turns.documents import envelope


def python(code: str) -> tuple[str, ...]:
    return sys.executable, "-c", code


ECHO = python("import sys; sys.stdout.write(sys.stdin.read() + '!')")


def test_the_message_goes_in_and_the_reply_comes_out(tree: Tree) -> None:
    where = python("import os; print(os.getcwd(), end='')")
    assert ProcessAgent(ECHO)("日本 \ud800") == "日本 ?!"
    assert ProcessAgent(where, root=str(tree.root))("") == str(tree.root)


def test_a_second_message_goes_to_the_resume_command_or_to_the_command_again() -> None:
    resumed = ProcessAgent(ECHO, python("print('resumed', end='')"))
    assert [resumed("a"), resumed("b")] == ["a!", "resumed"]
    again = ProcessAgent(ECHO)
    assert [again("a"), again("b")] == ["a!", "b!"]


def test_the_turn_ends_with_the_command_and_not_with_its_children_in_the_background() -> None:
    started = time.monotonic()
    assert ProcessAgent(("sh", "-c", "sleep 6 & echo $!"))("x").strip().isdigit()
    assert ProcessAgent(("sh", "-c", "(while sleep 0.01; do echo more || exit; done) & sleep 0.3; echo hi"))("x")
    assert time.monotonic() - started < 5


def test_a_long_message_to_a_command_that_does_not_read_and_a_long_reply_get_through() -> None:
    assert ProcessAgent(python("print('x' * 1_000_000, end='')"))("y" * 1_000_000) == "x" * 1_000_000
    assert ProcessAgent(ECHO)("y" * 1_000_000) == "y" * 1_000_000 + "!"


def test_a_command_that_reads_its_message_late_gets_all_of_it() -> None:
    late = python("import sys, time; time.sleep(0.5); print(len(sys.stdin.read()), end='')")
    assert ProcessAgent(late, seconds=20)("y" * 1_000_000) == "1000000"


def test_a_command_that_closes_its_output_and_works_on_is_waited_for(tmp_path: Path) -> None:
    work = python("import os, time, sys; print('hi', flush=True); os.close(1); time.sleep(0.5); open('done', 'w')")
    assert ProcessAgent(work, root=str(tmp_path))("") == "hi\n"
    assert (tmp_path / "done").exists()


def test_a_reply_that_is_no_utf8_is_still_a_reply() -> None:
    assert ProcessAgent(python("import sys; sys.stdout.buffer.write(b'a\\xff')"))("") == "a\ufffd"


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("/absent/agent",), "agent_unavailable"),
        (python("raise SystemExit(7)"), "agent_failed"),
        (python("import time; time.sleep(60)"), "agent_timed_out"),
    ],
)
def test_an_agent_that_fails_has_a_code(command: tuple[str, ...], code: str) -> None:
    with pytest.raises(SlipwayError) as caught:
        ProcessAgent(command, seconds=2)("x")
    assert caught.value.code == code


def test_a_sensor_prints_an_envelope(tree: Tree) -> None:
    printer = python(f"print({json.dumps(envelope())!r}); raise SystemExit(3)")
    assert run_sensor(printer, str(tree.root)).envelope == envelope()


@pytest.mark.parametrize(
    "command",
    [
        ("/absent/sensor",),
        python("print('all quiet')"),
        python(f"print({json.dumps(envelope())!r}); raise SystemExit(128)"),
        python(f"import os; print({json.dumps(envelope())!r}, flush=True); os.kill(os.getpid(), 9)"),
        python("import time; time.sleep(60)"),
    ],
    ids=["absent", "prose", "status 128", "signal", "too slow"],
)
def test_a_sensor_that_fails_is_degraded(command: tuple[str, ...], tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SENSOR_SECONDS", 2)
    reading = run_sensor(command, str(tree.root))
    assert not reading.ok and reading.detail


def test_a_sensor_ends_with_its_command_too(tree: Tree) -> None:
    started = time.monotonic()
    quoted = f"sleep 6 & echo '{json.dumps(envelope())}'"
    assert run_sensor(("sh", "-c", quoted), str(tree.root)).envelope == envelope()
    assert time.monotonic() - started < 5
