"""Mutations on a real repository and a real store: what is written, what is refused, and who wins a race."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.canon import encode
from slipway_lite.protocol import service as service_module
from slipway_lite.protocol.documents import protocol_state, run_status
from slipway_lite.protocol.resume import Mode
from slipway_lite.protocol.run import Run
from slipway_lite.protocol.source.classify import classify
from slipway_lite.protocol.source.envelope import decode_envelope
from tests.protocol.conftest import Repository, create
from tests.protocol.outcomes import decision, destructive, implementation, review, suggestion
from tests.protocol.source.change import Change
from tests.protocol.stored import MUTATIONS, Stored, refused, variant
from tests.protocol.valid_next import check as check_next


@pytest.fixture
def stored(repository: Repository) -> Stored:
    return Stored(repository)


def classified(change: Change) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    return classify(decode_envelope(change.raw()))


# -- a Run from start to end


def test_a_run_from_start_to_end_with_review_interposed(stored: Stored) -> None:
    run = stored.start("Ship it", budget=5)
    assert (run.state, run.remaining_budget) == ("active", 4)
    run = stored.submit(run, suggested_actions=[suggestion()])
    stored.repository.write("new.py", "print()\n")
    run = stored.submit(run, implementation=implementation(files_changed=["new.py"]))
    assert run.current is not None
    assert run.current.kind == "review"
    run = stored.submit(run, review=review("findings_reported", 1))
    run = stored.submit(run)
    assert (run.state, run.final_git_observed) == ("ended", True)
    assert run.summary is not None
    assert "- new.py" in run.summary
    assert "observed_since_start:" in run.summary
    assert stored.events(run) == ["run_started", *["outcome_submitted"] * 4]
    assert json.loads(encode(run_status(stored.reading.run(run.run_id)))) == json.loads(encode(run_status(run)))
    assert stored.problems() == []


def test_every_reply_is_what_a_later_status_shows(stored: Stored) -> None:
    steps: list[Callable[[Run], Run]] = [
        lambda run: stored.submit(run, "needs_input", pause=decision(), observations=["é\u2028"], known_issues=["k"]),
        lambda run: stored.answer(run, "stable\r\n"),
        lambda run: stored.submit(run, suggested_actions=[suggestion()]),
        lambda run: stored.submit(run, "needs_input", pause=destructive()),
        lambda run: stored.answer(run, "", True, str((run.pending_request or {})["scope_sha256"])),
        lambda run: stored.skip(run),
        lambda run: stored.stop(run),
        lambda run: stored.stop(run),
        lambda run: stored.resume(run, 3),
        lambda run: stored.submit(run),
        lambda run: stored.skip(run),
    ]
    run = stored.start(budget=9)
    for count, step in enumerate(steps, 1):
        run = step(run)
        assert encode(run_status(run)) == encode(run_status(stored.reading.run(run.run_id)))
        assert len(stored.events(run)) == run.event_count == count + 1
    assert run.state == "ended"
    assert stored.problems() == []


def test_starting_never_repeats_a_run(stored: Stored) -> None:
    assert len({stored.start().run_id for _ in range(3)}) == 3


def test_an_unchanged_worktree_is_not_written_twice(stored: Stored) -> None:
    run = stored.submit(stored.start())
    (data,) = [json.loads(raw) for (raw,) in stored.rows("select data from journal_events where sequence = 2")]
    assert data["git"] == {"unchanged": True}
    assert run.current_git == run.initial_git


# -- start


def test_a_goal_that_no_action_can_carry_is_refused_before_anything_is_written(stored: Stored) -> None:
    error = refused(lambda: stored.start("é" * 131_000, 5, False), "action_too_large")
    argv = ["slipway", "run", "--budget", "5", "--json", "--root", stored.workspace.worktree_root, "--no-review"]
    assert variant(error) == ("retry-run", argv)
    assert error.details is None
    assert stored.reading.status_list() == ([], [], [])


def test_a_start_without_an_observation_is_refused(stored: Stored) -> None:
    with open(os.fsencode(stored.repository.root) + b"/\xff", "wb"):
        pass
    error = refused(lambda: stored.start(budget=3), "git_observation_failed")
    assert variant(error)[0] == "retry-run"
    error = refused(lambda: stored.start(budget=3, source=classified(Change())), "git_observation_failed")
    assert variant(error)[0] == "start-with-source"
    assert stored.reading.status_list() == ([], [], [])


def test_a_source_that_is_no_change_is_refused(stored: Stored) -> None:
    change = Change()
    change.body = ""
    error = refused(lambda: stored.start(budget=3, review=False, source=classified(change)), "invalid_source", 2)
    assert variant(error)[0] == "start-with-source"
    assert "--no-review" in variant(error)[1]
    assert not os.path.exists(stored.path)


def test_a_later_observation_that_fails_pauses_the_run(stored: Stored) -> None:
    run = stored.start()
    with open(os.fsencode(stored.repository.root) + b"/\xff", "wb"):
        pass
    run = stored.submit(run)
    assert (run.state, run.pause_reason, run.current) == ("paused", "environment_unavailable", None)
    assert run.known_issues[0].startswith("Git observation failed: ")
    os.unlink(os.fsencode(stored.repository.root) + b"/\xff")
    run = stored.resume(run)
    assert run.state == "active"
    assert stored.problems() == []


# -- Runs that are not there, or not here


@pytest.mark.parametrize("command", MUTATIONS)
def test_an_absent_run_is_a_runtime_error_of_a_mutation(stored: Stored, command: str) -> None:
    error = refused(lambda: MUTATIONS[command](stored.service, "run-9"), "runtime_error")
    assert variant(error) == ("inspect-run", ["slipway", "status", "run-9", "--root", stored.workspace.worktree_root])
    assert error.details is None
    assert os.path.exists(stored.path)  # §1.4: the store is opened all the same


@pytest.mark.parametrize("command", MUTATIONS)
def test_a_run_of_another_worktree_is_left_alone(stored: Stored, tmp_path: Path, command: str) -> None:
    run = stored.start()
    stored.repository.git("worktree", "add", "-q", str(tmp_path / "linked"))
    linked = Stored(Repository((tmp_path / "linked").resolve()))
    error = refused(lambda: MUTATIONS[command](linked.service, run.run_id), "workspace_identity_mismatch")
    assert error.details == {
        "expected_workspace_identity": stored.workspace.id,
        "observed_workspace_identity": linked.workspace.id,
    }
    assert error.next is not None
    assert error.next["workspace_identity"] == stored.workspace.id
    assert variant(error)[0] == "inspect-run-in-its-workspace"
    assert variant(error)[1][-2:] == ["--root", stored.workspace.worktree_root]
    assert stored.events(run) == ["run_started"]


@pytest.mark.parametrize("command", MUTATIONS)
def test_a_run_of_another_repository_in_the_same_file_is_absent(stored: Stored, tmp_path: Path, command: str) -> None:
    db = str(tmp_path / "shared.db")
    other = create((tmp_path / "other").resolve())
    other.commit("a")
    mine, theirs = Stored(stored.repository, db), Stored(other, db)
    run = theirs.start()
    refused(lambda: MUTATIONS[command](mine.service, run.run_id), "runtime_error")
    assert theirs.events(run) == ["run_started"]


# -- limits


def test_an_event_over_the_limit_is_refused_and_the_run_stays_usable(
    stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert service_module.EVENT_LIMIT == 4_128_768
    run = stored.start()
    monkeypatch.setattr(service_module, "EVENT_LIMIT", 900)
    error = refused(lambda: stored.submit(run, observations=["é" * 400]), "journal_record_too_large")
    assert error.details is not None
    assert error.details.keys() == {"context", "size", "limit"}
    assert (error.details["context"], error.details["limit"]) == ("event payload", 900)
    assert error.details["size"] > 900
    assert variant(error)[0] == "inspect-run"
    assert variant(error)[1][2] == run.run_id
    error = refused(lambda: stored.start("x" * 900), "journal_record_too_large")
    assert variant(error)[0] == "inspect-runs"
    assert stored.events(run) == ["run_started"]
    assert stored.submit(run).remaining_budget == 6
    assert stored.problems() == []


def test_a_whole_outcome_of_escapes_stays_below_the_limit(stored: Stored) -> None:
    # The published implementation can exceed its limit here; an event that holds each fact once cannot.
    run = stored.start()
    filled = ["\u2028" * 349_000]
    assert stored.submit(run, observations=filled).observations == filled


def test_an_action_that_gets_too_large_leaves_the_run_as_it_was(stored: Stored) -> None:
    run = stored.start("x" * 261_000)
    before = encode(run_status(run))
    error = refused(
        lambda: stored.submit(run, suggested_actions=[suggestion("clarify", "é" * 4000)]), "action_too_large"
    )
    assert error.next is not None
    assert error.next["operation"] == "action"
    check_next(error.next, stored.workspace.id)
    assert encode(run_status(stored.reading.run(run.run_id))) == before


def test_an_answer_with_a_control_character_leaves_the_run_as_it_was(stored: Stored) -> None:
    run = stored.submit(stored.start(), "needs_input", pause=decision())
    error = refused(lambda: stored.answer(run, "a\x01b"), "invalid_action")
    assert error.next is not None
    assert error.next["operation"] == "answer"
    assert stored.events(run) == ["run_started", "outcome_submitted"]


def test_a_confirmation_without_budget_is_on_record_and_refused(stored: Stored) -> None:
    run = stored.submit(stored.start(budget=2), suggested_actions=[suggestion()])
    run = stored.submit(run, "needs_input", pause=destructive())
    scope = (run.pending_request or {})["scope_sha256"]
    for _ in range(2):
        error = refused(lambda: stored.answer(run, "", True, scope), "budget_exhausted")
        assert error.details == {"run_id": run.run_id, "state": "paused"}
        assert variant(error)[0] == "resume-ad-hoc"
    assert stored.events(run)[-1] == "answer_recorded"
    assert stored.events(run).count("answer_recorded") == 1
    assert stored.reading.run(run.run_id).pause_reason == "budget_exhausted"


# -- sources and their materials


def test_a_source_is_accepted_with_its_materials_once_per_content(stored: Stored) -> None:
    run = stored.start(source=classified(Change()))
    other = stored.start(source=classified(Change()))
    assert run.pinned_source == other.pinned_source == Change().snapshot()
    assert stored.rows("select count(*) from materials") == [(5,)]
    assert stored.problems() == []


def test_a_refused_refresh_keeps_no_material(stored: Stored) -> None:
    run = stored.stop(stored.start(source=classified(Change())))
    change = Change().amend(2, "A fork.\n", "sha256:" + "0" * 64)
    classification, materials = classified(change)
    refused(lambda: stored.resume(run, 0, Mode(classification=classification), materials), "source_history_fork")
    assert stored.rows("select count(*) from materials") == [(5,)]
    assert b"A fork." not in whole_file(stored)


def test_a_candidate_is_chosen_and_the_choice_replayed_with_its_receipt(stored: Stored) -> None:
    run = stored.stop(stored.start(source=classified(Change())))
    change = Change().amend(2, "Must fly.\n", run.requirements_revision or "")
    classification, materials = classified(change)
    run, receipt = stored.service.resume(run.run_id, 0, Mode(classification=classification), materials)
    assert receipt["operation"] == "source_candidate_created"
    assert run.source_candidate is not None
    mode = Mode(choice="adopt", candidate=run.source_candidate["candidate_id"])
    run, receipt = stored.service.resume(run.run_id, 4, mode)
    assert receipt == {"operation": "source_amended", "budget_applied": True, "candidate_id": mode.candidate}
    assert run.remaining_budget == 3
    run = stored.submit(stored.submit(run))
    assert run.state == "ended"
    again, replayed = stored.service.resume(run.run_id, 1000, mode)
    assert replayed == receipt
    assert encode(run_status(again)) == encode(run_status(run))
    state = protocol_state(again, replayed)
    assert (state["state"], state["resume_operation"], state["budget_applied"]) == ("ended", "source_amended", True)
    assert stored.problems() == []


# -- what is never stored (§0, §2.6)


def whole_file(stored: Stored) -> bytes:
    """Every byte of the resting database, free pages included, before and after they are dropped."""
    with stored.connection() as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
        raw = Path(stored.path).read_bytes()
        connection.execute("vacuum")
        connection.execute("pragma wal_checkpoint(truncate)")
    return raw + Path(stored.path).read_bytes()


def test_nothing_of_an_envelope_but_what_is_pinned_gets_into_the_file(stored: Stored) -> None:
    change = Change()
    change.envelope["labels"] = ["LABEL-SECRET"]
    change.after = "BODY-SECRET prose below the manifest\n"
    run = stored.stop(stored.start(source=classified(change)))
    refreshed = change.copy()
    refreshed.envelope["labels"] = ["LABEL-SECRET"]
    refreshed.title = "[Change] Ship it"
    classification, materials = classified(refreshed)
    run = stored.stop(stored.resume(run, 0, Mode(classification=classification), materials))
    unexpected = change.copy()  # a comment that no section refers to makes an invalid candidate
    document = unexpected.document()
    stray = dict(document["comments"][0])
    stray |= {
        "node_id": "IC_STRAY",
        "database_id": 999,
        "url": f"{unexpected.url}#issuecomment-999",
        "body": "COMMENT-SECRET",
    }
    unexpected.envelope["comments"] = [*document["comments"], stray]
    classification, materials = classified(unexpected)
    assert classification["classification_code"] == "source_section_unexpected"
    run = stored.resume(run, 0, Mode(classification=classification), materials)
    assert run.source_candidate is not None
    raw = whole_file(stored)
    for secret in (b"LABEL-SECRET", b"BODY-SECRET", b"COMMENT-SECRET", b"slipway-manifest", b"slipway-section:v1"):
        assert secret not in raw
    assert b"Must build." in raw  # an accepted section is kept


def test_no_content_of_the_worktree_and_no_environment_gets_into_the_file(
    stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN", "ENVIRONMENT-SECRET")
    stored.repository.write("dirty.txt", "CONTENT-SECRET")
    run = stored.start()
    stored.repository.write("dirtier.txt", "CONTENT-SECRET")
    (stored.repository.root / "link").symlink_to("TARGET-SECRET")
    run = stored.submit(run)
    assert run.changed
    raw = whole_file(stored)
    for secret in (b"CONTENT-SECRET", b"ENVIRONMENT-SECRET", b"TARGET-SECRET"):
        assert secret not in raw
    assert b"dirtier.txt" in raw
