"""The JSON Schemas of the three contracts, made from the tables that validate (draft 2020-12).

``schemas/*.schema.json`` hold what :func:`json_schemas` gives; a test compares them, and ``python -m
slipway_lite.turns.schemas DIRECTORY`` writes them. Each contract is versioned by itself.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from slipway_lite.resources import schema_id
from slipway_lite.turns.envelope import ENVELOPE
from slipway_lite.turns.outcome import SKILL_OUTCOME
from slipway_lite.turns.snapshot import WORKFLOW_SNAPSHOT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slipway_lite.turns.shapes import Shape

_CONTRACTS: dict[str, tuple[str, str, Shape]] = {
    "envelope": (
        "Envelope v2",
        "What the workflow-status sensor answers, and what any skill may answer with.",
        ENVELOPE,
    ),
    "skill-outcome": (
        "SkillOutcome v1",
        "The few fields of a turn's result that the model owns.",
        SKILL_OUTCOME,
    ),
    "workflow-snapshot": (
        "WorkflowSnapshot v1",
        "What the selected documents and the caller's repository facts say, with provenance and unknowns.",
        WORKFLOW_SNAPSHOT,
    ),
}


def json_schemas() -> dict[str, dict[str, Any]]:
    """Name to JSON Schema: ``envelope``, ``skill-outcome`` and ``workflow-snapshot``."""
    return {
        name: {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": schema_id(name),
            "title": title,
            "description": description,
            **shape.schema(),
        }
        for name, (title, description, shape) in _CONTRACTS.items()
    }


def schema_text(schema: dict[str, Any]) -> str:
    """A schema as its file holds it."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name, schema in json_schemas().items():
        with open(f"{sys.argv[1]}/{name}.schema.json", "w", encoding="utf-8") as file:
            file.write(schema_text(schema))
