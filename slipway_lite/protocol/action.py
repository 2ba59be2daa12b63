"""The Action document (machine-protocol §2.1), derived from a Run and a record. Pure."""

from __future__ import annotations

from slipway_lite.canon import encode
from slipway_lite.errors import SlipwayError
from slipway_lite.protocol.brief import brief_of
from slipway_lite.protocol.context import render
from slipway_lite.protocol.outcome import CONTRACT_VERSION
from slipway_lite.text import is_md

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slipway_lite.protocol.run import Record, Run

ACTION_LIMIT = 262_144


def action_document(run: Run, record: Record) -> dict[str, Any]:
    """The Action as it was issued. Raises ``action_too_large`` when not even an empty context fits."""
    if record.issued is not None:
        return record.issued
    document: dict[str, Any] = {
        "contract_version": CONTRACT_VERSION,
        "run_id": run.run_id,
        "action_id": record.action_id,
        "kind": record.kind,
        "goal": run.goal,
        "brief": brief_of(run, record),
        "context": "",
    }
    if record.source is not None:
        document |= bound(run, record.action_id, record.source)
    if record.authorization is not None:
        document["destructive_authorization"] = record.authorization
    document["remaining_budget"] = record.remaining_budget
    context = render(record.decisions, record.outcomes, _room(document))
    if context is None:
        raise SlipwayError("action_too_large", "The next Action does not fit its size limit. Nothing was changed.")
    document["context"] = context
    return document


def _room(document: dict[str, Any]) -> int:
    """How many bytes the context may take as a JSON string (§4.6)."""
    return ACTION_LIMIT - (len(encode(document).encode()) + 1) + 2


def check_issued(run: Run, record: Record) -> dict[str, Any]:
    """The document of a just issued Action, refused when it is too large or not valid text (§4.5)."""
    document = action_document(run, record)
    if len(encode(document).encode()) + 1 > ACTION_LIMIT:
        raise SlipwayError("action_too_large", "The next Action does not fit its size limit. Nothing was changed.")
    if not (is_md(document["brief"]) and is_md(document["context"])):
        raise SlipwayError(
            "invalid_action",
            "The next Action would carry a control character into its context. Nothing was changed; send the text "
            "again without control characters.",
        )
    return document


def source_document(source: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": "change_issue",
        "canonical_url": source["canonical_url"],
        "issue_id": source["issue_id"],
        "source_revision": source["source_revision"],
        "manifest_revision": source["manifest_revision"],
        "requirements_revision": source["requirements_revision"],
    }


_CATALOG = ("key", "role", "title", "section_revision", "material_sha256", "bytes")


def bound(run: Run, action_id: str, source: dict[str, Any]) -> dict[str, Any]:
    """``source`` and ``requirements`` of an issue-bound Action; the reader's argv is exactly nine elements."""
    keys = [section["key"] for section in source["sections"]]
    return {
        "source": source_document(source),
        "requirements": {
            "requirements_revision": source["requirements_revision"],
            "sections": [{name: section[name] for name in _CATALOG} for section in source["sections"]],
            "required_for_action": keys,
            "reader": {
                "operation": "read_material",
                "base_argv": [
                    "slipway", "protocol", "material", "--root", run.root, "--run", run.run_id,
                    "--action", action_id,
                ],
                "input": {
                    "name": "section", "type": "enum", "flag": "--section", "required": True, "choices": keys,
                },
            },
        },
    }  # fmt: skip
