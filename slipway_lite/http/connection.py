"""One HTTP connection of the server: how long a request may take to come, and what it may bring beside a body.

uvicorn waits for ever for the rest of a request and keeps every header that comes. Here a client that is slow or too
much loses its connection, and one that speaks no HTTP is told so in the shape of every error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from slipway_lite.canon import encode
from slipway_lite.control.refusals import Refused

if TYPE_CHECKING:
    from asyncio import TimerHandle

REQUEST_SECONDS = 30.0
"""How long a request may take from its first byte, or from the connection, to its last."""
OVERHEAD_LIMIT = 1 << 16
"""Bytes of a request that are no body (request line, headers, framing, trailers), not counting its first read."""


class Connection(HttpToolsProtocol):
    """uvicorn's protocol with a limit of time and of size for what is no body."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._patience: TimerHandle | None = None
        self._overhead = 0
        self._hosts = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._overhead += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._overhead > OVERHEAD_LIMIT:
            self._refuse("The request brings too much beside its body.")
        elif self._patience is None and self.cycle.response_complete:
            # An empty line in front of a request is none yet, and has ended uvicorn's wait for one.
            self._wait()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._overhead = self._hosts = 0
        self._wait()

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._hosts += name.lower() == b"host"

    def on_headers_complete(self) -> None:
        # With two hosts, whoever stands in front of us may have looked at the other one (RFC 9112 §3.2).
        if self._hosts > 1 or (not self._hosts and self.parser.get_http_version() == "1.1"):
            raise ValueError("not exactly one Host")
        super().on_headers_complete()
        if self.parser.should_upgrade():
            # We speak nothing else, and the parser reads no further request on this connection.
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        self._overhead -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._stop_waiting()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse("The request is no HTTP/1.1 request.")

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing: whoever asks for another protocol gets an answer in this one, and the log stays as it is."""

    def _refuse(self, message: str) -> None:
        """Answer 400 in our own shape and hang up."""
        body = encode(Refused("INVALID_REQUEST", message).document()).encode()
        head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[400] + head + body)
        self.transport.close()

    def _wait(self) -> None:
        self._stop_waiting()
        self._patience = self.loop.call_later(REQUEST_SECONDS, self._lose_patience)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _lose_patience(self) -> None:
        if self.pipeline:
            # It is us who read no further: the requests before have not been answered yet.
            self._wait()
        else:
            self.transport.close()
