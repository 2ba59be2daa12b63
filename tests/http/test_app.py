from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.control.bodies import BODY_LIMIT
from slipway_lite.control.messages_base import Message
from slipway_lite.control.messages_request import ErrorResponse
from slipway_lite.control.service import ControlPlane
from slipway_lite.http.access import Access
from slipway_lite.http.app import build_app
from slipway_lite.http.routes import ROUTES
from tests.control.test_service import written_between
from tests.control.world import LOG, PATCH, TYPED_REF, create_body, result_body
from tests.http.served import Client, Served
from tests.http.test_errors import get

MODELS: dict[str, type[Message]] = {route.name: route.answer for route in ROUTES}


def create(client: Client, **members: Any) -> str:
    status, task = client.post("/v1/tasks", create_body(**members))
    assert status == 201
    return str(task["task_id"])


def call(client: Client, name: str, body: Any = None, **path: str) -> Any:
    """Call a route by its name; its answer has its status and its shape."""
    route = next(route for route in ROUTES if route.name == name)
    status, document, _ = client.request(route.method, route.path.format(**path), body)
    assert status == route.status, document
    route.answer.model_validate(document)
    return document


def test_a_whole_life_over_http_with_every_answer_in_its_shape(client: Client) -> None:
    task_id = create(client, publish_plan={"approval_required": True})
    path = {"task_id": task_id}
    call(client, "resolveDocs", {"feature": "login"}, **path)
    doc = call(client, "ingestDoc", {"doc_type": "spec", "title": "Whole life", "content": "# A\nMUST: b"})
    call(client, "acknowledgeDocs", {"doc_id": doc["doc_id"], "version": doc["version"], "task_id": task_id}, **path)
    call(client, "checkStaleDocs", None, **path)
    call(client, "getChunks", {"doc_id": doc["doc_id"]})
    call(client, "resolveContracts", {"feature": "login"})
    link = {"typed_ref": TYPED_REF, "connection_ref": "c", "entity_ref": "github_issue:1"}
    call(client, "linkTracker", link, **path)
    for stage, members in (
        ("plan", {}),
        ("dev", {"patch_ref": PATCH}),
        ("acceptance", {"verdict": {"outcome": "accept"}}),
    ):
        job = call(client, "dispatchTask", {"target_stage": stage}, **path)
        beat = {"worker_id": "w", "stage": stage, "observed_at": "2026-01-01T00:00:00Z"}
        call(client, "heartbeatJob", beat, job_id=job["job_id"])
        call(client, "applyResult", result_body(job["job_id"], **members), **path)
        call(client, "getJob", job_id=job["job_id"])
    task = call(client, "getTask", **path)
    ticks = {"checked_items": [{"id": item["id"]} for item in task["manual_checklist"]]}
    call(client, "tickChecklist", ticks, **path)
    call(client, "completeAcceptance", {}, **path)
    body = {"expected_state": "accepted", "base_sha": "abcdef1", "branch_ref": "b"}
    call(client, "integrateTask", body, **path)
    call(client, "completeIntegrate", {"checks_passed": True}, **path)
    publish = {"mode": "apply", "idempotency_key": "k"}
    assert call(client, "publishTask", publish, **path)["state"] == "publish_pending_approval"
    token = call(client, "issueApproval", None, **path)["approval_token"]
    call(client, "approvePublish", {"approval_token": token}, **path)
    call(client, "completePublish", {"external_refs": [{"kind": "tag", "value": "v1"}]}, **path)
    call(client, "buildContextBundle", {"purpose": "other"}, **path)
    call(client, "acknowledgeEvidence", {"reviewed_by": "ann"}, **path, evidence_id=LOG["artifact_id"])
    call(client, "generateRetrospective", None, run_id=task_id)
    for route in ROUTES:
        if route.method == "GET":
            call(client, route.name, None, task_id=task_id, run_id=task_id, job_id=job["job_id"])
    assert call(client, "getTask", **path)["state"] == "published"
    cancelled = create(client)
    call(client, "cancelTask", None, task_id=cancelled)
    moved = create(client)
    event = {
        "event_id": f"evt-{moved}",
        "task_id": moved,
        "from_state": "queued",
        "to_state": "planning",
        "actor_type": "human",
        "actor_id": "a",
        "reason": "r",
        "occurred_at": "2026-01-01T00:00:00Z",
    }
    call(client, "recordTransition", event, task_id=moved)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/v1/nothing", None, 404, "NOT_FOUND"),
        ("GET", "/", None, 404, "NOT_FOUND"),
        ("GET", "/v1/tasks/", None, 404, "NOT_FOUND"),
        ("PUT", "/v1/tasks", b"{}", 405, "METHOD_NOT_ALLOWED"),
        ("DELETE", "/v1/tasks/x", None, 405, "METHOD_NOT_ALLOWED"),
        ("GET", "/v1/tasks/none", None, 404, "NOT_FOUND"),
        ("POST", "/v1/tasks/none/dispatch", b'{"target_stage":"plan"}', 404, "NOT_FOUND"),
        ("POST", "/v1/tasks/none/dispatch", b'{"target_stage":"nope"}', 400, "INVALID_REQUEST"),
        ("POST", "/v1/tasks", b"", 400, "INVALID_REQUEST"),
        ("POST", "/v1/tasks", b"{", 400, "INVALID_REQUEST"),
        ("POST", "/v1/tasks", b"[]", 400, "INVALID_REQUEST"),
        ("POST", "/v1/tasks", b'{"title":"a","title":"b"}', 400, "INVALID_REQUEST"),
        ("POST", "/v1/tasks", b'\xef\xbb\xbf{"title":"a"}', 400, "INVALID_REQUEST"),
        ("POST", "/v1/tasks/none/results", b"{}", 400, "INVALID_RESULT"),
        ("POST", "/v1/tasks", b'"' + b"a" * BODY_LIMIT + b'"', 413, "BODY_TOO_LARGE"),
        ("GET", "/v1/tasks?limit=0", None, 400, "INVALID_REQUEST"),
        ("GET", "/v1/tasks?limit=ten", None, 400, "INVALID_REQUEST"),
        ("GET", "/v1/tasks?state=done", None, 400, "INVALID_REQUEST"),
        ("GET", "/v1/runs?offset=-1", None, 400, "INVALID_REQUEST"),
    ],
)
def test_every_error_has_one_shape(
    served: Served, method: str, path: str, body: bytes | None, status: int, code: str
) -> None:
    connection = served.client()
    found, document, headers = connection.request(method, path, body)
    connection.close()
    ErrorResponse.model_validate(document)
    assert (found, document["code"]) == (status, code)
    assert headers["content-type"] == "application/json"
    assert headers["x-request-id"]


def test_405_names_every_method_of_the_path(client: Client) -> None:
    _, _, headers = client.request("PATCH", "/v1/tasks")
    assert headers["allow"] == "GET, POST"


def test_if_match_is_the_expected_version(client: Client) -> None:
    task_id = create(client)
    path = f"/v1/tasks/{task_id}/dispatch"
    body = {"target_stage": "plan"}
    assert client.post(path, body, **{"If-Match": "*"})[0] == 400
    assert client.post(path, body, **{"If-Match": 'W/"0"'})[0] == 400
    status, document = client.post(path, body, **{"If-Match": '"4"'})
    assert (status, document["code"]) == (409, "VERSION_CONFLICT")
    assert client.post(path, body, **{"If-Match": '"0"'})[0] == 202


def test_a_request_id_is_kept_when_it_is_a_plain_word(client: Client) -> None:
    assert client.request("GET", "/healthz", None, {"X-Request-Id": "mine-1"})[2]["x-request-id"] == "mine-1"
    assert client.request("GET", "/healthz", None, {"X-Request-Id": "a b\tc"})[2]["x-request-id"] != "a b\tc"


def test_sixteen_clients_dispatch_the_same_version_and_one_wins(served: Served, client: Client) -> None:
    for _ in range(5):
        task_id = create(client)

        def dispatch(_: int, task_id: str = task_id) -> int:
            connection = served.client()
            body = {"target_stage": "plan", "expected_version": 0}
            status, _ = connection.post(f"/v1/tasks/{task_id}/dispatch", body)
            connection.close()
            return status

        with ThreadPoolExecutor(16) as pool:
            statuses = sorted(pool.map(dispatch, range(16)))
        assert statuses == [202] + [409] * 15
        assert client.get(f"/v1/tasks/{task_id}")[1]["version"] == 1
        assert len(client.get(f"/v1/tasks/{task_id}/events")[1]["items"]) == 2


def test_without_a_token_only_local_names_and_no_web_pages(client: Client) -> None:
    assert client.request("GET", "/v1/tasks", None, {"Host": "evil.example"})[0] == 403
    assert client.request("GET", "/v1/tasks", None, {"Host": "localhost:1"})[0] == 200
    status, document, _ = client.request("POST", "/v1/tasks", create_body(), {"Origin": "http://evil.example"})
    assert (status, document["code"]) == (403, "FORBIDDEN")


def test_no_cors_and_no_docs_page(client: Client) -> None:
    _, _, headers = client.request("GET", "/v1/tasks", None, {})
    assert not [name for name in headers if name.lower().startswith("access-control")]
    assert client.get("/docs")[0] == client.get("/redoc")[0] == 404


def test_a_chunked_body_is_capped_too(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as raw:
        raw.sendall(b"POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
        for _ in range(17):
            raw.sendall(chunk)
        answer = raw.recv(65536)
    assert answer.startswith(b"HTTP/1.1 413")


def test_a_client_that_leaves_in_the_middle_of_its_body_is_no_defect(tmp_path: Path) -> None:
    with Served(tmp_path / "x.db") as served:
        with socket.create_connection(("127.0.0.1", served.port), timeout=10) as raw:
            raw.sendall(b"POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        assert served.client().get("/v1/tasks")[0] == 200
        served.stop()
        assert "Traceback" not in served.errors


def test_html_artifacts_and_an_empty_list_of_artifacts_are_taken(client: Client) -> None:
    task_id = create(client)
    job = client.post(f"/v1/tasks/{task_id}/dispatch", {"target_stage": "plan"})[1]
    page = {"artifact_id": "p", "kind": "html", "uri": "artifact://p"}
    status, answer = client.post(f"/v1/tasks/{task_id}/results", result_body(job["job_id"], artifacts=[page]))
    assert (status, answer["task"]["artifacts"]) == (200, [{"artifact_id": "p", "kind": "other"}])


def test_text_of_any_script_comes_back(client: Client) -> None:
    title = "日本語 \u2028 😀 \\ud800"
    task_id = create(client, title=title)
    assert client.get(f"/v1/tasks/{task_id}")[1]["title"] == title
    raw = json.dumps(create_body(title="x")).replace('"x"', '"\\ud800"').encode()
    assert client.request("POST", "/v1/tasks", raw)[1]["title"] == "\ufffd"


@pytest.mark.parametrize("path", ["/v1/tasks", "/v1/runs"])
def test_an_answer_is_of_one_moment_whoever_writes_between_its_statements(tmp_path: Path, path: str) -> None:
    with ControlPlane.open(str(tmp_path / "x.db")) as plane:
        plane.create_task(create_body())
        app = build_app(plane, plane.store, Access())
        written_between(plane, "count(*)")
        status, page = get(app, path)
        assert (status, page["total"], len(page["items"])) == (200, 1, 1)
        assert get(app, path)[1]["total"] == 2
