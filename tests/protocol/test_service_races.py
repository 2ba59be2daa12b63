"""Two writers and one Run: who was slower decides again on what the other left, or waits (machine-protocol §6.7)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from slipway_lite.canon import encode, sha256
from slipway_lite.errors import SlipwayError
from slipway_lite.protocol.documents import protocol_state
from slipway_lite.protocol.observation import Observing
from slipway_lite.protocol.run import Run
from slipway_lite.protocol.service import Service
from slipway_lite.store import connection as connection_module
from slipway_lite.store.connection import open_store
from tests.protocol.conftest import Repository
from tests.protocol.outcomes import decision, outcome
from tests.protocol.stored import Stored, mutation, refused, variant


@pytest.fixture
def stored(repository: Repository) -> Stored:
    return Stored(repository)


# -- races: the one who was slower decides again on what the other left


class Interrupted(Observing):
    """A look at git during which somebody else gets ahead."""

    __slots__ = ("_other",)

    def __init__(self, root: str, other: Callable[[], Any]) -> None:
        super().__init__(root)
        self._other = other

    def finish(self) -> dict[str, Any]:
        self._other()
        return super().finish()


def overtaken(stored: Stored, run: Run, other: Callable[[], Any]) -> Callable[[dict[str, Any]], Run]:
    service = Service(stored.workspace, observing=Interrupted(stored.workspace.worktree_root, other))

    def submit(document: dict[str, Any]) -> Run:
        return service.submit(run.run_id, document["action_id"], document, sha256(encode(document).encode()))

    return submit


def test_a_submit_that_another_outcome_overtook_conflicts(stored: Stored) -> None:
    run = stored.start()
    assert run.current is not None
    document = outcome("orient", action_id=run.current.action_id, summary="mine")
    submit = overtaken(stored, run, lambda: stored.submit(run, summary="theirs"))
    refused(lambda: submit(document), "outcome_conflict")
    assert stored.events(run) == ["run_started", "outcome_submitted"]
    assert stored.problems() == []


def test_a_submit_that_its_own_twin_overtook_succeeds_and_writes_nothing(stored: Stored) -> None:
    run = stored.start()
    assert run.current is not None
    document = outcome("orient", action_id=run.current.action_id)
    won: list[Run] = []
    late = overtaken(stored, run, lambda: won.append(stored.submit(run)))(document)
    assert encode(protocol_state(late)) == encode(protocol_state(won[0]))
    assert stored.events(run) == ["run_started", "outcome_submitted"]


def test_a_submit_that_a_stop_overtook_is_refused(stored: Stored) -> None:
    run = stored.start()
    assert run.current is not None
    document = outcome("orient", action_id=run.current.action_id)
    error = refused(lambda: overtaken(stored, run, lambda: stored.stop(run))(document), "run_not_active")
    assert error.details == {"run_id": run.run_id, "state": "stopped"}
    assert stored.events(run) == ["run_started", "run_stopped"]


def test_another_run_that_moves_on_overtakes_nobody(stored: Stored) -> None:
    run, other = stored.start(), stored.start()
    assert run.current is not None
    document = outcome("orient", action_id=run.current.action_id)
    overtaken(stored, run, lambda: stored.submit(other))(document)
    assert stored.events(run) == ["run_started", "outcome_submitted"]
    assert stored.problems() == []


def together(attempts: list[Callable[[], Run]]) -> list[Run | SlipwayError]:
    """Run all of them at once."""
    barrier, results = threading.Barrier(len(attempts)), list[Run | SlipwayError]()

    def work(attempt: Callable[[], Run]) -> None:
        barrier.wait()
        try:
            results.append(attempt())
        except SlipwayError as error:
            results.append(error)

    threads = [threading.Thread(target=work, args=(attempt,)) for attempt in attempts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_of_eight_different_outcomes_one_wins(stored: Stored) -> None:
    run = stored.start()
    results = together([lambda n=n: stored.submit(run, summary=f"outcome {n}") for n in range(8)])  # type: ignore[misc]
    codes = [result.code for result in results if isinstance(result, SlipwayError)]
    assert codes == ["outcome_conflict"] * 7
    assert stored.events(run) == ["run_started", "outcome_submitted"]
    assert stored.problems() == []


def test_eight_identical_outcomes_all_succeed_with_one_new_action(stored: Stored) -> None:
    run = stored.start()
    results = together([lambda: stored.submit(run)] * 8)
    assert len({encode(protocol_state(result)) for result in results if isinstance(result, Run)}) == 1
    assert len(results) == 8
    assert not [result for result in results if isinstance(result, SlipwayError)]
    assert stored.events(run) == ["run_started", "outcome_submitted"]


def test_of_eight_different_answers_one_wins(stored: Stored) -> None:
    run = stored.submit(stored.start(), "needs_input", pause=decision())
    results = together([lambda n=n: stored.answer(run, f"answer {n}") for n in range(8)])  # type: ignore[misc]
    codes = [result.code for result in results if isinstance(result, SlipwayError)]
    assert codes == ["answer_conflict"] * 7
    assert stored.events(run) == ["run_started", "outcome_submitted", "answer_recorded"]


def test_runs_that_start_together_share_one_file(stored: Stored) -> None:
    results = together([stored.start] * 6)
    assert len({result.run_id for result in results if isinstance(result, Run)}) == 6
    assert stored.problems() == []


# -- the lock


def test_a_writer_that_waits_too_long_is_told_that_the_run_is_busy(
    stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert connection_module.BUSY_SECONDS == 5.0
    run = stored.start()
    monkeypatch.setattr(connection_module, "BUSY_SECONDS", 0.1)
    with open_store(stored.path) as store, store.immediate():
        error = refused(lambda: stored.stop(run), "run_busy")
        assert error.details == mutation("lock_open")
        assert variant(error)[0] == "inspect-run"
        assert variant(error)[1][2] == run.run_id
        error = refused(stored.start, "run_busy")
        assert variant(error)[0] == "inspect-runs"
        # Readers wait for nobody.
        assert stored.reading.run(run.run_id).state == "active"
    assert stored.stop(run).state == "stopped"


def test_a_writer_that_waits_long_enough_goes_on(stored: Stored) -> None:
    run = stored.start()
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with open_store(stored.path) as store, store.immediate():
            held.set()
            release.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(10)
    threading.Timer(0.2, release.set).start()
    assert stored.stop(run).state == "stopped"
    thread.join()
