"""One way to make a Typer program here: plain help, no completion commands, no tracebacks that show values."""

from __future__ import annotations

from typing import Any

import typer


def noun(help: str, **settings: Any) -> typer.Typer:
    """A group of commands with the settings that all of ours share."""
    return typer.Typer(
        help=help,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
        **settings,
    )
