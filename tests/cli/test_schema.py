from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from slipway_lite.cli.schema import ERRORS_SHOWN
from slipway_lite.observe.analysis import DOCUMENT_LIMIT
from slipway_lite.resources import schema_names, schema_text
from tests.machine_host import Host, invoke, repository


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


def test_validate_takes_what_the_schema_describes(tmp_path: Path) -> None:
    host = Host(repository(tmp_path / "repo"))
    status = invoke("status", host.run_id, "--json", "--root", str(host.root)).out
    reply = invoke("schema", "validate", "machine-protocol", "-", stdin=status)
    assert (reply.status, reply.err) == (0, b"")
    file = tmp_path / "status.json"
    file.write_bytes(status)
    reply = invoke("schema", "validate", "machine-protocol", str(file), "--json")
    assert json.loads(reply.out) == {"schema": "machine-protocol", "valid": True, "errors": []}


def test_validate_names_the_place_and_the_keyword_and_leaves_with_3() -> None:
    reply = invoke("schema", "validate", "heartbeat-request", "-", "--json", stdin=b'{"worker_id": 3}')
    assert (reply.status, reply.err) == (3, b"")
    report = json.loads(reply.out)
    assert report["valid"] is False
    assert {"at": "$.worker_id", "keyword": "type", "problem": "3 is not of type 'string'"} in report["errors"]


def test_validate_counts_a_fraction_as_a_number() -> None:
    raw = json.dumps({"schema_version": 0.5}).encode()
    reply = invoke("schema", "validate", "self-improvement-thresholds", "-", "--json", stdin=raw)
    assert "0.5" in reply.out.decode() and "'0.5'" not in reply.out.decode()


def test_validate_shows_a_bounded_number_of_errors_in_lines_that_steer_no_terminal() -> None:
    worst = json.dumps({f"\x1b[31m{number}": "\x1b]0;x\x07" for number in range(100)}).encode()
    reply = invoke("schema", "validate", "task", "-", stdin=worst)
    assert reply.status == 3 and b"\x1b" not in reply.out and reply.out.count(b"\n") <= ERRORS_SHOWN


@pytest.mark.parametrize(
    ("stdin", "code"),
    [(b"", "invalid_document"), (b'{"a":1,"a":1}', "invalid_document"), (b"\xff", "invalid_document")],
)
def test_validate_refuses_what_is_no_document(stdin: bytes, code: str) -> None:
    reply = invoke("schema", "validate", "task", "-", stdin=stdin)
    assert (reply.status, reply.code) == (2, code)


def test_validate_refuses_a_file_that_it_cannot_read(tmp_path: Path) -> None:
    reply = invoke("schema", "validate", "task", str(tmp_path / "nope"))
    assert (reply.status, reply.code) == (2, "unreadable_file")
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(DOCUMENT_LIMIT + 1)
    reply = invoke("schema", "validate", "task", str(large))
    assert (reply.status, reply.code) == (2, "invalid_document")


def test_validate_with_an_unknown_schema_is_a_usage_error() -> None:
    assert invoke("schema", "validate", "nope", "-", stdin=b"{}").code == "unknown_schema"
