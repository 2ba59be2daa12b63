"""Integrate on a configured repository, run by the server after it has answered."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from slipway_lite.control.service import ControlPlane
from tests.control.test_repository import NAME, Checkout
from tests.control.world import World, event_body
from tests.http.served import Client, Served


def prepared(tmp_path: Path, ci: str) -> tuple[Path, Checkout, str]:
    """(database, repository, accepted task) with the repository configured from the command line."""
    checkout = Checkout(tmp_path / "hub")
    db = tmp_path / "slipway.db"
    with ControlPlane.open(str(db)) as plane:
        task_id = World(plane).bring("accepted")
    command = [sys.executable, "-m", "slipway_lite", "repo", "add", NAME, "--path", str(checkout.path), "--ci", ci]
    subprocess.run([*command, "--db", str(db)], check=True, capture_output=True)
    return db, checkout, task_id


def start(client: Client, checkout: Checkout, task_id: str) -> None:
    body = {"expected_state": "accepted", "base_sha": checkout.head(), "branch_ref": "work"}
    status, answer = client.post(f"/v1/tasks/{task_id}/integrate", body)
    assert (status, answer["state"]) == (202, "integrating")


def settled(client: Client, task_id: str) -> dict[str, Any]:
    deadline = time.monotonic() + 30
    while True:
        task: dict[str, Any] = client.get(f"/v1/tasks/{task_id}")[1]
        if task["state"] != "integrating":
            return task
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_answer_comes_first_and_the_main_line_moves_after(tmp_path: Path) -> None:
    db, checkout, task_id = prepared(tmp_path, "sleep 0.5; grep two f")
    with Served(db) as served:
        client = served.client()
        start(client, checkout, task_id)
        assert client.get(f"/v1/tasks/{task_id}")[1]["state"] == "integrating"
        task = settled(client, task_id)
        assert task["state"] == "integrated"
        assert task["integration"]["main_updated_sha"] == checkout.head() == checkout.head("work")


def test_a_task_cancelled_while_its_checks_run_moves_nothing(tmp_path: Path) -> None:
    db, checkout, task_id = prepared(tmp_path, "sleep 0.7")
    before = checkout.picture()
    with Served(db) as served:
        client = served.client()
        start(client, checkout, task_id)
        assert client.post(f"/v1/tasks/{task_id}/cancel", {})[0] == 200
        time.sleep(1.5)
        assert client.get(f"/v1/tasks/{task_id}")[1]["state"] == "cancelled"
        assert checkout.picture() == before
        assert served.stop() == 0


def test_the_end_of_the_server_ends_the_checks_and_is_recorded(tmp_path: Path) -> None:
    db, checkout, task_id = prepared(tmp_path, "sleep 60")
    before = checkout.picture()
    with Served(db) as served:
        start(served.client(), checkout, task_id)
        time.sleep(0.5)
        started = time.monotonic()
        assert served.stop() == 0
        assert time.monotonic() - started < 10
    assert checkout.picture() == before
    with ControlPlane.open(str(db)) as plane:
        assert World(plane).state(task_id) == "blocked"


def test_a_resumed_integration_runs_again(tmp_path: Path) -> None:
    db, checkout, task_id = prepared(tmp_path, f"test -f {tmp_path / 'ready'}")
    with Served(db) as served:
        client = served.client()
        start(client, checkout, task_id)
        assert settled(client, task_id)["state"] == "blocked"
        (tmp_path / "ready").touch()
        event = event_body(client.get(f"/v1/tasks/{task_id}")[1], "integrating")
        assert client.post(f"/v1/tasks/{task_id}/transitions", event)[0] == 200
        assert settled(client, task_id)["state"] == "integrated"
        assert checkout.head() == checkout.head("work")
