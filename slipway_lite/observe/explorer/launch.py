"""``slipway explore``: Datasette on one file, on this machine only, leaving the file as it was."""

from __future__ import annotations

import signal
import socket
import tempfile
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slipway_lite.errors import SlipwayError
from slipway_lite.store import sqlite
from slipway_lite.store.backup import backup
from slipway_lite.store.connection import connect
from slipway_lite.store.reading import read_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HOST = "127.0.0.1"
PORT = 8001
SETTINGS = {
    "allow_download": False,
    "allow_csv_stream": True,
    "facet_time_limit_ms": 1000,
    "max_returned_rows": 2000,
    "sql_time_limit_ms": 3000,
    "suggest_facets": False,
}


def datasette(path: str, *, full: bool = False, immutable: bool = False) -> Any:
    """A Datasette on ``path`` with our metadata and plugin, not serving yet.

    ``immutable`` is for a file that nobody writes. ``full`` shows the owner every table and allows free SQL.
    """
    from datasette.app import Datasette
    from datasette.plugins import pm

    from slipway_lite.observe import explorer
    from slipway_lite.observe.explorer import allowed

    if not pm.is_registered(explorer):
        pm.register(explorer, allowed.PLUGIN)
    keep_locals_out_of_logs()
    metadata = allowed.metadata()
    metadata["plugins"] = {allowed.PLUGIN: {"full": full, "loopback": True}}
    settings = {**SETTINGS, "default_allow_sql": full}
    return Datasette(
        [] if immutable else [path], immutables=[path] if immutable else [], metadata=metadata, settings=settings
    )


def keep_locals_out_of_logs() -> None:
    """With rich, Datasette prints the local variables of a failure, which may hold texts that are not to be shown."""
    # Imported after Datasette, whose plugins it would otherwise register half-made.
    import_module("datasette.handle_exception").rich = None  # type: ignore[attr-defined]  # a module of Datasette, set on purpose


def explore(
    path: str,
    announce: Callable[[str], None],
    *,
    full: bool = False,
    snapshot: bool = False,
    port: int = PORT,
) -> None:
    """Serve ``path`` until interrupted; ``announce`` gets the address once it is taken.

    With ``snapshot`` a copy of this moment is served instead of the live file. Raises ``port_taken``, and as
    :func:`read_store` does.
    """
    read_store(path, lambda store: None)
    listening = _listen(port)
    name = Path(path).stem
    address = f"http://{HOST}:{listening.getsockname()[1]}/{name}"
    with left_as_it_was(path):
        if not snapshot:
            _serve(datasette(path, full=full), listening, lambda: announce(address))
            return
        with tempfile.TemporaryDirectory(prefix="slipway-snapshot-") as directory:
            copy = str(Path(directory, f"{name}.db"))
            backup(path, copy)
            _serve(datasette(copy, full=full, immutable=True), listening, lambda: announce(address))


def _listen(port: int) -> socket.socket:
    listening = socket.socket()
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        raise SlipwayError(
            "port_taken", f"Port {port} cannot be used: {error.strerror}. Give another --port."
        ) from None
    return listening


def _serve(served: Any, listening: socket.socket, announce: Callable[[], None]) -> None:
    import uvicorn

    config = uvicorn.Config(served.app(), log_level="warning", access_log=False, lifespan="on")
    # When uvicorn is done with a signal it raises it again, and the default for SIGTERM would end us untidily.
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    announce()
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, previous)
        listening.close()
        close(served)


def close(served: Any) -> None:
    """Close every connection that Datasette has opened."""
    if served.executor is not None:
        served.executor.shutdown()
    for database in served.databases.values():
        database.close()


@contextmanager
def left_as_it_was(path: str) -> Iterator[None]:
    """Take away the ``-wal`` and ``-shm`` that reading a resting file leaves behind.

    A read-only connection cannot; a writing one that is the last to leave does so by itself, and writes nothing where
    nothing was committed. Where a writer is at work they are its own and stay.
    """
    log = Path(path + "-wal")
    is_resting = not log.exists() or log.stat().st_size == 0
    try:
        yield
    finally:
        if is_resting and log.exists():
            connection = connect(path, "mode=rw")
            try:
                connection.execute("select count(*) from sqlite_schema").fetchone()
            except sqlite.DatabaseError:
                # A file that cannot be read or written any more is nothing that we could tidy.
                pass
            finally:
                connection.close()
