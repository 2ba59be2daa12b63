"""Entry point of ``slipway``: machine commands straight to the fast path, everything else to Typer."""

from __future__ import annotations

import os
import sys

from slipway_lite.cli import streams

INTERRUPTED = 130
"""What a shell gives for a command that SIGINT ended."""


def main() -> None:
    """Run the command line in ``sys.argv`` and leave with its exit status."""
    streams.guard()
    argv = sys.argv[1:]
    try:
        status = execute(argv)
    except KeyboardInterrupt:
        status = INTERRUPTED
    for stream in (sys.stdout, sys.stderr):
        # A stream that was closed at the start is None.
        if stream is not None:
            stream.flush()
    # Nothing is left to clean up: the database is closed, the streams are flushed. Tearing the interpreter down
    # would cost a machine command a tenth of its time.
    os._exit(status)


def execute(argv: list[str]) -> int:
    """The exit status of one command line."""
    if not os.environ.get("_SLIPWAY_COMPLETE"):
        from slipway_lite.cli import grammar

        if grammar.is_machine(argv):
            from slipway_lite.cli import machine

            return machine.run(argv)
    from slipway_lite.cli.app import execute as execute_typer

    return execute_typer(argv)
