"""Every hard rule of §8.1 and §8.2: one refused document each, and what the runtime lets pass."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.errors import EXIT_USAGE, UsageError
from slipway_lite.protocol.source.envelope import (
    ENVELOPE_LIMIT,
    decode_envelope,
    is_timestamp,
    issue_number_of,
)
from tests.protocol.source.change import ISSUE_URL, Change

ABSENT = object()
PARENT = {"repository_id": "R_2", "issue_id": "I_2", "canonical_url": "https://github.com/o/r/issues/1"}


def raw(**changes: Any) -> bytes:
    document = {**Change().document(), **changes}
    return json.dumps({key: value for key, value in document.items() if value is not ABSENT}).encode()


def raw_comment(**changes: Any) -> bytes:
    document = Change().document()
    comment = {**document["comments"][0], **changes}
    document["comments"][0] = {key: value for key, value in comment.items() if value is not ABSENT}
    return json.dumps(document).encode()


def raw_parent(**changes: Any) -> bytes:
    parent = {**PARENT, **changes}
    return raw(parent={key: value for key, value in parent.items() if value is not ABSENT})


GOOD = raw()

# name of the rule -> (document that breaks it and nothing else, JSON path in the message)
BYTES = {
    "not above 16 MiB": (GOOD + b" " * (ENVELOPE_LIMIT + 1 - len(GOOD)), "$"),
    "not empty": (b"", "$"),
    "not blank": (b" \n", "$"),
    "no byte order mark": (b"\xef\xbb\xbf" + GOOD, "$"),
    "valid UTF-8": (GOOD.replace(b"Ship", b"Sh\xffp", 1), "$"),
    "one JSON value": (GOOD + b"{}", "$"),
    "JSON": (b"nope", "$"),
    "no duplicate key": (GOOD[:-1] + b',"host":"github.com"}', "$"),
    "no duplicate key after unescaping": (GOOD[:-1] + b',"h\\u006fst":"github.com"}', "$"),
    "no NaN": (GOOD.replace(b'"issue_number": 7', b'"issue_number": NaN'), "$"),
    "an object": (b"[]", "$"),
    "not null": (b"null", "$"),
    "integers are written as integers": (
        GOOD.replace(b'"issue_number": 7', b'"issue_number": 7.0'),
        "$.issue_number",
    ),
    "integers have 64 bits": (
        GOOD.replace(b'"issue_number": 7', b'"issue_number": 9223372036854775808'),
        "$.issue_number",
    ),
}

ENVELOPES = {
    "no unknown key": (raw(extra=1), "$"),
    "keys are case-sensitive": (raw(Title="x"), "$"),
    "source_version is 2": (raw(source_version=1), "$.source_version"),
    "source_version is required": (raw(source_version=ABSENT), "$.source_version"),
    "source_version is no boolean": (raw(source_version=True), "$.source_version"),
    "source_version is no string": (raw(source_version="2"), "$.source_version"),
    "provider is github": (raw(provider="gitlab"), "$.provider"),
    "host is github.com": (raw(host="ghe.example"), "$.host"),
    "repository_id has no white space": (raw(repository_id="R\u00a0x"), "$.repository_id"),
    "repository_id has no control": (raw(repository_id="R\u0001"), "$.repository_id"),
    "repository_id is required": (raw(repository_id=ABSENT), "$.repository_id"),
    "issue_id is not empty": (raw(issue_id=""), "$.issue_id"),
    "issue_id is not null": (raw(issue_id=None), "$.issue_id"),
    "issue_number is positive": (raw(issue_number=0), "$.issue_number"),
    "issue_number is required": (raw(issue_number=ABSENT), "$.issue_number"),
    "canonical_url is an issue URL": (raw(canonical_url="https://github.com/o/r/pull/7"), "$.canonical_url"),
    "canonical_url ends with issue_number": (raw(issue_number=8), "$.canonical_url"),
    "canonical_url is a string": (raw(canonical_url=7), "$.canonical_url"),
    "updated_at is a time": (raw(updated_at="yesterday"), "$.updated_at"),
    "fetched_at is required": (raw(fetched_at=ABSENT), "$.fetched_at"),
    "title is not blank": (raw(title=" \u3000"), "$.title"),
    "title has no control": (raw(title="a\nb"), "$.title"),
    "title is required": (raw(title=ABSENT), "$.title"),
    "body has no control": (raw(body="a\u0000"), "$.body"),
    "body is not null": (raw(body=None), "$.body"),
    "labels is required": (raw(labels=ABSENT), "$.labels"),
    "labels is not null": (raw(labels=None), "$.labels"),
    "labels has at most 100 items": (raw(labels=["x"] * 101), "$.labels"),
    "a label is not blank": (raw(labels=["x", " "]), "$.labels[1]"),
    "a label has no control": (raw(labels=["\t"]), "$.labels[0]"),
    "a label is a string": (raw(labels=[1]), "$.labels[0]"),
    "a label is not null": (raw(labels=[None]), "$.labels[0]"),
    "comments is required": (raw(comments=ABSENT), "$.comments"),
    "comments is not null": (raw(comments=None), "$.comments"),
    "comments is an array": (raw(comments={}), "$.comments"),
    "comments has at most 64 items": (raw(comments=[{}] * 65), "$.comments"),
    "parent is an object": (raw(parent=[]), "$.parent"),
    "parent has no unknown key": (raw_parent(number=1), "$.parent"),
    "parent repository_id is required": (raw_parent(repository_id=ABSENT), "$.parent.repository_id"),
    "parent issue_id has no control": (raw_parent(issue_id="\u0001"), "$.parent.issue_id"),
    "parent canonical_url is an issue URL": (
        raw_parent(canonical_url="https://github.com/x"),
        "$.parent.canonical_url",
    ),
}

COMMENTS = {
    "a comment is an object": (raw(comments=["x"]), "$.comments[0]"),
    "a comment is not null": (raw(comments=[None]), "$.comments[0]"),
    "a comment has no unknown key": (raw_comment(reactions=[]), "$.comments[0]"),
    "node_id is not empty": (raw_comment(node_id=""), "$.comments[0].node_id"),
    "node_id has no white space": (raw_comment(node_id="IC 1"), "$.comments[0].node_id"),
    "node_id is unique": (raw_comment(node_id="IC_2"), "$.comments[1].node_id"),
    "database_id is positive": (raw_comment(database_id=0), "$.comments[0].database_id"),
    "database_id is required": (raw_comment(database_id=ABSENT), "$.comments[0].database_id"),
    "database_id is unique": (
        raw_comment(database_id=102, url=f"{ISSUE_URL}#issuecomment-102"),
        "$.comments[1].database_id",
    ),
    "url belongs to this issue": (
        raw_comment(url="https://github.com/o/r/issues/7#issuecomment-101"),
        "$.comments[0].url",
    ),
    "url ends with the database id": (raw_comment(url=f"{ISSUE_URL}#issuecomment-9"), "$.comments[0].url"),
    "url is required": (raw_comment(url=ABSENT), "$.comments[0].url"),
    "comment updated_at is a time": (
        raw_comment(updated_at="2026-02-30T00:00:00Z"),
        "$.comments[0].updated_at",
    ),
    "author_id is required": (raw_comment(author_id=ABSENT), "$.comments[0].author_id"),
    "author_id has no white space": (raw_comment(author_id="U 1"), "$.comments[0].author_id"),
    "is_minimized is a boolean": (raw_comment(is_minimized=0), "$.comments[0].is_minimized"),
    "is_minimized is not null": (raw_comment(is_minimized=None), "$.comments[0].is_minimized"),
    "a comment body has no control": (raw_comment(body="\u0085"), "$.comments[0].body"),
}

HARD_RULES = BYTES | ENVELOPES | COMMENTS


@pytest.mark.parametrize("rule", HARD_RULES)
def test_hard_error(rule: str) -> None:
    document, path = HARD_RULES[rule]
    with pytest.raises(UsageError) as caught:
        decode_envelope(document)
    assert (caught.value.code, caught.value.exit_code) == ("invalid_source", EXIT_USAGE)
    assert caught.value.message.startswith(f"The source envelope is refused at {path}. ")


def test_hard_error_of_a_resume_has_its_own_code() -> None:
    with pytest.raises(UsageError) as caught:
        decode_envelope(b"{}", code="invalid_source_candidate")
    assert caught.value.code == "invalid_source_candidate"


def test_hard_error_repeats_no_value() -> None:
    with pytest.raises(UsageError) as caught:
        decode_envelope(raw(title="secret\n", secret="secret", updated_at="secret"))
    assert "secret" not in caught.value.message


ACCEPTED = {
    "exactly 16 MiB": GOOD + b" " * (ENVELOPE_LIMIT - len(GOOD)),
    "an absent body": raw(body=ABSENT),
    "an empty body": raw(body=""),
    "a null parent": raw(parent=None),
    "an absent parent": raw(parent=ABSENT),
    "a parent": raw_parent(),
    "no comments": raw(comments=[]),
    "100 labels": raw(labels=["x"] * 100),
    "an absent is_minimized": raw_comment(is_minimized=ABSENT),
    "an absent comment body": raw_comment(body=ABSENT),
    "a control in a comment id": raw_comment(node_id="IC\u0001"),
    "a control in an author id": raw_comment(author_id="U\u007f"),
    "a lone surrogate": GOOD.replace(b"Ship", b"\\ud800", 1),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_runtime_accepts(name: str) -> None:
    envelope = decode_envelope(ACCEPTED[name])
    assert list(envelope) == [
        "source_version", "provider", "host", "repository_id", "issue_id", "issue_number", "canonical_url",
        "updated_at", "fetched_at", "title", "body", "labels", "parent", "comments",
    ]  # fmt: skip


def test_absent_strings_and_booleans_count_as_empty_and_false() -> None:
    assert decode_envelope(raw(body=ABSENT))["body"] == ""
    assert decode_envelope(raw_comment(body=ABSENT))["comments"][0]["body"] == ""
    assert decode_envelope(raw_comment(is_minimized=ABSENT))["comments"][0]["is_minimized"] is False
    assert decode_envelope(raw(parent=None))["parent"] is None


@pytest.mark.parametrize(
    ("url", "number"),
    {
        ISSUE_URL: "7",
        "https://github.com/A-9/r_e.p-o/issues/120": "120",
        "https://github.com/o/.r/issues/1": "1",
        "http://github.com/o/r/issues/1": "",
        "https://GitHub.com/o/r/issues/1": "",
        "https://github.com:443/o/r/issues/1": "",
        "https://user@github.com/o/r/issues/1": "",
        "https://github.com/o/r/issues/1?x=1": "",
        "https://github.com/o/r/issues/1#": "",
        "https://github.com/o/r/issues/1/": "",
        "https://github.com/o/r/issues/01": "",
        "https://github.com/o/r/issues/0": "",
        "https://github.com/o/r/issues/-1": "",
        "https://github.com/o/r/issues/١": "",
        "https://github.com/o/r/issues/1\n": "",
        "https://github.com/o/r/issues/": "",
        "https://github.com/o/r/issues": "",
        "https://github.com/o/r/pull/1": "",
        "https://github.com/o/./issues/1": "",
        "https://github.com/o/../issues/1": "",
        "https://github.com/o//issues/1": "",
        "https://github.com//r/issues/1": "",
        "https://github.com/o_o/r/issues/1": "",
        "https://github.com/%6f/r/issues/1": "",
        "https://github.com/o/é/issues/1": "",
        "": "",
    }.items(),
)
def test_issue_url_is_exact(url: str, number: str) -> None:
    assert issue_number_of(url) == number


@pytest.mark.parametrize(
    ("text", "accepted"),
    {
        "2026-07-12T09:00:00Z": True,
        "2026-07-12T09:00:00.123456789Z": True,
        "2026-07-12T09:00:00,5Z": True,
        "2026-07-12T9:00:00Z": True,
        "2026-07-12T09:00:00+09:00": True,
        "2026-07-12T09:00:00-24:60": True,
        "2024-02-29T23:59:59Z": True,
        "2000-02-29T00:00:00Z": True,
        "2026-07-12T09:00:00+25:00": False,
        "2026-07-12T09:00:00+01:61": False,
        "2026-07-12T09:00:00": False,
        "2026-07-12T09:00:00z": False,
        "2026-07-12t09:00:00Z": False,
        "2026-07-12 09:00:00Z": False,
        "2026-07-12T09:00:60Z": False,
        "2026-07-12T09:60:00Z": False,
        "2026-07-12T24:00:00Z": False,
        "2026-07-32T09:00:00Z": False,
        "2026-00-12T09:00:00Z": False,
        "2026-13-12T09:00:00Z": False,
        "2026-04-31T09:00:00Z": False,
        "2026-02-29T09:00:00Z": False,
        "1900-02-29T09:00:00Z": False,
        "2026-07-12T09:00:00.Z": False,
        "2026-07-12T09:00:00Z\n": False,
        "٢٠٢٦-07-12T09:00:00Z": False,
        "": False,
    }.items(),
)
def test_time_is_rfc_3339(text: str, accepted: bool) -> None:
    assert is_timestamp(text) is accepted


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_decoded_or_refused(document: bytes) -> None:
    with pytest.raises(UsageError) as caught:
        decode_envelope(document)
    assert caught.value.code == "invalid_source"
