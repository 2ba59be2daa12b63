"""The OpenAPI 3.1 document, made from the route table and the models, with the seed's component names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pydantic.json_schema import models_json_schema

from slipway_lite import __version__
from slipway_lite.control.messages_base import WireSchema
from slipway_lite.control.messages_read import Health
from slipway_lite.control.messages_request import ErrorResponse
from slipway_lite.control.refusals import HTTP_STATUS
from slipway_lite.control.vocabulary import TASK_STATES
from slipway_lite.http.routes import ROUTES

if TYPE_CHECKING:
    from slipway_lite.control.messages_base import Message
    from slipway_lite.http.routes import Route

REF = "#/components/schemas/{model}"
EVERYWHERE = (401, 403, 503)
WITH_BODY = (413,)
_STATES = "|".join(TASK_STATES)
_PARAMETER = re.compile(r"\{(\w+)\}")


def document() -> dict[str, Any]:
    """The whole document."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = operation(route)
    paths["/healthz"] = {"get": _health()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "slipway-lite control plane",
            "version": __version__,
            "description": "Tasks, jobs, results, acceptance, integrate and publish over one SQLite file.",
        },
        "paths": paths,
        "components": {
            "schemas": component_schemas(),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"bearer": []}],
    }


def component_schemas() -> dict[str, Any]:
    """The JSON Schema of every model on the wire, by its name."""
    models: dict[str, type[Message]] = {}
    for route in ROUTES:
        for model in (route.body, route.answer):
            if model is not None:
                models[model.__name__] = model
    for model in (ErrorResponse, Health):
        models[model.__name__] = model
    _, definitions = models_json_schema(
        [(model, "validation") for model in models.values()], ref_template=REF, schema_generator=WireSchema
    )
    return dict(sorted(definitions["$defs"].items()))


def operation(route: Route) -> dict[str, Any]:
    """The operation object of one route."""
    described = (route.call.__doc__ or "").strip().partition("\n")[0]
    found: dict[str, Any] = {
        "operationId": route.name,
        "summary": described,
        "parameters": _parameters(route),
        "responses": _responses(route),
    }
    if route.body is not None:
        found["requestBody"] = {
            "required": not route.optional_body,
            "content": {"application/json": {"schema": _ref(route.body)}},
        }
    return found


def statuses(route: Route) -> tuple[int, ...]:
    """Every error status that a route may answer with."""
    return tuple(sorted({*route.errors, *EVERYWHERE, *(WITH_BODY if route.body is not None else ())}))


_QUERY: dict[str, dict[str, Any]] = {
    "limit": {"schema": {"type": "integer", "minimum": 1, "maximum": 500, "default": 100}},
    "offset": {"schema": {"type": "integer", "minimum": 0, "maximum": 2**53, "default": 0}},
    "state": {
        "description": "Task states, separated by commas.",
        "schema": {"type": "string", "pattern": f"^({_STATES})(,({_STATES}))*$"},
    },
    "since": {"description": "First time, inclusive.", "schema": {"type": "string", "format": "date-time"}},
    "until": {"description": "Last time, inclusive.", "schema": {"type": "string", "format": "date-time"}},
    "cursor": {"description": "The next_cursor of the page before.", "schema": {"type": "string", "minLength": 1}},
}
"""The parameters that reads take in the query, as OpenAPI describes them."""


def _parameters(route: Route) -> list[dict[str, Any]]:
    text = {"type": "string", "minLength": 1}
    found: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": text} for name in _PARAMETER.findall(route.path)
    ]
    if route.versioned:
        found.append(
            {
                "name": "If-Match",
                "in": "header",
                "required": False,
                "description": "The version the caller expects, in double quotes; another one is 409.",
                "schema": {"type": "string", "pattern": '^"?[0-9]{1,18}"?$'},
            }
        )
    found += [{"name": name, "in": "query", "required": False, **_QUERY[name]} for name in route.query]
    return found


def _responses(route: Route) -> dict[str, Any]:
    found: dict[str, Any] = {
        str(route.status): {
            "description": (route.answer.__doc__ or "").strip().partition("\n")[0],
            "content": {"application/json": {"schema": _ref(route.answer)}},
        }
    }
    links = _links(route)
    if links:
        found[str(route.status)]["links"] = links
    return found | {str(status): _refusal(status) for status in statuses(route)}


def _refusal(status: int) -> dict[str, Any]:
    codes = ", ".join(code for code, number in HTTP_STATUS.items() if number == status)
    return {
        "description": f"Refused: {codes}.",
        "content": {"application/json": {"schema": _ref(ErrorResponse)}},
    }


def _links(route: Route) -> dict[str, Any]:
    """What can be done with what a route has just made: a task, which is also a run, or a job."""
    made = {
        "createTask": {"task_id": "$response.body#/task_id", "run_id": "$response.body#/task_id"},
        "dispatchTask": {"job_id": "$response.body#/job_id"},
    }.get(route.name, {})
    return {
        other.name: {"operationId": other.name, "parameters": {name: made[name] for name in names}}
        for other in ROUTES
        if (names := [name for name in _PARAMETER.findall(other.path) if name in made])
    }


def _health() -> dict[str, Any]:
    return {
        "operationId": "health",
        "summary": "The server is alive.",
        "security": [{}],
        "responses": {
            "200": {"description": "Alive.", "content": {"application/json": {"schema": _ref(Health)}}},
            "403": _refusal(403),
        },
    }


def _ref(model: type[Message]) -> dict[str, str]:
    return {"$ref": REF.format(model=model.__name__)}
