"""Documents that the published command line really wrote pass the tables and the rules that an import holds it to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from slipway_lite.protocol.imported import shapes
from slipway_lite.protocol.imported.conform import conform
from slipway_lite.protocol.imported.delta import BLANK
from slipway_lite.protocol.imported.invariants import check_standing
from slipway_lite.protocol.run import Run
from slipway_lite.protocol.workspace import identity
from tests.published import published

SCENARIOS = (
    "budget", "decision-answers", "destructive-confirmation", "environment-pause", "git-observation",
    "happy-noreview", "happy-review-change", "idempotency", "review-preempts-suggestion", "skip", "source-candidates",
    "source-happy", "status-variants", "stop-resume-ended", "worktrees",
)  # fmt: skip
MASKS = (("<TS>", "2026-07-12T09:00:00Z"), ("<DIGEST>", "sha256:" + "0" * 64), ("<PROG>", "slipway"), ("<SB>", "/sb"))
PARTS: dict[str, Any] = {
    "workspace_identity": shapes.WORKSPACE_IDENTITY,
    "initial_git": shapes.GIT,
    "current_git": shapes.GIT,
    "pinned_source": shapes.PINNED_SOURCE,
    "source_candidate": shapes.SOURCE_CANDIDATE,
    "last_source_choice": shapes.SOURCE_CHOICE,
    "last_resume_result": shapes.RESUME_RESULT,
    "current_action": shapes.ACTION,
    "actions": [shapes.RECORD],
    "answers": [shapes.ANSWER],
    "pending_actions": shapes.DELTA["pending_append?"],
    "activities": shapes.DELTA["activities_append?"],
    "pending_destructive_request": shapes.DESTRUCTIVE_REQUEST,
    "destructive_grant": shapes.DESTRUCTIVE_GRANT,
}


def statuses(value: Any) -> Iterator[dict[str, Any]]:
    """Every ``runStatus`` in a recording."""
    if isinstance(value, dict):
        if "actions" in value and "initial_git" in value:
            yield value
        else:
            for item in value.values():
                yield from statuses(item)
    elif isinstance(value, list):
        for item in value:
            yield from statuses(item)


def recorded(scenario: str) -> list[dict[str, Any]]:
    """The Runs of a scenario with something in the place of each mask."""
    text = published("conformance", "machine", "golden", f"{scenario}.json").read_text()
    text = re.sub(r"<UUID(\d+)>", lambda found: f"00000000-0000-4000-8000-{int(found[1]):012}", text)
    for mask, value in MASKS:
        text = text.replace(mask, value)
    return list(statuses(json.loads(text)))


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_recorded_run_passes_the_tables_and_the_rules(scenario: str) -> None:
    documents = recorded(scenario)
    assert documents
    for document in documents:
        who = document["workspace_identity"]
        who["id"] = identity(who["worktree_root"], who["git_dir"], who["git_common_dir"])
        for name, shape in PARTS.items():
            if name in document:
                assert conform(document[name], shape) == document[name]
        run = Run(document["id"], document["created_at"], document)
        state = BLANK | {"pending": document.get("pending_actions", [])}
        check_standing(run, state | {name: document[name] for name in state if name in document})
