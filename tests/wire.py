"""Every JSON reply of the machine protocol against its JSON Schema: our own, and the published one where present."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

CHECKOUT = Path(__file__).resolve().parents[1]
PUBLISHED = Path(os.environ.get("SLIPWAY_SHARED", CHECKOUT.parent / "shared")) / "oracles" / "slipway"
NAME = "machine-protocol.schema.json"

SHAPES = (
    ("cliError", ("code", "exit_code")),
    ("actionMaterial", ("message_type", "action_id")),
    ("pinnedMaterial", ("message_type", "run_state")),
    ("changeReport", ("transaction_outcome", "hosts")),
    ("doctorReport", ("contract_version", "checks")),
    ("listReport", ("contract_version", "hosts")),
    ("statusList", ("runs", "unavailable_runs")),
    ("protocolState", ("run_id", "next")),
    ("runStatus", ("id", "next")),
)
"""The definition that a document is of, told by two keys that no other kind has together; the first match counts."""

OWN_DETAILS = frozenset(
    {
        "database_not_verified",
        "import_conflict",
        "journal_import_refused",
        "journal_unreplayable",
        "merge_conflict",
        "merge_not_verified",
        "merge_same_file",
        "merge_source_unsound",
    }
)
"""Refusals of our own commands: cliError, but for details that the machine protocol has no shape for."""


@cache
def validators(definition: str) -> list[Draft202012Validator]:
    found = []
    for place in (CHECKOUT / "schemas" / NAME, PUBLISHED / NAME):
        if place.exists():
            definitions = json.loads(place.read_text())["$defs"]
            found.append(Draft202012Validator({"$ref": f"#/$defs/{definition}", "$defs": definitions}))
    return found


def check(document: dict[str, Any]) -> None:
    """Fail unless ``document`` is one of the wire documents, and valid; a document of ours alone is not checked."""
    definition = next((name for name, keys in SHAPES if document.keys() >= set(keys)), None)
    if "contract_version" not in document:
        assert definition is None, document
        return
    assert definition is not None, document
    if document.get("code") in OWN_DETAILS:
        document = {key: value for key, value in document.items() if key != "details"}
    for validator in validators(definition):
        errors = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]
        assert not errors, (definition, errors)
