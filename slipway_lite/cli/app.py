"""The Typer program: help and completion for everything, and every command that is not a machine command.

A noun of ours is a module of this package with a Typer ``app``; it is imported when it is used. The machine commands
are made from ``grammar.COMMANDS``: here they only help and complete, ``machine`` runs them.
"""

from __future__ import annotations

import importlib
import inspect
import io
import os
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from slipway_lite.cli import grammar
from slipway_lite.cli.call import report
from slipway_lite.cli.noun import noun
from slipway_lite.cli.output import put
from slipway_lite.errors import SlipwayError

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAM = "slipway"
NOUNS = {
    "audit": "Audit events: everything that happened.",
    "db": "The database file: where, what, whether it is sound.",
    "demo": "Drive Runs in a throw-away repository.",
    "docs": "Documents: register, resolve, acknowledge, compare.",
    "evidence": "Evidence: record that somebody looked at it.",
    "explore": "Look at the file in a browser, with Datasette.",
    "gates": "Which gates and evidence ever change anything.",
    "job": "Jobs: look at one, give a sign of life.",
    "observations": "Observations, to analyse and to share.",
    "repo": "Repositories that integrate may work on.",
    "schema": "The JSON Schemas of every wire document.",
    "search": "Find texts in the file.",
    "serve": "Serve the control plane over HTTP.",
    "task": "Tasks: create, dispatch, judge, integrate, publish.",
    "tracker": "Trackers: tie an entity to a task.",
    "turn": "Agent turns: instruct, parse, decide, drive, advance.",
}
"""Our own commands, each a module of this package with ``app``, and what the list of commands says about it."""

_TYPES = {"string": str, "int": int, "bool": bool, "strings": list[str]}


class Nouns(TyperGroup):
    """The top-level group: nouns of ours are listed by name and imported when they are called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*self.commands, *NOUNS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        found = self.commands.get(cmd_name)
        if found is None and cmd_name in NOUNS:
            found = typer.main.get_command(importlib.import_module(f"slipway_lite.cli.{cmd_name}").app)
            found.name, found.short_help = cmd_name, NOUNS[cmd_name]
        return found


def _show_version(wanted: bool) -> None:
    if wanted:
        from slipway_lite import __version__

        typer.echo(f"slipway-lite {__version__}")
        raise typer.Exit


def build() -> typer.Typer:
    """The whole program."""
    app = noun("One SQLite file that remembers what coding agents did.", cls=Nouns)

    @app.callback(invoke_without_command=True)
    def top(
        ctx: typer.Context,
        version: bool = typer.Option(
            False, "--version", "-v", callback=_show_version, is_eager=True, help="Print the version."
        ),
    ) -> None:
        if ctx.invoked_subcommand is None:
            typer.echo(ctx.get_help())

    protocol = noun("The machine protocol, for hosts.")
    for words, command in grammar.COMMANDS.items():
        *group, name = words.split()
        (protocol if group else app).command(name, help=command.help)(_documented(command))
    app.add_typer(protocol, name="protocol")
    return app


def _documented(command: grammar.Command) -> Callable[..., None]:
    """A function with the parameters of ``command``, for Typer to read. It is never called: ``machine`` runs these."""

    def never_called(**_: Any) -> None:
        raise AssertionError("machine commands do not run through Typer")

    parameters = []
    if command.positional:
        name, least, _, text = command.positional
        default = typer.Argument(... if least else None, help=text)
        parameters.append(_parameter(name, default, str))
    for name, kind, value, text in command.flags.values():
        declaration = f"--{name}"
        parameters.append(_parameter(name, typer.Option(value, declaration, help=text), _TYPES[kind]))
    never_called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what Typer reads
    never_called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return never_called


def _parameter(name: str, default: Any, kind: Any) -> inspect.Parameter:
    return inspect.Parameter(name.replace("-", "_"), inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def show_help(command: grammar.Command) -> int:
    """Print the help of a machine command; anything else on its line does not matter."""
    _run([*command.words.split(), "--help"])
    return 0


class _Answer(io.TextIOBase):
    """Standard output for what Typer prints, so that an answer that is lost is told from input that failed."""

    def write(self, text: str) -> int:
        put(text)
        return len(text)


def _run(argv: list[str]) -> Any:
    with redirect_stdout(_Answer()):
        return build()(argv, prog_name=PROGRAM, standalone_mode=False)


def execute(argv: list[str]) -> int:
    """Run a command of ours and return its exit status; a refusal is one JSON line on standard error.

    Every word has to be UTF-8, paths included: words become ids, titles and text of the record, and the record is
    UTF-8. A file with another name is reached from its directory, through ``SLIPWAY_DB``, or on standard input.
    """
    if os.environ.get("_SLIPWAY_COMPLETE"):
        from typer._completion_classes import completion_init

        completion_init()
        build()(prog_name=PROGRAM)
        return 0
    try:
        _refuse_other_than_utf8(argv)
        status = _run(argv)
    except SlipwayError as error:
        return report(error, argv)
    except OSError as error:
        told = f"The system refused a step of the command: {error.strerror or error}."
        return report(SlipwayError("runtime_error", told), argv)
    except Exception as error:
        # Usage errors of Typer's own parser, told by their shape: their classes are private to Typer.
        if not hasattr(error, "format_message"):
            raise
        return report(grammar.usage(_sentence(error.format_message())), argv)
    return status if isinstance(status, int) else 0


def _refuse_other_than_utf8(argv: list[str]) -> None:
    try:
        "".join(argv).encode()
    except UnicodeEncodeError:
        raise grammar.usage("Every word of the command line has to be UTF-8.") from None


def _sentence(message: str) -> str:
    """A message of Typer's, ended like a sentence, because ours goes on after it."""
    return message if message.endswith((".", "?", "!")) else f"{message}."
