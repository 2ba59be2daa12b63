from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.control import use_cases
from slipway_lite.control.refusals import Refused
from slipway_lite.control.service import ControlPlane
from slipway_lite.errors import SlipwayError
from slipway_lite.http.writer import Writer
from slipway_lite.store.sqlite import IntegrityError
from tests.control.world import create_body


def with_writer(path: Path, scenario: Callable[[Writer, ControlPlane], Awaitable[Any]]) -> Any:
    """Run ``scenario`` on an event loop with a writer over a fresh file."""

    async def run() -> Any:
        with ControlPlane.open(str(path / "x.db")) as plane:
            writer = Writer(plane)
            writer.start()
            try:
                return await scenario(writer, plane)
            finally:
                writer.stop()

    return asyncio.run(run())


async def together(*waiting: Awaitable[Any]) -> list[Any]:
    return await asyncio.gather(*waiting, return_exceptions=True)


def test_requests_that_wait_share_a_transaction_and_each_is_answered(tmp_path: Path) -> None:
    async def scenario(writer: Writer, plane: ControlPlane) -> None:
        statements: list[str] = []
        plane.store.connection.set_trace_callback(statements.append)
        answers = await together(*(writer.submit(use_cases.create_task, create_body()) for _ in range(40)))
        plane.store.connection.set_trace_callback(None)
        assert len({answer["task_id"] for answer in answers}) == 40
        begun = sum(statement.lower().startswith("begin") for statement in statements)
        assert 1 <= begun < 40

    with_writer(tmp_path, scenario)


def test_a_refusal_among_them_is_its_own_affair(tmp_path: Path) -> None:
    async def scenario(writer: Writer, plane: ControlPlane) -> None:
        answers = await together(
            writer.submit(use_cases.create_task, create_body()),
            writer.submit(use_cases.create_task, {}),
            writer.submit(use_cases.cancel_task, "task_none", {}),
            writer.submit(use_cases.create_task, create_body()),
        )
        assert [type(answer) for answer in answers] == [dict, Refused, Refused, dict]
        assert plane.list_tasks()["total"] == 2

    with_writer(tmp_path, scenario)


@pytest.mark.parametrize("error", [RuntimeError("defect"), IntegrityError("constraint"), OverflowError("too big")])
def test_a_defect_in_one_request_leaves_the_others_whole(tmp_path: Path, error: Exception) -> None:
    def broken(records: Any, settings: Any, body: dict[str, Any]) -> dict[str, Any]:
        use_cases.create_task(records, settings, body)
        raise error

    async def scenario(writer: Writer, plane: ControlPlane) -> None:
        answers = await together(
            *(writer.submit(use_cases.create_task, create_body()) for _ in range(5)),
            writer.submit(broken, create_body()),
            *(writer.submit(use_cases.create_task, create_body()) for _ in range(5)),
        )
        assert [isinstance(answer, dict) for answer in answers] == [True] * 5 + [False] + [True] * 5
        assert isinstance(answers[5], SlipwayError if isinstance(error, IntegrityError) else type(error))
        assert plane.list_tasks()["total"] == 10

    with_writer(tmp_path, scenario)


def test_what_was_submitted_before_the_end_is_still_done(tmp_path: Path) -> None:
    async def scenario(writer: Writer, plane: ControlPlane) -> list[Any]:
        waiting = [asyncio.ensure_future(writer.submit(use_cases.create_task, create_body())) for _ in range(10)]
        await asyncio.sleep(0)
        writer.stop()
        return await together(*waiting)

    answers = with_writer(tmp_path, scenario)
    assert all(isinstance(answer, dict) for answer in answers)


def test_a_caller_that_went_away_disturbs_nobody(tmp_path: Path) -> None:
    async def scenario(writer: Writer, plane: ControlPlane) -> None:
        waiting = asyncio.ensure_future(writer.submit(use_cases.create_task, create_body()))
        await asyncio.sleep(0)
        waiting.cancel()
        assert isinstance(await writer.submit(use_cases.create_task, create_body()), dict)

    with_writer(tmp_path, scenario)
