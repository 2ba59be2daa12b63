"""``slipway serve``: uvicorn around the application, with clean signals and the address on standard error."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import uvicorn

from slipway_lite.control import upkeep
from slipway_lite.control.service import ControlPlane
from slipway_lite.errors import SlipwayError, UsageError
from slipway_lite.http.app import build_app
from slipway_lite.http.connection import Connection
from slipway_lite.store.connection import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slipway_lite.control.settings import Settings
    from slipway_lite.http.access import Access

LOOPBACK = ("127.0.0.1", "::1", "localhost")
LMSTUDIO_SECONDS = 2.0
DRAIN_SECONDS = 10
KEEP_ALIVE_SECONDS = 75
"""Longer than a heartbeat interval, so that a worker keeps its connection between two of them."""
BACKLOG = 512
_MAKE = "import sys; from slipway_lite.store.connection import open_store; open_store(sys.argv[1]).close()"


class Server(uvicorn.Server):
    """uvicorn that says when it is ready, and leaves with 0 on SIGTERM and SIGINT."""

    async def startup(self, sockets: Any = None) -> None:
        """Start to listen, then print the address."""
        await super().startup(sockets=sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            sys.stderr.write(f"slipway serves http://{shown}:{port}\n")
            sys.stderr.flush()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Both signals ask for a clean end; neither is raised again afterwards."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._leave)
        yield

    def _leave(self) -> None:
        self.should_exit = True


def serve(path: str, host: str, port: int, access: Access, settings: Settings, lmstudio_url: str = "") -> None:
    """Serve the file at ``path`` until a signal ends it.

    Raises :class:`UsageError` (token_required) for a bind beyond loopback without tokens, and ``already_served`` when
    another process serves the file: one process holds the truth about every task.
    """
    if host not in LOOPBACK and not access.tokens:
        raise UsageError("token_required", "Beyond loopback the server needs a token: --token-file or SLIPWAY_TOKEN.")
    probe = partial(lmstudio_state, lmstudio_url) if lmstudio_url else None
    if probe is not None:
        settings = replace(settings, lmstudio=probe())
    _make_new_file(path)
    with _listening(host, port) as listener, open_store(path) as store, only_server(path), open_store(path) as reader:
        plane = ControlPlane(store, settings, upkeep.serve_instance(store))
        config = uvicorn.Config(
            build_app(plane, reader, access, probe=probe),
            http=Connection,
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=DRAIN_SECONDS,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
        )
        Server(config).run(sockets=[listener])


def _make_new_file(path: str) -> None:
    """Let a child make a file that is not there yet: what that loads (pandas, where installed) would stay for good."""
    if not os.path.exists(path):
        subprocess.run([sys.executable, "-c", _MAKE, path], stderr=subprocess.DEVNULL, check=False)


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens on the address. Raises ``address_unavailable``."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise SlipwayError("address_unavailable", "The address cannot be listened on.") from error


@contextlib.contextmanager
def only_server(path: str) -> Iterator[None]:
    """Hold the file's serving lock, which ends with the process however it ends."""
    try:
        descriptor = os.open(path + "-serve", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise SlipwayError("database_unavailable", f"The serving lock cannot be made: {error.strerror}.") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise SlipwayError("already_served", "Another process serves this file.") from error
        yield
    finally:
        os.close(descriptor)


def lmstudio_state(url: str) -> str:
    """available or unavailable: whether LM Studio lists its models.

    Only its OpenAI-compatible ``/v1`` is ever called, and nothing of the answer is kept (seed 004). Raises
    :class:`UsageError` (invalid_lmstudio_url) for anything but an http address.
    """
    base = url.rstrip("/")
    base = base if base.endswith("/v1") else base + "/v1"
    if not base.startswith(("http://", "https://")):
        raise UsageError("invalid_lmstudio_url", "--lmstudio-url is an http or https address.")
    try:
        with urlopen(f"{base}/models", timeout=LMSTUDIO_SECONDS) as response:
            return "available" if response.status == 200 else "unavailable"
    except (OSError, ValueError):
        return "unavailable"
