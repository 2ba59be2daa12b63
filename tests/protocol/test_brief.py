"""The brief of an Action: trimmed, defaulted, with what was dirty at the start, and bounded (machine-protocol §4.5)."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from slipway_lite.protocol import prose
from slipway_lite.protocol.brief import brief
from tests.protocol.model import CLEAN, digest, git

UNTRACKED = {"path": "a b.txt", "category": "untracked", "state": "??", "observation": "regular"}
SEEN = UNTRACKED | {"size": 3, "modified_unix_nano": 1, "content_sha256": digest("abc")}
GONE = {"path": "gone", "category": "ordinary", "state": ".D", "observation": "missing"}


def attribution(initial: dict[str, Any], kind: str = "review") -> str:
    text = brief(kind, "Look.", initial, True)
    assert text.startswith("Look. ")
    return text.removeprefix("Look. ")


@pytest.mark.parametrize("kind", ["orient", "clarify", "implement", "review", "summarize"])
@pytest.mark.parametrize("given", ["", " \n\t\u2028\u3000"])
def test_a_blank_brief_becomes_the_default_of_its_kind(kind: str, given: str) -> None:
    assert brief(kind, given, CLEAN, False) == prose.DEFAULT_BRIEFS[kind]


def test_white_space_is_trimmed_at_both_ends_only() -> None:
    assert brief("implement", "\u2003 do\n it \x0b\n", CLEAN, False) == "do\n it"


@pytest.mark.parametrize("kind", ["orient", "clarify", "implement"])
def test_other_kinds_are_told_nothing_of_the_difference(kind: str) -> None:
    assert brief(kind, "Look.", git(paths=(SEEN,)), True) == "Look."


@pytest.mark.parametrize("kind", ["review", "summarize"])
def test_review_and_summarize_learn_of_it_only_when_something_changed(kind: str) -> None:
    assert brief(kind, "Look.", git(paths=(SEEN,)), False) == "Look."
    assert brief(kind, "Look.", git(paths=(SEEN,)), True) != "Look."


def test_a_clean_start_is_named_as_none() -> None:
    counts = f"(count=0; retained=0; path_fingerprint={CLEAN['path_fingerprint']}; "
    assert attribution(CLEAN).endswith(f"{counts}initial_snapshot={CLEAN['snapshot_hash']}): none.")


def test_every_retained_path_is_named_with_what_is_known_of_it() -> None:
    initial = git(paths=(SEEN, GONE))
    assert attribution(initial, "summarize").endswith(
        f"(count=2; retained=2; path_fingerprint={initial['path_fingerprint']}; "
        f"initial_snapshot={initial['snapshot_hash']}):"
        f" a b.txt [untracked ??; regular; size=3; content_sha256={digest('abc')}];"
        " gone [ordinary .D; missing];"
    )


def test_omitted_details_are_counted() -> None:
    initial = git(paths=(SEEN,)) | {"path_count": 5, "details_truncated": True}
    text = attribution(initial)
    assert "(count=5; retained=1; " in text
    assert " 4 more paths" in text.rpartition("];")[2]


@pytest.mark.parametrize("character", ["x", "é", "€", "\U0001f600"])
def test_a_long_brief_ends_with_the_marker_on_a_utf8_boundary(character: str) -> None:
    paths = tuple(SEEN | {"path": f"{character * 50}{number}"} for number in range(100))
    initial = git(paths=paths)
    whole = brief("review", "Look.", initial, True)
    raw = whole.encode()
    assert 8192 - 4 < len(raw) <= 8192
    kept, _, rest = whole.rpartition("...[truncated original_bytes=")
    original_bytes, _, sha256 = rest.removesuffix("]").partition(" sha256=")
    counts = f"count=100; retained=100; path_fingerprint={initial['path_fingerprint']}"
    listed = [f" {path['path']} [untracked ??; regular; size=3; content_sha256={digest('abc')}];" for path in paths]
    full = f"Look. {prose.ATTRIBUTION} ({counts}; initial_snapshot={initial['snapshot_hash']}):" + "".join(listed)
    assert full.startswith(kept)
    assert int(original_bytes) == len(full.encode())
    assert sha256 == hashlib.sha256(full.encode()).hexdigest()


def test_a_brief_of_exactly_the_limit_is_whole() -> None:
    assert brief("implement", "é" * 4096, CLEAN, False) == "é" * 4096
    assert "...[truncated original_bytes=8193 " in brief("implement", "é" * 4096 + "x", CLEAN, False)


def test_a_control_character_in_a_file_name_stands_as_its_escape() -> None:
    path = {"path": "a\x01b\nc", "category": "untracked", "state": "??", "observation": "regular", "size": 1}
    assert prose.dirty_path(path) == "a\\u0001b\nc [untracked ??; regular; size=1]"
