from __future__ import annotations

import pytest

from slipway_lite.control import refs


@pytest.mark.parametrize("text", ["a:b:c:d", "a:b:c:d:e", "a:b:c: ", "a:b:c:あ", "a-1_:b:c:D/e"])
def test_typed_refs(text: str) -> None:
    assert refs.is_typed_ref(text)


@pytest.mark.parametrize(
    "text",
    [
        "a:b:c:",
        "a:b::d",
        "A:b:c:d",
        "a.b:c:d:e",
        "a:b:c:d\n",
        "a:b:c:x\ny",
        "a:b:c:x\ry",
        "a:b:c:x\u2028",
        "a:b:c:x\u2029y",
        "",
        "a:b:c:" + "d" * 500,
    ],
)
def test_what_is_no_typed_ref(text: str) -> None:
    assert not refs.is_typed_ref(text)


def test_document_and_chunk_ids() -> None:
    assert refs.doc_id("spec", "  Login & Rules (v2)! ") == "doc:spec:login-rules-v2"
    assert refs.chunk_id("doc:spec:a", 7) == "chunk:doc:spec:a:007"


def test_ids_are_cleaned_for_references() -> None:
    assert refs.segment("a:b c/dé") == "a_b_c_d_"
