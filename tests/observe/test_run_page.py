from __future__ import annotations

from pathlib import Path

import pytest

from slipway_lite import Slipway
from slipway_lite.observe.explorer.run_page import context
from slipway_lite.store.connection import connect
from tests.machine_host import database, outcome, repository, suggest


@pytest.mark.parametrize(("is_full", "between"), [(False, "from shown_activities"), (True, "from run_actions")])
def test_the_page_of_a_run_is_of_one_moment_whoever_writes_meanwhile(
    tmp_path: Path, is_full: bool, between: str
) -> None:
    slipway = Slipway.open(str(repository(tmp_path / "repo")))
    state = slipway.run("Show it")
    assert state.action is not None
    action = {"kind": state.action.kind, "action_id": state.action.action_id}
    document = outcome(action, suggested_actions=suggest("clarify"))
    connection = connect(str(database(tmp_path / "repo")), "mode=ro")

    def trace(statement: str) -> None:
        if between in statement:
            connection.set_trace_callback(None)
            slipway.submit(state.run_id, document["action_id"], document)

    connection.set_trace_callback(trace)
    first, second = (context(connection, state.run_id, is_full) for _ in range(2))
    connection.close()
    assert first is not None and second is not None
    started = ["run.started", "run.actionIssued"]
    assert [event["event_type"] for event in first["events"]] == started
    assert first["run"]["action_count"] == 1
    assert second["run"]["action_count"] == 2
