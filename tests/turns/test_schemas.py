"""schemas/ holds what the tables say, and the published schemas accept what ours accept."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from slipway_lite.turns.schemas import json_schemas, schema_text
from tests.published import published
from tests.turns.documents import envelope, outcome, snapshot

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
DOCUMENTS: dict[str, Any] = {"envelope": envelope(), "skill-outcome": outcome(), "workflow-snapshot": snapshot()}


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_the_schema_file_is_made_from_the_table(name: str) -> None:
    schema = json_schemas()[name]
    assert (SCHEMAS / f"{name}.schema.json").read_text("utf-8") == schema_text(schema)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"https://slipway-lite.dev/schemas/{name}.schema.json"


def test_the_module_writes_the_files(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "slipway_lite.turns.schemas", str(tmp_path)], check=True)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {
        f"{name}.schema.json": (SCHEMAS / f"{name}.schema.json").read_bytes() for name in DOCUMENTS
    }


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_the_published_schema_takes_our_document(name: str) -> None:
    theirs = json.loads(published("oracles", "agentic-workflow", f"{name}.schema.json").read_text("utf-8"))
    jsonschema.Draft7Validator(theirs).validate(DOCUMENTS[name])
