"""Replies of two hundred lines as agents write them, and what a careful reader takes from each."""

from __future__ import annotations

import json

import pytest

from slipway_lite.turns.extract import FENCE_LEFT_OPEN, OPENER_AFTER_BLOCK
from slipway_lite.turns.parse import ParsedTurn, parse_turn
from tests.turns.transcripts import EARLIER, RESULT, block, reply

CLOSING = ["That was the whole phase."]


def read(text: str, *, strict_tail: bool = False) -> ParsedTurn:
    return parse_turn(skill="execute-phase", text=text, strict_tail=strict_tail)


def codes(turn: ParsedTurn) -> list[str]:
    return [diagnostic.code for diagnostic in turn.diagnostics]


def test_a_reply_that_ends_with_its_block_gives_its_result() -> None:
    turn = read(reply(block(RESULT)))
    assert (turn.source, turn.outcome, codes(turn)) == ("skill-outcome-v1", RESULT, [])


def test_no_block_gives_no_result_however_much_json_the_report_shows() -> None:
    turn = read(reply(CLOSING * 12))
    assert [error.code for error in turn.errors] == ["no_machine_result", "no_json_block"]
    assert codes(turn) == []


def test_of_two_blocks_the_last_one_is_meant() -> None:
    turn = read(reply(block(EARLIER), ["Then I finished the rest."], block(RESULT), CLOSING))
    assert turn.outcome == RESULT and codes(turn) == []


def test_an_unterminated_block_leaves_the_earlier_one_which_may_be_stale() -> None:
    """The published rule accepts the earlier block; a careful reader sees that a later one was cut off."""
    text = reply(block(EARLIER), ["Then I finished the rest."], block(RESULT)[:-1])
    turn = read(text)
    assert turn.outcome == EARLIER and codes(turn) == [OPENER_AFTER_BLOCK]
    refused = read(text, strict_tail=True)
    assert [error.code for error in refused.errors] == ["stale_tail"] and codes(refused) == [OPENER_AFTER_BLOCK]


def test_an_unterminated_only_block_gives_no_result_and_says_that_it_was_cut_off() -> None:
    turn = read(reply(block(RESULT)[:-4]))
    assert [error.code for error in turn.errors] == ["no_machine_result", "no_json_block"]
    assert codes(turn) == [FENCE_LEFT_OPEN]


def test_tool_output_pasted_after_the_block_does_not_hide_it() -> None:
    pasted = ["```console", "$ git status --short", " M src/csv/writer.py", "```"]
    turn = read(reply(block(RESULT), ["For the record:"], pasted))
    assert turn.outcome == RESULT and codes(turn) == []


def test_tool_output_that_is_json_itself_wins_and_is_refused_because_it_is_no_result() -> None:
    pasted = ["```json", json.dumps({"files": ["src/csv/writer.py"], "status": "modified"}), "```"]
    turn = read(reply(block(RESULT), ["For the record:"], pasted))
    assert not turn.ok and turn.errors[0].code == "missing_key"


def test_tool_output_cut_off_after_the_block_is_noticed() -> None:
    turn = read(reply(block(RESULT), ["For the record:", "```console", "$ git log --stat"]))
    assert turn.outcome == RESULT and codes(turn) == [FENCE_LEFT_OPEN]


@pytest.mark.parametrize("parts", [(block(RESULT),), (block(EARLIER), block(RESULT), CLOSING)])
def test_crlf_changes_nothing(parts: tuple[list[str], ...]) -> None:
    turn = read(reply(*parts, newline="\r\n"))
    assert turn.outcome == RESULT and codes(turn) == []


def test_japanese_text_changes_nothing_and_comes_back_as_it_was() -> None:
    result = {**RESULT, "summary": "書き込みは「引用符」を付けます。\u2028次の行　全角空白も残ります。"}
    turn = read(reply(["以下が結果です："], block(result), ["以上です。"], language="ja"))
    assert turn.outcome == result and codes(turn) == []


def test_a_block_inside_a_list_item_is_read() -> None:
    indented = ["- Result:", "", *(f"  {line}" for line in block(RESULT))]
    assert read(reply(indented)).outcome == RESULT
