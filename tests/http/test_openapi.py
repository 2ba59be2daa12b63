from __future__ import annotations

import json
import re
from typing import Any

import jsonschema

from slipway_lite.control.refusals import HTTP_STATUS
from slipway_lite.http import openapi
from slipway_lite.http.routes import ROUTES
from tests.http.served import Client
from tests.published import published

SEEDS_COMPONENTS = (
    "Task",
    "WorkerJob",
    "WorkerResult",
    "StateTransitionEvent",
    "DispatchRequest",
    "IntegrateRequest",
    "PublishRequest",
    "ResolveDocsRequest",
    "TrackerLinkRequest",
    "ErrorResponse",
)


def test_the_document_is_served_as_it_is_made(client: Client) -> None:
    assert client.get("/openapi.json") == (200, json.loads(json.dumps(openapi.document())))


def test_the_components_have_the_seeds_names() -> None:
    schemas = openapi.component_schemas()
    assert set(SEEDS_COMPONENTS) <= set(schemas)
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_every_endpoint_of_the_seed_is_there_with_its_method() -> None:
    text = next(published("seeds").glob("004*.txt")).read_text("utf-8")
    listed = set(re.findall(r"^(GET|POST)\s+(/v1/\S+)", text, re.MULTILINE))
    assert len(listed) == 15
    assert listed <= {(route.method, route.path) for route in ROUTES}


def test_no_schema_offers_null_and_every_object_is_closed_or_open_on_purpose() -> None:
    open_objects = {"JobContext", "ReflectionSummary"}
    for name, schema in openapi.component_schemas().items():
        if schema.get("type") == "object" and "properties" in schema:
            assert schema.get("additionalProperties") is (name in open_objects), name
        assert '"null"' not in json.dumps(_without_metadata(schema)), name


def _without_metadata(schema: dict[str, Any]) -> dict[str, Any]:
    properties = {name: value for name, value in schema.get("properties", {}).items() if name != "metadata"}
    return schema | {"properties": _drop_scalar_maps(properties)}


def _drop_scalar_maps(properties: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in properties.items() if name not in ("latest_run", "generation_metadata")}


def test_every_route_has_one_name_and_documents_only_known_statuses() -> None:
    names = [route.name for route in ROUTES]
    assert len(names) == len(set(names))
    for route in ROUTES:
        assert set(openapi.statuses(route)) <= set(HTTP_STATUS.values())
        assert route.call.__doc__
