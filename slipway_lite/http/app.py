"""The FastAPI application: routes from the table, one error shape, requests in and documents out.

Bodies are decoded strictly and validated by the use cases, so that HTTP, CLI and Python refuse alike; FastAPI carries
routing, the server life cycle and the OpenAPI document.
"""

from __future__ import annotations

import asyncio
import re
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from slipway_lite import __version__, ids
from slipway_lite.canon import encode
from slipway_lite.control.bodies import BODY_LIMIT, decode_body, too_large
from slipway_lite.control.refusals import Refused
from slipway_lite.control.settings import SCAN_SECONDS
from slipway_lite.control.upkeep import due_work
from slipway_lite.errors import SlipwayError
from slipway_lite.http import openapi
from slipway_lite.http.access import Access
from slipway_lite.http.integrating import Integrations
from slipway_lite.http.routes import ROUTES
from slipway_lite.http.writer import Writer, storage_refusal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from slipway_lite.control.service import ControlPlane
    from slipway_lite.http.routes import Route
    from slipway_lite.store.connection import Store

_IF_MATCH = re.compile(r'"?([0-9]{1,18})"?')
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_PARAMETER = re.compile(r"\{(\w+)\}")
_STATUS_CODES = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}


def build_app(
    plane: ControlPlane,
    reader: Store,
    access: Access,
    *,
    scan_seconds: float = SCAN_SECONDS,
    probe: Callable[[], str] | None = None,
) -> FastAPI:
    """The application over ``plane`` (written by one thread) and ``reader`` (a second connection, read only).

    Jobs of a control plane that is gone are recovered before the first request; every ``scan_seconds`` what has run
    out of time is given up, through the same writer as the requests, and ``probe`` says anew how LM Studio is.
    """
    writer = Writer(plane)
    integrations = Integrations(writer, reader)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        plane.recover()
        writer.start()
        upkeep = asyncio.create_task(_keep_up(plane, writer, reader, scan_seconds, probe))
        try:
            yield
        finally:
            upkeep.cancel()
            await integrations.stop()
            writer.stop()

    app = FastAPI(
        title="slipway-lite control plane",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    for route in ROUTES:
        endpoint = _write(route, writer, access, integrations) if route.is_write else _read(route, reader, access)
        app.add_api_route(route.path, endpoint, methods=[route.method], response_model=None, include_in_schema=False)
    document = encode(openapi.document())
    health = encode({"status": "ok", "instance_id": plane.instance_id})
    app.add_api_route("/openapi.json", _constant(document, access), methods=["GET"], include_in_schema=False)
    app.add_api_route("/healthz", _constant(health, access), methods=["GET"], include_in_schema=False)
    app.add_exception_handler(Refused, _on_refused)
    app.add_exception_handler(SlipwayError, _on_storage)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_middleware(Boundary)
    return app


async def _keep_up(
    plane: ControlPlane, writer: Writer, reader: Store, seconds: float, probe: Callable[[], str] | None
) -> None:
    """Look for what has run out of time, for ever; a failure is told and only means that the next look tries again."""
    while True:
        if probe is not None:
            plane.settings = replace(plane.settings, lmstudio=await asyncio.to_thread(probe))
        try:
            for use_case, *args in due_work(reader):
                await writer.submit(use_case, *args)
        except Exception as error:
            sys.stderr.write(f"upkeep failed: {getattr(error, 'code', type(error).__name__)}\n")
        await asyncio.sleep(seconds)


def _write(
    route: Route, writer: Writer, access: Access, integrations: Integrations
) -> Callable[[Request], Awaitable[Response]]:
    names = _PARAMETER.findall(route.path)
    is_approval = route.name == "approvePublish"
    may_integrate = route.name in ("integrateTask", "recordTransition")

    async def endpoint(request: Request) -> Response:
        is_operator = access.check(request.headers, route.role)
        body = await _body(request, route)
        args: list[Any] = [request.path_params[name] for name in names]
        args.append(body)
        if route.versioned:
            args.append(_expected_version(request))
        options = {"is_operator": is_operator} if is_approval else {}
        answer = await writer.submit(route.call, *args, **options)
        if may_integrate and "integrating" in (answer.get("state"), answer.get("to_state")):
            integrations.start(answer["task_id"])
        return _json(encode(answer), route.status)

    return endpoint


def _read(route: Route, reader: Store, access: Access) -> Callable[[Request], Awaitable[Response]]:
    names = _PARAMETER.findall(route.path)

    async def endpoint(request: Request) -> Response:
        access.check(request.headers, route.role)
        args: list[Any] = [request.path_params[name] for name in names]
        if route.body is not None:
            args.append(await _body(request, route))
        for name in route.query:
            given = request.query_params.get(name)
            args.append(_integer(given) if name in ("limit", "offset") else given)
        with reader.snapshot():
            text = route.call(reader, *args)
        return _json(text, route.status)

    return endpoint


def _constant(text: str, access: Access) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        access.check_origin(request.headers)
        return _json(text, 200)

    return endpoint


def _json(text: str, status: int) -> Response:
    return Response(text.encode("utf-8", "surrogatepass"), status, media_type="application/json")


async def _body(request: Request, route: Route) -> Any:
    """The decoded body, read no further than the cap."""
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > BODY_LIMIT:
        raise too_large()
    raw = b""
    async for part in request.stream():
        raw += part
        if len(raw) > BODY_LIMIT:
            raise too_large()
    if not raw and route.optional_body:
        return {}
    return decode_body(raw)


def _expected_version(request: Request) -> int | None:
    """The version in ``If-Match``: one entity tag, whose quotes may be missing."""
    header = request.headers.get("if-match")
    if header is None:
        return None
    found = _IF_MATCH.fullmatch(header.strip())
    if found is None:
        raise Refused("INVALID_REQUEST", 'If-Match takes a version in double quotes, such as "3".')
    return int(found[1])


def _integer(text: str | None) -> int | None:
    if text is None:
        return None
    if not _INTEGER.fullmatch(text):
        raise Refused("INVALID_REQUEST", "limit and offset are whole numbers.")
    return int(text)


async def _on_refused(_: Request, error: Exception) -> Response:
    refused = error if isinstance(error, Refused) else Refused("INTERNAL_ERROR", "The server failed.")
    headers = {"WWW-Authenticate": "Bearer"} if refused.status == 401 else None
    response = _json(encode(refused.document()), refused.status)
    response.headers.update(headers or {})
    return response


async def _on_storage(request: Request, error: Exception) -> Response:
    if isinstance(error, SlipwayError):
        return await _on_refused(request, storage_refusal(error))
    raise error


async def _on_http(request: Request, error: Exception) -> Response:
    """Errors of the framework, in our shape."""
    if not isinstance(error, HTTPException):
        raise error
    code = _STATUS_CODES.get(error.status_code, "INVALID_REQUEST")
    response = _json(encode({"code": code, "message": str(error.detail)}), error.status_code)
    if error.status_code == 405:
        matched = getattr(request.scope.get("route"), "path", "")
        response.headers["Allow"] = ", ".join(sorted(route.method for route in ROUTES if route.path == matched))
    return response


class Boundary:
    """The outermost layer: a request id on every answer, and an ErrorResponse for a defect."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one ASGI connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"").decode("latin-1")
        request_id = (given if _REQUEST_ID.fullmatch(given) else ids.uuid4()).encode()
        started = False

        async def tagged(message: Any) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message["headers"], (b"x-request-id", request_id)]
            await send(message)

        try:
            await self._app(scope, receive, tagged)
        except ClientDisconnect:
            return
        except Exception:
            if not started:
                refused = Refused("INTERNAL_ERROR", "The server failed; nothing of the request is kept.")
                await _json(encode(refused.document()), refused.status)(scope, receive, tagged)
            raise
