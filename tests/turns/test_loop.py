"""The conductor's loop: order of the steps, caps, banners and stop codes (turn-contract §13)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from slipway_lite.turns.conductor import SensorReading
from slipway_lite.turns.decide import WorkflowDecision
from slipway_lite.turns.loop import Advance, AdvanceConfig, Dependencies, Sent, run_conductor_loop
from tests.turns.documents import envelope
from tests.turns.test_conductor import urgent

QUIET = envelope(blockers=[])
NAMES = ("execute-phase", "review-change", "merge", "discover-repository-state")


def invoke(intent: str = "execute-phase") -> WorkflowDecision:
    return WorkflowDecision("invoke", intent, ("12",), "invoke-proven-transition", (), "")


SENSE = WorkflowDecision("sense", "status", (), "sense-stale-revision", (), "old")
STOP = WorkflowDecision("stop", "stop", (), "stop-needs-input", (), "asked")


class World:
    """A scripted world: each list gives one answer a call, the last one again and again."""

    def __init__(
        self,
        sensor: list[Any] | None = None,
        decide: list[WorkflowDecision] | None = None,
        send: list[Sent] | None = None,
        git: list[tuple[str, int]] | None = None,
        prepare: list[WorkflowDecision | None] | None = None,
    ) -> None:
        self.sensor = sensor or [QUIET]
        self.decisions = decide or [STOP]
        self.answers = send or [Sent()]
        self.git = git or [("", 0)]
        self.prepared = prepare
        self.sent: list[str] = []
        self.logged: list[tuple[str, str, int]] = []
        self.parked = 0
        self._calls: dict[int, int] = {}

    def _answer(self, script: list[Any]) -> Any:
        call = self._calls.get(id(script), 0)
        self._calls[id(script)] = call + 1
        return script[min(call, len(script) - 1)]

    def _send(self, decision: WorkflowDecision, text: str) -> Sent:
        self.sent.append(text)
        answer: Sent = self._answer(self.answers)
        return answer

    def _sense(self) -> SensorReading:
        found = self._answer(self.sensor)
        return found if isinstance(found, SensorReading) else SensorReading(found)

    def _park(self) -> None:
        self.parked += 1

    def run(self, **options: Any) -> Advance:
        prepare: Callable[[], Any] | None = None
        if self.prepared is not None:
            script = self.prepared
            prepare = lambda: self._answer(script)  # noqa: E731  # one expression over the script
        world = Dependencies(
            sense=self._sense,
            decide=lambda seen: self._answer(self.decisions),
            send=self._send,
            observe_git=lambda: self._answer(self.git),
            park=self._park,
            log=lambda code, text, iteration: self.logged.append((code, text, iteration)),
            prepare=prepare,
        )
        return run_conductor_loop(world, **{"command_names": NAMES, "max_invokes": None, **options})


def ended(result: Advance) -> tuple[str, str | None, int]:
    return result.banner, result.stop_code, result.iterations


def test_one_stage_a_call_then_it_may_be_called_again() -> None:
    world = World(decide=[invoke()])
    assert ended(world.run(max_invokes=1)) == ("ADVANCE: CONTINUE", None, 1)
    assert world.sent == ["/skill:execute-phase 12"]
    assert world.logged == [("invoke/invoke-proven-transition", "/skill:execute-phase 12", 1)]


def test_a_degraded_sensor_stops() -> None:
    world = World(sensor=[QUIET, SensorReading(None, "why")], decide=[invoke()])
    result = world.run()
    assert ended(result) == ("ADVANCE: STOPPED", "sensor-degraded", 1) and result.message == "why"


def test_nothing_recommended_and_nothing_blocked_is_complete() -> None:
    quiet = envelope(blockers=[], next={"recommended": "", "alternatives": [], "tier": "cheap"})
    assert ended(World(sensor=[quiet]).run()) == ("ADVANCE: COMPLETE", "stop-nothing-startable", 0)


def test_any_blocker_is_blocked_and_told() -> None:
    rows = [
        {"kind": "gate", "id": "a", "scope": "unit", "detail": "red"},
        {"kind": "input", "id": "b", "scope": "run", "detail": "?"},
    ]
    quiet = {"recommended": "", "alternatives": [], "tier": "cheap"}
    for seen in (envelope(blockers=rows), envelope(blockers=rows, next=quiet)):
        result = World(sensor=[seen]).run()
        assert ended(result) == ("ADVANCE: BLOCKED", "stop-blocked", 0)
        assert result.message == "gate: red; input: ?"


def test_an_urgent_issue_parks_and_goes_on_with_the_next_iteration() -> None:
    world = World(sensor=[{**urgent(), "blockers": []}, QUIET])
    assert ended(world.run()) == ("ADVANCE: STOPPED", "stop-needs-input", 1)
    assert world.parked == 1 and world.logged[0] == ("park/interrupt-now", "-", 1)


def test_an_urgent_issue_that_waits_does_not_park() -> None:
    world = World(sensor=[{**urgent(label="fix-next"), "blockers": []}])
    assert ended(world.run()) == ("ADVANCE: STOPPED", "stop-needs-input", 0) and world.parked == 0


def test_three_partial_probes_in_a_row_park_and_stop() -> None:
    world = World(decide=[invoke()], git=[("M a", 0), ("", 1), ("M a", 0)])
    assert ended(world.run()) == ("ADVANCE: STOPPED", "stop-failed", 2)
    assert world.parked == 1 and len(world.sent) == 2


def test_a_clean_probe_starts_the_count_again() -> None:
    world = World(
        decide=[invoke(), invoke(), invoke(), invoke(), STOP], git=[("M a", 0), ("M a", 0), ("", 0), ("M a", 0)]
    )
    assert ended(world.run()) == ("ADVANCE: STOPPED", "stop-needs-input", 4) and world.parked == 0


def test_a_second_sense_stops_with_its_code_and_the_count_is_never_reset() -> None:
    assert ended(World(decide=[SENSE]).run()) == ("ADVANCE: STOPPED", "sense-stale-revision", 1)
    world = World(decide=[SENSE, invoke(), SENSE])
    assert ended(world.run()) == ("ADVANCE: STOPPED", "sense-stale-revision", 2)


def test_the_count_of_senses_is_reset_after_an_invoke_by_explicit_choice() -> None:
    world = World(decide=[SENSE, invoke(), SENSE, STOP])
    result = world.run(config=AdvanceConfig(sense_again_after_invoke=True))
    assert ended(result) == ("ADVANCE: STOPPED", "stop-needs-input", 3)
    twice = World(decide=[invoke(), SENSE, SENSE])
    assert ended(twice.run(config=AdvanceConfig(sense_again_after_invoke=True)))[1] == "sense-stale-revision"


def test_a_stop_decision_stops_with_its_code_and_detail() -> None:
    result = World().run()
    assert ended(result) == ("ADVANCE: STOPPED", "stop-needs-input", 0) and result.message == "asked"


@pytest.mark.parametrize("verb", ["merge", "fullauto-merge"])
def test_the_conductor_never_merges(verb: str) -> None:
    world = World(decide=[invoke(verb)])
    assert ended(world.run(command_names=(verb,))) == ("ADVANCE: STOPPED", "stop-policy-denied", 0)
    assert world.sent == []


def test_an_unknown_verb_and_an_unsatisfied_precondition_stop_with_their_refusal() -> None:
    assert ended(World(decide=[invoke("audit-pr")]).run())[1] == "no-decision-available"
    condition = {"id": "a", "check": "b", "satisfied": False}
    seen = envelope(blockers=[])
    seen["next"]["continuation"]["preconditions"] = [condition]
    assert ended(World(sensor=[seen], decide=[invoke()]).run())[1] == "precondition-uncheckable"


def test_guarded_paths_of_the_configuration_reach_the_invocation() -> None:
    world = World(decide=[invoke(), invoke("review-change"), STOP])
    world.run(config=AdvanceConfig(sensitive_paths=("src/auth/**",)), attended=False)
    assert world.sent == ["/skill:execute-phase 12", "/skill:review-change 12 --adversarial 2"]


def test_a_send_that_is_deferred_twice_in_a_row_stops() -> None:
    world = World(decide=[invoke()], send=[Sent(deferred=True), Sent(), Sent(deferred=True)])
    assert ended(world.run()) == ("ADVANCE: STOPPED", "stop-profile-switch-loop", 3)
    once = World(decide=[invoke()], send=[Sent(deferred=True), Sent()])
    assert ended(once.run(max_invokes=1)) == ("ADVANCE: CONTINUE", None, 2), "a deferred send is no stage"


def test_a_send_that_failed_stops_with_its_code() -> None:
    result = World(decide=[invoke()], send=[Sent(ok=False, detail="no result")]).run()
    assert ended(result) == ("ADVANCE: STOPPED", "stop-failed", 0) and result.message == "no result"


def test_the_cap_of_iterations_stops() -> None:
    world = World(decide=[invoke()])
    assert ended(world.run()) == ("ADVANCE: STOPPED", "stop-failed", 12) and len(world.sent) == 12
    assert ended(World(decide=[invoke()]).run(config=AdvanceConfig(iterations_cap=2))) == (
        "ADVANCE: STOPPED",
        "stop-failed",
        2,
    )


def test_a_prepared_decision_comes_before_the_sensor() -> None:
    discover = WorkflowDecision("invoke", "discover-repository-state", (), "invoke-discovery", (), "")
    blind = World(sensor=[SensorReading(None)], prepare=[discover, None])
    assert ended(blind.run()) == ("ADVANCE: STOPPED", "sensor-degraded", 1)
    assert blind.sent == ["/skill:discover-repository-state"]
    assert ended(World(prepare=[STOP]).run()) == ("ADVANCE: STOPPED", "stop-needs-input", 0)


def test_the_result_is_a_document() -> None:
    assert World().run().as_document() == {
        "banner": "ADVANCE: STOPPED",
        "stopCode": "stop-needs-input",
        "iterations": 0,
        "message": "asked",
    }
