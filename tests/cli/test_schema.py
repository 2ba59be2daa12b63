from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from slipway_lite.resources import schema_names, schema_text
from tests.machine_host import invoke


def test_list_names_every_schema() -> None:
    names = json.loads(invoke("schema", "list", "--json").out)["schemas"]
    assert names == sorted(names) == schema_names() and "machine-protocol" in names
    assert invoke("schema", "list").out.decode().split() == names


@pytest.mark.parametrize("name", schema_names())
def test_show_prints_the_file_and_it_is_a_schema(name: str) -> None:
    reply = invoke("schema", "show", name)
    assert (reply.status, reply.err) == (0, b"")
    assert reply.out.decode() == schema_text(name)
    Draft202012Validator.check_schema(json.loads(reply.out))


@pytest.mark.parametrize("name", ["nope", "", "../schemas/machine-protocol", "machine-protocol.schema.json"])
def test_an_unknown_schema_is_a_usage_error(name: str) -> None:
    reply = invoke("schema", "show", name)
    assert (reply.status, reply.code) == (2, "unknown_schema")
