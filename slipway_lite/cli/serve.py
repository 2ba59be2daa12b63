"""``slipway serve``: the control plane over HTTP."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import typer

from slipway_lite.cli.files import read_regular
from slipway_lite.cli.noun import noun
from slipway_lite.cli.place import DatabaseOption, RootOption, database
from slipway_lite.errors import UsageError

app = noun("Serve the control plane over HTTP.")

TOKEN_VARIABLE = "SLIPWAY_TOKEN"
TOKEN_FILE_LIMIT = 1 << 16


@app.callback(invoke_without_command=True)
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; beyond loopback a token is needed.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.", min=0, max=65535)] = 8722,
    db: DatabaseOption = "",
    root: RootOption = "",
    token_file: Annotated[
        str, typer.Option(help="File of tokens, one a line: TOKEN, operator TOKEN or admin TOKEN.")
    ] = "",
    run_system_mode: Annotated[
        Literal["advisory", "enforce"], typer.Option(help="Whether the run-system gate may block.")
    ] = "advisory",
    lease_seconds: Annotated[int, typer.Option(help="How long a job is leased without a heartbeat.", min=1)] = 300,
    lmstudio_url: Annotated[str, typer.Option(help="LM Studio for low-risk plan and dev jobs.")] = "",
) -> None:
    """Serve tasks under /v1 until SIGTERM or SIGINT. The address goes to standard error when it is ready.

    Example: slipway serve --port 8722
    """
    from slipway_lite.control.settings import Settings
    from slipway_lite.http.access import Access, parse_tokens
    from slipway_lite.http.server import serve as run

    access = Access(parse_tokens(text)) if (text := tokens(token_file)) is not None else Access()
    settings = Settings(run_system_mode=run_system_mode, lease_seconds=lease_seconds)
    path, _ = database(db, root)
    run(path, host, port, access, settings, lmstudio_url)


def tokens(token_file: str) -> str | None:
    """The text of the token file, else the token of the environment, else nothing."""
    if not token_file:
        return os.environ.get(TOKEN_VARIABLE)
    try:
        raw = read_regular(token_file, TOKEN_FILE_LIMIT)
        text = raw.decode()
    except (OSError, ValueError):
        raise UsageError("invalid_token_file", "The token file cannot be read.") from None
    if len(raw) > TOKEN_FILE_LIMIT:
        raise UsageError("invalid_token_file", f"The token file has at most {TOKEN_FILE_LIMIT} bytes.")
    return text
