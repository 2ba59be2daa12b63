from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from tests.control.world import create_body
from tests.http.served import Served

WORKER = Path(__file__).resolve().parents[2] / "examples" / "worker.py"
TASKS = 20


def test_three_workers_publish_twenty_tasks_and_none_is_worked_on_twice(tmp_path: Path) -> None:
    with Served(tmp_path / "x.db") as served:
        client = served.client()
        ids = [client.post("/v1/tasks", create_body(title=str(number)))[1]["task_id"] for number in range(TASKS)]
        command = [sys.executable, str(WORKER), "--url", f"http://127.0.0.1:{served.port}", "--operate"]
        workers = [subprocess.Popen([*command, "--name", f"w{number}"]) for number in range(3)]
        try:
            deadline = time.monotonic() + 120
            while client.get("/v1/tasks?state=published&limit=1")[1]["total"] < TASKS:
                assert time.monotonic() < deadline
                assert all(worker.poll() is None for worker in workers)
                time.sleep(0.2)
        finally:
            for worker in workers:
                worker.terminate()
                worker.wait()
        holders = set()
        for task_id in ids:
            audits = client.get(f"/v1/tasks/{task_id}/audit-events")[1]["items"]
            types = [event["event_type"] for event in audits]
            assert types.count("job.lease_acquired") == types.count("run.systemPacketPrepared") == 3
            holders |= {event["actor_id"] for event in audits if event["event_type"] == "job.heartbeat_received"}
        assert holders == {"w0", "w1", "w2"}, json.dumps(sorted(holders))
