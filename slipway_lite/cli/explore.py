"""``slipway explore``: look at the file in a browser."""

from __future__ import annotations

from typing import Annotated

import typer

from slipway_lite.cli.human import harmless
from slipway_lite.cli.noun import noun
from slipway_lite.cli.place import DatabaseOption, RootOption, existing

app = noun("Look at the file in a browser, with Datasette.")


@app.command()
def explore(
    db: DatabaseOption = "",
    root: RootOption = "",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")] = 8001,
    open_browser: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    snapshot: Annotated[bool, typer.Option("--snapshot", help="Serve a copy of this moment.")] = False,
    full: Annotated[bool, typer.Option("--full", help="For the owner: every table, every text, and free SQL.")] = False,
) -> None:
    """Serve the file on this machine, read-only, and print its address. New rows show on reload; Ctrl-C ends it.

    Without --full nothing that a person or an agent wrote is shown: no goals, questions, answers or summaries.

    Example: slipway explore --open
    """
    from slipway_lite.observe.explorer.launch import explore as serve

    path = existing(db, root)

    def announce(address: str) -> None:
        typer.echo(harmless(address))
        if open_browser:
            import webbrowser

            webbrowser.open(address)

    serve(path, announce, full=full, snapshot=snapshot, port=port)
