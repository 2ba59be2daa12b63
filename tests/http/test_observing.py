"""Observations over HTTP: pages of a valid bundle, every wrong request 400, and a read that acknowledges nothing."""

from __future__ import annotations

from typing import Any

import pytest

from slipway_lite.observe import messages
from tests.http.served import Client

PATH = "/v1/improvement/observations"
TASK = {
    "title": "t", "objective": "o", "typed_ref": "agent-taskstate:task:local:1",
    "repo_ref": {"provider": "github", "owner": "o", "name": "n", "default_branch": "main"},
}  # fmt: skip


def acknowledged(client: Client, evidence_id: str) -> str:
    _, task = client.post("/v1/tasks", TASK)
    _, answer = client.post(f"/v1/tasks/{task['task_id']}/evidence/{evidence_id}/ack", {"reviewed_by": "r"})
    return str(answer["acknowledgement_id"])


def ids(bundle: dict[str, Any]) -> list[str]:
    return [item["source_event_id"] for item in bundle["evidence_consumption_observations"]]


def test_observations_are_a_valid_bundle_page_by_page(client: Client) -> None:
    events = [acknowledged(client, f"e{number}") for number in range(3)]
    found: list[str] = []
    query = "?limit=2"
    while query:
        _, bundle = client.get(PATH + query)
        messages.check(messages.ImprovementObservationBundle, bundle, "invalid")
        found += ids(bundle)
        query = f"?limit=2&cursor={bundle['next_cursor']}" if "next_cursor" in bundle else ""
    assert found[-3:] == events


def test_looking_acknowledges_nothing(client: Client) -> None:
    acknowledged(client, "once")
    first, second = (client.get(f"{PATH}?limit=500")[1] for _ in range(2))
    assert first | {"generated_at": ""} == second | {"generated_at": ""}


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=501", "limit=1.5", "limit=ten", "since=yesterday", "until=2026-01-01", "cursor=gate:nobody",
     "since=2026-02-01T00:00:00Z&until=2026-01-01T00:00:00Z"],
)  # fmt: skip
def test_a_wrong_request_is_400(client: Client, query: str) -> None:
    status, answer = client.get(f"{PATH}?{query}")
    assert (status, answer["code"]) == (400, "INVALID_REQUEST")


def test_unknown_parameters_are_left_alone(client: Client) -> None:
    assert client.get(f"{PATH}?surprise=1")[0] == 200
