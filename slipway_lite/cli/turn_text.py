"""What ``slipway turn`` tells people: state, next step, blockers. Nothing here is contractual."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipway_lite.cli.human import visible
from slipway_lite.cli.output import table

if TYPE_CHECKING:
    from slipway_lite.turns.parse import ParsedTurn


def profiles(documents: list[dict[str, Any]]) -> list[str]:
    rows = [
        (item["skill"], item["output"], item["capabilities"]["role"], " ".join(item["capabilities"]["effects"]))
        for item in documents
    ]
    return table(("SKILL", "OUTPUT", "ROLE", "EFFECTS"), rows)


def parsed(turn: ParsedTurn) -> list[str]:
    document = turn.as_document()
    lines = _outcome(document["outcome"], document["source"]) if turn.ok else _errors(document["errors"])
    return lines + _diagnostics(document["diagnostics"])


def _outcome(outcome: dict[str, Any], source: str) -> list[str]:
    step = " ".join([outcome["next"]["intent"], *outcome["next"]["targets"]])
    return [
        f"State:   {outcome['status']} (from {source})",
        f"Summary: {visible(outcome['summary'])}",
        f"Next:    {visible(step)}",
        *_blockers(outcome["blockers"]),
        *(f"Asks:    {visible(question['question'])}" for question in outcome["questions"]),
    ]


def _blockers(rows: list[dict[str, Any]]) -> list[str]:
    return [f"Blocker: {row['kind']} {visible(row['id'])} ({row['scope']}): {visible(row['detail'])}" for row in rows]


def _errors(errors: list[dict[str, str]]) -> list[str]:
    return ["No result.", *(f"  {error['code']} at {visible(error['path'])}: {error['message']}" for error in errors)]


def _diagnostics(diagnostics: list[dict[str, str]]) -> list[str]:
    return [f"Note:    {item['code']}: {item['detail']}" for item in diagnostics]


def envelope(document: dict[str, Any]) -> list[str]:
    detail = document["detail"]
    asked = document["needs_input"]
    return [
        f"State:   {document['state']}: {visible(document['summary'])}",
        f"Next:    {visible(document['next']['recommended']) or 'nothing'}",
        *_blockers(document["blockers"]),
        *([f"Asks:    {visible(asked['question'])}"] if asked else []),
        *(f"Unread:  {visible(name)}" for name in detail["degradations"]),
    ]


def snapshot(document: dict[str, Any]) -> list[str]:
    found = document["snapshot"]
    unit, phase = found["unit"], found["phase"]
    return [
        f"State:   {found['repositoryState']} at {found['sourceRevision'][:12]}"
        + (" (uncommitted work)" if found["repository"]["dirty"] else ""),
        f"Unit:    {visible(unit['id'])} ({visible(unit['status'])})" if unit else "Unit:    none",
        f"Phase:   {phase['current'] or 'unknown'}, {_known(phase['completed'])} of {_known(phase['total'])} done",
        *(f"Conflict: {row['field']} at {visible(row['source'])}:{row['line']}" for row in found["contradictions"]),
        *(f"Unknown: {row['field']}: {row['reason']}" for row in found["unknowns"]),
        *(f"Unread:  {visible(name)}" for name in document["degradations"]),
    ]


def _known(number: Any) -> str:
    return "?" if number is None else str(number)


def repository_state(document: dict[str, Any]) -> list[str]:
    if document["status"] == "missing":
        return ["State:   missing", "Next:    /discover-repository-state, or `slipway turn state --init`"]
    if "degradations" in document:
        return ["State:   unknown", *(f"Unread:  {visible(name)}" for name in document["degradations"])]
    return [
        f"State:   {visible(document['status'])}",
        f"Source:  {visible(document['source_revision'] or 'not recorded')}",
        *(f"Conflict: {visible(row['id'])}: {visible(row['new_evidence'])}" for row in document["open_contradictions"]),
    ]


def decision(document: dict[str, Any]) -> list[str]:
    step = " ".join([document["intent"], *map(str, document["targets"] or ())])
    return [f"{document['kind']}: {visible(step)}", f"Because: {document['reasonCode']}: {document['detail']}"]


def driven(document: dict[str, Any]) -> list[str]:
    repair = [] if document["repair"] == "none" else [f"Repair:  asked again ({document['repair']})"]
    if document["outcome"] is None:
        return ["FAILED", *_errors(document["errors"]), *repair, *_diagnostics(document["diagnostics"])]
    return [*_outcome(document["outcome"], document["source"]), *repair, *_diagnostics(document["diagnostics"])]


def advanced(document: dict[str, Any]) -> list[str]:
    code = f" ({document['stopCode']})" if document["stopCode"] else ""
    return [f"{document['banner']}{code}", visible(document["message"])]
