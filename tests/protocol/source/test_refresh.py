"""The refresh of machine-protocol §8.7 row by row, and the resolution of §8.8."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.protocol.source import digests
from slipway_lite.protocol.source.classify import source_candidate
from slipway_lite.protocol.source.refresh import (
    ALIAS_LIMIT,
    REFUSALS,
    choose,
    edited_in_place,
    merged_aliases,
    refresh,
    remember,
)
from tests.protocol.source.change import ISSUE_URL, Change

PINNED = Change().snapshot()
REQUIREMENTS = PINNED["requirements_revision"]
MOVED = "https://github.com/other/ship/issues/9"
PARENT = {"repository_id": "R_2", "issue_id": "I_2", "canonical_url": "https://github.com/o/r/issues/1"}


def refreshed(change: Change, pinned: dict[str, Any] = PINNED, accepted: Any = ()) -> dict[str, Any]:
    return refresh(pinned, accepted, change.classify())


def moved(change: Change) -> Change:
    change.url, change.number = MOVED, 9
    return change


def test_source_issue_mismatch_names_both_issues() -> None:
    change = Change()
    change.envelope["issue_id"] = "I_9"
    change.body = ""  # comes before any classification
    assert refreshed(change) == {
        "outcome": "source_issue_mismatch",
        "pinned_issue_id": "I_1",
        "refreshed_issue_id": "I_9",
    }


def aliases(count: int) -> list[str]:
    return [f"https://github.com/o/r/issues/{number}" for number in range(1, count + 1)]


def test_source_alias_limit_counts_the_url_that_is_left() -> None:
    pinned = PINNED | {"url_aliases": aliases(ALIAS_LIMIT)}
    assert refreshed(moved(Change()), pinned) == {"outcome": "source_alias_limit"}
    change = moved(Change())
    change.body = ""  # an invalid head does not hide it
    assert refreshed(change, pinned) == {"outcome": "source_alias_limit"}


def test_64_aliases_are_allowed() -> None:
    pinned = PINNED | {"url_aliases": aliases(ALIAS_LIMIT)}
    assert refreshed(Change(), pinned)["pinned_source"]["url_aliases"] == aliases(ALIAS_LIMIT)
    pinned = PINNED | {"url_aliases": [*aliases(ALIAS_LIMIT - 1), MOVED]}
    assert refreshed(moved(Change()), pinned)["pinned_source"]["url_aliases"] == [
        *aliases(ALIAS_LIMIT - 1),
        ISSUE_URL,
    ]


def test_aliases_keep_their_order_and_never_hold_the_canonical_url() -> None:
    pinned = PINNED | {"url_aliases": ["b", "a", MOVED]}
    assert merged_aliases(pinned, MOVED) == ["b", "a", ISSUE_URL]
    assert merged_aliases(pinned, ISSUE_URL) == ["b", "a", MOVED]


@settings(deadline=None)
@given(st.lists(st.sampled_from("abcdef"), min_size=1))
def test_aliases_are_all_other_urls_ever_seen(urls: list[str]) -> None:
    pinned = {"canonical_url": urls[0], "url_aliases": []}
    for url in urls:
        pinned = {"canonical_url": url, "url_aliases": merged_aliases(pinned, url)}
    assert sorted([*pinned["url_aliases"], urls[-1]]) == sorted(set(urls))


def test_source_candidate_invalid_waits_with_merged_aliases() -> None:
    change = moved(Change())
    change.body = ""
    decision = refreshed(change)
    assert (decision["outcome"], decision["operation"]) == (
        "source_candidate_invalid",
        "source_candidate_created",
    )
    assert decision["classification"]["classification_code"] == "change_marker_required"
    assert decision["classification"]["url_aliases"] == [ISSUE_URL]
    assert list(decision["classification"]) == list(change.classify())


def test_source_amendment_candidate_waits_with_merged_aliases() -> None:
    decision = refreshed(moved(Change().amend(2, "Must fly.\n", REQUIREMENTS)))
    assert (decision["outcome"], decision["operation"]) == (
        "source_amendment_candidate",
        "source_candidate_created",
    )
    assert decision["classification"]["url_aliases"] == [ISSUE_URL]
    assert decision["classification"]["snapshot"]["url_aliases"] == [ISSUE_URL]


def test_a_replacement_comment_with_equal_content_is_an_amendment() -> None:
    assert refreshed(Change().amend(2, "Must build.\n", REQUIREMENTS))["outcome"] == "source_amendment_candidate"


def test_only_a_new_parent_revision_is_an_amendment() -> None:
    change = Change()
    change.parent_revision = REQUIREMENTS
    assert refreshed(change)["outcome"] == "source_amendment_candidate"


@pytest.mark.parametrize("parent", [None, "", "sha256:" + "0" * 64])
def test_source_history_fork(parent: str | None) -> None:
    change = Change().amend(2, "Must fly.\n", REQUIREMENTS)
    change.parent_revision = parent
    assert refreshed(change) == {"outcome": "source_history_fork"}


IN_PLACE = {
    "payload": {"body": "<!-- slipway-section:v1 key=reqs -->\nMust fly.\n"},
    "bytes before the marker": {"body": "\n<!-- slipway-section:v1 key=reqs -->\nMust build.\n"},
    "key": {"key": "requirements", "body": "<!-- slipway-section:v1 key=requirements -->\nMust build.\n"},
    "title": {"title": "Demands"},
    "database id of the same node id": {"comment_database_id": 9},
    "node id of the same database id": {"comment_node_id": "IC_9"},
}


@pytest.mark.parametrize("what", IN_PLACE)
def test_source_history_in_place_edit(what: str) -> None:
    change = Change()
    change.sections[1].update(IN_PLACE[what])
    change.parent_revision = REQUIREMENTS
    assert refreshed(change) == {"outcome": "source_history_in_place_edit"}


def test_an_in_place_edit_of_the_role() -> None:
    change = Change()
    change.sections[1]["role"], change.sections[3]["role"] = "constraints", "requirements"
    change.parent_revision = REQUIREMENTS
    assert refreshed(change) == {"outcome": "source_history_in_place_edit"}


def test_an_in_place_edit_comes_before_a_fork() -> None:
    change = Change()
    change.sections[1].update(IN_PLACE["payload"])
    assert refreshed(change) == {"outcome": "source_history_in_place_edit"}


def test_an_invalid_head_comes_before_an_in_place_edit() -> None:
    change = Change()
    change.sections[1].update(IN_PLACE["payload"])
    change.comments[5] = {"is_minimized": True}
    assert refreshed(change)["outcome"] == "source_candidate_invalid"


def test_a_retired_comment_may_return_but_only_unchanged() -> None:
    second = Change().amend(2, "Must fly.\n", REQUIREMENTS)
    pinned = second.snapshot()
    accepted = remember(remember([], PINNED), pinned)
    back = Change()
    back.parent_revision = pinned["requirements_revision"]
    assert refreshed(back, pinned, accepted)["outcome"] == "source_amendment_candidate"
    back.sections[1]["body"] += "More.\n"
    assert refreshed(back, pinned, accepted) == {"outcome": "source_history_in_place_edit"}
    assert refreshed(back, pinned)["outcome"] == "source_amendment_candidate"


def test_remember_keeps_each_comment_once() -> None:
    second = Change().amend(2, "Must fly.\n", REQUIREMENTS).snapshot()
    accepted = remember(remember([], PINNED), second)
    assert accepted == [*PINNED["sections"], second["sections"][1]]
    assert remember(accepted, PINNED) == accepted


def test_an_accepted_section_is_no_edit_of_itself() -> None:
    assert not edited_in_place(PINNED["sections"], PINNED["sections"])


def test_source_refreshed_unchanged_takes_fresh_provenance() -> None:
    change = Change()
    change.comments[1] = {"updated_at": "2027-01-01T00:00:00Z", "author_id": "U_9"}
    decision = refreshed(change)
    assert (decision["outcome"], decision["operation"]) == ("source_refreshed_unchanged", "source_refreshed")
    assert decision["pinned_source"] == change.snapshot() != PINNED


@pytest.mark.parametrize("changed", [{"title": "[Change] Sail"}, {"repository_id": "R_9"}])
def test_source_refreshed_non_material(changed: dict[str, str]) -> None:
    change = moved(Change())  # wins over drift
    change.envelope = dict(changed)
    decision = refreshed(change)
    assert (decision["outcome"], decision["operation"]) == (
        "source_refreshed_non_material",
        "source_refreshed",
    )
    assert decision["pinned_source"] == change.snapshot() | {"url_aliases": [ISSUE_URL]}


def test_source_projection_drift_by_url() -> None:
    change = Change()
    change.url = "https://github.com/renamed/ship/issues/7"
    decision = refreshed(change)
    assert (decision["outcome"], decision["operation"]) == ("source_projection_drift", "source_refreshed")
    assert decision["pinned_source"]["url_aliases"] == [ISSUE_URL]


def test_source_projection_drift_by_parent() -> None:
    change = Change()
    change.envelope["parent"] = PARENT
    assert refreshed(change)["outcome"] == "source_projection_drift"
    assert refreshed(Change(), PINNED | {"parent": PARENT})["outcome"] == "source_projection_drift"


def test_refresh_changes_none_of_its_arguments() -> None:
    classification = moved(Change()).classify()
    before = str(PINNED), str(classification)
    refresh(PINNED, [], classification)
    assert (str(PINNED), str(classification)) == before


def candidate(change: Change, pinned: dict[str, Any] = PINNED) -> dict[str, Any]:
    return source_candidate("ID", refreshed(change, pinned)["classification"], "NOW")


def test_adopt_pins_the_snapshot_and_supersedes_answers() -> None:
    waiting = candidate(moved(Change().amend(2, "Must fly.\n", REQUIREMENTS)))
    assert choose(PINNED, waiting, "adopt") == {
        "outcome": "source_amended",
        "operation": "source_amended",
        "pinned_source": waiting["snapshot"],
        "superseded_by": "requirements:" + waiting["requirements_revision"],
    }


def test_adopt_with_equal_requirements_supersedes_nothing() -> None:
    decision = choose(PINNED, candidate(Change().amend(2, "Must build.\n", REQUIREMENTS)), "adopt")
    assert decision["outcome"] == "source_amended"
    assert "superseded_by" not in decision


def test_invalid_source_candidate_choice() -> None:
    change = Change()
    change.body = ""
    assert choose(PINNED, candidate(change), "adopt") == {"outcome": "invalid_source_candidate_choice"}


@pytest.mark.parametrize("valid", [True, False])
def test_pinned_keeps_content_and_takes_the_place(valid: bool) -> None:
    change = moved(Change().amend(2, "Must fly.\n", REQUIREMENTS))
    change.envelope = {"repository_id": "R_9", "parent": PARENT, "title": "[Change] Sail"}
    if not valid:
        change.body = ""
    decision = choose(PINNED, candidate(change), "pinned")
    kept = decision["pinned_source"]
    assert (decision["outcome"], decision["operation"]) == ("source_pinned", "source_pinned")
    assert kept == PINNED | {
        "repository_id": "R_9",
        "issue_number": 9,
        "canonical_url": MOVED,
        "url_aliases": [ISSUE_URL],
        "parent": PARENT,
        "source_revision": digests.source_revision(PINNED | {"repository_id": "R_9"}),
    }
    assert kept["source_revision"] != PINNED["source_revision"]
    assert list(kept)[-3:] == ["title", "parent", "sections"]


def test_pinned_drops_a_parent_that_is_gone() -> None:
    pinned = PINNED | {"parent": PARENT}
    change = Change()
    change.body = ""
    kept = choose(pinned, candidate(change, pinned), "pinned")["pinned_source"]
    assert kept == PINNED
    assert list(kept) == list(PINNED)


def test_every_refusal_has_a_message() -> None:
    assert set(REFUSALS) == {
        "source_issue_mismatch",
        "source_alias_limit",
        "source_history_in_place_edit",
        "source_history_fork",
        "invalid_source_candidate_choice",
    }
    assert all(message.endswith(".") for message in REFUSALS.values())
