"""``slipway demo``: a tiny host that drives three Runs in a throw-away repository."""

from __future__ import annotations

from typing import Annotated

import typer

from slipway_lite.demo import Demo

app = typer.Typer(help="Drive Runs in a throw-away repository and show what happened.")


@app.command()
def demo(
    directory: Annotated[str, typer.Option("--directory", help="Where to make it (default: a temporary folder).")] = "",
) -> None:
    """Make a throw-away Git repository, drive three Runs through the real protocol in it, and show what happened.

    Example: slipway demo
    """
    Demo(directory, typer.echo).play()
