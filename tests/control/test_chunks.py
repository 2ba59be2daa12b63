from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.control import chunks

VECTOR = """intro line
# A
text a
## Acceptance criteria
- one
### Deep
x
# B
MUST: y
#NoSpace
# References
z
"""


def test_the_published_vector() -> None:
    found = chunks.chunks("d", "v", VECTOR)
    assert [chunk["ordinal"] for chunk in found] == [1, 2, 3, 4, 5, 6]
    assert [chunk["importance"] for chunk in found] == [
        "recommended",
        "recommended",
        "required",
        "required",
        "required",
        "reference",
    ]
    assert [chunk.get("heading_path") for chunk in found] == [
        None,
        ["A"],
        ["A", "Acceptance criteria"],
        ["A", "Acceptance criteria", "Deep"],
        ["B"],
        ["References"],
    ]
    assert found[4]["body"] == "MUST: y\n#NoSpace"
    assert found[0]["chunk_id"] == "chunk:d:001"


def test_an_empty_section_gives_no_chunk() -> None:
    assert [part.body for part in chunks.split("# A\n\n# B\nx")] == ["x"]


def test_long_bodies_are_cut_at_line_borders_and_long_lines_never() -> None:
    parts = chunks.split("a" * 10 + "\n" + "b" * 10 + "\n" + "c" * 30, limit=20)
    assert [part.body for part in parts] == ["a" * 10, "b" * 10, "c" * 30]


def test_tokens_are_a_quarter_of_the_utf16_units() -> None:
    assert [chunk["token_estimate"] for chunk in chunks.chunks("d", "v", "abcde")] == [2]
    assert [chunk["token_estimate"] for chunk in chunks.chunks("d", "v", "😀😀")] == [1]


@settings(deadline=None, max_examples=100)
@given(st.text(alphabet="#ab \t\n", max_size=200))
def test_no_word_is_lost_and_no_chunk_is_blank(content: str) -> None:
    parts = chunks.split(content, limit=25)
    assert all(part.body.strip() for part in parts)
    kept = "".join("".join(part.body.split()) for part in parts)
    headings = "".join("".join(line.split()) for line in content.splitlines() if chunks._HEADING.fullmatch(line))
    assert len(kept) + len(headings) == len("".join(content.split()))


def test_blank_lines_between_two_long_ones_are_no_part() -> None:
    long = "a" * 30
    assert [part.body for part in chunks.split(f"{long}\n \n\n{long}\n", limit=25)] == [long, long]


def test_the_contract_template() -> None:
    contract = chunks.contract("login")
    assert contract["required_docs"] == ["doc:spec:login"]
    assert [len(contract[name]) for name in ("acceptance_criteria", "forbidden_patterns", "definition_of_done")] == [
        3,
        2,
        4,
    ]
