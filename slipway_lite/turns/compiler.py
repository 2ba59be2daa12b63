"""Compiling a WorkflowSnapshot v1 from selected documents and the caller's repository facts (turn-contract §9).

Pure: no files, no clock, no hashing, no sorting, no comparison of documents with each other. What a document does not
say is an entry of ``unknowns``, what it does say has an entry of ``provenance``, and a declared contradiction is
carried, never settled here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from slipway_lite.turns.phases import Receipts, read_phases, read_receipts
from slipway_lite.turns.roadmap import choose_unit, feature_rows, fix_rows
from slipway_lite.turns.shapes import ListOf, Object, Problem, Text, check
from slipway_lite.turns.snapshot import REPOSITORY, SOURCE_REVISION, workflow_snapshot
from slipway_lite.turns.status_forms import PUBLISHED_FORMS, read_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

REPOSITORY_STATE_PATH = "docs/workflow/REPOSITORY_STATE.md"
ROADMAP_PATH = "docs/features/ROADMAP.md"
FIX_INDEX_PATH = "docs/fix/README.md"
UNIT_FOLDERS = {"feature": "docs/features", "fix": "docs/fix"}

DECLARED_STATES = ("draft", "frozen", "contradicted", "needs-input")
"""The states that a document can declare; ``missing`` and ``unknown`` are the compiler's own words."""

# The seven reasons, two that name ids, and one of ours for a document that is there all the same.
STATE_ABSENT = "The repository-state document is absent."
STATE_UNRECOGNISED = "The repository-state document declares no recognised status."
NO_UNIT = "No roadmap or fix row selects a unit."
SPEC_ABSENT = "The SPEC document of the unit is absent."
SPEC_WITHOUT_PHASES = "The SPEC document of the unit has no phase headings."
NO_REMAINING = "No progress receipt names a remaining phase."
NO_COMPLETED = "No progress receipt names a completed phase."
UNKNOWN_REMAINING = "The remaining receipt names a phase that the SPEC does not have: {ids}."
UNKNOWN_COMPLETED = "Completed receipts name phases that the SPEC does not have: {ids}."
UNREADABLE = "The document exists and cannot be read."
DECLARED_CONTRADICTION = "The repository-state document declares a contradiction."

_FACTS = Object(
    {
        "sourceRevision": SOURCE_REVISION,
        "repository": REPOSITORY,
        "documents": ListOf(Object({"path": Text(), "content": Text()})),
    }
)


@dataclass(frozen=True, slots=True)
class SnapshotResult:
    """A compiled snapshot, or what is wrong with the caller's facts.

    ``readings`` says in which form the repository status was written: ``colon``, ``bold`` or ``table``.
    """

    snapshot: dict[str, Any] | None
    errors: tuple[Problem, ...]
    readings: tuple[dict[str, Any], ...] = ()

    @property
    def ok(self) -> bool:
        return not self.errors

    def as_document(self) -> dict[str, Any]:
        if self.ok:
            return {"ok": True, "snapshot": self.snapshot}
        return {"ok": False, "errors": [error.as_document() for error in self.errors]}


class _Document(NamedTuple):
    path: str
    content: str

    def line_of(self, needle: str) -> int:
        """The line, from 1, of the first literal ``needle``; 1 when it is not there as such."""
        at = self.content.find(needle)
        return 1 if at < 0 else self.content.count("\n", 0, at) + 1


@dataclass(slots=True)
class _Draft:
    """The lists of a snapshot while it is compiled; the order of pushes is contractual."""

    unreadable: tuple[str, ...] = ()
    provenance: list[dict[str, Any]] = field(default_factory=list)
    contradictions: list[dict[str, Any]] = field(default_factory=list)
    unknowns: list[dict[str, Any]] = field(default_factory=list)
    readings: list[dict[str, Any]] = field(default_factory=list)

    def known(self, fact: str, document: _Document, line: int) -> None:
        self.provenance.append({"field": fact, "source": document.path, "line": line})

    def unknown(self, fact: str, reason: str) -> None:
        self.unknowns.append({"field": fact, "reason": reason})

    def is_unreadable(self, ending: str) -> bool:
        return any(path.endswith(ending) for path in self.unreadable)


def compile_workflow_snapshot(
    *,
    source_revision: str,
    repository: dict[str, Any],
    documents: list[dict[str, str]],
    status_forms: Sequence[str] = PUBLISHED_FORMS,
    unreadable: Sequence[str] = (),
) -> SnapshotResult:
    """The snapshot that ``documents``, a list of ``{"path", "content"}``, and the repository facts give.

    ``repository`` is ``{"branch", "headSha", "dirty"}`` and is carried as given. The published compiler reads a
    status only as a plain ``Status: word`` line; ``status_forms=ALL_FORMS`` reads the bold line and the table row too
    and records in ``readings`` which one it was. ``unreadable`` are paths of documents that exist and could not be
    read: what they would say is unknown, and they are never taken for absent. Errors arise from the
    caller's facts only; further keys of a document are ignored.
    """
    facts = {"sourceRevision": source_revision, "repository": repository, "documents": documents}
    errors = check(_FACTS, facts, strict=False)
    if errors:
        return SnapshotResult(None, errors)
    sources = [_Document(document["path"], document["content"]) for document in documents]
    draft = _Draft(tuple(unreadable))
    state = _repository_state(sources, draft, status_forms)
    unit = _unit(sources, draft)
    phase = _phase(sources, draft, unit) if unit else {"current": None, "total": None, "completed": None, "names": []}
    return SnapshotResult(
        workflow_snapshot(
            source_revision=source_revision,
            repository=repository,
            repository_state=state,
            unit=unit,
            phase=phase,
            provenance=draft.provenance,
            contradictions=draft.contradictions,
            unknowns=draft.unknowns,
        ),
        (),
        tuple(draft.readings),
    )


def _find(sources: list[_Document], ending: str) -> _Document | None:
    """The first document whose path ends with ``ending``; the published rule asks for no separator before it."""
    return next((source for source in sources if source.path.endswith(ending)), None)


def _repository_state(sources: list[_Document], draft: _Draft, status_forms: Sequence[str]) -> str:
    document = _find(sources, REPOSITORY_STATE_PATH)
    if document is None and draft.is_unreadable(REPOSITORY_STATE_PATH):
        draft.unknown("repositoryState", UNREADABLE)
        return "unknown"
    if document is None:
        draft.unknown("repositoryState", STATE_ABSENT)
        return "missing"
    reading = read_status(document.content, status_forms)
    line = document.line_of(reading.needle)
    draft.known("repositoryState", document, line)
    if reading.form is not None:
        draft.readings.append({"field": "repositoryState", "source": document.path, "line": line, "form": reading.form})
    if reading.word not in DECLARED_STATES:
        draft.unknown("repositoryState", STATE_UNRECOGNISED)
        return "unknown"
    if reading.word == "contradicted":
        draft.contradictions.append(
            {
                "field": "repositoryState",
                "source": document.path,
                "line": line,
                "detail": DECLARED_CONTRADICTION,
            }
        )
    return reading.word


def _unit(sources: list[_Document], draft: _Draft) -> dict[str, Any] | None:
    for kind, path, rows in (("feature", ROADMAP_PATH, feature_rows), ("fix", FIX_INDEX_PATH, fix_rows)):
        index = _find(sources, path)
        row = choose_unit(rows(index.content)) if index else None
        if index is not None and row is not None:
            draft.known("unit", index, index.line_of(row.line))
            return {"kind": kind, "id": row.id, "status": row.status}
        if index is None and draft.is_unreadable(path):
            draft.unknown("unit", UNREADABLE)
            return None
    draft.unknown("unit", NO_UNIT)
    return None


def _phase(sources: list[_Document], draft: _Draft, unit: dict[str, Any]) -> dict[str, Any]:
    folder = f"{UNIT_FOLDERS[unit['kind']]}/{unit['id']}"
    spec = _find(sources, f"{folder}/SPEC.md")
    phases = read_phases(spec.content) if spec else []
    absent = UNREADABLE if draft.is_unreadable(f"{folder}/SPEC.md") else SPEC_ABSENT
    missing = absent if spec is None else None if phases else SPEC_WITHOUT_PHASES
    if missing is not None:
        draft.unknown("phase.names", missing)
        draft.unknown("phase.total", missing)
    ids = [phase.id for phase in phases]
    progress = _find(sources, f"{folder}/progress.md") or _Document("", "")
    receipts = read_receipts(progress.content)
    if missing is None and not progress.path and draft.is_unreadable(f"{folder}/progress.md"):
        missing = UNREADABLE
    current = _current(progress, receipts, ids, draft, missing)
    if spec is not None and phases:
        line = spec.line_of(phases[0].line)
        draft.known("phase.names", spec, line)
        draft.known("phase.total", spec, line)
    return {
        "current": current,
        "total": len(ids) or None,
        "completed": _completed(progress, receipts, ids, draft, missing),
        "names": [phase.name for phase in phases],
    }


def _current(progress: _Document, receipts: Receipts, ids: list[str], draft: _Draft, missing: str | None) -> str | None:
    if missing is not None or receipts.remains is None:
        draft.unknown("phase.current", missing or NO_REMAINING)
        return None
    if receipts.remains not in ids:
        draft.unknown("phase.current", UNKNOWN_REMAINING.format(ids=receipts.remains))
        return None
    draft.known("phase.current", progress, progress.line_of(f"Remains: {receipts.remains}"))
    return receipts.remains


def _completed(
    progress: _Document, receipts: Receipts, ids: list[str], draft: _Draft, missing: str | None
) -> int | None:
    if missing is not None or not receipts.done:
        draft.unknown("phase.completed", missing or NO_COMPLETED)
        return None
    strange = [phase for phase in receipts.done if phase not in ids]
    if strange:
        draft.unknown("phase.completed", UNKNOWN_COMPLETED.format(ids=", ".join(strange)))
        return None
    draft.known("phase.completed", progress, progress.line_of(f"Done: {receipts.done[0]}"))
    return len(receipts.done)
