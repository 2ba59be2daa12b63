"""WorkflowSnapshot v1: what the chosen documents and the caller's repository facts say (turn-contract §1.3)."""

from __future__ import annotations

from typing import Any

from slipway_lite.canon import encode_canonical, sha256
from slipway_lite.turns.shapes import (
    Exactly,
    Flag,
    ListOf,
    Nullable,
    Object,
    OneOf,
    Text,
    Validation,
    Whole,
    check,
)
from slipway_lite.turns.vocabulary import REPOSITORY_STATES, SNAPSHOT_UNIT_KINDS, WORKFLOW_SNAPSHOT_CONTRACT

SOURCE_REVISION = Text(least=1)
REPOSITORY = Object({"branch": Text(), "headSha": Text(), "dirty": Flag()}, sealed=True)

WORKFLOW_SNAPSHOT = Object(
    {
        "contract": Exactly(WORKFLOW_SNAPSHOT_CONTRACT),
        "version": Exactly(1),
        "sourceRevision": SOURCE_REVISION,
        "repository": REPOSITORY,
        "repositoryState": OneOf(REPOSITORY_STATES),
        "unit": Nullable(Object({"kind": OneOf(SNAPSHOT_UNIT_KINDS), "id": Text(), "status": Text()})),
        "phase": Object(
            {
                "current": Nullable(Text()),
                "total": Nullable(Whole()),
                "completed": Nullable(Whole()),
                "names": ListOf(Text()),
            }
        ),
        "provenance": ListOf(Object({"field": Text(), "source": Text(), "line": Whole(minimum=1)})),
        "contradictions": ListOf(
            Object({"field": Text(), "source": Text(), "line": Whole(minimum=1), "detail": Text()})
        ),
        "unknowns": ListOf(Object({"field": Text(), "reason": Text()})),
    }
)


def validate_workflow_snapshot(value: object) -> Validation:
    """Whether ``value``, a decoded JSON value, is a WorkflowSnapshot v1; unknown keys are refused at every level."""
    return Validation("snapshot", value, check(WORKFLOW_SNAPSHOT, value))


def workflow_snapshot(
    *,
    source_revision: str,
    repository: dict[str, Any],
    repository_state: str,
    unit: dict[str, Any] | None,
    phase: dict[str, Any],
    provenance: list[dict[str, Any]],
    contradictions: list[dict[str, Any]],
    unknowns: list[dict[str, Any]],
) -> dict[str, Any]:
    """A WorkflowSnapshot v1 document in the published key order."""
    return {
        "contract": WORKFLOW_SNAPSHOT_CONTRACT,
        "version": 1,
        "sourceRevision": source_revision,
        "repository": repository,
        "repositoryState": repository_state,
        "unit": unit,
        "phase": phase,
        "provenance": provenance,
        "contradictions": contradictions,
        "unknowns": unknowns,
    }


def snapshot_sha256(snapshot: dict[str, Any]) -> str:
    """The digest of a snapshot: over its canonical JSON, so that key order does not matter."""
    return sha256(encode_canonical(snapshot).encode("utf-8", "backslashreplace"))
