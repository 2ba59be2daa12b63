"""Eight processes that write all the time: every one of them gets on, and none waits for its whole patience."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from slipway_lite.store.connection import BUSY_SECONDS
from tests.adversarial.scale import scaled
from tests.adversarial.workers import Crew, Request

PROCESSES = 8


@pytest.mark.adversarial
@pytest.mark.parametrize(("call", "count"), [("submits", scaled(10, 50)), ("tasks", scaled(50, 400))])
def test_eight_processes_that_write_all_finish_and_none_starves(
    crew: Crew, root: Path, tmp_path: Path, call: str, count: int
) -> None:
    crew.db = tmp_path / "slipway.db"
    answers = crew.race([Request((str(root), str(count)), call=call)] * PROCESSES)
    assert [answer.reply.status for answer in answers] == [0] * PROCESSES
    moments = [answer.document for answer in answers]
    assert [len(done) for done in moments] == [count] * PROCESSES
    longest = max(later - one for done in moments for one, later in pairwise(done))
    assert longest < BUSY_SECONDS
    first_finished = min(done[-1] for done in moments)
    slowest = min(sum(moment <= first_finished for moment in done) for done in moments)
    assert slowest >= count // 5, "whoever is first has not shut the others out"
    assert crew.ask("db", "verify", "--json", "--db", str(crew.db)).document["problems"] == []
    took = max(done[-1] for done in moments) - min(answer.began for answer in answers)
    print(
        f"{call}: {PROCESSES} x {count} in {took:.1f} s; longest step {longest:.2f} s; when the first was done"
        f" the slowest had {slowest} of {count}"
    )
    crew.db = None
