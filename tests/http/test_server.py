from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from slipway_lite.errors import UsageError
from slipway_lite.http.server import lmstudio_state
from tests.control.world import create_body
from tests.http.load import Load
from tests.http.served import PROGRAM, Served


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_with_0(tmp_path: Path, number: int) -> None:
    db = tmp_path / "x.db"
    with Served(db) as served:
        assert served.client().post("/v1/tasks", create_body())[0] == 201
        assert served.stop(number) == 0
    assert not db.with_name("x.db-wal").exists()


def test_beyond_loopback_a_token_is_required(tmp_path: Path) -> None:
    done = run("serve", "--host", "0.0.0.0", "--db", str(tmp_path / "x.db"))
    assert (done.returncode, json.loads(done.stderr)["code"]) == (2, "token_required")
    assert not (tmp_path / "x.db").exists()


def test_one_process_serves_a_file(tmp_path: Path) -> None:
    db = tmp_path / "x.db"
    with Served(db):
        done = run("serve", "--port", "0", "--db", str(db))
        assert (done.returncode, json.loads(done.stderr)["code"]) == (3, "already_served")
    with Served(db):
        pass


def test_an_address_that_is_taken_is_said(tmp_path: Path) -> None:
    with Served(tmp_path / "x.db") as served:
        done = run("serve", "--port", str(served.port), "--db", str(tmp_path / "y.db"))
    assert (done.returncode, json.loads(done.stderr.splitlines()[-1])["code"]) == (3, "address_unavailable")


def test_the_command_line_works_beside_a_served_instance(tmp_path: Path) -> None:
    db = tmp_path / "x.db"
    with Served(db) as served:
        client = served.client()
        task_id = client.post("/v1/tasks", create_body())[1]["task_id"]
        done = run("task", "dispatch", task_id, "--stage", "plan", "--db", str(db), "--json")
        assert done.returncode == 0, done.stderr
        job = json.loads(done.stdout)
        assert client.get(f"/v1/jobs/{job['job_id']}")[1]["job"] == job


def test_a_restart_recovers_what_the_instance_before_has_dispatched(tmp_path: Path) -> None:
    db = tmp_path / "x.db"
    with Served(db) as served:
        client = served.client()
        task_id = client.post("/v1/tasks", create_body())[1]["task_id"]
        client.post(f"/v1/tasks/{task_id}/dispatch", {"target_stage": "plan"})
        assert served.stop(signal.SIGKILL) == -signal.SIGKILL
    with Served(db) as served:
        task = served.client().get(f"/v1/tasks/{task_id}")[1]
        assert task["blocked_context"]["reason"] == "executor_instance_restarted"


def test_an_expired_lease_is_found_by_the_background_scan_at_start(tmp_path: Path) -> None:
    db = tmp_path / "x.db"
    created = run("task", "create", "--file", "/dev/null", "--db", str(db))
    assert json.loads(created.stderr)["code"] in ("unreadable_file", "INVALID_REQUEST")
    body = create_body()
    done = run(
        "task",
        "create",
        "--title",
        body["title"],
        "--objective",
        body["objective"],
        "--typed-ref",
        body["typed_ref"],
        "--repo",
        "octo/hub",
        "--db",
        str(db),
        "--json",
    )
    task_id = json.loads(done.stdout)["task_id"]
    assert run("task", "dispatch", task_id, "--stage", "plan", "--db", str(db)).returncode == 0
    with sqlite3.connect(db) as connection:
        connection.execute("update _leases set lease_expires_at = '2000-01-01T00:00:00.000Z'")
    connection.close()
    with Served(db) as served:
        client = served.client()
        for _ in range(100):
            if "active_job_id" not in client.get(f"/v1/tasks/{task_id}")[1]:
                break
            time.sleep(0.05)
        types = [event["event_type"] for event in client.get(f"/v1/tasks/{task_id}/audit-events")[1]["items"]]
        assert "orphan_detected" in types


def test_enforce_is_a_switch(tmp_path: Path) -> None:
    with Served(tmp_path / "x.db", "--run-system-mode", "enforce", "--lease-seconds", "7") as served:
        client = served.client()
        task_id = client.post("/v1/tasks", create_body())[1]["task_id"]
        job = client.post(f"/v1/tasks/{task_id}/dispatch", {"target_stage": "plan"})[1]
        body = {
            "job_id": job["job_id"],
            "typed_ref": job["typed_ref"],
            "status": "succeeded",
            "artifacts": [{"artifact_id": "a", "kind": "log", "uri": "u"}],
            "test_results": [{"suite": "unit", "status": "failed"}],
            "requested_escalations": [],
            "usage": {"runtime_ms": 1},
        }
        assert client.post(f"/v1/tasks/{task_id}/results", body)[1]["task"]["state"] == "blocked"


def test_a_kill_under_load_loses_nothing_acknowledged(tmp_path: Path) -> None:
    db = tmp_path / "x.db"
    with Served(db) as served, Load(served) as load:
        time.sleep(0.4)
        served.stop(signal.SIGKILL)
    with Served(db) as served:
        load.check(served.client())
    verified = run("db", "verify", "--db", str(db), "--json")
    assert verified.returncode == 0, verified.stderr


def test_lmstudio_is_asked_for_its_models_only() -> None:
    assert lmstudio_state("http://127.0.0.1:9") == "unavailable"
    with pytest.raises(UsageError) as refused:
        lmstudio_state("ftp://x")
    assert refused.value.code == "invalid_lmstudio_url"
