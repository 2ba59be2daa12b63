"""Clients that keep a served instance busy until it is gone, and note what it acknowledged."""

from __future__ import annotations

import http.client
import threading

from tests.control.world import create_body
from tests.http.served import Client, Served


class Load:
    """``with Load(served) as load:`` create and cancel tasks from several threads; ends when the server does."""

    def __init__(self, served: Served, clients: int = 4) -> None:
        self.created: list[str] = []
        self.cancelled: list[str] = []
        self._clients = [served.client() for _ in range(clients)]
        self._threads = [threading.Thread(target=self._work, args=(client,)) for client in self._clients]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for thread in self._threads:
            thread.join()

    def _work(self, client: Client) -> None:
        try:
            while True:
                status, task = client.post("/v1/tasks", create_body())
                if status != 201:
                    return
                self.created.append(task["task_id"])
                status, _ = client.post(f"/v1/tasks/{task['task_id']}/cancel", {})
                if status == 200:
                    self.cancelled.append(task["task_id"])
        except (OSError, ValueError, http.client.HTTPException):
            return

    def check(self, client: Client) -> None:
        """Everything that was acknowledged is there, and whole."""
        assert self.created
        for task_id in self.created:
            status, task = client.get(f"/v1/tasks/{task_id}")
            events = client.get(f"/v1/tasks/{task_id}/events")[1]["items"]
            assert status == 200
            assert events[-1]["to_state"] == task["state"]
            assert len(events) == task["version"] + 1
        for task_id in self.cancelled:
            assert client.get(f"/v1/tasks/{task_id}")[1]["state"] == "cancelled"
