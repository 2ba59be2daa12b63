"""Integrations on configured repositories, beside the event loop, one thread each."""

from __future__ import annotations

import asyncio
from threading import Event
from typing import TYPE_CHECKING

from slipway_lite.control import repository, use_cases
from slipway_lite.errors import SlipwayError

if TYPE_CHECKING:
    from slipway_lite.http.writer import Writer
    from slipway_lite.store.connection import Store


class Integrations:
    """Everything that is being integrated by this server."""

    def __init__(self, writer: Writer, reader: Store) -> None:
        self._writer = writer
        self._reader = reader
        self._stop = Event()
        self._running: set[asyncio.Task[None]] = set()

    def start(self, task_id: str) -> None:
        """Integrate a task whose repository is configured; any other waits to be told how it went."""
        plan = repository.plan(self._reader, task_id)
        if plan is not None:
            task = asyncio.create_task(self._run(plan))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def stop(self) -> None:
        """End what is running, as failed, and wait until it is recorded."""
        self._stop.set()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _run(self, plan: repository.Plan) -> None:
        loop = asyncio.get_running_loop()

        def is_wanted() -> bool:
            asked = self._writer.submit(use_cases.is_integrating, plan.task_id, plan.run_id)
            return bool(asyncio.run_coroutine_threadsafe(asked, loop).result()["wanted"])

        try:
            outcome = await asyncio.to_thread(repository.integrate, plan, is_wanted, self._stop)
            await self._writer.submit(use_cases.finish_integration, plan.task_id, plan.run_id, outcome)
        except SlipwayError:
            # The record could not be written; the run's own timeout will block the task.
            return
