"""An argv shown as one command gives the argv back (machine-protocol §5.6)."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.protocol import shells

# No argument can hold NUL; a display command is UTF-8.
WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
TRICKY = st.text("ab \t\r\n\"'\\$`;&|<>()[]{}*?!#~=%^-/é\u2028\x01", max_size=12)
SPECIAL = " \t\r\n\"'\\$`;&|<>()[]{}*?!#~"


@pytest.mark.parametrize(
    ("argv", "command"),
    [
        (["slipway", "status", "--root", "/home/dev"], "slipway status --root /home/dev"),
        (["slipway", ""], "slipway ''"),
        (["a b", "c'd", "é=1,2:3@%^+_-./"], "'a b' 'c'\"'\"'d' é=1,2:3@%^+_-./"),
        (["''"], "''\"'\"''\"'\"''"),
    ],
)
def test_posix_words_stay_bare_or_stand_in_single_quotes(argv: list[str], command: str) -> None:
    assert shells.posix(argv) == command


@pytest.mark.parametrize("character", SPECIAL)
def test_every_special_character_is_quoted(character: str) -> None:
    assert shells.posix([f"a{character}b"]) == "'a" + character.replace("'", "'\"'\"'") + "b'"


@pytest.mark.skipif(shutil.which("sh") is None, reason="no POSIX shell")
@settings(deadline=None, max_examples=60)
@given(st.lists(st.lists(WORDS | TRICKY, min_size=1, max_size=5), min_size=1, max_size=20))
def test_a_posix_shell_gives_the_argv_back(argvs: list[list[str]]) -> None:
    script = "".join(f"printf '%s\\0' {shells.posix(argv)}\nprintf '\\0\\0'\n" for argv in argvs)
    printed = subprocess.run(["sh"], input=script.encode(), capture_output=True, check=True)
    assert printed.stderr == b""
    expected = b"".join(b"".join(word.encode() + b"\0" for word in argv) + b"\0\0" for argv in argvs)
    assert printed.stdout == expected


def command_line_to_argv(line: str) -> list[str]:
    """How CommandLineToArgvW splits the arguments after the program name."""
    argv: list[str] = []
    position = 0
    while True:
        while position < len(line) and line[position] in " \t":
            position += 1
        if position == len(line):
            return argv
        word, quoted = "", False
        while position < len(line) and (quoted or line[position] not in " \t"):
            slashes = 0
            while position < len(line) and line[position] == "\\":
                slashes, position = slashes + 1, position + 1
            if position < len(line) and line[position] == '"':
                word += "\\" * (slashes // 2)
                if slashes % 2:
                    word += '"'
                elif quoted and line[position + 1 : position + 2] == '"':
                    word += '"'
                    position += 1
                else:
                    quoted = not quoted
                position += 1
            else:
                word += "\\" * slashes
                if position < len(line) and (quoted or line[position] not in " \t"):
                    word += line[position]
                    position += 1
        argv.append(word)


@settings(deadline=None, max_examples=500)
@given(st.lists(WORDS | TRICKY | st.text('\\" ', max_size=8), max_size=5))
def test_windows_arguments_split_back_into_the_argv(argv: list[str]) -> None:
    assert command_line_to_argv(" ".join(map(shells.windows_argument, argv))) == argv


def script_of(command: str, root: str = "C:\\Windows") -> str:
    launcher, _, encoded = command.partition(" -NoLogo -NoProfile -NonInteractive -EncodedCommand ")
    assert launcher == shells.windows_argument(f"{root}\\System32\\WindowsPowerShell\\v1.0\\powershell.exe")
    assert re.fullmatch(r"[A-Za-z0-9+/]+=*", encoded)
    return base64.b64decode(encoded, validate=True).decode("utf-16-le")


@settings(deadline=None)
@given(st.lists(WORDS | TRICKY, min_size=1, max_size=6))
def test_the_decoded_powershell_script_holds_exactly_the_argv(argv: list[str]) -> None:
    script = script_of(shells.windows(argv))
    name, arguments = (base64.b64decode(text).decode() for text in re.findall(r"FromBase64String\('([^']*)'\)", script))
    assert [name, *command_line_to_argv(arguments)] == argv
    assert script.isascii()  # nothing of the argv stands in the script unencoded


def test_the_script_waits_and_leaves_with_the_code_of_the_child() -> None:
    script = script_of(shells.windows(["slipway", "status"]))
    assert "$s.UseShellExecute=$false" in script
    assert script.endswith("$p.WaitForExit();exit $p.ExitCode")


def test_another_system_root_is_quoted_where_it_must_be() -> None:
    assert script_of(shells.windows(["slipway"], "D:\\My Windows"), "D:\\My Windows")
    assert shells.windows(["slipway"], "D:\\My Windows").startswith('"D:\\My Windows\\System32')
