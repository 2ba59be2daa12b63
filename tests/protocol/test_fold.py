"""Random Runs: the invariants of machine-protocol §6.5 after every event, and events that tell the whole Run.

A random host drives a model Run through every command, legal or not, while the worktree changes under it at will.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.canon import encode
from slipway_lite.errors import SlipwayError
from slipway_lite.protocol import fold, projection, replay
from slipway_lite.protocol.documents import error_document, protocol_state, run_status
from slipway_lite.protocol.projection import COLUMNS, touched_rows
from slipway_lite.protocol.resume import Mode
from slipway_lite.protocol.rules import LEGALITY
from slipway_lite.protocol.run import Run
from tests import wire
from tests.protocol import invariants
from tests.protocol.model import CLEAN, DIRTY, FAILED, RUN_ID, Model, git
from tests.protocol.outcomes import (
    activity,
    decision,
    destructive,
    environment,
    implementation,
    outcome,
    review,
    suggestion,
)
from tests.protocol.source.change import Change
from tests.protocol.valid_next import check as check_next

LOOKS = [*[CLEAN] * 9, *[DIRTY] * 2, git("dirtier"), git(complete=False), FAILED]
TEXTS = ["", " ", *["stable", "two\nlines", "é\u2028"] * 6, "x\x01"]


COMMANDS = ["submit", "again", "answer", "confirm", "skip", "stop", "resume"]
USUAL = {
    "active": ["submit"] * 24 + ["skip", "stop"],
    "decision_required": ["answer"] * 5 + ["resume", "skip"],
    "destructive_confirmation_required": ["confirm"] * 4 + ["answer", "skip"],
    "environment_unavailable": ["resume"] * 3 + ["skip"],
    "budget_exhausted": ["resume", "resume", "stop"],
    "stopped": ["resume"] * 4 + ["stop"],
    "ended": COMMANDS,
}


class Host:
    """Picks one command at a time, mostly one that makes sense."""

    def __init__(self, random: Random, kind: type[Model] = Model) -> None:
        self.random = random
        self.pick = random.choice
        bound = self.chance(3)
        self.model = kind(
            budget=random.randint(1, 20),
            review=self.chance(2),
            initial=self.pick([CLEAN, CLEAN, DIRTY, git(complete=False)]),
            source=Change().snapshot() if bound else None,
        )
        self.bound = bound
        self.candidates = 0
        self.sent: list[dict[str, Any]] = []

    def chance(self, one_in: int) -> bool:
        return self.random.randrange(one_in) == 0

    def action_id(self) -> str:
        run = self.model.run
        if run.current is not None and not self.chance(12):
            return run.current.action_id
        return str(self.pick([record.action_id for record in run.records] + ["act-999"]))

    def step(self) -> str:
        self.model.git = self.pick(LOOKS)
        run = self.model.run
        usual = USUAL[run.pause_reason or run.state]
        if run.state == "active" and run.current and run.current.kind == "summarize":
            usual = ["submit", "stop", "stop", "stop"]  # the end is near anyway
        command: str = self.pick(COMMANDS if self.chance(5) else usual)
        getattr(self, command)()
        return command

    def submit(self) -> None:
        run, action_id = self.model.run, self.action_id()
        kind = run.by_id[action_id].kind if action_id in run.by_id else "orient"
        statuses = [status for legal, status in LEGALITY if legal == kind]
        status = "needs_input" if "needs_input" in statuses and self.chance(3) else self.pick(statuses)
        fields: dict[str, Any] = {
            "observations": self.pick([[], ["seen"], [f"seen {n}" for n in range(130)]]),
            "known_issues": self.pick([[], ["known\nissue"]]),
        }
        if status == "needs_input":
            pauses = [decision(), environment(), *([destructive()] * 4 if kind == "implement" else [])]
            fields["pause"] = self.pick(pauses)
            if fields["pause"]["reason"] == "decision_required" and run.answers and self.chance(2):
                superseded = self.pick([answer["action_id"] for answer in run.answers])
                fields["pause"]["supersedes_answer_action_id"] = superseded
        elif kind in ("orient", "clarify") and not self.chance(3):
            fields["suggested_actions"] = [
                suggestion(self.pick(["implement"] * 6 + ["clarify", "clarify", "summarize"]))
            ]
        elif kind == "implement" and status == "completed":
            result = self.pick(["applied", "not_needed"])
            fields["implementation"] = implementation(result, activities=[activity()], uncertainties=["u"])
        elif kind == "review" and status == "completed" and self.chance(2):
            fields["review"] = review("findings_reported", 2, uncertainties=["u"])
        document = outcome(kind, status, action_id=action_id, **fields)
        self.model.submit_document(document)
        self.sent.append(document)

    def again(self) -> None:
        if self.sent:
            self.model.submit_document(self.pick(self.sent))

    def answer(self) -> None:
        self.model.answer(self.pick(TEXTS), action_id=self.action_id())

    def confirm(self) -> None:
        request = self.model.run.pending_request
        scope = request["scope_sha256"] if request and not self.chance(6) else self.pick(["", "sha256:" + "0" * 64])
        self.model.answer(self.pick(TEXTS), confirm=True, scope=scope, action_id=self.action_id())

    def skip(self) -> None:
        self.model.skip(self.action_id())

    def stop(self) -> None:
        self.model.stop()

    def resume(self) -> None:
        run = self.model.run
        modes = [Mode()]
        if self.bound:
            amended = Change().amend(2, f"Must {self.candidates}.\n", run.requirements_revision or "")
            invalid = Change()
            invalid.body = ""
            changes = [Change(), amended, invalid]
            modes = [
                Mode(pinned=True),
                Mode(classification=self.pick(changes).classify()),
                *[Mode(choice=self.pick(["pinned", "adopt"]), candidate=f"cand-{self.pick([1, 2, 3])}")] * 2,
            ]
            if run.source_candidate is not None:
                mine = run.source_candidate["candidate_id"]
                modes += [Mode(choice=self.pick(["pinned", "adopt"]), candidate=mine)] * 3
        budget = self.pick([0, 0, 1, 5])
        if self.model.resume(budget, self.pick(modes), f"cand-{self.candidates + 1}"):
            self.candidates += self.model.run.source_candidate is not None


Rows = dict[tuple[Any, ...], tuple[Any, ...]]


def written(rows: Rows, run: Run) -> None:
    """Add what the last event of ``run`` writes; a later row replaces an earlier one with its key."""
    for table, row in touched_rows(run):
        assert len(row) == COLUMNS[table]
        rows[table, row[0], row[1] if table != "runs" else None] = row


def whole(run: Run) -> Rows:
    """The rows that the last state of a Run gives by itself, whatever was written on the way."""
    rows = Rows({("runs", RUN_ID, None): projection.run_row(run)})
    for number, record in enumerate(run.records, 1):
        rows["run_actions", RUN_ID, number] = projection.action_row(run, record)
    for number in range(1, len(run.answers) + 1):
        rows["run_answers", RUN_ID, number] = projection.answer_row(run, number)
    return rows


def drive(random: Random, steps: int) -> list[dict[str, Any]]:
    """Let a host do ``steps`` things; returns the last state, the last status and one error document per code."""
    host = Host(random)
    model, rows, refusals = host.model, Rows(), dict[str, dict[str, Any]]()
    before = model.status()
    invariants.check(model.run, None, before, "start")
    written(rows, model.run)
    for _ in range(steps):
        if model.run.state == "ended" and host.chance(4):
            break
        count = len(model.events)
        try:
            command = host.step()
        except SlipwayError as error:
            assert error.exit_code == 3
            assert error.next is not None
            check_next(error.next, before["workspace_identity"]["id"])
            if error.details is not None:
                assert (error.details["run_id"], error.details["state"]) == (RUN_ID, before["state"])
            assert (len(model.events), model.status()) == (count, before), "a refusal changes nothing"
            refusals[error.code] = error_document(error.code, error.message, error.next, 3, error.details)
            continue
        after = model.status()
        if len(model.events) == count:
            assert after == before, "a replay changes nothing"
            continue
        assert len(model.events) == count + 1
        invariants.check(model.run, before, after, command)
        written(rows, model.run)
        before = after
    replayed = Rows()
    for run in replay.steps(RUN_ID, model.events):
        written(replayed, run)
    assert json.loads(encode(run_status(run))) == before
    assert replayed == rows
    reviews = [record.outcome["review"] for record in run.records if record.outcome and record.outcome["review"]]
    counts = {
        "run_activities": len(run.activities),
        "run_findings": sum(len(report["findings"]) for report in reviews),
        "git_observations": run.git_look_count,
    }
    assert {key: row for key, row in rows.items() if key[0] in ("runs", "run_actions", "run_answers")} == whole(run)
    for table, expected in counts.items():
        assert [key[2] for key in rows if key[0] == table] == list(range(1, expected + 1))
    return [protocol_state(model.run, model.run.last_resume_result), before, *refusals.values()]


@settings(deadline=None, max_examples=120)
@given(st.randoms(use_true_random=True))
def test_a_random_run_keeps_its_invariants_and_is_told_by_its_events(random: Random) -> None:
    drive(random, 40)


def check_documents(random: Random) -> None:
    for document in drive(random, 30):
        wire.check(json.loads(encode(document)))


@settings(deadline=None, max_examples=15)
@given(st.randoms(use_true_random=True))
def test_the_documents_of_a_random_run_are_valid(random: Random) -> None:
    check_documents(random)


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(st.randoms(use_true_random=True))
def test_the_documents_of_many_random_runs_are_valid(random: Random) -> None:
    check_documents(random)


@pytest.mark.slow
@settings(deadline=None, max_examples=800)
@given(st.randoms(use_true_random=True))
def test_a_long_random_run_keeps_its_invariants_and_is_told_by_its_events(random: Random) -> None:
    drive(random, 80)


def test_an_event_of_no_known_kind_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        fold.apply(Model().run, "run_renamed", "2026-07-12T09:00:00Z", {})


def test_a_replay_shares_nothing_with_the_run_before() -> None:
    model = Model()
    model.submit("needs_input", pause=decision(), observations=["seen"])
    before = model.status()
    model.replayed().observations.append("other")
    assert model.status() == before


def test_events_hold_facts_and_never_a_context_or_a_default_brief() -> None:
    model = Model(goal="the goal").to_end()
    for *_, raw, _, _, _ in model.events[1:]:
        assert "Decisions:" not in raw
        assert "the goal" not in raw
        assert '"brief"' not in raw


def test_a_run_of_n_actions_takes_space_in_proportion() -> None:
    model = Model(budget=300)
    while model.run.remaining_budget > 1:
        model.submit(suggested_actions=[suggestion("clarify")], summary="the same words each time")
    sizes = [len(raw) for *_, raw, _, _, _ in model.events]
    assert max(sizes[20:]) <= min(sizes[20:]) + 4
