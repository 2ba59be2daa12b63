"""What is done to the whole file (made, brought up to date, rebuilt, pruned, served) beside those who use it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.store import migrations
from slipway_lite.store.audit import append_audits
from slipway_lite.store.connection import open_store
from tests.adversarial.scale import scaled
from tests.adversarial.workers import Answer, Crew, Request
from tests.control.world import create_body
from tests.http.served import Served
from tests.machine_host import raw

CREATE = Request(("task", "create", "--file", "-", "--json"), raw(create_body()))
LIST = Request(("task", "list", "--limit", "500", "--json"))
VERIFY = Request(("db", "verify", "--json"))
HEAD = Request(("db", "head", "--json"))
REBUILD = Request(("db", "rebuild", "--json"))
PRUNE = Request(("audit", "prune", "--before", "2021-01-01T00:00:00Z", "--json"))
AUDIT = Request(("audit", "list", "--json"))
NOT_YET = {"", "database_not_found", "database_blank"}
"""What a reader may be told of a file that is being made."""


@pytest.fixture
def workers(crew: Crew) -> Iterator[Crew]:
    yield crew
    crew.db = None


def codes(answers: list[Answer]) -> list[str]:
    return [answer.code for answer in answers]


def sound(crew: Crew, tasks: int) -> None:
    assert crew.race([VERIFY])[0].document["problems"] == []
    assert crew.race([LIST])[0].document["total"] == tasks


def made(crew: Crew, path: Path, rounds: int, root: Path) -> None:
    run = Request(("run", "goal", "--json", "--root", str(root)))
    status = Request(("status", "--json", "--root", str(root)))
    for number in range(rounds):
        crew.db = path / f"{number}.db"
        late = [request._replace(delay=0.002 * (number % 5)) for request in (LIST, VERIFY, status)]
        answers = crew.race([CREATE, run, CREATE, *late])
        assert codes(answers[:3]) == ["", "", ""]
        assert set(codes(answers[3:5])) <= NOT_YET
        assert answers[5].code == ""
        sound(crew, tasks=2)


def test_a_file_is_made_by_several_writers_while_readers_look(workers: Crew, tmp_path: Path, root: Path) -> None:
    made(workers, tmp_path, 1, root)


@pytest.mark.adversarial
def test_a_file_is_made_again_and_again(workers: Crew, tmp_path: Path, root: Path) -> None:
    made(workers, tmp_path, scaled(6, 150), root)


def older(path: Path, steps: int) -> None:
    """A file as an earlier release left it."""
    with pytest.MonkeyPatch.context() as earlier:
        earlier.setattr(migrations, "STEPS", migrations.STEPS[:steps])
        earlier.setattr(migrations, "HEAD", steps)
        open_store(str(path)).close()


@pytest.mark.adversarial
def test_a_file_is_brought_up_to_date_by_whoever_writes_first(workers: Crew, tmp_path: Path) -> None:
    for number in range(scaled(6, 120)):
        workers.db = tmp_path / f"{number}.db"
        older(workers.db, 1 + number % (migrations.HEAD - 1))
        late = [request._replace(delay=0.003 * (number % 4)) for request in (LIST, HEAD, VERIFY)]
        answers = workers.race([CREATE, CREATE, REBUILD, *late])
        assert codes(answers[:3]) == ["", "", ""]
        assert set(codes(answers[3:])) <= {"", "database_outdated"}
        sound(workers, tasks=2)


@pytest.mark.adversarial
@pytest.mark.parametrize("upkeep", [REBUILD, PRUNE], ids=["rebuild", "prune"])
def test_upkeep_beside_writers_and_readers_loses_nothing_and_shows_nothing_torn(
    workers: Crew, tmp_path: Path, upkeep: Request
) -> None:
    workers.db = tmp_path / "x.db"
    task_id = workers.race([CREATE])[0].document["task_id"]
    rounds = scaled(8, 200)
    for number in range(rounds):
        with open_store(str(workers.db)) as store, store.immediate() as tx:
            old = f"2020-01-01T00:00:00.{number:06d}Z"
            append_audits(tx, f"task:{task_id}", old, [("an.old.one", "human", "ann", {})])
            append_audits(tx, f"task:{task_id}", old, [("another.old.one", "human", "ann", {})])
        looks = [request._replace(delay=0.002 * (number % 6)) for request in (VERIFY, LIST, AUDIT)]
        answers = workers.race([upkeep, CREATE, CREATE, *looks])
        assert codes(answers) == [""] * 6, answers
        assert answers[3].document["problems"] == []
        shown = answers[4].document
        assert shown["total"] == len(shown["items"])
        assert 1 + 2 * number <= shown["total"] <= 3 + 2 * number
    sound(workers, tasks=1 + 2 * rounds)
    if upkeep is PRUNE:
        left = workers.ask("audit", "list", "--type", "audit.pruned", "--json").document["items"]
        assert len(left) >= rounds // 2


def beside(served: Served, crew: Crew, rounds: int) -> None:
    """HTTP clients and command lines at one file, with an eye on lists that are one moment each."""
    crew.db = served.db
    failures: list[Any] = []
    done = threading.Event()

    def over_http() -> None:
        client = served.client()
        while not done.is_set():
            status, document = client.post("/v1/tasks", create_body())
            if status != 201:
                failures.append(document)

    def look() -> None:
        client = served.client()
        while not done.is_set():
            for path in ("/v1/tasks?limit=500", "/v1/runs?limit=500"):
                status, document = client.get(path)
                if status != 200 or len(document["items"]) != min(500, document["total"]):
                    failures.append((path, status, document["total"], len(document["items"])))

    threads = [threading.Thread(target=work) for work in (over_http, over_http, look)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(rounds):
            answers = crew.race([CREATE, CREATE, LIST, VERIFY])
            assert codes(answers) == [""] * 4, answers
            assert answers[3].document["problems"] == []
    finally:
        done.set()
        for thread in threads:
            thread.join(30)
    assert failures == []


@pytest.mark.adversarial
def test_a_server_and_command_lines_work_side_by_side(workers: Crew, tmp_path: Path) -> None:
    with Served(tmp_path / "x.db") as served:
        beside(served, workers, scaled(6, 100))
        assert served.stop() == 0
    assert served.errors == ""
    assert workers.race([VERIFY])[0].document["problems"] == []
