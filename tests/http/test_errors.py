"""What a caller sees when the file or the server itself fails."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from slipway_lite.control.messages_request import ErrorResponse
from slipway_lite.control.service import ControlPlane
from slipway_lite.http.access import Access
from slipway_lite.http.app import build_app
from tests.control.world import create_body
from tests.http.served import Served


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    with ControlPlane.open(str(tmp_path / "x.db")) as opened:
        yield opened


def get(app: FastAPI, path: str) -> tuple[int, Any]:
    """One GET through the ASGI interface, without a server around it."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }

    async def run() -> None:
        # A defect is raised again after it was answered, for the server's log.
        with contextlib.suppress(AttributeError):
            await app(scope, receive, send)

    asyncio.run(run())
    return sent[0]["status"], json.loads(b"".join(message.get("body", b"") for message in sent[1:]))


def test_a_file_that_cannot_be_read_is_503(plane: ControlPlane) -> None:
    app = build_app(plane, plane.store, Access())
    with plane.store.immediate() as tx:
        tx.execute("alter table tasks rename to elsewhere")
    status, document = get(app, "/v1/tasks/x")
    with plane.store.immediate() as tx:
        tx.execute("alter table elsewhere rename to tasks")
    ErrorResponse.model_validate(document)
    assert (status, document["code"]) == (503, "STORAGE_UNAVAILABLE")
    assert "tasks" not in document["message"]
    assert get(app, "/healthz")[0] == 200


def test_a_defect_is_500_in_the_same_shape_and_says_nothing_of_itself(plane: ControlPlane) -> None:
    app = build_app(plane, None, Access())  # type: ignore[arg-type]  # a defect on purpose
    status, document = get(app, "/v1/tasks/x")
    ErrorResponse.model_validate(document)
    assert (status, document["code"]) == (500, "INTERNAL_ERROR")
    assert "NoneType" not in json.dumps(document)


@pytest.mark.slow
def test_a_write_that_waits_too_long_for_another_writer_is_503(tmp_path: Path) -> None:
    db = tmp_path / "x.db"
    with Served(db) as served:
        client = served.client()
        assert client.post("/v1/tasks", create_body())[0] == 201
        other = sqlite3.connect(db, isolation_level=None)
        other.execute("begin immediate")
        status, document = client.post("/v1/tasks", create_body())
        assert (status, document["code"]) == (503, "STORAGE_UNAVAILABLE")
        assert client.get("/v1/tasks")[1]["total"] == 1
        other.execute("rollback")
        other.close()
        assert client.post("/v1/tasks", create_body())[0] == 201
