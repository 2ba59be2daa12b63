"""Who waits for whom, and how long: a writer for a writer up to five seconds, nobody for a reader, readers for nobody.

Every kind of mutation waits at once, each in a process of its own, so that the waiting is paid for once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from slipway_lite.canon import encode
from slipway_lite.store.connection import BUSY_SECONDS, connect, open_store
from tests.adversarial.task_wire import TICKS
from tests.adversarial.workers import Answer, Crew, Request
from tests.control.world import World, event_body, result_body
from tests.http.served import Served
from tests.machine_host import Host, database, decision, outcome, raw, repository

SOONEST, LATEST = BUSY_SECONDS - 0.05, 7.0
SHORT = 1.5


class Waiting(NamedTuple):
    """Every mutation of the machine protocol and some of the control plane, each on a thing of its own."""

    runs: dict[str, Request]
    tasks: dict[str, Request]
    reads: dict[str, Request]


@contextmanager
def held(path: Path) -> Iterator[None]:
    """The write lock, in the hands of somebody else."""
    connection = connect(str(path), "mode=rw")
    connection.execute("begin immediate")
    try:
        yield
    finally:
        connection.execute("rollback")
        connection.close()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo")


@pytest.fixture
def waiting(place: Path) -> Waiting:
    db = database(place)
    hosts = {what: Host(place, what) for what in ("submit", "refused", "skip", "stop", "answer", "resume")}
    hosts["answer"].ask()
    hosts["resume"].stop()
    flags = ("--root", str(place))
    runs = {
        "run": Request(("run", "goal", "--json", *flags)),
        "submit": Request(
            tuple(hosts["submit"].argv("submit", "--outcome-stdin")), raw(outcome(hosts["submit"].action))
        ),
        "answer": Request(tuple(hosts["answer"].argv("answer", "--text", "The first."))),
        "skip": Request(tuple(hosts["skip"].argv("skip"))),
        "stop": Request(("stop", hosts["stop"].run_id, "--json", *flags)),
        "resume": Request(("protocol", "resume", hosts["resume"].run_id, *flags)),
        "refused submit": Request(
            tuple(hosts["refused"].argv("submit", "--outcome-stdin")),
            raw(outcome(hosts["refused"].action, "needs_input", pause=decision() | {"reason": "budget_exhausted"})),
        ),
    }
    return Waiting(runs, _tasks(db), _reads(hosts["submit"].run_id, db, flags))


def _tasks(db: Path) -> dict[str, Request]:
    from slipway_lite.control.service import ControlPlane

    with ControlPlane.open(str(db)) as plane:
        world = World(plane)
        working = world.bring("planning")
        job = world.redispatched(working)["job_id"]
        beating = world.redispatched(world.bring("planning"))["job_id"]
        judged = world.bring("accepting")
        world.result(judged, world.redispatched(judged), verdict={"outcome": "accept"})
        bodies = {
            "dispatch": (world.create(), "--stage", "plan"),
            "cancel": (world.create(),),
            "result": (working, "--file", "-"),
            "transition": (blocked := world.bring("blocked"), "--file", "-"),
            "accept": (judged, *TICKS),
            "integrate": (world.bring("accepted"), "--base-sha", "aaaaaaa1", "--branch", "work"),
        }
        stdin: dict[str, Any] = {
            "result": result_body(job),
            "transition": event_body(world.task(blocked), "developing"),
        }
    where = ("--db", str(db), "--json")
    found = {
        what: Request(("task", what, *words, *where), raw(stdin[what]) if what in stdin else b"")
        for what, words in bodies.items()
    }
    found["heartbeat"] = Request(("job", "heartbeat", beating, "--worker", "w", "--stage", "plan", *where))
    found["rebuild"] = Request(("db", "rebuild", *where))
    return found


def _reads(run_id: str, db: Path, flags: tuple[str, ...]) -> dict[str, Request]:
    where = ("--db", str(db))
    return {
        "status": Request(("status", run_id, "--json", *flags)),
        "list": Request(("status", "--json", *flags)),
        "tasks": Request(("task", "list", "--json", *where)),
        "verify": Request(("db", "verify", "--json", *where)),
        "export": Request(("observations", "export", "--all", *where)),
        "audit": Request(("audit", "list", "--json", *where)),
    }


@pytest.fixture
def many(crew: Crew) -> Crew:
    """As many processes as there are kinds of mutations, up and running."""
    crew.db = None
    crew.grow(10)
    return crew


def together(crew: Crew, requests: dict[str, Request]) -> dict[str, Answer]:
    return dict(zip(requests, crew.race(list(requests.values())), strict=True))


def seconds(answer: Answer) -> float:
    return answer.ended - answer.began


@pytest.mark.adversarial
@pytest.mark.parametrize("kind", ["runs", "tasks"])
def test_a_mutation_that_waits_less_than_five_seconds_succeeds(
    waiting: Waiting, place: Path, many: Crew, kind: str
) -> None:
    requests: dict[str, Request] = getattr(waiting, kind)
    answers: dict[str, Answer] = {}
    thread = threading.Thread(target=lambda: answers.update(together(many, requests)))
    with held(database(place)):
        thread.start()
        time.sleep(SHORT)
        released = time.monotonic()
    thread.join(60)
    refused = {"refused submit": "invalid_outcome"} if kind == "runs" else {}
    assert {what: answer.code for what, answer in answers.items()} == dict.fromkeys(requests, "") | refused
    assert {what for what, answer in answers.items() if not answer.began < released < answer.ended} == set()


@pytest.mark.adversarial
def test_a_run_mutation_that_waits_longer_is_told_run_busy_after_five_seconds(
    waiting: Waiting, place: Path, many: Crew
) -> None:
    """machine-protocol §6.7: exit 3, not earlier and hardly later, and nothing was changed."""
    before = many.ask("db", "head", "--json", "--db", str(database(place))).document
    with held(database(place)):
        answers = together(many, waiting.runs)
    for what, answer in answers.items():
        assert (what, answer.code, answer.reply.status) == (what, "run_busy", 3)
        assert answer.document["details"]["phase"] == "lock_open"
        assert SOONEST <= seconds(answer) <= LATEST, what
    assert many.ask("db", "head", "--json", "--db", str(database(place))).document == before


@pytest.mark.adversarial
def test_a_task_mutation_that_waits_longer_is_told_database_busy_after_five_seconds(
    waiting: Waiting, place: Path, many: Crew
) -> None:
    with held(database(place)):
        answers = together(many, waiting.tasks)
    for what, answer in answers.items():
        assert (what, answer.code, answer.reply.status) == (what, "database_busy", 3)
        assert SOONEST <= seconds(answer) <= LATEST, what


@pytest.mark.adversarial
def test_over_http_a_request_that_waits_too_long_is_503_and_a_shorter_one_succeeds(tmp_path: Path) -> None:
    """control-plane §13.15: STORAGE_UNAVAILABLE. Reads are answered all the while."""
    from tests.control.world import create_body

    with Served(tmp_path / "x.db") as served:
        client, reader = served.client(), served.client()
        first = client.post("/v1/tasks", create_body())[1]["task_id"]
        with held(served.db):
            answered: list[tuple[int, Any]] = []
            began = time.monotonic()
            thread = threading.Thread(target=lambda: answered.append(client.post("/v1/tasks", create_body())))
            thread.start()
            while thread.is_alive():
                asked = time.monotonic()
                assert reader.get(f"/v1/tasks/{first}")[0] == 200
                assert time.monotonic() - asked < 1
                time.sleep(0.1)
            waited = time.monotonic() - began
        ((status, document),) = answered
        assert (status, document["code"]) == (503, "STORAGE_UNAVAILABLE")
        assert SOONEST <= waited <= LATEST
        with held(served.db):
            answered.clear()
            thread = threading.Thread(target=lambda: answered.append(client.post("/v1/tasks", create_body())))
            thread.start()
            time.sleep(SHORT)
        thread.join(30)
        assert answered[0][0] == 201
        assert reader.get("/v1/tasks")[1]["total"] == 2


def test_no_reader_waits_for_a_writer(waiting: Waiting, place: Path, many: Crew) -> None:
    with held(database(place)):
        answers = together(many, waiting.reads)
    assert {what: answer.code for what, answer in answers.items()} == dict.fromkeys(waiting.reads, "")
    assert all(seconds(answer) < SOONEST for answer in answers.values())


def test_no_writer_waits_for_a_long_reader_and_the_log_is_folded_once_it_has_gone(tmp_path: Path) -> None:
    """A reader keeps its moment for as long as it likes; the log grows meanwhile, and is taken up again after."""
    path = tmp_path / "x.db"
    log = Path(f"{path}-wal")
    text = encode("x" * 40_000)

    def write(rows: int) -> None:
        with open_store(str(path)) as store, store.immediate() as tx:
            for _ in range(rows):
                tx.append("journal_events", "turn:s", tx.next_sequence("journal_events", "turn:s"), "t", "k", text)

    write(1)
    with open_store(str(path)) as staying:
        reader = connect(str(path), "mode=ro")
        reader.execute("begin")
        (before,) = reader.execute("select count(*) from ledger").fetchone()
        started = time.monotonic()
        for _ in range(8):
            write(90)
        assert time.monotonic() - started < 8 * BUSY_SECONDS
        assert reader.execute("select count(*) from ledger").fetchone() == (before,)
        grown = log.stat().st_size
        reader.close()
        for _ in range(12):
            write(90)
        assert log.stat().st_size < 2 * grown, "it is written from the front again"
        assert staying.rows("select count(*) from ledger") == [(before + 20 * 90,)]
    assert not log.exists(), "the last one out folds it"
