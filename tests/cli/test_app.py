"""Help and completion come from the same table as the parser, and everything else is a refusal with a code."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from slipway_lite import __version__
from slipway_lite.cli.app import NOUNS
from slipway_lite.cli.grammar import COMMANDS, PROTOCOL_OPERATIONS
from tests.machine_host import COMMAND, database, environment, invoke, process


def shown(*argv: str) -> str:
    reply = invoke(*argv)
    assert (reply.status, reply.err) == (0, b""), reply
    return reply.out.decode()


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_of_a_machine_command_tells_every_flag_of_the_table(words: str, flag: str) -> None:
    text = shown(*words.split(), flag)
    assert text.startswith(f"Usage: slipway {words} ")
    told = " ".join(text.split())
    for name, _, _, help in COMMANDS[words].flags.values():
        assert f"--{name} " in told and " ".join(help.split()[:3]) in told
    assert set(re.findall(r"^ +(?:-\w, )?--([a-z0-9-]+)", text, re.MULTILINE)) == {*COMMANDS[words].flags, "help"}
    assert COMMANDS[words].help.split()[0] in told


def test_help_is_of_the_command_and_not_of_a_word_on_its_line() -> None:
    assert shown("protocol", "material", "--run", "run", "--help").startswith("Usage: slipway protocol material ")
    assert shown("stop", "status", "--help").startswith("Usage: slipway stop ")
    assert shown("protocol", "--root", "submit", "skip", "--help").startswith("Usage: slipway protocol skip ")


@pytest.mark.parametrize("argv", [[], ["--help"], ["-h"]])
def test_help_of_the_program_lists_every_command(argv: list[str]) -> None:
    text = shown(*argv)
    for name in [*(words for words in COMMANDS if " " not in words), "protocol", *NOUNS]:
        assert re.search(rf"^  {name} ", text, re.MULTILINE), name


def test_help_of_protocol_lists_every_operation() -> None:
    text = shown("protocol", "--help")
    for name in PROTOCOL_OPERATIONS:
        assert re.search(rf"^  {name} ", text, re.MULTILINE), name


@pytest.mark.parametrize("name", NOUNS)
def test_help_of_our_own_nouns_is_plain(name: str) -> None:
    text = shown(name, "--help")
    assert text.startswith(f"Usage: slipway {name} ") and text.isascii()
    assert "completion" not in text


SINGLE = ("demo", "explore", "search", "serve")
"""Nouns that are one command each, and so have no list of commands."""


@pytest.mark.parametrize("argv", [[], ["protocol"], *([name] for name in NOUNS if name not in SINGLE)])
def test_no_summary_in_a_list_of_commands_is_cut(argv: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    listed = shown(*argv, "--help").partition("Commands:\n")[2].splitlines()
    assert listed and not [line for line in listed if line.endswith("...")]


@pytest.mark.parametrize(
    ("argv", "wanted"),
    [(["turn", "parse"], " [OPTIONS] [FILE]\n"), (["task", "dispatch"], "Refuse unless the task is at this version.")],
)
def test_help_has_no_doubled_brackets_and_no_default_that_means_none(argv: list[str], wanted: str) -> None:
    text = shown(*argv, "--help")
    assert wanted in text and "[[" not in text and "-1" not in text


@pytest.mark.parametrize("flag", ["--version", "-v"])
def test_version(flag: str) -> None:
    assert shown(flag) == f"slipway-lite {__version__}\n"


@pytest.mark.parametrize(
    "argv",
    [["nope"], ["--nope"], ["-x"], ["help"], ["completion"], ["completion", "bash"], ["--install-completion"],
     ["--show-completion"], ["--root", "/r", "status"], ["db"], ["schema"], ["schema", "nope"], ["schema", "show"]],
)  # fmt: skip
def test_anything_else_is_invalid_usage(argv: list[str]) -> None:
    reply = invoke(*argv)
    assert (reply.status, reply.code) == (2, "invalid_usage")


@pytest.mark.parametrize(
    "argv",
    [["task", "get", "\udcff"], ["task", "events", "\udcff"], ["task", "dispatch", "\udcff"],
     ["task", "approval", "\udcff"], ["job", "get", "\udcff"], ["repo", "remove", "\udcff"],
     ["evidence", "ack", "T", "\udcff"], ["task", "get", "--", "\udcff"], ["task", "create", "--title", "a\udcff"],
     ["turn", "drive", "--skill", "plan-fix", "--run", "\udcff", "--", "cat"],
     ["turn", "advance", "--run=\udcff", "--", "cat"], ["db", "path", "--root", "/\udcff"]],
)  # fmt: skip
def test_words_that_are_not_utf8_are_invalid_usage(argv: list[str]) -> None:
    reply = invoke(*argv)
    assert (reply.status, reply.code) == (2, "invalid_usage")
    assert reply.document["message"].startswith("Every word of the command line has to be UTF-8.")


@pytest.mark.parametrize(
    ("argv", "told"),
    [(["--nope"], "No such option: --nope. `"), (["job", "get"], "Missing argument 'JOB'. `")],
)
def test_a_message_of_the_parser_is_a_sentence_of_its_own(argv: list[str], told: str) -> None:
    assert invoke(*argv).document["message"].startswith(told)


def test_a_system_that_refuses_a_step_is_not_an_output_that_was_lost(bare_root: Path, tmp_path: Path) -> None:
    """A relative path, in a directory that is gone."""
    script = 'cd "$0" && rmdir "$0" && exec "$@"'
    (tmp_path / "gone").mkdir()
    argv = ["repo", "add", "github:octo/hub", "--path", "hub", "--root", str(bare_root), "--db", str(tmp_path / "db")]
    done = subprocess.run(
        ["sh", "-c", script, str(tmp_path / "gone"), *COMMAND, *argv], env=environment(), capture_output=True
    )
    assert (done.returncode, done.stdout, json.loads(done.stderr)["code"]) == (3, b"", "runtime_error")


@pytest.mark.parametrize("argv", [["run", "--goal-stdin"], ["db", "path", "--root"]])
def test_an_interrupt_leaves_with_130_and_no_traceback(root: Path, argv: list[str]) -> None:
    """While the command waits: for its input, or for a git that does not answer."""
    slow = root.parent / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 30\n")
    slow.chmod(0o755)
    env = environment(PATH=f"{slow.parent}:{os.environ['PATH']}")
    argv = [*argv, str(root)] if argv[-1] == "--root" else [*argv, "--root", str(root)]
    with subprocess.Popen([*COMMAND, *argv], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, start_new_session=True) as process:  # fmt: skip
        time.sleep(1.0)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, b"", b"")
    assert not database(root).parent.exists()


# -- completion


def completed(shell: str, line: str) -> list[str]:
    words = line.split(" ")
    env = environment(_SLIPWAY_COMPLETE=f"complete_{shell}", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1))
    env |= {"_TYPER_COMPLETE_ARGS": line}
    done = subprocess.run([*COMMAND], env=env, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode().split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shells_get_a_script(shell: str) -> None:
    done = subprocess.run([*COMMAND], env=environment(_SLIPWAY_COMPLETE=f"source_{shell}"), capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"_SLIPWAY_COMPLETE" in done.stdout and b"slipway" in done.stdout


@pytest.mark.parametrize(
    ("line", "wanted"),
    [("slipway st", "status"), ("slipway protocol su", "submit"), ("slipway run --goal-", "--goal-file"),
     ("slipway db ver", "verify"), ("slipway protocol answer --conf", "--confirm-destructive")],
)  # fmt: skip
def test_commands_operations_and_flags_complete(line: str, wanted: str) -> None:
    assert wanted in completed("bash", line)


@pytest.mark.parametrize("argv", [["--version"], ["stop"]])
def test_an_empty_completion_variable_is_none(argv: list[str]) -> None:
    assert process(*argv, env={"_SLIPWAY_COMPLETE": ""}) == process(*argv)


def test_completion_runs_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    env = {"_SLIPWAY_COMPLETE": "complete_bash", "COMP_WORDS": "slipway ", "COMP_CWORD": "1"}
    reply = process("run", "goal", env=env | {"_TYPER_COMPLETE_ARGS": "slipway "})
    assert reply.status == 0 and b"contract_version" not in reply.out + reply.err
    assert "_SLIPWAY_COMPLETE" not in os.environ
