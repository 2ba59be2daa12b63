"""Bytes on a socket that no honest client sends: one answer or none, no second request, no memory, no defect."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from slipway_lite.http import connection
from tests.adversarial.scale import scaled
from tests.http.served import Served

HOST = b"Host: localhost\r\n"
POST = b"POST /v1/tasks HTTP/1.1\r\n" + HOST
GET = b"GET /v1/tasks HTTP/1.1\r\n" + HOST
BEHIND = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
"""A request that a smuggler would hide behind another one."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("hostile") / "slipway.db") as server:
        yield server
        server.stop()
        assert "Traceback" not in server.errors


def send(served: Served, raw: bytes, seconds: float = 5.0) -> bytes:
    """Everything that comes back until the server hangs up, or has been silent for ``seconds``."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=seconds) as client:
        answer = b""
        try:
            client.sendall(raw)
            while part := client.recv(1 << 16):
                answer += part
        except (TimeoutError, ConnectionError):
            pass
        return answer


def statuses(answer: bytes) -> list[int]:
    """The statuses of all answers on one connection."""
    return [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:] if part[:3].isdigit()]


def peak(served: Served) -> int:
    """Kilobytes that the server has taken at most."""
    assert served.process is not None
    text = Path(f"/proc/{served.process.pid}/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0])


NO_REQUEST = {
    "two ways to end a body": POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + BEHIND,
    "two lengths": POST + b"Content-Length: 2\r\nContent-Length: 4\r\n\r\n{}{}" + BEHIND,
    "one length twice": POST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}" + BEHIND,
    "a list of lengths": POST + b"Content-Length: 2, 2\r\n\r\n{}" + BEHIND,
    "a signed length": POST + b"Content-Length: +2\r\n\r\n{}" + BEHIND,
    "a negative length": POST + b"Content-Length: -2\r\n\r\n{}" + BEHIND,
    "a length in hexadecimal": POST + b"Content-Length: 0x2\r\n\r\n{}" + BEHIND,
    "a length that overflows": POST + b"Content-Length: 99999999999999999999\r\n\r\n{}" + BEHIND,
    "an unknown coding": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + BEHIND,
    "chunked, and something after it": POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + BEHIND,
    "a space before the colon": POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + BEHIND,
    "a folded header": GET + b"X-A: b\r\n c\r\n\r\n",
    "a chunk without a size": POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n" + BEHIND,
    "a chunk of negative size": POST + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n{}\r\n0\r\n\r\n" + BEHIND,
    "a chunk size that overflows": POST + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}\r\n" + BEHIND,
    "a chunk longer than its size": POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}xx\r\n0\r\n\r\n" + BEHIND,
    "a line feed in the framing": POST + b"Transfer-Encoding: chunked\r\n\r\n2;a\n{}\r\n0\r\n\r\n" + BEHIND,
    "bare line feeds": b"GET /v1/tasks HTTP/1.1\nHost: localhost\n\n",
    "a bare carriage return": GET + b"X: a\rY: b\r\n\r\n",
    "a NUL in a header": GET + b"X: a\0b\r\n\r\n",
    "bytes in a path": b"GET /v1/tasks/\xff\xfe HTTP/1.1\r\n" + HOST + b"\r\n",
    "two hosts": b"GET /v1/tasks HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
    "no host": b"GET /v1/tasks HTTP/1.1\r\n\r\n",
    "a method that is none": b"FOO /v1/tasks HTTP/1.1\r\n" + HOST + b"\r\n",
    "a tunnel": b"CONNECT evil.example:80 HTTP/1.1\r\n" + HOST + b"\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64,
}


@pytest.mark.parametrize("how", NO_REQUEST)
def test_what_is_no_request_is_one_refusal_and_the_end(served: Served, how: str) -> None:
    answer = send(served, NO_REQUEST[how])
    assert statuses(answer) == [400], answer
    document = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert document["code"] == "INVALID_REQUEST"


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"GET /v1/tasks/a%2fevents HTTP/1.1\r\n" + HOST, 404),
        (b"GET /v1/tasks/a%00b HTTP/1.1\r\n" + HOST, 404),
        (b"GET /v1/tasks/%ff%fe HTTP/1.1\r\n" + HOST, 404),
        (b"GET /v1/tasks/%ed%a0%80 HTTP/1.1\r\n" + HOST, 404),
        (b"GET /v1/tasks/%2e%2e HTTP/1.1\r\n" + HOST, 404),
        (b"GET /v1/tasks/../tasks HTTP/1.1\r\n" + HOST, 404),
        (b"GET /v1/tasks/%1b%5b2J HTTP/1.1\r\n" + HOST, 404),
        (b"GET /v1/tasks?limit=%D9%A3 HTTP/1.1\r\n" + HOST, 400),
        (b"GET /v1/improvement/observations?cursor=%00%ff HTTP/1.1\r\n" + HOST, 400),
        (b"HEAD /v1/tasks HTTP/1.1\r\n" + HOST, 405),
        (b"TRACE /v1/tasks HTTP/1.1\r\n" + HOST, 405),
        (b"OPTIONS /v1/tasks HTTP/1.1\r\nOrigin: http://evil.example\r\n" + HOST, 405),
        (b"OPTIONS * HTTP/1.1\r\n" + HOST, 404),
        (b"POST /v1/tasks/x HTTP/1.1\r\nX-HTTP-Method-Override: GET\r\nContent-Length: 0\r\n" + HOST, 405),
        (b"GET /v1/tasks HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" + HOST, 200),
        (b"GET http://evil.example/healthz HTTP/1.1\r\nHost: evil.example\r\n", 403),
        (b"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n", 403),
        (b"GET /openapi.json HTTP/1.1\r\nHost: evil.example:80\r\n", 403),
        (b"GET /v1/tasks HTTP/1.1\r\nHost: localhost@evil.example\r\n", 403),
        (b"GET /v1/tasks HTTP/1.1\r\nHost: localhost.evil.example\r\n", 403),
        (b"GET /v1/tasks HTTP/1.1\r\nHost: \r\n", 403),
        (b"GET /v1/tasks HTTP/1.1\r\nOrigin: null\r\n" + HOST, 403),
        (b"GET /v1/tasks HTTP/1.1\r\nOrigin: https://localhost\r\n" + HOST, 403),
        (b"GET /v1/tasks HTTP/1.1\r\nAuthorization: Bearer \xff\xfe\r\n" + HOST, 200),
        (b'POST /v1/tasks/x/cancel HTTP/1.1\r\nIf-Match: "\xd9\xa3"\r\nContent-Length: 0\r\n' + HOST, 400),
    ],
)
def test_a_strange_request_is_answered_once_and_lets_nobody_else_read(served: Served, raw: bytes, status: int) -> None:
    answer = send(served, raw + b"Connection: close\r\n\r\n")
    assert statuses(answer) == [status], answer
    assert b"access-control" not in answer.lower()
    assert b"\x1b" not in answer


@pytest.mark.adversarial
@pytest.mark.parametrize(
    "raw",
    [
        b"GET /v1/tasks/" + b"a" * (1 << 20) + b" HTTP/1.1\r\n" + HOST + b"\r\n",
        GET + b"X: " + b"a" * (1 << 24) + b"\r\n\r\n",
        GET + b"".join(b"X-%d: a\r\n" % number for number in range(100_000)) + b"\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\n2;" + b"a" * (1 << 22) + b"\r\n{}\r\n0\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n" + b"X: aaaa\r\n" * 500_000 + b"\r\n",
    ],
    ids=["path", "header", "headers", "chunk extension", "trailers"],
)
def test_what_is_no_body_is_bounded(served: Served, raw: bytes) -> None:
    before = peak(served)
    answer = send(served, raw)
    assert not {200, 201, 500} & set(statuses(answer)), answer
    assert peak(served) - before < 8_192


@pytest.mark.adversarial
@pytest.mark.parametrize("framing", [b"Content-Length: 1000000000000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"])
def test_a_body_that_never_ends_takes_no_memory(served: Served, framing: bytes) -> None:
    before = peak(served)
    part = b"a" * 0x10000 if framing.startswith(b"C") else b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
    answer = send(served, POST + framing + part * scaled(400, 4_000), 2.0)
    assert statuses(answer) in ([413], []), answer
    assert peak(served) - before < 16_384


# -- a client that is slow


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that waits for a request for one second."""
    place = tmp_path_factory.mktemp("impatient")
    program = place / "sitecustomize.py"
    program.write_text("from slipway_lite.http import connection\nconnection.REQUEST_SECONDS = 1.0\n")
    places = os.pathsep.join([str(place), str(Path(__file__).parents[2])])
    with Served(place / "slipway.db", environment={"PYTHONPATH": places}) as server:
        yield server
        server.stop()
        assert "Traceback" not in server.errors


def drip(served: Served, first: bytes, drop: bytes) -> float:
    """How long the server bears a client that goes on in drops."""
    started = time.monotonic()
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as client:
        client.sendall(first)
        client.settimeout(0.1)
        while time.monotonic() - started < 10:
            try:
                if not client.recv(4096):
                    break
            except TimeoutError:
                pass
            except ConnectionError:
                break
            if drop:
                try:
                    client.sendall(drop)
                except ConnectionError:
                    break
    return time.monotonic() - started


@pytest.mark.adversarial
@pytest.mark.parametrize(
    ("first", "drop"),
    [
        (b"", b""),
        (b"GET /v1/ta", b""),
        (GET, b"X-A: b\r\n"),
        (POST + b"Content-Length: 1000\r\n\r\n", b" "),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        (POST + b"Content-Length: 100000000\r\n\r\n", b" "),
    ],
)
def test_a_request_has_to_come_in_time(impatient: Served, first: bytes, drop: bytes) -> None:
    assert 0.5 < drip(impatient, first, drop) < 5
    assert impatient.client().get("/healthz")[0] == 200


def test_an_empty_line_after_an_answer_keeps_no_connection_open(impatient: Served) -> None:
    with socket.create_connection(("127.0.0.1", impatient.port), timeout=5) as client:
        client.sendall(GET + b"\r\n")
        assert client.recv(65_536).startswith(b"HTTP/1.1 200")
        client.sendall(b"\r\n")
        while client.recv(65_536):
            pass


def test_a_request_may_take_half_a_minute_and_64_kibibytes_beside_its_body(served: Served) -> None:
    assert (connection.REQUEST_SECONDS, connection.OVERHEAD_LIMIT) == (30.0, 65_536)
    assert statuses(send(served, GET + b"X: " + b"a" * 60_000 + b"\r\nConnection: close\r\n\r\n")) == [200]
    assert statuses(send(served, GET + b"X: " + b"a" * 400_000)) == [400]


@pytest.mark.adversarial
def test_a_connection_that_is_kept_between_two_requests_is_no_slow_one(impatient: Served) -> None:
    client = impatient.client()
    assert client.get("/healthz")[0] == 200
    time.sleep(1.5)
    assert client.get("/healthz")[0] == 200


@pytest.mark.adversarial
def test_many_slow_clients_keep_nobody_out(impatient: Served) -> None:
    crowd = [threading.Thread(target=drip, args=(impatient, GET, b"X-A: b\r\n")) for _ in range(scaled(60, 300))]
    for thread in crowd:
        thread.start()
    slowest = 0.0
    client = impatient.client()
    while any(thread.is_alive() for thread in crowd):
        started = time.monotonic()
        assert client.get("/v1/tasks")[0] == 200
        slowest = max(slowest, time.monotonic() - started)
        time.sleep(0.05)
    assert slowest < 3


# -- tokens


def test_a_token_is_never_told_and_any_bytes_may_be_presented(tmp_path: Path) -> None:
    token = "s3cret-töken-of-mine"
    tokens = tmp_path / "tokens"
    tokens.write_text(f"operator {token}\n")
    with Served(tmp_path / "x.db", "--token-file", str(tokens)) as served:
        for presented in (b"", b"\xff\xfe", b"a" * 50_000, token[:-1].encode(), token.encode("latin-1"), b"\xc3"):
            head = GET + b"Authorization: Bearer " + presented + b"\r\nConnection: close\r\n\r\n"
            assert statuses(send(served, head)) == [401]
        served.stop()
        assert token not in served.errors
        assert "Traceback" not in served.errors
    raw = b"".join(path.read_bytes() for path in tmp_path.glob("x.db*"))
    assert token.encode() not in raw
