"""Compiling a snapshot from documents and facts (turn-contract §9)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.turns import compiler
from slipway_lite.turns.compiler import SnapshotResult, compile_workflow_snapshot
from slipway_lite.turns.snapshot import validate_workflow_snapshot
from slipway_lite.turns.status_forms import ALL_FORMS

REPOSITORY = {"branch": "main", "headSha": "abc", "dirty": False}
STATE, ROADMAP, FIXES = compiler.REPOSITORY_STATE_PATH, compiler.ROADMAP_PATH, compiler.FIX_INDEX_PATH
UNIT = "| 12 | csv | in-progress |\n"
SPEC, PROGRESS = "docs/features/12-csv/SPEC.md", "docs/features/12-csv/progress.md"


def compiled(documents: dict[str, str], **options: Any) -> SnapshotResult:
    listed = [{"path": path, "content": content} for path, content in documents.items()]
    return compile_workflow_snapshot(source_revision="rev1", repository=REPOSITORY, documents=listed, **options)


def snapshot(documents: dict[str, str], **options: Any) -> dict[str, Any]:
    result = compiled(documents, **options)
    assert result.snapshot is not None
    assert validate_workflow_snapshot(result.snapshot).ok
    return result.snapshot


def reasons(found: dict[str, Any]) -> dict[str, str]:
    return {row["field"]: row["reason"] for row in found["unknowns"]}


FULL = {
    STATE: "# R\n\nStatus: frozen\n",
    ROADMAP: "| # | Slug | Status |\n|---|---|---|\n| 11 | x | done |\n| 12 | csv | in-progress |\n",
    SPEC: "# 12\n\n### P1 — Parser\n\n### P2 - Writer\n",
    PROGRESS: "# P\n\n- Done: P1 — Parser\n- Remains: P2 — Writer\n",
}


def test_a_full_set_of_documents_leaves_nothing_unknown() -> None:
    assert snapshot(FULL) == {
        "contract": "agentic-workflow/workflow-snapshot",
        "version": 1,
        "sourceRevision": "rev1",
        "repository": REPOSITORY,
        "repositoryState": "frozen",
        "unit": {"kind": "feature", "id": "12-csv", "status": "in-progress"},
        "phase": {"current": "P2", "total": 2, "completed": 1, "names": ["P1 — Parser", "P2 — Writer"]},
        "provenance": [
            {"field": "repositoryState", "source": STATE, "line": 3},
            {"field": "unit", "source": ROADMAP, "line": 4},
            {"field": "phase.current", "source": PROGRESS, "line": 4},
            {"field": "phase.names", "source": SPEC, "line": 3},
            {"field": "phase.total", "source": SPEC, "line": 3},
            {"field": "phase.completed", "source": PROGRESS, "line": 3},
        ],
        "contradictions": [],
        "unknowns": [],
    }


def test_without_documents_everything_is_unknown_and_there_are_no_phase_unknowns() -> None:
    found = snapshot({})
    assert found["repositoryState"] == "missing" and found["unit"] is None
    assert reasons(found) == {"repositoryState": compiler.STATE_ABSENT, "unit": compiler.NO_UNIT}


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        (STATE, ["repositoryState"]),
        (ROADMAP, ["unit"]),
        (SPEC, ["phase.names", "phase.total", "phase.current", "phase.completed"]),
        (PROGRESS, ["phase.current", "phase.completed"]),
    ],
)
def test_what_an_unreadable_document_would_say_is_unknown_and_it_is_not_absent(path: str, fields: list[str]) -> None:
    readable = {name: content for name, content in FULL.items() if name != path}
    found = snapshot({**readable, FIXES: "| 134-crash | planned |\n"}, unreadable=[path])
    assert reasons(found) == dict.fromkeys(fields, compiler.UNREADABLE)
    assert found["repositoryState"] == ("unknown" if path == STATE else "frozen")
    assert (found["unit"] is None) == (path == ROADMAP)


def test_an_unrecognised_status_is_unknown_and_still_has_provenance() -> None:
    found = snapshot({STATE: "Status: resolved"})
    assert found["repositoryState"] == "unknown"
    assert reasons(found)["repositoryState"] == compiler.STATE_UNRECOGNISED
    assert found["provenance"] == [{"field": "repositoryState", "source": STATE, "line": 1}]


@pytest.mark.parametrize("word", ["draft", "frozen", "contradicted", "needs-input"])
def test_four_declared_states(word: str) -> None:
    assert snapshot({STATE: f"Status: {word}"})["repositoryState"] == word


def test_a_declared_contradiction_is_carried() -> None:
    found = snapshot({STATE: "x\nStatus: contradicted"})
    assert found["contradictions"] == [
        {"field": "repositoryState", "source": STATE, "line": 2, "detail": compiler.DECLARED_CONTRADICTION}
    ]
    assert "repositoryState" not in reasons(found)


def test_lines_are_found_by_a_literal_needle_and_fall_back_to_one() -> None:
    assert snapshot({STATE: "a\nstatus: frozen"})["provenance"][0]["line"] == 1
    assert snapshot({STATE: "See Status: below\nStatus: frozen"})["provenance"][0]["line"] == 1
    assert snapshot({**FULL, PROGRESS: "\n-  Remains:  P2"})["provenance"][2] == {
        "field": "phase.current",
        "source": PROGRESS,
        "line": 1,
    }


def test_documents_are_chosen_by_the_end_of_their_path_and_the_first_wins() -> None:
    found = snapshot({f"my{STATE}": "Status: draft", STATE: "Status: frozen", STATE.replace("/", "\\"): "x"})
    assert found["repositoryState"] == "draft" and found["provenance"][0]["source"] == f"my{STATE}"


def test_the_fix_index_counts_only_without_an_open_feature() -> None:
    fixes = {FIXES: "| 134-crash | Crash | planned |\n"}
    assert snapshot({ROADMAP: UNIT, **fixes})["unit"]["kind"] == "feature"
    closed = snapshot({ROADMAP: "| 12 | csv | done |", **fixes, "docs/fix/134-crash/SPEC.md": "## P1 — Fix\n"})
    assert closed["unit"] == {"kind": "fix", "id": "134-crash", "status": "planned"}
    assert closed["phase"]["names"] == ["P1 — Fix"]


@pytest.mark.parametrize(
    ("spec", "reason"),
    [(None, compiler.SPEC_ABSENT), ("# none", compiler.SPEC_WITHOUT_PHASES), ("", compiler.SPEC_WITHOUT_PHASES)],
)
def test_without_phases_the_same_reason_stands_for_all_four_phase_fields(spec: str | None, reason: str) -> None:
    documents = {**FULL, SPEC: spec} if spec is not None else {k: v for k, v in FULL.items() if k != SPEC}
    found = snapshot(documents)
    assert [(row["field"], row["reason"]) for row in found["unknowns"]] == [
        (field, reason) for field in ("phase.names", "phase.total", "phase.current", "phase.completed")
    ]
    assert found["phase"] == {"current": None, "total": None, "completed": None, "names": []}


@pytest.mark.parametrize(
    ("progress", "current", "completed"),
    [
        ("", compiler.NO_REMAINING, compiler.NO_COMPLETED),
        ("- Done: P1\n- Done: P8\n- Done: P9\n- Remains: P7\n",
         compiler.UNKNOWN_REMAINING.format(ids="P7"), compiler.UNKNOWN_COMPLETED.format(ids="P8, P9")),
    ],
)  # fmt: skip
def test_receipts_that_are_missing_or_name_unknown_phases(progress: str, current: str, completed: str) -> None:
    found = snapshot({**FULL, PROGRESS: progress})
    assert reasons(found) == {"phase.current": current, "phase.completed": completed}
    assert found["phase"]["current"] is None and found["phase"]["completed"] is None


def test_completed_counts_distinct_phases_and_total_counts_headings() -> None:
    documents = {**FULL, SPEC: "## P1 — A\n## P1 — B\n", PROGRESS: "- Done: P1\n- Done: P1\n"}
    assert snapshot(documents)["phase"] == {"current": None, "total": 2, "completed": 1, "names": ["P1 — A", "P1 — B"]}


def test_remaining_and_completed_are_not_compared() -> None:
    found = snapshot({**FULL, PROGRESS: "- Done: P2\n- Remains: P2\n"})
    assert (found["phase"]["current"], found["phase"]["completed"]) == ("P2", 1)


def test_the_other_status_forms_need_the_named_option_and_are_recorded() -> None:
    table = {STATE: "x\n| Status | `frozen` |\n"}
    assert snapshot(table)["repositoryState"] == "unknown"
    result = compiled(table, status_forms=ALL_FORMS)
    assert result.snapshot is not None and result.snapshot["repositoryState"] == "frozen"
    assert result.readings == ({"field": "repositoryState", "source": STATE, "line": 2, "form": "table"},)
    assert result.snapshot["provenance"] == [{"field": "repositoryState", "source": STATE, "line": 2}]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"source_revision": ""}, "$.sourceRevision"),
        ({"source_revision": None}, "$.sourceRevision"),
        ({"repository": None}, "$.repository"),
        ({"repository": {"branch": "main", "headSha": "a"}}, "$.repository.dirty"),
        ({"repository": {**REPOSITORY, "x": 1}}, "$.repository.x"),
        ({"documents": None}, "$.documents"),
        ({"documents": [{"path": "x"}]}, "$.documents[0].content"),
    ],
)
def test_only_the_callers_facts_can_be_wrong(change: dict[str, Any], path: str) -> None:
    facts: dict[str, Any] = {"source_revision": "r", "repository": REPOSITORY, "documents": [], **change}
    result = compile_workflow_snapshot(**facts)
    assert not result.ok and result.errors[0].path == path
    assert result.as_document()["ok"] is False


WORDS = "Status: | frozen contradicted 12 csv done in-progress ## P1 P2 — - Done: Remains: ` · 134-x あ"
PIECES = [*WORDS.split(" "), " ", "\n", "\r\n", "\u2028", "\xa0"]


def test_further_keys_of_a_document_are_ignored() -> None:
    listed = [{"path": STATE, "content": "Status: frozen", "mode": 420}]
    assert compile_workflow_snapshot(source_revision="r", repository=REPOSITORY, documents=listed).ok  # type: ignore[arg-type]  # a caller's extra key


texts = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


@given(state=texts, roadmap=texts, fixes=texts, spec=texts, progress=texts)
@settings(deadline=None, max_examples=300)
def test_any_text_compiles_to_a_valid_snapshot_that_accounts_for_every_field(
    state: str, roadmap: str, fixes: str, spec: str, progress: str
) -> None:
    documents = {STATE: state, ROADMAP: roadmap, FIXES: fixes, SPEC: spec, PROGRESS: progress}
    found = snapshot(documents)
    unknown, known = set(reasons(found)), {row["field"] for row in found["provenance"]}
    assert "repositoryState" in known
    if found["unit"] is None:
        assert unknown - {"repositoryState"} == {"unit"}
        return
    for field in ("phase.names", "phase.total", "phase.current", "phase.completed"):
        value = found["phase"][field.removeprefix("phase.")]
        assert (field in unknown) is (value in (None, []))
        assert (field in known) is (value not in (None, []))
    sources = {**documents, **{row["source"]: documents.get(row["source"], "") for row in found["provenance"]}}
    assert all(1 <= row["line"] <= sources[row["source"]].count("\n") + 1 for row in found["provenance"])
