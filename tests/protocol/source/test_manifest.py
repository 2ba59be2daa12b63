"""Every rule of machine-protocol §8.4 about the manifest document."""

from __future__ import annotations

import json
from typing import Any

import pytest

from slipway_lite.protocol.source.codes import InvalidChange
from slipway_lite.protocol.source.manifest import MANIFEST_LIMIT, decode_manifest
from slipway_lite.text import is_key
from tests.protocol.source.change import Change

ABSENT = object()


def text(**changes: Any) -> str:
    document = {**Change().manifest_document(), **changes}
    return json.dumps({key: value for key, value in document.items() if value is not ABSENT})


def text_section(**changes: Any) -> str:
    sections = Change().manifest_document()["sections"]
    section = {**sections[4], **changes}
    sections[4] = {key: value for key, value in section.items() if value is not ABSENT}
    return text(sections=sections)


SECTIONS = Change().manifest_document()["sections"]
MORE = [
    {**SECTIONS[0], "key": f"k{n}", "comment_node_id": f"IC_k{n}", "comment_database_id": 500 + n} for n in range(60)
]

REFUSED = {
    "empty": ("", "$"),
    "not JSON": ("{oops", "$"),
    "a duplicate key": ('{"profile":"change/v2","profile":"change/v2"}', "$"),
    "above 262,144 bytes": (text() + " " * MANIFEST_LIMIT, "$"),
    "two values": (text() + "{}", "$"),
    "an array": ("[]", "$"),
    "an unknown key": (text(extra=1), "$"),
    "another manifest_version": (text(manifest_version=1), "$.manifest_version"),
    "no manifest_version": (text(manifest_version=ABSENT), "$.manifest_version"),
    "another profile": (text(profile="change/v3"), "$.profile"),
    "a null parent revision": (text(parent_requirements_revision=None), "$.parent_requirements_revision"),
    "a parent revision that is no digest": (
        text(parent_requirements_revision="sha256:xyz"),
        "$.parent_requirements_revision",
    ),
    "an upper-case parent revision": (
        text(parent_requirements_revision="sha256:" + "A" * 64),
        "$.parent_requirements_revision",
    ),
    "no sections": (text(sections=ABSENT), "$.sections"),
    "null sections": (text(sections=None), "$.sections"),
    "four sections": (text(sections=SECTIONS[:4]), "$.sections"),
    "65 sections": (text(sections=SECTIONS + MORE), "$.sections"),
    "a null section": (text(sections=[*SECTIONS, None]), "$.sections[5]"),
    "an unknown section key": (text_section(extra=1), "$.sections[4]"),
    "a bad key": (text_section(key="Non Goals"), "$.sections[4].key"),
    "no key": (text_section(key=ABSENT), "$.sections[4].key"),
    "a repeated key": (text_section(key="outcome"), "$.sections[4].key"),
    "an unknown role": (text_section(role="vibes"), "$.sections[4].role"),
    "a blank title": (text_section(title=" "), "$.sections[4].title"),
    "a title with a control": (text_section(title="a\tb"), "$.sections[4].title"),
    "a title above 512 bytes": (text_section(title="é" * 257), "$.sections[4].title"),
    "no title": (text_section(title=ABSENT), "$.sections[4].title"),
    "a comment node id with white space": (
        text_section(comment_node_id="IC 5"),
        "$.sections[4].comment_node_id",
    ),
    "a repeated comment node id": (text_section(comment_node_id="IC_1"), "$.sections[4].comment_node_id"),
    "a comment database id of 0": (text_section(comment_database_id=0), "$.sections[4].comment_database_id"),
    "a comment database id that is a fraction": (
        text_section(comment_database_id=1.0),
        "$.sections[4].comment_database_id",
    ),
    "a repeated comment database id": (
        text_section(comment_database_id=101),
        "$.sections[4].comment_database_id",
    ),
    "a body digest that is none": (text_section(body_sha256="sha256:"), "$.sections[4].body_sha256"),
    "a role without a section": (text_section(role="constraints"), "$.sections"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_manifest_is_refused(name: str) -> None:
    document, path = REFUSED[name]
    with pytest.raises(InvalidChange) as caught:
        decode_manifest(document)
    assert caught.value.code == "source_manifest_invalid"
    assert caught.value.message.startswith(f"The manifest is refused at {path}. ")


ACCEPTED = {
    "no parent revision": text(),
    "an empty parent revision": text(parent_requirements_revision=""),
    "a title of exactly 512 bytes": text_section(title="é" * 256),
    "64 sections": text(sections=SECTIONS + MORE[:59]),
    "roles in any order": text(sections=SECTIONS[::-1]),
    "exactly 262,144 bytes": text() + " " * (MANIFEST_LIMIT - len(text())),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_manifest_is_accepted(name: str) -> None:
    manifest = decode_manifest(ACCEPTED[name])
    assert list(manifest) == ["manifest_version", "profile", "parent_requirements_revision", "sections"]
    assert manifest["parent_requirements_revision"] == ""


def test_order_of_the_sections_is_kept() -> None:
    manifest = decode_manifest(text(sections=SECTIONS[::-1]))
    assert [section["key"] for section in manifest["sections"]] == [section["key"] for section in SECTIONS[::-1]]


@pytest.mark.parametrize(
    ("key", "accepted"),
    {
        "a": True,
        "0": True,
        "a.b_c-d": True,
        "a" * 64: True,
        "a" * 65: False,
        "": False,
        ".a": False,
        "-a": False,
        "A": False,
        "a b": False,
        "a\n": False,
        "é": False,
    }.items(),
)
def test_key_grammar(key: str, accepted: bool) -> None:
    assert is_key(key) is accepted
