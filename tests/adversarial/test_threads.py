"""The Python API in one process: objects that threads share, objects of their own, and other processes beside them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from slipway_lite import Slipway, SlipwayError
from slipway_lite.control import queries
from slipway_lite.control.service import ControlPlane
from slipway_lite.store.reading import read_store
from tests.adversarial.scale import scaled
from tests.adversarial.workers import Crew, Request
from tests.control.world import create_body, result_body
from tests.machine_host import database, outcome, suggest

THREADS = 4


def together(works: list[Callable[[], Any]]) -> list[Any]:
    """What each gives, or the code of its refusal; all begin at once."""
    barrier, results = threading.Barrier(len(works)), [None] * len(works)

    def run(number: int) -> None:
        barrier.wait()
        try:
            results[number] = works[number]()
        except SlipwayError as error:
            results[number] = error.code
        except BaseException as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def objects(is_shared: bool, make: Callable[[], Any]) -> list[Any]:
    return [make()] * THREADS if is_shared else [make() for _ in range(THREADS)]


@pytest.mark.parametrize("is_shared", [True, False])
def test_of_threads_that_submit_for_one_action_one_wins(root: Path, is_shared: bool) -> None:
    slipways = objects(is_shared, lambda: Slipway.open(str(root)))
    state = slipways[0].run("Race", budget=1000)
    for step in range(scaled(2, 60)):
        action = {"kind": state.action.kind, "action_id": state.action.action_id}
        documents = [
            outcome(action, summary=f"{step} by {number}", suggested_actions=suggest("clarify"))
            for number in range(THREADS)
        ]
        results = together(
            [
                partial(slipway.submit, state.run_id, action["action_id"], document)
                for slipway, document in zip(slipways, documents, strict=True)
            ]
        )
        won = [result for result in results if not isinstance(result, str | BaseException)]
        assert len(won) == 1
        assert sorted(result for result in results if isinstance(result, str)) == ["outcome_conflict"] * (THREADS - 1)
        state = won[0]
    assert len(slipways[0].status(state.run_id).actions) == scaled(2, 60) + 1


@pytest.mark.parametrize("is_shared", [True, False])
def test_of_threads_that_dispatch_one_task_one_gets_the_job(tmp_path: Path, is_shared: bool) -> None:
    planes = objects(is_shared, lambda: ControlPlane.open(str(tmp_path / "x.db")))
    for _ in range(scaled(5, 100)):
        task_id = planes[0].create_task(create_body())["task_id"]
        results = together([partial(plane.dispatch, task_id, {"target_stage": "plan"}) for plane in planes])
        won = [result for result in results if isinstance(result, dict)]
        assert len(won) == 1
        assert [result for result in results if result not in won] == ["JOB_ACTIVE"] * (THREADS - 1)
        result_of = result_body(won[0]["job_id"])
        closed = together([partial(plane.apply_result, task_id, result_of) for plane in planes])
        assert [result for result in closed if isinstance(result, str)] == ["JOB_NOT_ACTIVE"] * (THREADS - 1)
        assert planes[-1].get_task(task_id)["state"] == "planned"
    for plane in set(planes):
        plane.close()


@pytest.mark.adversarial
def test_reads_of_a_resting_file_never_take_a_lock_from_a_writer_of_the_same_process(crew: Crew, root: Path) -> None:
    """Closing any descriptor of a file drops the locks of the whole process on it; another process would get in."""
    path, count = str(database(root)), scaled(40, 800)
    ControlPlane.open(path).close()
    crew.db = Path(path)
    stop = threading.Event()
    slipway = Slipway.open(str(root))
    run_id = slipway.run("Look").run_id

    def write() -> int:
        for _ in range(count):
            with ControlPlane.open(path) as plane:
                plane.create_task(create_body())
        return count

    def read() -> int:
        looks = 0
        while not stop.is_set():
            page = json.loads(read_store(path, lambda store: queries.tasks(store, 500)))
            assert page["total"] >= len(page["items"])
            assert slipway.status(run_id).state == "active"
            looks += 1
        return looks

    def elsewhere() -> int:
        answers = crew.race([Request((str(root), str(count)), call="tasks")] * 2)
        stop.set()
        return sum(len(answer.document) for answer in answers)

    results = together([write, read, read, elsewhere])
    assert results[0] == count and results[3] == 2 * count, results
    assert all(isinstance(result, int) and result > 0 for result in results), results
    assert crew.ask("db", "verify", "--json").document["problems"] == []
    assert crew.ask("task", "list", "--json").document["total"] == 3 * count
    crew.db = None
