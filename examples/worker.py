"""A worker loop to copy: claim a task, show signs of life, hand in a result. Standard library only.

    slipway serve &
    python examples/worker.py --name w1 --until-idle

Claiming needs no queue: dispatch a task with the version that was read, and on 409 try the next one, because somebody
else was faster. With ``--operate`` the loop also does what a person would do after a worker's accept: tick the
checklist, accept, integrate, publish. Set SLIPWAY_TOKEN when the server asks for a token.
"""

from __future__ import annotations

import argparse
import json
import os
import threading
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime
from typing import Any

NEXT_STAGE = {"queued": "plan", "planned": "dev", "rework_required": "dev", "dev_completed": "acceptance"}
RETRIED_STAGE = {"planning": "plan", "developing": "dev", "accepting": "acceptance"}
HEARTBEAT_SECONDS = 60.0


class Refused(Exception):
    """The server's ErrorResponse."""

    def __init__(self, status: int, document: dict[str, Any]) -> None:
        super().__init__(f"{status} {document.get('code')}: {document.get('message')}")
        self.status = status


class Server:
    """The few requests that a worker makes."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/")
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """The answer's document. Raises :class:`Refused`."""
        raw = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, raw, self._headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                raise Refused(error.code, json.load(error)) from None


class Heart:
    """Signs of life of one job while the work goes on: ``with Heart(...): work()``."""

    def __init__(self, server: Server, job: dict[str, Any], worker_id: str) -> None:
        self._server, self._job, self._worker_id = server, job, worker_id
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def beat(self) -> None:
        body = {
            "worker_id": self._worker_id,
            "stage": self._job["stage"],
            "observed_at": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
        self._server.call("POST", f"/v1/jobs/{self._job['job_id']}/heartbeat", body)

    def _run(self) -> None:
        while not self._stopped.wait(HEARTBEAT_SECONDS):
            try:
                self.beat()
            except (Refused, OSError):
                return  # the job is not ours any more; its result will be refused too

    def __enter__(self) -> Heart:
        self.beat()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()


def claim(server: Server) -> dict[str, Any] | None:
    """A job of the first task that nobody else took, or ``None``."""
    states = ",".join((*NEXT_STAGE, *RETRIED_STAGE))
    for task in server.call("GET", f"/v1/tasks?limit=100&state={states}")["items"]:
        stage = NEXT_STAGE.get(task["state"])
        if stage is None and "active_job_id" not in task and "manual_checklist" not in task:
            stage = RETRIED_STAGE[task["state"]]
        if stage is None:
            continue
        body = {"target_stage": stage, "expected_version": task["version"]}
        try:
            return dict(server.call("POST", f"/v1/tasks/{task['task_id']}/dispatch", body))
        except Refused as refused:
            if refused.status != 409:
                raise
    return None


def do_the_work(job: dict[str, Any]) -> dict[str, Any]:
    """What comes out of a job. Yours reads ``job["instruction_envelope"]`` and does something about it."""
    result: dict[str, Any] = {
        "job_id": job["job_id"],
        "typed_ref": job["typed_ref"],
        "status": "succeeded",
        "summary": f"{job['stage']} done",
        "artifacts": [{"artifact_id": f"log-{job['job_id']}", "kind": "log", "uri": "artifact://log"}],
        "test_results": [{"suite": "regression", "status": "passed"}],
        "requested_escalations": [],
        "usage": {"runtime_ms": 1},
    }
    if job["stage"] == "dev":
        result["branch_ref"] = {"name": f"work/{job['task_id']}"}
    if job["stage"] == "acceptance":
        result["verdict"] = {"outcome": "accept", "reason": "all checks passed"}
    return result


def work_once(server: Server, worker_id: str) -> bool:
    """Claim, work, hand in; whether there was anything to do."""
    job = claim(server)
    if job is None:
        return False
    try:
        with Heart(server, job, worker_id):
            result = do_the_work(job)
        server.call("POST", f"/v1/tasks/{job['task_id']}/results", result)
    except Refused as refused:
        print(f"{worker_id}: {job['job_id']} went to somebody else ({refused})")
    return True


def operate_once(server: Server) -> bool:
    """Bring every task that waits for a person one step on; whether there was any."""
    states = "accepting,accepted,integrating,integrated,publishing"
    moved = False
    for task in server.call("GET", f"/v1/tasks?limit=100&state={states}")["items"]:
        step = _next_step(task)
        if step is None:
            continue
        path, body = step
        try:
            server.call("POST", f"/v1/tasks/{task['task_id']}/{path}", body)
            moved = True
        except Refused as refused:
            if refused.status != 409:
                raise
    return moved


def _next_step(task: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    state = task["state"]
    if state == "accepting":
        if "active_job_id" in task or "manual_checklist" not in task:
            return None
        ticks = [{"id": item["id"], "checked_by": "operator"} for item in task["manual_checklist"]]
        return "acceptance/complete", {"checked_items": ticks}
    if state == "accepted":
        branch = f"work/{task['task_id']}"
        return "integrate", {"expected_state": "accepted", "base_sha": "0000000", "branch_ref": branch}
    if state == "integrating":
        return "integrate/complete", {"checks_passed": True}
    if state == "integrated":
        return "publish", {"mode": "no_op", "idempotency_key": f"publish-{task['task_id']}"}
    return "publish/complete", {}


def main() -> None:
    """Work until there is nothing left, or for ever."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:8722")
    parser.add_argument("--name", default=f"worker-{os.getpid()}")
    parser.add_argument("--operate", action="store_true", help="also do the operator's part")
    parser.add_argument("--until-idle", action="store_true", help="leave when there is nothing left to do")
    arguments = parser.parse_args()
    server = Server(arguments.url, os.environ.get("SLIPWAY_TOKEN", ""))
    while True:
        busy = work_once(server, arguments.name)
        if arguments.operate:
            busy = operate_once(server) or busy
        if not busy and arguments.until_idle:
            return
        if not busy:
            time.sleep(1.0)


if __name__ == "__main__":
    main()
