"""The built-in ``workflow-status`` sensor: one strict Envelope v2 from git and the tracked documents.

Deterministic and pure: the same facts give the same envelope. Nothing is guessed. What exists and could not be read
is named in ``detail.degradations`` and blocks the run; what no local reader can see is null, or the
value that its type forces, and listed in ``detail.not_observed``. (turn-contract §13)
"""

from __future__ import annotations

from typing import Any, NamedTuple

from slipway_lite.turns.compiler import FIX_INDEX_PATH, REPOSITORY_STATE_PATH, ROADMAP_PATH, UNIT_FOLDERS
from slipway_lite.turns.phases import read_phases, read_receipts
from slipway_lite.turns.repository_state import RepositoryState, read_repository_state
from slipway_lite.turns.roadmap import (
    DONE,
    IDEA,
    IN_PROGRESS,
    build_order,
    dependencies,
    feature_rows,
    fix_rows,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slipway_lite.turns.roadmap import UnitRow
    from slipway_lite.turns.worktree import Documents, GitFacts

NOT_OBSERVED = (
    "detail.open_prs",
    "detail.pending_triage",
    "detail.untriaged_issues",
    "detail.urgent",
    "detail.review_loop_cycles",
    "unit.issue",
    "pr",
    "gates",
    "findings",
)
"""What only a forge, a test run or a reviewer knows."""

CLEAN, RESUMABLE, AMBIGUOUS = "CLEAN", "RESUMABLE", "AMBIGUOUS"
STATE_OF_VERDICT = {CLEAN: "OK", RESUMABLE: "CONTINUE", AMBIGUOUS: "NEEDS_INPUT"}

TIER_OF_COMMAND = {
    "workflow-status": "cheap",
    "execute-phase": "cheap",
    "discover-repository-state": "strong",
    "resolve-repository-state": "strong",
    "design-feature": "strong",
    "plan-feature": "strong",
    "plan-fix": "strong",
    "review-change": "strong",
}


class Unit(NamedTuple):
    """One open unit with everything the documents say about it."""

    kind: str
    row: UnitRow
    deps: tuple[str, ...]
    unmet: tuple[str, ...]
    order: tuple[str, ...]
    phases: tuple[str, ...]
    done: tuple[str, ...]
    remains: str | None
    has_spec: bool

    @property
    def next_phase(self) -> str | None:
        """The declared remaining phase, else the first that no receipt completes."""
        if self.remains in self.phases:
            return self.remains
        return next((phase for phase in self.phases if phase not in self.done), None)

    @property
    def completed(self) -> int | None:
        """As the compiler counts: unknown when a receipt names a phase that the SPEC does not have."""
        return len(self.done) if self.done and set(self.done) <= set(self.phases) else None


class Step(NamedTuple):
    """What the sensor recommends: a state, a command, and why a person is asked or the run is blocked."""

    state: str
    command: str
    summary: str
    blocker: dict[str, str] | None = None
    question: str | None = None


def unit_folders(documents: Documents) -> list[str]:
    """The folders of all open units, whose SPEC and progress files the sensor wants to see."""
    return [f"{UNIT_FOLDERS[kind]}/{row.id}" for kind, row in _rows(documents) if row.word != DONE]


def _rows(documents: Documents) -> list[tuple[str, UnitRow]]:
    roadmap, fixes = documents.content(ROADMAP_PATH) or "", documents.content(FIX_INDEX_PATH) or ""
    return [("feature", row) for row in feature_rows(roadmap)] + [("fix", row) for row in fix_rows(fixes)]


def build_envelope(git: GitFacts, documents: Documents) -> dict[str, Any]:
    """The envelope for one observed working tree; ``documents`` hold the indexes and the files of open units."""
    content = documents.content(REPOSITORY_STATE_PATH)
    state = None if content is None else read_repository_state(content)
    rows = _rows(documents)
    units = _open_units(documents, rows)
    substrate = _unread(documents) or _substrate(state)
    startable = [] if substrate else [unit for unit in units if not unit.unmet]
    unit = _choose(units, startable)
    verdict = _recovery(git, units)
    step = substrate or _step(unit, verdict)
    return {
        "skill": "workflow-status",
        "state": step.state,
        "summary": step.summary,
        "unit": {
            "type": unit.kind if unit else "none",
            "id": unit.row.id if unit else None,
            "issue": None,
            "branch": git.branch if unit and unit.row.id in git.branch else None,
        },
        "phase": {
            "current": unit.next_phase if unit else None,
            "total": (len(unit.phases) or None) if unit else None,
            "completed": unit.completed if unit else None,
        },
        "pr": {
            "number": None,
            "url": None,
            "state": "none",
            "head_sha": None,
            "merge_ready": None,
            "ci": None,
        },
        "gates": {"verification": None, "review_pending": None, "audit_pending": None},
        "findings": {"fix_now": [], "issues_filed": [], "untriaged": 0, "decisions_recorded": 0},
        "blockers": [step.blocker] if step.blocker else [],
        "dependencies": {
            "unmet": list(unit.unmet) if unit else [],
            "build_order": list(unit.order) if unit else [],
        },
        "recommendations": {"product_audit": False, "reason": None},
        "needs_input": {"question": step.question, "options": []} if step.question else None,
        "next": {"recommended": step.command, "alternatives": [], "tier": _tier(step.command)},
        "detail": {
            "repository_state": _repository_state(state, REPOSITORY_STATE_PATH in documents.unread),
            "features": [_view(unit) for unit in units if unit.kind == "feature"],
            "fixes": [_view(unit) for unit in units if unit.kind == "fix"],
            "design_candidates": [
                {"id": row.id, "status": row.status, "next": f"/design-feature {row.id}"}
                for kind, row in rows
                if kind == "feature" and row.word == IDEA
            ],
            "startable_now": [unit.row.id for unit in startable],
            "blocked_units": {
                unit.row.id: {"unmet": list(unit.unmet), "build_order": list(unit.order)}
                for unit in units
                if unit.unmet
            },
            "open_prs": None,
            "pending_triage": None,
            "untriaged_issues": None,
            "workflow_observations": [],
            "urgent": None,
            "crash_recovery": {"verdict": verdict, "branches": [git.branch] if verdict != CLEAN else []},
            "pre_execution": [],
            "degradations": list(documents.degradations),
            "review_loop_cycles": None,
            "not_observed": list(NOT_OBSERVED),
        },
    }


def _repository_state(state: RepositoryState | None, unread: bool) -> dict[str, Any]:
    if state is None:
        return {"status": "unknown" if unread else "missing", "snapshot_id": None, "source_revision": None}
    return {
        "status": state.status,
        "snapshot_id": state.snapshot_id,
        "source_revision": state.source_revision,
    }


def _open_units(documents: Documents, rows: list[tuple[str, UnitRow]]) -> list[Unit]:
    depends = dependencies(documents.content(ROADMAP_PATH) or "")
    done = frozenset(row.id for _, row in rows if row.word == DONE)
    units = []
    for kind, row in rows:
        if row.word == DONE:
            continue
        folder = f"{UNIT_FOLDERS[kind]}/{row.id}"
        spec = documents.content(f"{folder}/SPEC.md")
        receipts = read_receipts(documents.content(f"{folder}/progress.md") or "")
        deps = depends.get(row.id, ())
        units.append(
            Unit(
                kind=kind,
                row=row,
                deps=deps,
                unmet=tuple(needed for needed in deps if needed not in done),
                order=tuple(build_order(row.id, depends, done)),
                phases=tuple(phase.id for phase in read_phases(spec or "")),
                done=receipts.done,
                remains=receipts.remains,
                has_spec=spec is not None,
            )
        )
    return units


def _view(unit: Unit) -> dict[str, Any]:
    return {
        "id": unit.row.id,
        "status": unit.row.status,
        "deps": list(unit.deps),
        "deps_unmet": list(unit.unmet),
        "phase": {"current": unit.next_phase, "total": len(unit.phases) or None},
        "pr": None,
        "review_pending": None,
        "audit_pending": None,
        "merge_ready": None,
    }


def _choose(units: list[Unit], startable: list[Unit]) -> Unit | None:
    """What is in progress comes first, then what can start, then what is blocked."""
    in_progress = [unit for unit in units if unit.row.word == IN_PROGRESS]
    return next(iter([*in_progress, *startable, *units]), None)


def _recovery(git: GitFacts, units: list[Unit]) -> str:
    """Whether uncommitted work belongs to exactly one unit in progress, to none or several, or does not exist."""
    if not git.dirty:
        return CLEAN
    in_progress = [unit for unit in units if unit.row.word == IN_PROGRESS]
    return RESUMABLE if len(in_progress) == 1 else AMBIGUOUS


def _unread(documents: Documents) -> Step | None:
    """From half a view nothing is recommended: what exists and cannot be read never looks like nothing to do."""
    if not documents.degradations:
        return None
    reason, _, path = documents.degradations[0].partition(":")
    return _blocked("", f"{path} exists and cannot be read ({reason}).", "unreadable-document")


def _substrate(state: RepositoryState | None) -> Step | None:
    """Without a frozen repository state nothing may be planned: the run is blocked until discovery or the resolver."""
    if state is not None and state.status == "frozen":
        return None
    status = "missing" if state is None else state.status
    conflict = next(iter(state.open_contradictions), None) if state else None
    if status in ("contradicted", "needs-input"):
        target = f" {conflict.id}" if conflict else ""
        command = f"/resolve-repository-state{target}"
    else:
        command = "/discover-repository-state"
    return _blocked(command, f"The repository state is {status}.", f"repository-state-{status}")


def _blocked(command: str, summary: str, name: str) -> Step:
    blocker = {"kind": "substrate", "id": name, "scope": "run", "detail": summary}
    return Step("BLOCKED", command, summary, blocker)


def _step(unit: Unit | None, verdict: str) -> Step:
    if verdict == AMBIGUOUS:
        question = "Uncommitted work does not belong to exactly one unit in progress. Which unit is it for?"
        return Step(STATE_OF_VERDICT[verdict], "/workflow-status", "Uncommitted work is ambiguous.", None, question)
    state = STATE_OF_VERDICT[verdict]
    if unit is None:
        return Step(state, "", "No unit is open.")
    name = unit.row.id
    if unit.unmet:
        told = f"{name} waits for {', '.join(unit.unmet)}."
        blocker = {"kind": "dependency", "id": unit.unmet[0], "scope": "unit", "detail": told}
        return Step("BLOCKED", "", told, blocker)
    if not unit.phases:
        if unit.kind == "fix":
            return Step(state, f"/plan-fix {name}", f"{name} has no plan.")
        if unit.row.word == IDEA or not unit.has_spec:
            return Step(state, f"/design-feature {name}", f"{name} has no design.")
        return Step(state, f"/plan-feature {name}", f"{name} has a design without phases.")
    if unit.next_phase is None:
        ready = "READY_FOR_REVIEW" if verdict == CLEAN else state
        return Step(ready, f"/review-change {name}", f"Every phase of {name} is done.")
    return Step(state, f"/execute-phase {name} {unit.next_phase}", f"{name} continues with {unit.next_phase}.")


def _tier(command: str) -> str:
    return TIER_OF_COMMAND.get(command.removeprefix("/").partition(" ")[0], "cheap")
