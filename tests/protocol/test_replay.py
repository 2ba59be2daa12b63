"""Reading Runs back: what a journal must be to be believed, and one snapshot whoever else writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from slipway_lite.canon import encode
from slipway_lite.protocol import replay
from slipway_lite.protocol.documents import run_status
from slipway_lite.protocol.replay import RunProjector, Unreplayable
from slipway_lite.store import sqlite
from slipway_lite.store.connection import Store, open_store
from slipway_lite.store.projections import rebuild
from slipway_lite.store.tables import PROJECTIONS
from tests.protocol.conftest import Repository
from tests.protocol.model import RUN_ID, Model
from tests.protocol.outcomes import activity, decision, finding, implementation, review, suggestion
from tests.protocol.stored import Stored

Row = tuple[int, int, str, str, str, str, str, str]


def journal() -> list[Row]:
    model = Model()
    model.submit("needs_input", pause=decision())
    model.answer("stable")
    model.submit()
    model.skip()
    return model.events


def broken_at(rows: list[Row], run_id: str = RUN_ID) -> int:
    with pytest.raises(Unreplayable) as caught:
        replay.replay(run_id, rows)
    return caught.value.sequence


def test_a_whole_journal_is_replayed() -> None:
    run = replay.replay(RUN_ID, journal())
    assert (run.state, run.event_count, run.head_seq) == ("ended", 5, 5)


def test_an_empty_journal_and_one_of_another_run_are_not_believed() -> None:
    assert broken_at([]) == 1
    assert broken_at(journal(), "run-2") == 1


@pytest.mark.parametrize("missing", [1, 2, 3, 4])
def test_a_missing_event_is_noticed_where_it_is_missing(missing: int) -> None:
    rows = journal()
    del rows[missing - 1]
    assert broken_at(rows) == missing


@pytest.mark.parametrize("first", [1, 2, 3, 4])
def test_events_out_of_order_are_noticed(first: int) -> None:
    rows = journal()
    rows[first - 1 : first + 1] = reversed(rows[first - 1 : first + 1])
    assert broken_at(rows) == first


@pytest.mark.parametrize("sequence", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (None, "not json"),
        (None, "[]"),
        (None, "null"),
        (None, "{}"),
        (None, '{"action_id":"act-99"}'),
        ("run_started", None),
        ("run_renamed", None),
        ("source_amended", "{}"),
    ],
)
def test_an_event_that_does_not_follow_is_noticed(sequence: int, kind: str | None, data: str | None) -> None:
    rows = journal()
    seq, number, at, old_kind, old_data, *digests = rows[sequence - 1]
    changed = (seq, number, at, kind or old_kind, old_data if data is None else data, *digests)
    if changed == rows[sequence - 1]:
        return
    rows[sequence - 1] = changed  # type: ignore[call-overload]
    assert broken_at(rows) == sequence


def test_an_answer_to_an_action_without_an_outcome_does_not_follow() -> None:
    rows = journal()
    seq, number, at, kind, data, *digests = rows[2]
    forged = json.loads(data) | {"action_id": json.loads(rows[0][4])["next_action_id"]}
    swapped = [rows[0], (2, 2, at, kind, encode(forged), *digests)]
    assert (seq, number) == (3, 3)
    assert broken_at(swapped) == 2  # type: ignore[arg-type]


def test_a_scope_that_was_changed_before_its_confirmation_does_not_follow() -> None:
    model = Model()
    scope = model.to_destructive()
    model.answer("", True, scope)
    rows = [(*row[:4], row[4].replace("/srv/data", "/srv/date"), *row[5:]) for row in model.events]
    assert rows != model.events
    assert broken_at(rows) == 4


class Overtaken(Store):
    """A store on which somebody else writes after each read."""

    def __init__(self, connection: sqlite.Connection, path: str, other: Callable[[], Any]) -> None:
        super().__init__(connection, path)
        self._other = other

    def rows(self, sql: str, parameters: Any = ()) -> list[Any]:
        found = super().rows(sql, parameters)
        self._other()
        return found


def test_a_writer_between_two_reads_does_not_make_a_journal_look_forged(repository: Repository) -> None:
    stored = Stored(repository)
    run = stored.start()
    with open_store(stored.path) as store:
        seen = replay.load(Overtaken(store.connection, store.path, lambda: stored.stop(run)), run.run_id)
    assert seen is not None
    assert (seen.state, seen.event_count) == ("active", 1)
    assert stored.reading.run(run.run_id).state == "stopped"


def test_the_projection_is_rebuilt_row_for_row(repository: Repository) -> None:
    stored = Stored(repository)
    run = stored.submit(stored.start(), "needs_input", pause=decision())
    run = stored.submit(stored.answer(run, "stable"), suggested_actions=[suggestion()])
    repository.write("new")
    reported = implementation(files_changed=["new"], activities=[activity(), activity("lint")])
    run = stored.submit(run, implementation=reported)
    run = stored.submit(run, review=review("findings_reported", 0) | {"findings": [finding(1), finding(2)]})
    run = stored.stop(stored.skip(stored.start()))

    def tables() -> dict[str, list[Any]]:
        return {table: stored.rows(f"select * from {table} order by 1, 2") for table in PROJECTIONS["run"]}

    before = tables()
    assert all(before.values())
    assert before["runs"] != []
    with open_store(stored.path) as store:
        assert rebuild(store, [RunProjector()]) == []
    assert tables() == before
    stored.sql("update run_actions set summary = 'forged' where ordinal = 1", "delete from run_answers")
    assert {problem["table"] for problem in stored.problems()} == {"run_actions", "run_answers"}
    with open_store(stored.path) as store:
        rebuild(store, [RunProjector()])
    assert tables() == before
    assert encode(run_status(stored.reading.run(run.run_id))) == encode(run_status(run))
