from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from slipway_lite.control.refusals import Refused
from slipway_lite.errors import UsageError
from slipway_lite.http.access import Access, parse_tokens
from tests.control.world import create_body
from tests.http.served import Served


def test_token_lines() -> None:
    text = "# comment\n\nplain\noperator  op\nadmin ad\n"
    assert parse_tokens(text) == {"plain": "admin", "op": "operator", "ad": "admin"}


@pytest.mark.parametrize("text", ["", "\n# only\n", "boss token", "a b c", "to\0ken", "\x1b[31m"])
def test_a_token_file_that_is_none(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_tokens(text)
    assert refused.value.code == "invalid_token_file"


ACCESS = Access({"op": "operator", "ad": "admin"})


@pytest.mark.parametrize(
    "headers", [{}, {"authorization": "Bearer no"}, {"authorization": "Basic op"}, {"x-api-key": ""}]
)
def test_without_a_known_token_401(headers: dict[str, str]) -> None:
    with pytest.raises(Refused) as refused:
        ACCESS.check(headers, "reader")
    assert (refused.value.code, refused.value.status) == ("UNAUTHORIZED", 401)


def test_roles() -> None:
    assert ACCESS.check({"authorization": "bearer op"}, "operator")
    assert ACCESS.check({"x-api-key": "ad"}, "admin")
    with pytest.raises(Refused) as refused:
        ACCESS.check({"authorization": "Bearer op"}, "admin")
    assert (refused.value.code, refused.value.status) == ("FORBIDDEN", 403)


def test_a_token_beyond_ascii_is_the_utf8_that_clients_send() -> None:
    access = Access({"tökén": "admin"})
    assert access.check({"authorization": "Bearer " + "tökén".encode().decode("latin-1")}, "admin")
    for presented in ("tökén", "t?k?n", "tokén", "\xff\xfe"):
        with pytest.raises(Refused) as refused:
            access.check({"authorization": f"Bearer {presented}"}, "admin")
        assert refused.value.status == 401


def test_every_token_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []

    def watched(one: bytes, other: bytes) -> bool:
        compared.append(len(one) + len(other))
        return one == other

    monkeypatch.setattr("slipway_lite.http.access.hmac.compare_digest", watched)
    for presented in ("op", "ad", "x", "op" * 1000):
        compared.clear()
        with contextlib.suppress(Refused):
            ACCESS.check({"x-api-key": presented}, "operator")
        # Digests of equal length, whatever was presented, and all of them.
        assert compared == [64, 64]


@pytest.mark.parametrize("host", ["localhost", "localhost:8722", "127.0.0.1:1", "[::1]:8722", "[::1]"])
def test_an_open_loopback_answers_to_local_names(host: str) -> None:
    assert Access().check({"host": host, "origin": f"http://{host}"}, "admin") is False


@pytest.mark.parametrize("headers", [{"host": "a.example"}, {"host": "localhost", "origin": "null"}])
def test_and_to_no_others(headers: dict[str, str]) -> None:
    with pytest.raises(Refused) as refused:
        Access().check(headers, "reader")
    assert refused.value.status == 403


def test_a_served_instance_with_roles(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("operator op\nadmin ad\n")
    with Served(tmp_path / "x.db", "--token-file", str(tokens)) as served:
        nobody, operator, admin = served.client(), served.client("op"), served.client("ad")
        status, document, headers = nobody.request("GET", "/v1/tasks")
        assert (status, document["code"], headers["www-authenticate"]) == (401, "UNAUTHORIZED", "Bearer")
        assert nobody.get("/healthz")[0] == 200
        plan = {"publish_plan": {"approval_required": True}}
        task_id = operator.post("/v1/tasks", create_body(**plan))[1]["task_id"]
        status, document = operator.post(f"/v1/tasks/{task_id}/cancel", {})
        assert (status, document["code"]) == (403, "FORBIDDEN")
        assert admin.post(f"/v1/tasks/{task_id}/cancel", {})[0] == 200
        assert "op" not in str(document)


def test_the_token_of_the_environment(tmp_path: Path) -> None:
    with Served(tmp_path / "x.db", environment={"SLIPWAY_TOKEN": "env-token"}) as served:
        assert served.client().get("/v1/tasks")[0] == 401
        assert served.client("env-token").get("/v1/tasks")[0] == 200
