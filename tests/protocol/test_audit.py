"""Runs are audited: one event type for each thing that a reader of the whole file wants to know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.errors import SlipwayError
from slipway_lite.protocol.audit import NAMES
from slipway_lite.protocol.fold import EVENTS
from slipway_lite.protocol.fold_source import SOURCE_EVENTS
from slipway_lite.protocol.resume import Mode
from slipway_lite.protocol.rules import scope_sha256
from slipway_lite.protocol.run import Run
from slipway_lite.protocol.service import Service
from slipway_lite.store.connection import open_store
from slipway_lite.store.verify import verify
from tests.observe.worktree import make_worktree, submit

SECRET = "planted-secret-text"


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(make_worktree(tmp_path / "repository"), str(tmp_path / "file.db"))


def audits(service: Service) -> list[tuple[str, str, dict[str, Any]]]:
    with open_store(service.path) as store:
        rows = store.rows("select event_type, actor_type, payload from audit_events order by seq")
    return [(event_type, actor, json.loads(payload)) for event_type, actor, payload in rows]


def names(service: Service) -> list[str]:
    return [name for name, _, _ in audits(service)]


def current(run: Run) -> str:
    assert run.current is not None
    return run.current.action_id


def ask(reason: str, request: dict[str, Any] | None = None) -> dict[str, Any]:
    pause = {"reason": reason, "question": SECRET, "destructive_request": request}
    return {"status": "needs_input", "pause": pause, "summary": SECRET}


def test_every_journal_event_has_an_audit_event() -> None:
    assert set(NAMES) == {"run_started", *EVENTS, *SOURCE_EVENTS}


def test_a_run_tells_its_whole_story(service: Service) -> None:
    run = service.start(SECRET, 3, False)
    run = submit(service, run, suggested_actions=[{"kind": "implement", "brief": SECRET}], observations=[SECRET])
    run = submit(service, run, **ask("decision_required"))
    run = service.answer(run.run_id, current(run), SECRET)
    run = service.skip(run.run_id, current(run))
    service.resume(run.run_id, 2, Mode(False, None, "", ""))
    service.stop(run.run_id)
    assert names(service) == [
        "run.started", "run.actionIssued",
        "run.outcomeAccepted", "run.actionIssued",
        "run.outcomeAccepted", "run.paused",
        "run.decisionAnswered", "run.actionIssued",
        "run.actionSkipped", "run.paused",
        "run.resumed", "run.actionIssued",
        "run.stopped",
    ]  # fmt: skip


def test_a_confirmed_scope_and_the_action_it_allows_are_audited(service: Service) -> None:
    run = service.start(SECRET, 8, False)
    run = submit(service, run, suggested_actions=[{"kind": "implement", "brief": SECRET}])
    request: dict[str, Any] = {
        "request_id": "5b0c1d52-3f0e-4d8e-9a57-0f6f2c9f1b11",
        "targets": [{"kind": "path", "value": SECRET}],
        "impact": SECRET,
    }
    request["scope_sha256"] = scope_sha256(request)
    run = submit(service, run, **ask("destructive_confirmation_required", request))
    service.answer(run.run_id, current(run), SECRET, True, request["scope_sha256"])
    confirmed, issued = audits(service)[-2:]
    assert confirmed[:2] == ("run.destructiveConfirmed", "human")
    assert confirmed[2]["scope_sha256"] == request["scope_sha256"]
    assert (issued[0], issued[2]["is_granted"]) == ("run.actionIssued", True)


def test_the_end_of_a_run_is_audited(service: Service) -> None:
    run = service.start(SECRET, 8, False)
    run = submit(service, submit(service, run))
    assert run.state == "ended"
    assert audits(service)[-1] == (
        "run.ended", "system", {"changed_since_start": False, "final_git_observed": True},
    )  # fmt: skip


def test_a_refused_outcome_is_audited_by_its_code(service: Service) -> None:
    run = service.start(SECRET, 8, False)
    with pytest.raises(SlipwayError, match="refused"):
        submit(service, run, status=SECRET)
    assert audits(service)[-1] == (
        "run.outcomeRefused", "worker",
        {"operation": "submit", "code": "invalid_outcome", "action_id": current(run)},
    )  # fmt: skip


def test_an_action_id_that_the_run_does_not_know_is_not_kept(service: Service) -> None:
    run = service.start(SECRET, 8, False)
    with pytest.raises(SlipwayError):
        service.skip(run.run_id, SECRET)
    assert audits(service)[-1] == ("run.requestRefused", "worker", {"operation": "skip", "code": "stale_action"})


def test_no_text_of_a_person_or_a_host_is_in_an_audit_event(service: Service) -> None:
    test_a_run_tells_its_whole_story(service)
    run = service.start(SECRET, 8, False)
    with pytest.raises(SlipwayError):
        service.answer(run.run_id, SECRET, SECRET)
    assert SECRET not in json.dumps(audits(service))


def test_audit_events_belong_to_the_run_and_to_the_chain(service: Service) -> None:
    run = service.start(SECRET, 8, True)
    with open_store(service.path) as store:
        rows = store.rows("select distinct stream, run_id, task_id from audit_events")
        assert rows == [(f"run:{run.run_id}", run.run_id, None)]
        assert verify(store, ())["problems"] == []
