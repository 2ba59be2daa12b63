"""Imported events give the Run that they came from: every document and every read table, after every event."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.canon import encode
from slipway_lite.protocol import replay
from slipway_lite.protocol.documents import protocol_state, run_status
from tests.protocol.imported.publishing import PublishedModel, random_model
from tests.protocol.model import RUN_ID
from tests.protocol.test_fold import Rows, written


def rows_of(model: PublishedModel, imported: int) -> list[Any]:
    """The journal whose first ``imported`` events are the published ones and whose others are ours."""
    rows = list(model.events)
    for number, record in enumerate(model.published.documents[:imported]):
        seq, sequence, _, _, _, *digests = rows[number]
        rows[number] = (seq, sequence, record["at"], record["type"], encode(record["data"]), *digests)  # type: ignore[call-overload]
    return rows


def told(steps: Any) -> tuple[list[str], Rows]:
    """What a Run says after each event, and what its read tables hold in the end."""
    says, rows = [], Rows()
    for run in steps:
        says.append(encode(run_status(run)) + encode(protocol_state(run)))
        written(rows, run)
    return says, rows


def check(random: Random, steps: int) -> None:
    model = random_model(random, steps)
    ours, our_rows = told(replay.steps(RUN_ID, model.events))
    count = len(model.events)
    theirs, their_rows = told(replay.steps(RUN_ID, rows_of(model, count)))
    assert theirs == ours
    assert their_rows == our_rows
    # Whatever was imported, the rest goes on as if it had not been.
    imported = random.randint(1, count)
    mixed, mixed_rows = told(replay.steps(RUN_ID, rows_of(model, imported)))
    assert mixed == ours
    assert mixed_rows == our_rows


@settings(deadline=None, max_examples=60)
@given(st.randoms(use_true_random=True))
def test_a_random_run_is_the_same_run_when_it_is_imported(random: Random) -> None:
    check(random, 40)


@pytest.mark.slow
@settings(deadline=None, max_examples=600)
@given(st.randoms(use_true_random=True))
def test_a_long_random_run_is_the_same_run_when_it_is_imported(random: Random) -> None:
    check(random, 80)
