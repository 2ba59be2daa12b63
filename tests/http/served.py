"""A served instance in a process of its own, and a small client for it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAM = [sys.executable, "-m", "slipway_lite"]


class Client:
    """One keep-alive connection."""

    def __init__(self, port: int, token: str = "", host: str = "127.0.0.1") -> None:
        self._connection = http.client.HTTPConnection(host, port, timeout=30)
        self._token = token

    def request(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        """(status, document, headers) of one request; ``body`` is bytes or a document."""
        sent = dict(headers or {})
        if self._token:
            sent["Authorization"] = f"Bearer {self._token}"
        raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        self._connection.request(method, path, raw, sent)
        response = self._connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text else None, dict(response.getheaders())

    def post(self, path: str, body: Any, **headers: str) -> tuple[int, Any]:
        status, document, _ = self.request("POST", path, body, headers)
        return status, document

    def get(self, path: str) -> tuple[int, Any]:
        status, document, _ = self.request("GET", path)
        return status, document

    def close(self) -> None:
        self._connection.close()


class Served:
    """``slipway serve`` on a free port: ``with Served(path) as served: served.client()``."""

    def __init__(self, db: Path, *options: str, environment: dict[str, str] | None = None) -> None:
        self.db = db
        self._options = options
        self._environment = environment or {}
        self.process: subprocess.Popen[str] | None = None
        self.port = 0
        self.errors = ""
        self._clients: list[Client] = []

    def __enter__(self) -> Served:
        self.process = subprocess.Popen(
            [*PROGRAM, "serve", "--port", "0", "--db", str(self.db), *self._options],
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | self._environment,
        )
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        found = re.search(r"http://\S+:(\d+)", line)
        if found is None:
            raise AssertionError(line + self.process.stderr.read())
        self.port = int(found[1])
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients:
            client.close()
        if self.process is not None and self.process.poll() is None:
            self.stop()

    def client(self, token: str = "") -> Client:
        """A connection that is closed together with the server."""
        self._clients.append(Client(self.port, token))
        return self._clients[-1]

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait; the exit status."""
        assert self.process is not None
        self.process.send_signal(number)
        self.errors += self.process.communicate(timeout=30)[1]
        return self.process.returncode
