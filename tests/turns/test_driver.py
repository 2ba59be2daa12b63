"""The driver protocol: instruct, parse, re-ask exactly once, journal (turn-contract §11)."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any

import pytest

from slipway_lite.errors import UsageError
from slipway_lite.turns.driver import REPAIR_SENTENCE, DrivenTurn, drive_turn, drive_turn_async
from slipway_lite.turns.profiles import render_output_instruction
from tests.turns.documents import envelope, fenced, outcome, with_value

GOOD = fenced(outcome())
PROSE = "I finished the phase. SECRET-PROSE"


class Journal:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.turns: list[dict[str, Any]] = []

    def append_turn(self, record: dict[str, Any]) -> None:
        self.turns.append(record)

    def append_snapshot(self, record: dict[str, Any]) -> None:
        raise AssertionError("a driven turn appends no snapshot")


class Agent:
    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.messages: list[str] = []

    def __call__(self, message: str) -> str:
        self.messages.append(message)
        return self.replies.pop(0)


def test_the_instruction_is_appended_to_the_prompt() -> None:
    agent = Agent(GOOD)
    turn = drive_turn("execute-phase", agent, prompt="Do P1.")
    instruction = render_output_instruction("execute-phase")
    assert agent.messages == [f"Do P1.\n\n{instruction}"]
    assert turn.ok and turn.outcome == outcome() and turn.repair == "none" and turn.verdict == "validated"
    assert turn.parsed is not None and turn.parsed.source == "skill-outcome-v1"


def test_without_a_prompt_the_instruction_goes_out_alone() -> None:
    agent = Agent(GOOD)
    drive_turn("execute-phase", agent)
    assert agent.messages == [render_output_instruction("execute-phase")]


def test_a_failure_is_asked_again_exactly_once_in_the_same_session() -> None:
    assert REPAIR_SENTENCE == "Emit only the machine result for the turn above."
    agent = Agent(PROSE, GOOD)
    turn = drive_turn("execute-phase", agent)
    assert agent.messages[1:] == [REPAIR_SENTENCE]
    assert turn.ok and turn.repair == "same-session" and len(turn.attempts) == 2


def test_a_second_failure_is_the_drivers_own_failed_and_there_is_no_third_call() -> None:
    agent = Agent(PROSE, fenced("{bad"), GOOD)
    turn = drive_turn("execute-phase", agent)
    assert len(agent.messages) == 2
    assert not turn.ok and turn.verdict == "failed" and turn.outcome is None
    assert [error.code for error in turn.errors] == ["no_machine_result", "block_not_json"]


def test_without_a_session_the_second_call_carries_the_turn_so_far_and_is_recorded_as_weaker() -> None:
    agent = Agent(PROSE, GOOD)
    turn = drive_turn("execute-phase", agent, prompt="Do P1.", same_session=False)
    assert agent.messages[1] == f"{agent.messages[0]}\n\n{PROSE}\n\n{REPAIR_SENTENCE}"
    assert turn.repair == "fresh-call"


def test_the_repaired_reply_is_parsed_with_the_same_skill_and_context() -> None:
    numbered = fenced(with_value(envelope("audit-pr"), 12, "unit", "id"))
    turn = drive_turn("audit-pr", Agent(PROSE, numbered), {"unitId": "12-csv"})
    assert turn.ok and turn.parsed is not None and turn.parsed.source == "envelope-v2-compat"
    assert not drive_turn("plan-fix", Agent(PROSE, GOOD)).ok


def test_a_strict_tail_is_asked_again() -> None:
    agent = Agent(GOOD + "```json\n{", GOOD)
    turn = drive_turn("execute-phase", agent, strict_tail=True)
    assert turn.ok and [error.code for error in turn.attempts[0].parsed.errors] == ["stale_tail"]


def test_the_journal_gets_origin_diagnostics_and_digests_and_never_a_text() -> None:
    journal = Journal()
    drive_turn("execute-phase", Agent(PROSE, GOOD), journal=journal)
    (record,) = journal.turns
    raw = GOOD.encode()
    assert record == {
        "skill": "execute-phase",
        "verdict": "validated",
        "source": "skill-outcome-v1",
        "repair": "same-session",
        "outcome": outcome(),
        "diagnostics": [],
        "errors": [],
        "text_sha256": "sha256:" + hashlib.sha256(raw).hexdigest(),
        "text_bytes": len(raw),
        "attempts": record["attempts"],
    }
    assert [attempt["source"] for attempt in record["attempts"]] == [None, "skill-outcome-v1"]
    assert record["attempts"][0]["errors"][0]["code"] == "no_machine_result"
    assert "SECRET-PROSE" not in json.dumps(record)


def test_a_failed_turn_is_journaled_too() -> None:
    journal = Journal()
    drive_turn("execute-phase", Agent(PROSE, PROSE), journal=journal)
    (record,) = journal.turns
    assert (record["verdict"], record["source"], record["outcome"]) == ("failed", None, None)
    assert record["errors"][0]["code"] == "no_machine_result"


def test_an_agent_that_cannot_be_called_passes_through_after_what_was_read_is_journaled() -> None:
    def agent(message: str) -> str:
        if message == REPAIR_SENTENCE:
            raise ConnectionError("gone")
        return PROSE

    journal = Journal()
    with pytest.raises(ConnectionError):
        drive_turn("execute-phase", agent, journal=journal)
    (record,) = journal.turns
    assert [error["code"] for error in record["errors"]] == ["invoke_failed", "no_machine_result", "no_json_block"]
    assert len(record["attempts"]) == 1 and record["verdict"] == "failed"


def test_an_agent_that_never_answers_leaves_a_record_without_attempts() -> None:
    def agent(message: str) -> str:
        raise TimeoutError

    journal = Journal()
    with pytest.raises(TimeoutError):
        drive_turn("execute-phase", agent, journal=journal)
    (record,) = journal.turns
    assert (record["attempts"], record["text_sha256"], record["errors"][0]["code"]) == ([], None, "invoke_failed")


def test_an_unknown_skill_is_refused_before_anything_is_sent() -> None:
    agent, journal = Agent(GOOD), Journal()
    with pytest.raises(UsageError):
        drive_turn("advance", agent, journal=journal)
    assert agent.messages == [] and journal.turns == []


def test_a_text_with_lone_surrogates_has_a_digest() -> None:
    turn = drive_turn("execute-phase", Agent("\ud800", GOOD))
    assert turn.attempts[0].text_bytes == 3


def test_the_async_driver_is_the_same_turn() -> None:
    replies = [PROSE, GOOD]
    messages: list[str] = []

    async def agent(message: str) -> str:
        messages.append(message)
        return replies.pop(0)

    async def gone(message: str) -> str:
        raise ConnectionError

    journal, other = Journal(), Journal()
    turn = asyncio.run(drive_turn_async("execute-phase", agent, journal=journal, prompt="Do P1."))
    assert turn == drive_turn("execute-phase", Agent(PROSE, GOOD), journal=other, prompt="Do P1.")
    assert isinstance(turn, DrivenTurn) and journal.turns == other.turns
    assert messages[1] == REPAIR_SENTENCE
    with pytest.raises(ConnectionError):
        asyncio.run(drive_turn_async("execute-phase", gone, journal=journal))
    assert journal.turns[1]["errors"][0]["code"] == "invoke_failed"
