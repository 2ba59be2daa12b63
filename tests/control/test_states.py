from __future__ import annotations

import json
import re
from importlib.resources import files

from slipway_lite.control import states
from slipway_lite.control.vocabulary import TASK_STATES
from tests.published import published


def test_the_table_is_the_list_of_the_seed() -> None:
    text = next(published("seeds").glob("004*.txt")).read_text("utf-8")
    listed = re.findall(r"^\W+ (\w+) -> (\w+)\s*$", text, re.MULTILINE)
    assert len(set(listed)) == 53
    assert set(states.PAIRS) == set(listed)


def test_the_table_is_that_of_the_published_schema() -> None:
    schema = json.loads(published("oracles", "shipyard-cp", "state-transition-event.schema.json").read_text())
    pairs = {
        (entry["properties"]["from_state"]["const"], entry["properties"]["to_state"]["const"])
        for entry in schema["oneOf"]
    }
    assert pairs == set(states.PAIRS)


def test_the_check_constraint_is_the_table() -> None:
    sql = files("slipway_lite.store").joinpath("sql", "004_tasks.sql").read_text("utf-8")
    constraint = sql[sql.index("from_state || ' ' || to_state in (") : sql.index("create table audit_events")]
    assert re.findall(r"'(\w+) (\w+)'", constraint) == list(states.PAIRS)


def test_every_state_stands_in_the_table_once() -> None:
    assert tuple(sorted(states.TRANSITIONS)) == tuple(sorted(TASK_STATES))
    assert len(states.PAIRS) == len(set(states.PAIRS)) == 53


def test_only_queued_may_stay_where_it_is() -> None:
    assert [pair for pair in states.PAIRS if pair[0] == pair[1]] == [("queued", "queued")]


def test_blocked_is_entered_from_the_five_working_states_and_left_for_them() -> None:
    assert states.WORKING == ("planning", "developing", "accepting", "integrating", "publishing")
    assert set(states.TRANSITIONS["blocked"]) == {*states.WORKING, "cancelled", "failed"}


def test_cancelled_and_failed_are_reached_from_every_state_that_is_not_terminal() -> None:
    assert frozenset({"published", "cancelled", "failed"}) == states.TERMINAL
    for state in set(TASK_STATES) - states.TERMINAL:
        assert states.is_allowed(state, "cancelled")
        assert states.is_allowed(state, "failed")


def test_dispatch_leads_along_allowed_pairs_to_the_working_state_of_its_stage() -> None:
    for (state, stage), to_state in states.DISPATCH.items():
        assert states.is_allowed(state, to_state)
        assert states.STAGE_OF[to_state] == stage


def test_every_state_has_a_word_in_agent_taskstate() -> None:
    assert set(states.AGENT_TASKSTATE) == set(TASK_STATES)
