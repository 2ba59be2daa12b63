"""Every code of machine-protocol §8.6, the checks of §8.4 in their order, the shapes of §2.7 and §2.8."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from slipway_lite.errors import EXIT_USAGE, UsageError
from slipway_lite.protocol.source import digests
from slipway_lite.protocol.source.classify import (
    BUNDLE_LIMIT,
    SECTION_LIMIT,
    accepted_snapshot,
    source_candidate,
)
from slipway_lite.protocol.source.codes import FAILURE_CODES
from slipway_lite.protocol.source.envelope import decode_envelope
from slipway_lite.text import is_blank, is_plain
from tests.protocol.source.change import SECTIONS, Change

PARENT = {"repository_id": "R_2", "issue_id": "I_2", "canonical_url": "https://github.com/o/r/issues/1"}


def spoiled(spoil: Callable[[Change], Any]) -> Change:
    change = Change()
    spoil(change)
    return change


def body(text: str) -> Callable[[Change], None]:
    return lambda change: setattr(change, "body", text)


def payload(text: str) -> Callable[[Change], None]:
    return lambda change: change.sections[3].update(body=f"<!-- slipway-section:v1 key=limits -->\n{text}")


def comment_body(text: str) -> Callable[[Change], None]:
    return lambda change: change.sections[3].update(body=text)


def comment(**changes: Any) -> Callable[[Change], None]:
    return lambda change: change.comments.update({4: changes})


def stranger(change: Change) -> None:
    change.envelope["comments"] = [
        *change.document()["comments"],
        {
            **change.document()["comments"][0],
            "node_id": "IC_x",
            "database_id": 9,
            "url": f"{change.url}#issuecomment-9",
        },
    ]


def many(change: Change, sections: int, size: int) -> None:
    grown = Change((*SECTIONS, *((f"k{n}", "requirements", f"K{n}", "y" * size) for n in range(sections))))
    change.sections = grown.sections


CODES = {
    "objective_marker": body("<!-- slipway-level: objective/v1 -->"),
    "unsupported_marker": body("<!-- slipway-level: change/v9 -->"),
    "change_marker_required": body(""),
    "source_manifest_invalid": lambda change: change.manifest.update(manifest_version=1),
    "source_section_missing": lambda change: change.envelope.update(comments=change.document()["comments"][:4]),
    "source_section_unexpected": stranger,
    "source_section_minimized": comment(is_minimized=True),
    "source_section_hash_mismatch": comment(body="<!-- slipway-section:v1 key=limits -->\nedited\n"),
    "source_section_invalid": payload(" \n"),
    "source_section_too_large": payload("x" * (SECTION_LIMIT + 1)),
    "source_bundle_too_large": lambda change: many(change, 17, 250 << 10),
}


@pytest.mark.parametrize("code", CODES)
def test_code(code: str) -> None:
    classification = spoiled(CODES[code]).classify()
    assert (classification["valid"], classification["classification_code"]) == (False, code)


def test_every_failure_code_but_the_fallback_is_provoked() -> None:
    assert {*CODES, "invalid_change_body"} == set(FAILURE_CODES)


SECTION_INVALID = {
    "another database id": comment(database_id=9, url="https://github.com/example/ship/issues/7#issuecomment-9"),
    "no marker": comment_body("text\n"),
    "an empty body": comment_body(""),
    "the marker of another section": comment_body("<!-- slipway-section:v1 key=reqs -->\nNo network.\n"),
    "an indented marker": comment_body(" <!-- slipway-section:v1 key=limits -->\nNo network.\n"),
    "a marker with a trailing blank": comment_body("<!-- slipway-section:v1 key=limits --> \nNo network.\n"),
    "text before the marker": comment_body("x\n<!-- slipway-section:v1 key=limits -->\nNo network.\n"),
    "nothing after the marker": comment_body("<!-- slipway-section:v1 key=limits -->"),
    "an empty payload": payload(""),
    "a blank payload": payload("\n\u3000\n"),
}


@pytest.mark.parametrize("name", SECTION_INVALID)
def test_source_section_invalid(name: str) -> None:
    assert spoiled(SECTION_INVALID[name]).classify()["classification_code"] == "source_section_invalid"


def test_checks_of_one_section_run_in_the_published_order() -> None:
    order = [
        (
            "source_section_invalid",
            {"database_id": 9, "url": "https://github.com/example/ship/issues/7#issuecomment-9"},
        ),
        ("source_section_minimized", {"is_minimized": True}),
        ("source_section_hash_mismatch", {"body": "\n"}),
    ]
    for first in range(len(order)):
        change = Change()
        change.comments[4] = {name: value for _, changes in order[first:] for name, value in changes.items()}
        assert change.classify()["classification_code"] == order[first][0]


def test_the_first_section_that_fails_decides() -> None:
    change = spoiled(comment(is_minimized=True))
    change.comments[2] = {"body": "edited"}
    stranger(change)
    assert change.classify()["classification_code"] == "source_section_hash_mismatch"


def test_an_unexpected_comment_is_only_looked_for_after_all_sections() -> None:
    change = spoiled(payload(""))
    stranger(change)
    assert change.classify()["classification_code"] == "source_section_invalid"


def test_limits_count_bytes_and_are_inclusive() -> None:
    assert spoiled(payload("é" * (SECTION_LIMIT // 2))).classify()["valid"]
    assert not spoiled(payload("é" * (SECTION_LIMIT // 2) + "x")).classify()["valid"]
    change = Change()
    used = sum(len(text) for *_, text in SECTIONS)
    many(change, 16, (BUNDLE_LIMIT - used) // 16)
    rest = BUNDLE_LIMIT - used - 16 * ((BUNDLE_LIMIT - used) // 16)
    change.sections[0]["body"] += "x" * rest
    assert change.classify()["valid"]
    change.sections[0]["body"] += "x"
    assert change.classify()["classification_code"] == "source_bundle_too_large"


def test_payload_is_every_line_after_the_marker_and_nothing_is_trimmed() -> None:
    change = Change()
    change.sections[3]["body"] = "\n \n<!-- slipway-section:v1 key=limits -->\r\n\r\n  a \rb\n\n"
    classification = change.classify()
    section = classification["snapshot"]["sections"][3]
    assert dict(change.materials)[section["material_sha256"]] == "\n  a \nb\n\n"
    assert section["bytes"] == 9


def test_blank_lines_of_any_white_space_may_stand_before_the_marker() -> None:
    change = Change()
    change.sections[3]["body"] = "\u3000\n\u00a0\n" + change.sections[3]["body"]
    section, plain = change.snapshot()["sections"][3], Change().snapshot()["sections"][3]
    for name in ("section_revision", "material_sha256", "bytes"):
        assert section[name] == plain[name]
    assert section["body_sha256"] != plain["body_sha256"]


def test_equal_payloads_share_one_material() -> None:
    change = Change(tuple((key, role, title, "Same.\n") for key, role, title, _ in SECTIONS))
    snapshot = change.classify()["snapshot"]
    assert change.materials == [(digests.material("Same.\n"), "Same.\n")]
    assert len({section["section_revision"] for section in snapshot["sections"]}) == 5


def test_comments_may_come_in_any_order() -> None:
    change = Change()
    change.envelope["comments"] = change.document()["comments"][::-1]
    assert change.snapshot() == Change().snapshot()


def test_carriage_returns_change_no_digest() -> None:
    change = Change()
    document = change.document()
    change.envelope = {
        "body": document["body"].replace("\n", "\r\n"),
        "comments": [{**item, "body": item["body"].replace("\n", "\r")} for item in document["comments"]],
    }
    assert change.snapshot() == Change().snapshot()


def test_snapshot_has_the_published_shape() -> None:
    change = Change()
    change.parent_revision = "sha256:" + "0" * 64
    change.envelope["parent"] = PARENT
    snapshot = change.snapshot()
    assert list(snapshot) == [
        "source_version", "parser_version", "manifest_version", "profile", "provider", "host",
        "repository_id", "issue_id", "issue_number", "canonical_url", "url_aliases",
        "source_revision", "manifest_revision", "requirements_revision",
        "parent_requirements_revision", "title", "parent", "sections",
    ]  # fmt: skip
    assert snapshot["url_aliases"] == []
    assert snapshot["parent"] == PARENT
    for section in snapshot["sections"]:
        assert list(section) == [
            "key", "role", "title", "body_sha256", "section_revision", "material_sha256",
            "bytes", "provenance",
        ]  # fmt: skip
        assert list(section["provenance"]) == [
            "comment_node_id", "comment_database_id", "url", "author_id",
            "observed_updated_at",
        ]  # fmt: skip


def test_snapshot_leaves_out_what_is_absent() -> None:
    assert not {"parent", "parent_requirements_revision"} & Change().snapshot().keys()
    change = Change()
    change.parent_revision = ""
    assert "parent_requirements_revision" not in change.snapshot()


def test_valid_candidate_has_the_published_shape() -> None:
    change = Change()
    change.envelope["parent"] = PARENT
    candidate = source_candidate("ID", change.classify(), "NOW")
    assert list(candidate) == [
        "candidate_id", "valid", "classification", "classification_code", "source_version",
        "parser_version", "provider", "host", "repository_id", "issue_id", "issue_number",
        "canonical_url", "url_aliases", "source_revision", "requirements_revision", "title",
        "parent", "snapshot", "created_at",
    ]  # fmt: skip
    assert (candidate["classification"], candidate["classification_code"]) == ("valid", "valid_change")
    assert candidate["snapshot"] == change.snapshot()


def test_invalid_candidate_has_the_published_shape() -> None:
    change = spoiled(CODES["objective_marker"])
    change.envelope["parent"] = PARENT
    candidate = source_candidate("ID", change.classify(), "NOW")
    assert list(candidate) == [
        "candidate_id", "valid", "classification", "classification_code",
        "classification_error", "source_version", "parser_version", "provider", "host",
        "repository_id", "issue_id", "issue_number", "canonical_url", "url_aliases",
        "observation_sha256", "parent", "created_at",
    ]  # fmt: skip
    assert candidate["classification"] == "invalid"
    assert candidate["observation_sha256"] == digests.observation(decode_envelope(change.raw()))
    assert change.materials == []


@pytest.mark.parametrize("code", CODES)
def test_classification_error_is_short_plain_text_without_content(code: str) -> None:
    error = spoiled(CODES[code]).classify()["classification_error"]
    assert is_plain(error) and not is_blank(error) and len(error.encode()) <= 1024
    assert "change/v9" not in error and "IC_" not in error


def test_a_run_pins_a_valid_change_only() -> None:
    classification = Change().classify()
    assert accepted_snapshot(classification) is classification["snapshot"]
    with pytest.raises(UsageError) as caught:
        accepted_snapshot(spoiled(CODES["objective_marker"]).classify())
    assert (caught.value.code, caught.value.exit_code) == ("invalid_source", EXIT_USAGE)
    assert "(objective_marker)" in caught.value.message


def test_nothing_private_reaches_the_classification() -> None:
    change = Change()
    change.envelope["labels"] = ["secret-label"]
    change.after = "secret discussion\n"
    assert "secret" not in str(change.classify()) + str(change.materials)
