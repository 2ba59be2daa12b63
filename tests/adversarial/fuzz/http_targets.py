"""The HTTP application under attack: whole requests, from the request line to the body, answered and never a defect."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import cache
from typing import Any
from urllib.parse import unquote

from slipway_lite.control.refusals import HTTP_STATUS
from slipway_lite.control.service import ControlPlane
from slipway_lite.http.access import Access
from slipway_lite.http.app import build_app
from slipway_lite.store.connection import open_store
from tests.adversarial.fuzz import plane
from tests.adversarial.fuzz.control_targets import BODIES, STARTS
from tests.adversarial.fuzz.protocol_targets import written
from tests.adversarial.fuzz.target import Target

Message = dict[str, Any]
TOKENS = {"reading": "reader", "working": "operator", "ruling": "admin"}
_STREAM = 65_536


@cache
def _served() -> tuple[Any, Callable[[Any], Any], Any]:
    """The application over a file of its own, what runs a coroutine in its loop, and its life, to be held on to."""
    path = plane.path_of("served")
    app = build_app(ControlPlane.open(path), open_store(path), Access(TOKENS))  # type: ignore[arg-type]  # Roles
    loop = asyncio.new_event_loop()
    life = app.router.lifespan_context(app)
    loop.run_until_complete(life.__aenter__())
    return app, loop.run_until_complete, life


def _request(raw: bytes) -> None:
    """A request line, headers, an empty line, the body: what a server hands over once it has parsed it."""
    head, _, body = raw.partition(b"\n\n")
    line, *rest = head.split(b"\n")
    method, _, target = line.decode("latin-1").partition(" ")
    path, _, query = target.partition("?")
    headers = [
        (name.strip().lower(), value.strip())
        for name, colon, value in (header.partition(b":") for header in rest)
        if colon and value.isascii() and value.decode("ascii").isprintable()
    ]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method.upper(), "scheme": "http",
        "path": "/" + unquote(path).lstrip("/"), "raw_path": path.encode("latin-1"), "root_path": "",
        "query_string": query.encode("latin-1"), "headers": headers, "client": ("127.0.0.1", 1),
        "server": ("localhost", 80),
    }  # fmt: skip
    app, run, _ = _served()
    sent: list[Message] = []
    parts = [body[at : at + _STREAM] for at in range(0, len(body), _STREAM)] or [b""]

    async def receive() -> Message:
        if not parts:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message: Message) -> None:
        sent.append(message)

    run(app(scope, receive, send))
    _check(sent)


def _check(sent: list[Message]) -> None:
    start, *bodies = sent
    status, headers = start["status"], dict(start["headers"])
    assert b"x-request-id" in headers
    assert 200 <= status < 500, f"status {status}"
    document = json.loads(b"".join(message.get("body", b"") for message in bodies))
    if status >= 400:
        assert document.keys() <= {"code", "message", "details"}
        assert HTTP_STATUS[document["code"]] == status


def _starts() -> list[bytes]:
    found = [
        b"GET /v1/tasks?limit=5&offset=0&state=queued\nAuthorization: Bearer reading\nX-Request-Id: a.b-1\n\n",
        b"GET /v1/improvement/observations?since=2026-01-01T00:00:00Z&cursor=gate:1&limit=9\nx-api-key: working\n\n",
        b"GET /v1/tasks/%2e%2e%2Fx\nauthorization: bearer ruling\n\n",
        b"GET /healthz\n\n", b"GET /openapi.json\n\n",
        b"DELETE /v1/tasks\n\n", b"GET /v1/runs/x/timeline\nx-api-key: a\n\n",
    ]  # fmt: skip
    for route in BODIES:
        path = route.path.format(task_id=plane.TASK, job_id=plane.JOB, run_id=plane.TASK, evidence_id="e")
        head = f'{route.method} {path}\nAuthorization: Bearer ruling\nIf-Match: "3"\nContent-Length: 9\n\n'
        found.append(head.encode() + written(STARTS[route.name][0]))
    return found


TARGETS = (Target("http.request", ("slipway_lite.http.app.build_app",), _request, _starts, weight=0.2),)
