"""One thread that owns the write connection, and lets requests that wait for the disk share a commit.

Every request runs in its own savepoint and is answered only after the commit that made it durable.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

from slipway_lite.control.refusals import Refused
from slipway_lite.errors import SlipwayError

if TYPE_CHECKING:
    from collections.abc import Callable

    from slipway_lite.control.service import ControlPlane

BATCH_LIMIT = 64


@dataclass(frozen=True, slots=True)
class Job:
    """A request that waits: what to call, and where its outcome goes."""

    use_case: Callable[..., dict[str, Any]]
    args: tuple[Any, ...]
    options: dict[str, Any]
    future: asyncio.Future[dict[str, Any]]


class Writer:
    """Feeds the control plane from an event loop. ``start`` before the first request, ``stop`` after the last."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="slipway-writer", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Begin to take requests from the running loop."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def stop(self) -> None:
        """Finish what was submitted, then end the thread."""
        self._queue.put(None)
        self._thread.join()

    async def submit(self, use_case: Callable[..., dict[str, Any]], *args: Any, **options: Any) -> dict[str, Any]:
        """The document that ``use_case`` answers with, once its effect is durable. Raises what it raised."""
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._queue.put(Job(use_case, args, options, future))
        return await future

    def _run(self) -> None:
        while True:
            job = self._queue.get()
            if job is None:
                return
            batch = [job]
            is_last = False
            while len(batch) < BATCH_LIMIT:
                try:
                    waiting = self._queue.get_nowait()
                except Empty:
                    break
                if waiting is None:
                    is_last = True
                    break
                batch.append(waiting)
            self._serve(batch)
            if is_last:
                return

    def _serve(self, batch: list[Job]) -> None:
        try:
            outcomes = self._commit(batch)
        except Exception as error:
            if len(batch) > 1 and getattr(error, "code", "") not in ("database_ambiguous", "database_busy"):
                # One request broke the shared transaction and nothing of it is durable: each gets its own.
                for job in batch:
                    self._serve([job])
                return
            outcomes = [error] * len(batch)
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_deliver, batch, outcomes)

    def _commit(self, batch: list[Job]) -> list[dict[str, Any] | Exception]:
        outcomes: list[dict[str, Any] | Exception] = []
        with self._plane.store.immediate() as tx:
            for job in batch:
                outcomes.append(self._plane.attempt(tx, job.use_case, *job.args, **job.options))
        return outcomes


def _deliver(batch: list[Job], outcomes: list[dict[str, Any] | Exception]) -> None:
    for job, outcome in zip(batch, outcomes, strict=True):
        if job.future.cancelled():
            continue
        if isinstance(outcome, Exception):
            job.future.set_exception(outcome)
        else:
            job.future.set_result(outcome)


def storage_refusal(error: SlipwayError) -> Refused:
    """A failure of the file as the API says it: closed, with nothing about the file in it."""
    return Refused("STORAGE_UNAVAILABLE", f"The record cannot be used now ({error.code}).")
