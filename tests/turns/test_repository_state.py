"""REPOSITORY_STATE.md: read, written in both notations, and never silently replaced (turn-contract §10)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.errors import InvalidDocument, SlipwayError
from slipway_lite.turns.repository_state import (
    RESOLVER,
    STATUSES,
    Contradiction,
    Entry,
    RepositoryState,
    check_replacement,
    read_repository_state,
    render_repository_state,
)
from slipway_lite.turns.status_forms import PUBLISHED_FORMS, read_status

FACT = Entry("F1", "The parser is hand-written.", "src/parser.py:12", "observed")
DECISION = Entry("AD-1", "No ORM.", "docs/adr/1.md:3", "accepted")
CONFLICT = Contradiction("C001", "F1", "src/parser.py uses a generator", "", "plan-feature")
FULL = RepositoryState(
    status="contradicted",
    snapshot_id="S3",
    source_revision="abc123",
    created_by="discover-repository-state",
    created_at="2026-01-02",
    facts=(FACT,),
    decisions=(DECISION,),
    planned_work=(Entry("W1", "Add CSV", "docs/features/ROADMAP.md:4", ""),),
    documentation=(Entry("D1", "The guide", "README.md", ""),),
    inference=(Entry("I1", "Probably unused | maybe", "", "unproven"),),
    open_questions=(Entry("Q1", "Which encoding?", "", ""),),
    contradictions=(CONFLICT, Contradiction("C000", "F0", "x", "accepted: F1", "")),
)


def test_a_rendered_document_reads_back_as_it_was() -> None:
    assert read_repository_state(render_repository_state(FULL)) == FULL


@pytest.mark.parametrize("status", STATUSES)
def test_both_notations_carry_the_status(status: str) -> None:
    text = render_repository_state(RepositoryState(status=status))
    assert f"\nStatus: {status}\n" in text and f"| Status | {status} |" in text
    assert read_status(text, PUBLISHED_FORMS).word == status
    assert read_status(text, ("table",)).word == status


def test_a_document_in_table_form_only_is_read() -> None:
    text = (
        "## Snapshot\n| Field | Value |\n|---|---|\n| Snapshot id | `S2` |\n| Source | `abc` (main) |\n"
        "| Status | **Frozen** |\n"
        "\n## Repository facts\n| ID | Statement | Evidence | Observed at | Status |\n|---|---|---|---|---|\n"
        "| RF1 | s | e | now | ok |\n\n## Contradictions / superseded-state resolutions\n"
        "| ID | Prior statement | New evidence | Resolution |\n|---|---|---|---|\n| C1 | p | n | needs-input: who? |\n"
    )
    state = read_repository_state(text)
    assert (state.status, state.snapshot_id, state.source_revision) == ("frozen", "S2", "abc")
    assert state.facts == (Entry("RF1", "s", "e", "ok"),)
    assert state.open_contradictions == (Contradiction("C1", "p", "n", "needs-input: who?", ""),)


def test_a_document_with_bold_lines_is_read() -> None:
    state = read_repository_state("**Status:** frozen\n**Snapshot ID:** S1\n**Source revision: `abc`**\n")
    assert (state.status, state.snapshot_id, state.source_revision) == ("frozen", "S1", "abc")


@pytest.mark.parametrize("text", ["", "# Repository state\n", "Status:\n"])
def test_an_absent_status_reads_as_draft(text: str) -> None:
    assert read_repository_state(text) == RepositoryState(status="draft")


@pytest.mark.parametrize(
    ("resolution", "is_open"),
    [
        ("", True),
        ("—", True),
        ("open", True),
        ("Pending", True),
        ("needs-input", True),
        ("accepted", False),
        ("rejected: no", False),
    ],
)
def test_a_contradiction_is_open_until_it_is_resolved(resolution: str, is_open: bool) -> None:
    assert CONFLICT._replace(resolution=resolution).is_open is is_open


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"status": "odd"}, "$.status"),
        ({"snapshot_id": "a\nb"}, "$.snapshot_id"),
        ({"created_by": "`x`"}, "$.created_by"),
        ({"facts": (Entry("", "s", "", ""),)}, "$.facts"),
        ({"facts": (Entry("F 1", "s", "", ""),)}, "$.facts"),
        ({"source_revision": "a|b"}, "$.source_revision"),
        ({"facts": (Entry("F1", "two\nlines", "", ""),)}, "$.facts"),
        ({"facts": (Entry("F1", " padded", "", ""),)}, "$.facts"),
        ({"contradictions": (Contradiction("---", "", "", "", ""),)}, "$.contradictions"),
    ],
)
def test_what_would_not_read_back_is_not_written(change: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidDocument) as caught:
        render_repository_state(replace(FULL, **change))
    assert (caught.value.code, caught.value.path) == ("invalid_repository_state", path)


cell = (
    st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=12)
    .map(str.strip)
    .filter(lambda text: text not in ("—",) and text == text.strip("\ufeff\xa0"))
)
name = st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,5}", fullmatch=True)
entries = st.lists(st.builds(Entry, name, cell, cell, cell), max_size=3).map(tuple)
states = st.builds(
    RepositoryState,
    status=st.sampled_from(STATUSES),
    snapshot_id=st.none() | name,
    source_revision=st.none() | name,
    created_by=st.none() | name,
    created_at=st.none() | name,
    facts=entries,
    decisions=entries,
    planned_work=entries,
    documentation=entries,
    inference=entries,
    open_questions=entries,
    contradictions=st.lists(st.builds(Contradiction, name, cell, cell, cell, cell), max_size=3).map(tuple),
)


@given(states)
@settings(deadline=None, max_examples=300)
def test_every_document_that_is_written_reads_back(state: RepositoryState) -> None:
    assert read_repository_state(render_repository_state(state)) == state


def refusal(new: RepositoryState, role: str, old: RepositoryState = FULL) -> str | None:
    try:
        check_replacement(old, new, role=role)
    except SlipwayError as error:
        return error.code
    return None


RESOLVED = (CONFLICT._replace(resolution="accepted"), *FULL.contradictions[1:])
FROZEN = replace(FULL, status="frozen", contradictions=())


def test_nobody_drops_a_contradiction() -> None:
    for role in ("discover-repository-state", RESOLVER):
        assert refusal(replace(FULL, contradictions=()), role) == "contradiction_would_be_lost"


def test_only_the_resolver_settles_a_contradiction() -> None:
    settled = replace(FULL, status="frozen", contradictions=RESOLVED)
    assert refusal(settled, "discover-repository-state") == "contradiction_needs_resolver"
    assert refusal(replace(FULL, status="frozen"), "discover-repository-state") == "contradiction_needs_resolver"
    assert refusal(replace(FULL, contradictions=RESOLVED), "plan-feature") == "contradiction_needs_resolver"
    assert refusal(settled, RESOLVER) is None


@pytest.mark.parametrize("change", [{"facts": ()}, {"decisions": ()}, {"facts": (FACT._replace(statement="x"),)}])
def test_only_the_resolver_changes_a_frozen_fact_or_decision(change: dict[str, Any]) -> None:
    assert refusal(replace(FROZEN, **change), "discover-repository-state", FROZEN) == "frozen_row_would_change"
    assert refusal(replace(FROZEN, **change), RESOLVER, FROZEN) is None
    draft = replace(FROZEN, status="draft")
    assert refusal(replace(draft, **change), "discover-repository-state", draft) is None


def test_anybody_adds_rows_and_declares_a_contradiction() -> None:
    more = replace(
        FROZEN, facts=(FACT, FACT._replace(id="F2")), inference=(), status="contradicted", contradictions=(CONFLICT,)
    )
    assert refusal(more, "discover-repository-state", FROZEN) is None
