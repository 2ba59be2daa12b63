"""The published grammar (machine-protocol §1.1), rule by rule; no command runs here."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.cli.grammar import COMMANDS, PROTOCOL_OPERATIONS, Parsed, is_machine, parse
from slipway_lite.errors import UsageError

STARTS = {words: [*words.split(), *["RUN"] * bool(command.positional)] for words, command in COMMANDS.items()}
FLAGS = [(words, *flag[:3]) for words, command in COMMANDS.items() for flag in command.flags.values()]
GIVEN: dict[str, tuple[str, Any]] = {
    "string": ("value", "value"),
    "strings": ("a,b", ["a", "b"]),
    "int": ("7", 7),
    "bool": ("true", True),
}


def refused(*argv: str) -> str:
    with pytest.raises(UsageError) as error:
        parse(list(argv))
    assert error.value.exit_code == 2
    return error.value.code


# -- the table


def test_the_table_is_the_published_one() -> None:
    table = {
        words: (
            command.positional and command.positional[1:3],
            {name: flag[1:3] for name, flag in command.flags.items()},
        )
        for words, command in COMMANDS.items()
    }
    text, yes, root = ("string", ""), ("bool", False), {"root": ("string", "")}
    named = {"run": text, "action": text}
    tool: dict[str, tuple[str, list[str]]] = {"tool": ("strings", [])}
    assert table == {
        "run": ((0, 1), root | {"goal-file": text, "goal-stdin": yes, "source-file": text, "budget": ("int", 8),
                                "no-review": yes, "json": yes}),
        "status": ((0, 1), root | {"json": yes, "section": text}),
        "stop": ((0, 1), root | {"json": yes}),
        "list": (None, root | {"json": yes}),
        "doctor": (None, root | {"json": yes}),
        "install": (None, root | tool | {"surface": text, "refresh": yes, "json": yes}),
        "uninstall": (None, root | tool | {"json": yes}),
        "protocol submit": (None, root | named | {"outcome-file": text, "outcome-stdin": yes}),
        "protocol answer": (None, root | named | {"text": text, "text-file": text, "text-stdin": yes,
                                                  "confirm-destructive": yes, "scope-sha256": text}),
        "protocol skip": (None, root | named),
        "protocol resume": ((1, 1), root | {"budget": ("int", 0), "source-file": text, "use-pinned-source": yes,
                                            "source-choice": text, "candidate": text}),
        "protocol material": (None, root | named | {"section": text}),
    }  # fmt: skip


def test_protocol_operations_have_no_json_flag() -> None:
    for operation in PROTOCOL_OPERATIONS:
        assert refused(*STARTS[f"protocol {operation}"], "--json") == "invalid_usage"


@pytest.mark.parametrize(("words", "name", "kind", "default"), FLAGS)
def test_every_flag_has_its_default_and_is_not_given(words: str, name: str, kind: str, default: Any) -> None:
    parsed = parse(STARTS[words])
    assert parsed[name] == default and name not in parsed.given


@pytest.mark.parametrize(("words", "name", "kind", "default"), FLAGS)
def test_every_flag_takes_a_value_after_equals_and_after_a_space(
    words: str, name: str, kind: str, default: Any
) -> None:
    text, value = GIVEN[kind]
    forms = [[f"--{name}={text}"]] + ([[f"--{name}"]] if kind == "bool" else [[f"--{name}", text]])
    for form in forms:
        parsed = parse([*STARTS[words], *form])
        assert parsed[name] == value and parsed.given == {name}


@pytest.mark.parametrize(("words", "name", "kind", "default"), [flag for flag in FLAGS if flag[2] != "bool"])
def test_a_flag_at_the_end_needs_its_value(words: str, name: str, kind: str, default: Any) -> None:
    assert refused(*STARTS[words], f"--{name}") == "invalid_usage"


# -- how words are read


def test_flags_and_positionals_interleave() -> None:
    parsed = parse(["run", "--budget", "3", "goal", "--json", "--root=/r"])
    assert (parsed.positionals, parsed["budget"], parsed["json"], parsed["root"]) == (["goal"], 3, True, "/r")


def test_two_dashes_end_the_flags() -> None:
    parsed = parse(["run", "--json", "--", "--budget"])
    assert parsed.positionals == ["--budget"] and parsed["budget"] == 8
    assert refused("run", "--", "--json", "goal") == "invalid_usage"


def test_two_dashes_can_be_the_value_of_a_flag() -> None:
    assert parse(["status", "--root", "--"])["root"] == "--"


def test_a_value_may_look_like_a_flag() -> None:
    assert parse(["run", "--goal-file", "--json"]).given == {"goal-file"}


def test_one_dash_is_a_positional() -> None:
    assert parse(["run", "-"]).positionals == ["-"]


def test_an_empty_positional_counts() -> None:
    assert parse(["run", ""]).positionals == [""]


@pytest.mark.parametrize("argv", [("--goal-file", ""), ("--goal-file=",)])
def test_an_empty_value_is_given(argv: tuple[str, ...]) -> None:
    parsed = parse(["run", *argv])
    assert parsed["goal-file"] == "" and parsed.given == {"goal-file"}


def test_only_the_first_equals_divides() -> None:
    assert parse(["status", "--root=a=b"])["root"] == "a=b"


def test_the_last_of_a_repeated_flag_counts() -> None:
    parsed = parse(["run", "--budget=1", "--budget", "2", "--json", "--json=false"])
    assert (parsed["budget"], parsed["json"]) == (2, False)


def test_repeated_and_comma_split_lists_add_up() -> None:
    assert parse(["install", "--tool", "a,b", "--tool=c"])["tool"] == ["a", "b", "c"]
    assert parse(["install"])["tool"] == []
    assert parse(["install", "--tool", "d"])["tool"] == ["d"]


def test_a_boolean_does_not_take_the_next_word() -> None:
    assert parse(["run", "--json", "false"]).positionals == ["false"]


@pytest.mark.parametrize("text", ["1", "t", "T", "TRUE", "true", "True"])
def test_true(text: str) -> None:
    assert parse(["run", f"--json={text}"])["json"] is True


@pytest.mark.parametrize("text", ["0", "f", "F", "FALSE", "false", "False"])
def test_false(text: str) -> None:
    parsed = parse(["run", f"--json={text}"])
    assert parsed["json"] is False and parsed.given == {"json"}


@pytest.mark.parametrize("text", ["", "yes", "no", "tRUE", "2", "on"])
def test_not_a_boolean(text: str) -> None:
    assert refused("run", f"--json={text}") == "invalid_usage"


INTEGERS = {
    "8": 8, "+8": 8, "-8": -8, "0": 0, "-0": 0, "0x10": 16, "0X10": 16, "0o7": 7, "0O7": 7, "0b11": 3, "0B11": 3,
    "010": 8, "1_0": 10, "0x_1": 1, "0_1": 1, "00": 0, "-0x10": -16, "+010": 8, "1_000_000": 1_000_000,
    "9223372036854775807": 2**63 - 1, "-9223372036854775807": -(2**63 - 1),
}  # fmt: skip


@pytest.mark.parametrize("text", INTEGERS)
def test_integers(text: str) -> None:
    assert parse(["run", f"--budget={text}"])["budget"] == INTEGERS[text]


@pytest.mark.parametrize(
    "text",
    ["", "x", "1.0", "1e3", " 1", "1 ", "_1", "1_", "1__0", "0x", "0xg", "08", "0b2", "0o8", "--1", "+-1", "٣", "½",
     "0x_", "9223372036854775808", "-9223372036854775809", "1" * 5000],
)  # fmt: skip
def test_not_an_integer(text: str) -> None:
    assert refused("run", f"--budget={text}") == "invalid_usage"


def test_the_least_integer() -> None:
    assert parse(["run", "--budget=-9223372036854775808"])["budget"] == -(2**63)


@pytest.mark.parametrize(
    "word", ["--nope", "--nope=1", "-x", "-j", "-vh", "--", "---json", "--=x", "--Json", "--no-json"]
)
def test_unknown_flags(word: str) -> None:
    argv = ["list", word, "x"] if word == "--" else ["list", word]
    assert refused(*argv) == "invalid_usage"


def test_flags_cannot_be_cut_short() -> None:
    assert refused("run", "--goal", "x") == "invalid_usage"


def test_flags_of_another_command_are_unknown() -> None:
    assert refused("status", "--budget", "3") == "invalid_usage"


# -- how many words


@pytest.mark.parametrize("words", COMMANDS)
def test_positional_counts(words: str) -> None:
    _, least, most, _ = COMMANDS[words].positional or ("", 0, 0, "")
    for count in range(4):
        argv = [*words.split(), *["word"] * count]
        if least <= count <= most:
            assert len(parse(argv).positionals) == count
        else:
            assert refused(*argv) == "invalid_usage"


@pytest.mark.parametrize("argv", [["protocol"], ["protocol", "--root", "/r"], ["protocol", "--", "submit"]])
def test_protocol_needs_an_operation(argv: list[str]) -> None:
    assert refused(*argv) == "protocol_operation_required"


@pytest.mark.parametrize("argv", [["protocol", "nope"], ["protocol", "run"], ["protocol", ""], ["protocol", "--json"],
                                  ["protocol", "--run", "r", "skip"]])  # fmt: skip
def test_protocol_needs_a_known_operation(argv: list[str]) -> None:
    assert refused(*argv) == "invalid_usage"


@pytest.mark.parametrize(
    "argv",
    [["--root", "/r", "skip"], ["--root=/r", "skip"], ["skip", "--root", "/r"], ["--root", "/x", "skip", "--root=/r"]],
)
def test_root_stands_before_or_after_the_operation(argv: list[str]) -> None:
    assert parse(["protocol", *argv])["root"] == "/r"


def test_an_operation_may_be_the_value_of_root() -> None:
    parsed = parse(["protocol", "--root", "submit", "skip"])
    assert (parsed.command.words, parsed["root"]) == ("protocol skip", "submit")


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_asks_for_nothing_else(words: str, flag: str) -> None:
    assert parse([*words.split(), flag]).help
    assert parse([*words.split(), "a", flag, "b"]).help
    assert not parse([*STARTS[words]]).help


@pytest.mark.parametrize("argv", [["run"], ["status", "x"], ["protocol"], ["protocol", "nope"], ["doctor", "--json"]])
def test_machine_commands(argv: list[str]) -> None:
    assert is_machine(argv)


@pytest.mark.parametrize("argv", [[], ["--help"], ["db"], ["help"], ["completion"], ["-v"], ["protocol", "-h"],
                                  ["protocol", "--help"], ["--root", "/r", "status"]])  # fmt: skip
def test_other_commands(argv: list[str]) -> None:
    assert not is_machine(argv)


WORD = st.sampled_from(["--json", "--root", "--budget", "--", "-", "-h", "x", "", "--goal-stdin=f", "=", "--run=", "3"])


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(COMMANDS)), st.lists(WORD | st.text(max_size=8), max_size=6))
def test_any_line_is_parsed_or_refused(words: str, more: list[str]) -> None:
    try:
        parsed = parse([*words.split(), *more])
    except UsageError as error:
        assert error.code == "invalid_usage"
    else:
        assert isinstance(parsed, Parsed) and parsed.given <= parsed.values.keys()
