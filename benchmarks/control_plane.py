"""Durable throughput of the control plane, in process and over HTTP.

    python benchmarks/control_plane.py [--seconds 5] [--only NAME] [--directory DIR]

Every figure is with ``synchronous=FULL``: a request counts once its effect is on disk. The HTTP client runs in this
process, on raw sockets and one selector, because client libraries of Python stop near 300 requests a second; the server
runs in a process of its own, so two cores are what the figures are for. Nothing here is a test.
"""

from __future__ import annotations

import argparse
import json
import os
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from slipway_lite.control.service import ControlPlane

TYPED_REF = "agent-taskstate:task:local:bench"
CREATE = {
    "title": "Measure it",
    "objective": "Know how fast it is",
    "typed_ref": TYPED_REF,
    "repo_ref": {"provider": "github", "owner": "octo", "name": "hub", "default_branch": "main"},
}
PLAN = {"target_stage": "plan"}

Requests = Generator[bytes, bytes, None]


def result_of(job_id: str) -> dict[str, Any]:
    return {
        "job_id": job_id,
        "typed_ref": TYPED_REF,
        "status": "succeeded",
        "artifacts": [{"artifact_id": "log-1", "kind": "log", "uri": "artifact://log"}],
        "test_results": [],
        "requested_escalations": [],
        "usage": {"runtime_ms": 1},
    }


def request(method: str, path: str, body: dict[str, Any] | None = None) -> bytes:
    raw = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(raw)}\r\n\r\n"
    return head.encode() + raw


def creates() -> Requests:
    wanted = request("POST", "/v1/tasks", CREATE)
    while True:
        yield wanted


def gets(task_id: str) -> Requests:
    wanted = request("GET", f"/v1/tasks/{task_id}")
    while True:
        yield wanted


def events_of(task_id: str) -> Requests:
    wanted = request("GET", f"/v1/tasks/{task_id}/events")
    while True:
        yield wanted


def lifecycles() -> Requests:
    """create, dispatch, result; a unit is complete after the third answer."""
    create = request("POST", "/v1/tasks", CREATE)
    while True:
        task_id = json.loads((yield create))["task_id"]
        job = json.loads((yield request("POST", f"/v1/tasks/{task_id}/dispatch", PLAN)))
        yield request("POST", f"/v1/tasks/{task_id}/results", result_of(job["job_id"]))


class Connection:
    """One keep-alive connection that works through its requests."""

    def __init__(self, port: int, requests: Requests) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.requests = requests
        self.buffer = b""
        self.sent_at = 0.0
        self.send(next(requests))

    def send(self, raw: bytes) -> None:
        self.sent_at = time.perf_counter()
        self.socket.sendall(raw)

    def receive(self) -> bytes | None:
        """The body of a complete answer, or ``None`` while more has to come."""
        self.buffer += self.socket.recv(1 << 20)
        head, found, body = self.buffer.partition(b"\r\n\r\n")
        if not found:
            return None
        lower = head.lower()
        start = lower.index(b"content-length:") + 15
        length = int(lower[start:].split(b"\r\n", 1)[0])
        if len(body) < length:
            return None
        if not head.startswith(b"HTTP/1.1 2"):
            raise SystemExit(body.decode())
        self.buffer = b""
        return body


def drive(port: int, make: Callable[[], Requests], connections: int, seconds: float) -> list[float]:
    """The latencies of every request answered within ``seconds``."""
    selector = selectors.DefaultSelector()
    latencies: list[float] = []
    for _ in range(connections):
        connection = Connection(port, make())
        selector.register(connection.socket, selectors.EVENT_READ, connection)
    deadline = time.perf_counter() + seconds
    while time.perf_counter() < deadline:
        for key, _ in selector.select(1):
            connection = key.data
            body = connection.receive()
            if body is not None:
                latencies.append(time.perf_counter() - connection.sent_at)
                connection.send(connection.requests.send(body))
    for key in list(selector.get_map().values()):
        key.data.socket.close()
    selector.close()
    return latencies


class Server:
    """``slipway serve`` on a fresh file."""

    def __init__(self, directory: str) -> None:
        path = os.path.join(directory, "slipway.db")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "slipway_lite", "serve", "--port", "0", "--db", path],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        self.port = int(self.process.stderr.readline().rsplit(":", 1)[1])

    def rss_megabytes(self) -> float:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def show(name: str, connections: int, count: float, seconds: float, latencies: list[float]) -> None:
    p50 = f"{statistics.median(latencies) * 1e3:8.2f}" if latencies else "       -"
    print(f"{name:<38} {connections:>5} {count / seconds:>10.0f} {p50}", flush=True)


def in_process(directory: str, seconds: float) -> None:
    """create, dispatch, result from one thread, without HTTP."""
    with ControlPlane.open(os.path.join(directory, "process.db")) as plane:
        latencies = []
        started = time.perf_counter()
        while time.perf_counter() - started < seconds:
            before = time.perf_counter()
            task_id = plane.create_task(CREATE)["task_id"]
            job = plane.dispatch(task_id, PLAN)
            plane.apply_result(task_id, result_of(job["job_id"]))
            latencies.append(time.perf_counter() - before)
        show("in process: create+dispatch+result", 1, len(latencies), time.perf_counter() - started, latencies)


def long_task(port: int, events: int) -> str:
    """A task with ``events`` transitions, made of the one state that may stay where it is."""
    made: dict[str, Any] = {}

    def steps() -> Requests:
        made.update(json.loads((yield request("POST", "/v1/tasks", CREATE))))
        path = f"/v1/tasks/{made['task_id']}/transitions"
        for number in range(events - 1):
            event = {
                "event_id": f"bench-{made['task_id']}-{number}",
                "task_id": made["task_id"],
                "from_state": "queued",
                "to_state": "queued",
                "actor_type": "human",
                "actor_id": "bench",
                "reason": "one more",
                "occurred_at": "2026-01-01T00:00:00.000Z",
            }
            yield request("POST", path, event)
        made["done"] = True
        while True:
            yield request("GET", "/healthz")

    connection = Connection(port, steps())
    while "done" not in made:
        body = connection.receive()
        if body is not None:
            connection.send(connection.requests.send(body))
    connection.socket.close()
    return str(made["task_id"])


def over_http(directory: str, seconds: float, only: str) -> None:
    server = Server(directory)
    idle = server.rss_megabytes()
    try:
        task_id = long_task(server.port, 10)
        thousand = long_task(server.port, 1000)
        rounds: list[tuple[str, int, Callable[[], Requests], int]] = [
            ("create task", 1, creates, 1),
            ("create task", 16, creates, 1),
            ("get task", 1, lambda: gets(task_id), 1),
            ("create+dispatch+result", 1, lifecycles, 3),
            ("create+dispatch+result", 16, lifecycles, 3),
            ("events, 10 items", 1, lambda: events_of(task_id), 1),
            ("events, 1,000 items", 1, lambda: events_of(thousand), 1),
        ]
        for name, connections, make, requests in rounds:
            if only in name:
                latencies = drive(server.port, make, connections, seconds)
                show(f"http: {name}", connections, len(latencies) / requests, seconds, latencies)
        if only in "memory":
            memory(server, idle)
    finally:
        server.stop()


def memory(server: Server, idle: float) -> None:
    """RSS after 20,000 tasks."""
    connection = Connection(server.port, creates())
    for _ in range(20_000):
        while connection.receive() is None:
            pass
        connection.send(next(connection.requests))
    connection.socket.close()
    print(f"memory: idle {idle:.0f} MB, after 20,000 more tasks {server.rss_megabytes():.0f} MB")


def main() -> None:
    """Print one line a measurement: what, connections, operations a second, median milliseconds a request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each measurement lasts")
    parser.add_argument("--only", default="", help="only measurements whose name holds this")
    parser.add_argument("--directory", default=None, help="where the files go (default: the temporary directory)")
    arguments = parser.parse_args()
    print(f"{'operation':<38} {'conns':>5} {'ops/s':>10} {'p50 ms':>8}")
    with tempfile.TemporaryDirectory(dir=arguments.directory) as directory:
        if arguments.only in "in process":
            in_process(directory, arguments.seconds)
        over_http(directory, arguments.seconds, arguments.only)


if __name__ == "__main__":
    main()
