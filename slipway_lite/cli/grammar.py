"""The published grammar of the machine commands (machine-protocol §1.1): one table, and its exact parser.

The Typer commands that give help and completion are made from the same table, so there are no
two truths.
"""

from __future__ import annotations

from slipway_lite.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ROOT = ("root", "string", "", "Worktree to work in (default: the current directory).")
JSON = ("json", "bool", False, "Print one JSON document.")
RUN = ("run", "string", "", "Run id.")
ACTION = ("action", "string", "", "Action id.")


class Command:
    """One machine command: its words, what it is for, its positionals and its flags.

    A flag is ``(name, kind, default, help)`` with kind ``string``, ``strings`` (repeatable, comma-split), ``int`` or
    ``bool``; ``positional`` is ``(name, least, most, help)`` or ``None`` for none.
    """

    __slots__ = ("flags", "help", "positional", "words")

    def __init__(
        self,
        words: str,
        help: str,
        positional: tuple[str, int, int, str] | None,
        *flags: tuple[str, str, Any, str],
    ) -> None:
        self.words = words
        self.help = help
        self.positional = positional
        self.flags = {flag[0]: flag for flag in flags}


COMMANDS = {
    command.words: command
    for command in (
        Command(
            "run",
            "Start a Run for one goal in a Git worktree.",
            ("goal", 0, 1, "The goal, for people; hosts use --goal-file."),
            ("goal-file", "string", "", "File with the exact goal."),
            ("goal-stdin", "bool", False, "Read the goal from standard input."),
            ("source-file", "string", "", "File with a GitHub Change source envelope."),
            ("budget", "int", 8, "How many Actions may be issued, 1 to 1000."),
            ("no-review", "bool", False, "Never interpose a Review."),
            JSON,
            ROOT,
        ),
        Command(
            "status",
            "Show the Runs of this repository, or one of them.",
            ("run-id", 0, 1, "Show only this Run."),
            ("section", "string", "", "Print one section of the Run's pinned source."),
            JSON,
            ROOT,
        ),
        Command(
            "stop",
            "Stop a Run.",
            ("run-id", 0, 1, "The Run; may be left out when it is the only one."),
            JSON,
            ROOT,
        ),
        Command("list", "List the AI coding hosts and what is installed in them.", None, JSON, ROOT),
        Command("doctor", "Check the repository, the hosts and the GitHub CLI. Writes nothing.", None, JSON, ROOT),
        Command(
            "install",
            "Install the slipway capabilities into AI coding hosts.",
            None,
            ("tool", "strings", [], "Host to install into, or all; repeatable and comma-split."),
            ("surface", "string", "", "Kiro surface: ide or cli."),
            ("refresh", "bool", False, "Bring installed files to this version."),
            JSON,
            ROOT,
        ),
        Command(
            "uninstall",
            "Remove the slipway capabilities from AI coding hosts.",
            None,
            ("tool", "strings", [], "Host to remove from, or all; repeatable and comma-split."),
            JSON,
            ROOT,
        ),
        Command(
            "protocol submit",
            "Hand in the Outcome of the current Action.",
            None,
            RUN,
            ACTION,
            ("outcome-file", "string", "", "File with the Outcome."),
            ("outcome-stdin", "bool", False, "Read the Outcome from standard input."),
            ROOT,
        ),
        Command(
            "protocol answer",
            "Answer a decision, or confirm or decline a destructive step.",
            None,
            RUN,
            ACTION,
            ("text", "string", "", "The answer, for people; hosts use --text-file."),
            ("text-file", "string", "", "File with the exact answer."),
            ("text-stdin", "bool", False, "Read the answer from standard input."),
            ("confirm-destructive", "bool", False, "Confirm exactly the requested destructive scope."),
            ("scope-sha256", "string", "", "Digest of the scope that is confirmed."),
            ROOT,
        ),
        Command("protocol skip", "Skip the current Action.", None, RUN, ACTION, ROOT),
        Command(
            "protocol resume",
            "Resume a Run.",
            ("run-id", 1, 1, "The Run."),
            ("budget", "int", 0, "Replace the remaining budget, 1 to 1000."),
            ("source-file", "string", "", "File with a freshly fetched source envelope."),
            ("use-pinned-source", "bool", False, "Go on with the pinned source."),
            ("source-choice", "string", "", "pinned or adopt, together with --candidate."),
            ("candidate", "string", "", "The waiting source candidate."),
            ROOT,
        ),
        Command(
            "protocol material",
            "Read one section of the requirements for the current Action.",
            None,
            RUN,
            ACTION,
            ("section", "string", "", "Key of the section."),
            ROOT,
        ),
    )
}
PROTOCOL_OPERATIONS = tuple(words.split()[1] for words in COMMANDS if " " in words)

_GROUP_HELP = (["protocol", "--help"], ["protocol", "-h"])
_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))


class Parsed:
    """A parsed machine command line. ``given`` holds the flags that stood in it, even with an empty value."""

    __slots__ = ("command", "given", "help", "positionals", "values")

    def __init__(self, command: Command) -> None:
        self.command = command
        self.help = False
        self.positionals: list[str] = []
        self.values: dict[str, Any] = {name: flag[2] for name, flag in command.flags.items()}
        self.given: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


def usage(message: str) -> UsageError:
    return UsageError("invalid_usage", f"{message} `slipway --help` shows the commands.")


def is_machine(argv: list[str]) -> bool:
    """Whether the command line is one of the machine commands, well-formed or not."""
    return bool(argv) and argv not in _GROUP_HELP and (argv[0] == "protocol" or argv[0] in COMMANDS)


def parse(argv: list[str]) -> Parsed:
    """Parse a machine command line. Raises ``invalid_usage`` or ``protocol_operation_required``."""
    if argv[0] != "protocol":
        return _parse(COMMANDS[argv[0]], argv[1:])
    operation, rest = _operation(argv[1:])
    if operation is None:
        raise UsageError(
            "protocol_operation_required",
            f"`slipway protocol` needs an operation: {', '.join(PROTOCOL_OPERATIONS)}.",
        )
    if operation not in PROTOCOL_OPERATIONS:
        raise usage("There is no such protocol operation.")
    return _parse(COMMANDS[f"protocol {operation}"], rest)


def _operation(argv: list[str]) -> tuple[str | None, list[str]]:
    """The operation word, and everything else: ``--root`` may stand before it."""
    index = 0
    while index < len(argv):
        word = argv[index]
        if word == "--":
            break
        if word == "--root":
            index += 2
        elif word.startswith("-") and word != "-":
            if word.split("=", 1)[0] != "--root":
                raise usage("A flag that only an operation takes stands before the operation.")
            index += 1
        else:
            return word, argv[:index] + argv[index + 1 :]
    return None, argv


def _parse(command: Command, argv: list[str]) -> Parsed:
    parsed = Parsed(command)
    words = iter(argv)
    for word in words:
        if word == "--":
            parsed.positionals += words
        elif word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if name == "help" and not equals:
                parsed.help = True
                continue
            if name not in command.flags:
                raise usage("A flag is not known here.")
            kind = command.flags[name][1]
            if not equals:
                if kind == "bool":
                    value = "true"
                else:
                    following = next(words, None)
                    if following is None:
                        raise usage(f"--{name} needs a value.")
                    value = following
            _take(parsed, name, kind, value)
        elif word == "-h":
            parsed.help = True
        elif word.startswith("-") and word != "-":
            raise usage("A short flag is not known here.")
        else:
            parsed.positionals.append(word)
    _, least, most, _ = command.positional or ("", 0, 0, "")
    if not parsed.help and not least <= len(parsed.positionals) <= most:
        raise usage(f"`slipway {command.words}` takes {_count(least, most)}.")
    return parsed


def _count(least: int, most: int) -> str:
    if not most:
        return "no argument"
    return "exactly one argument" if least else "at most one argument"


def _take(parsed: Parsed, name: str, kind: str, value: str) -> None:
    parsed.given.add(name)
    if kind == "bool":
        if value not in _TRUE and value not in _FALSE:
            raise usage(f"--{name} is true or false.")
        parsed.values[name] = value in _TRUE
    elif kind == "int":
        parsed.values[name] = _integer(name, value)
    elif kind == "strings":
        parsed.values[name] = [*parsed.values[name], *value.split(",")]
    else:
        parsed.values[name] = value


def _integer(name: str, text: str) -> int:
    """A signed 64-bit integer in decimal, ``0x``, ``0o``, ``0b`` or leading-zero octal, underscores between digits."""
    negative = text[:1] == "-"
    digits = text[1:] if text[:1] in ("+", "-") else text
    plain = digits.replace("_", "")
    try:
        if not (plain.isascii() and plain.isalnum()) or not digits[0].isdigit() or digits[-1] == "_" or "__" in digits:
            raise ValueError
        octal = (digits[0] == "0" and digits[1:2].isdigit()) or digits[:2] == "0_"
        value = int(plain, 8) if octal else int(digits, 0)
    except ValueError:
        raise usage(f"--{name} needs a whole number.") from None
    if value > 2**63 - (not negative):
        raise usage(f"--{name} is out of range.")
    return -value if negative else value
