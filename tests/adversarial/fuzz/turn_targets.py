"""The decoders of the turn contract: replies, envelopes, requests, documents of the working tree."""

from __future__ import annotations

import re
import shlex
from functools import cache
from typing import Any

from jsonschema.protocols import Validator
from jsonschema.validators import Draft202012Validator

from slipway_lite.canon import encode
from slipway_lite.cli import turn_text
from slipway_lite.turns.block import decode_block
from slipway_lite.turns.compiler import FIX_INDEX_PATH, REPOSITORY_STATE_PATH, ROADMAP_PATH, compile_workflow_snapshot
from slipway_lite.turns.conductor import (
    decide_from_envelope,
    invocation_from_decision,
    judge_urgency,
    parse_sensor_output,
)
from slipway_lite.turns.continuation import emit_continuation, parse_continuation_argv, render_argv
from slipway_lite.turns.decide import decide_request
from slipway_lite.turns.envelope import (
    outcome_from_envelope,
    parse_envelope,
    parse_envelope_v2_strict,
    validate_envelope,
)
from slipway_lite.turns.extract import extract_last_json_block, find_last_json_block
from slipway_lite.turns.native import parse_native_verdict
from slipway_lite.turns.outcome import names_skill_outcome, validate_skill_outcome
from slipway_lite.turns.parse import parse_line, parse_turn
from slipway_lite.turns.phases import read_phases, read_receipts
from slipway_lite.turns.profiles import PROFILES
from slipway_lite.turns.repair import repair_envelope
from slipway_lite.turns.repository_state import read_repository_state, render_repository_state
from slipway_lite.turns.roadmap import build_order, choose_unit, dependencies, feature_rows, fix_rows
from slipway_lite.turns.schemas import json_schemas
from slipway_lite.turns.sensor import build_envelope, unit_folders
from slipway_lite.turns.snapshot import snapshot_sha256, validate_workflow_snapshot
from slipway_lite.turns.status_forms import ALL_FORMS, PUBLISHED_FORMS, read_label, read_status
from slipway_lite.turns.worktree import Documents, GitFacts
from tests.adversarial.fuzz.protocol_targets import written
from tests.adversarial.fuzz.target import USAGE, Target
from tests.turns.documents import envelope, fenced, outcome, snapshot

SKILLS = tuple(PROFILES)
_PUBLISHED_BLOCK = re.compile(r"```json[ \t]*\r?\n([\s\S]*?)\r?\n[ \t]*```")
"""The one regular expression of turn-contract §4: quadratic, and the measure of the fast search."""


@cache
def _validator(name: str) -> Validator:
    return Draft202012Validator(json_schemas()[name])


def printed(document: Any) -> None:
    """What every command does with a result: one line of JSON, lone surrogates as their escapes."""
    encode(document).encode("utf-8", "backslashreplace")


def _told(raw: bytes) -> tuple[str, str]:
    """A skill by the first byte, and the text after it."""
    return SKILLS[raw[0] % len(SKILLS)] if raw else SKILLS[0], raw[1:].decode("utf-8", "replace")


# -- replies


def _turn(raw: bytes) -> None:
    skill, text = _told(raw)
    context = {"unitId": "12-csv"}
    for strict_tail in (False, True):
        parsed = parse_turn(skill=skill, text=text, context=context, strict_tail=strict_tail)
        printed(parsed.as_document())
        turn_text.parsed(parsed)
        assert parsed.ok == (parsed.outcome is not None)
        if parsed.ok:
            assert validate_skill_outcome(parsed.outcome).ok
            assert _validator("skill-outcome").is_valid(parsed.outcome)
        if parsed.envelope is not None:
            assert validate_envelope(parsed.envelope).ok
            assert _validator("envelope").is_valid(parsed.envelope)


def _block_starts() -> list[bytes]:
    replies = [
        fenced(outcome()),
        fenced(envelope()),
        "Report.\n\n" + fenced(envelope(skill="audit-pr", unit={"type": "fix", "id": 12, "issue": None, "branch": ""})),
        fenced(outcome()) + "\n```json\n{}",
        '```json\r\n{"a": [1.0, 1e2]}\r\n```',
        _verdict("BLOCKED (2 blockers)"),
        _verdict("MERGE-READY"),
    ]
    return [text.encode() for text in replies]


def _verdict(words: str) -> str:
    blocked = [
        "Blockers (ranked):",
        "1. [gate] lint — one warning → fix with (/execute-phase 12-csv)",
        "2. [ci] build — red → fix (/plan-fix)",
    ]
    rows = blocked if words.startswith("BLOCKED") else ["Nothing blocks merge."]
    lines = [
        "PR #3 — Ship",
        "URL: https://forge.example/3",
        "Base: main ← Head: f @ abc  CI: green",
        f"VERDICT: {words}",
    ]
    return "\n".join([*lines, *rows, "→ Next: /merge — ready", "· /audit-pr — again"])


def _turn_starts() -> list[bytes]:
    places = [SKILLS.index(skill) for skill in ("execute-phase", "workflow-status", "audit-pr")]
    return [bytes([place]) + raw for place in places for raw in _block_starts()]


def _extract(raw: bytes) -> None:
    text = raw.decode("utf-8", "replace")
    found = _PUBLISHED_BLOCK.findall(text)
    body = extract_last_json_block(text)
    assert body == (found[-1] if found else None), "the published expression finds another block"
    assert find_last_json_block(text).body == body


def _extract_starts() -> list[bytes]:
    texts = [
        "```json\n{}\n```\ntext\n```json \r\n[]\r\n  ``` x",
        "```json\n```json\n\n```\n```json\n``````json\n1\n```",
        "````json\n{}\n````\n```js\n```\n```json\t\n\r\n```",
    ]
    return [text.encode() for text in texts]


def _line(raw: bytes) -> None:
    document = parse_line(raw, skill="execute-phase")
    assert type(document["ok"]) is bool
    printed(document)


def _line_starts() -> list[bytes]:
    return [
        written({"id": 1, "skill": "execute-phase", "text": fenced(outcome())}),
        written({"text": fenced(envelope()), "context": {"unitId": "12-csv"}, "id": [{}]}),
        written({"text": 1}),
    ]


def _native(raw: bytes) -> None:
    verdict = parse_native_verdict(raw.decode("utf-8", "replace"))
    assert verdict.outcome is None or verdict.problem is None
    if verdict.outcome is not None:
        assert validate_skill_outcome(verdict.outcome).ok


# -- envelopes


def _repair(raw: bytes) -> None:
    skill, text = _told(raw)
    value, problem = decode_block(text)
    if problem is not None:
        return
    assert names_skill_outcome(value) in (True, False)
    for validation in (validate_envelope(value), validate_envelope(value, strict=False), validate_skill_outcome(value)):
        printed(validation.as_document())
    assert validate_envelope(value).ok <= validate_envelope(value, strict=False).ok
    assert validate_envelope(value).ok == _validator("envelope").is_valid(value)
    context = {"unitId": "12-csv"}
    repaired = repair_envelope(value, skill=skill, context=context)
    again = repair_envelope(repaired.value, skill=skill, context=context)
    assert again.value == repaired.value or repaired.refusal is not None, "a second repair changes nothing"
    assert not again.diagnostics or repaired.refusal is not None
    if validate_envelope(value).ok and skill != "audit-pr":
        assert repaired.value == value, "a valid envelope needs no repair"


def _envelope_starts() -> list[bytes]:
    legacy = envelope(skill="audit-pr", blockers=[{"gate": "ci", "evidence": "red", "route": "/plan-fix"}])
    documents = [
        envelope(),
        {**envelope(), "design_candidates": []},
        {name: value for name, value in envelope().items() if name != "detail"},
        {**legacy, "unit": {"type": "fix", "id": 12, "issue": None, "branch": None}},
        {**legacy, "findings": {**legacy["findings"], "issues_filed": 0}},
        outcome(),
    ]
    return [
        bytes([SKILLS.index(skill)]) + written(document)
        for document in documents
        for skill in ("audit-pr", "merge")
        if skill in SKILLS
    ]


def _legacy(raw: bytes) -> None:
    text = raw.decode("utf-8", "replace")
    strict, lenient = parse_envelope_v2_strict(text), parse_envelope(text)
    printed(strict.as_document())
    printed(lenient.as_document())
    assert strict.ok <= lenient.ok
    if strict.envelope is not None:
        derived = outcome_from_envelope(strict.envelope)
        assert validate_skill_outcome(derived).ok


def _sensed(raw: bytes) -> None:
    reading = parse_sensor_output(raw.decode("utf-8", "replace"))
    assert reading.ok == (reading.envelope is not None)
    printed(reading.as_document())
    if reading.envelope is None:
        return
    seen = reading.envelope
    for last in (None, outcome_from_envelope(seen), outcome()):
        decision = decide_from_envelope(
            envelope=seen, last_outcome=last, last_outcome_source_revision=None, policy=None
        )
        printed(decision.as_document())
        turn_text.decision(decision.as_document())
        continuation = seen["next"].get("continuation")
        printed(invocation_from_decision(decision, command_names=SKILLS, continuation=continuation).as_document())
    printed(judge_urgency(seen).as_document())


# -- requests


def _decide(raw: bytes) -> None:
    value, problem = decode_block(raw.decode("utf-8", "replace"))
    if problem is not None:
        return
    printed(validate_workflow_snapshot(value).as_document())
    assert validate_workflow_snapshot(value).ok == _validator("workflow-snapshot").is_valid(value)
    decision = decide_request(value)
    printed(decision.as_document())
    turn_text.decision(decision.as_document())


def _decide_starts() -> list[bytes]:
    policy = {"allowedIntents": list(SKILLS), "forgeWriteAuthorized": True}
    request = {
        "snapshot": snapshot(),
        "lastOutcome": outcome(),
        "lastOutcomeSourceRevision": "rev1",
        "policy": policy,
        "reviewLoopCycles": {"spec": 2, "plan": 0},
    }
    return [
        written(request),
        written({**request, "lastOutcome": None}),
        written({**request, "lastOutcome": outcome("audit-pr", "merge"), "lastOutcomeSourceRevision": None}),
        written({**request, "lastOutcome": outcome(status="blocked")}),
        written(snapshot()),
        written({"snapshot": snapshot()}),
    ]


def _continuation(raw: bytes) -> None:
    command = raw.decode("utf-8", "replace")
    argv = parse_continuation_argv(command)
    printed(argv.as_document())
    if argv.refusal is None:
        assert shlex.split(render_argv(argv.words)) == list(argv.words)
        render_argv(argv.words, windows=True)
    printed(emit_continuation(command=command, convergence=command, preconditions=[{"id": command}]).as_document())


# -- documents of the working tree

PATHS = (
    REPOSITORY_STATE_PATH,
    ROADMAP_PATH,
    FIX_INDEX_PATH,
    "docs/features/12-csv/SPEC.md",
    "docs/features/12-csv/progress.md",
)
_SEPARATOR = "\x1e"


def _documents(raw: bytes) -> None:
    parts = raw.decode("utf-8", "replace").split(_SEPARATOR)
    found = [{"path": path, "content": text} for path, text in zip(PATHS, parts, strict=False)]
    git = GitFacts("/repo", "/repo/.git", "feat/12-csv", "0" * 40, "1 .M x" if len(raw) % 2 else "", len(raw) % 3)
    documents = Documents(found, [f"too_large:{path}" for path in PATHS[len(parts) :]] if len(raw) % 5 == 0 else [])
    folders = unit_folders(documents)
    assert all("\n" not in folder for folder in folders)
    sensed = build_envelope(git, documents)
    assert validate_envelope(sensed).ok, validate_envelope(sensed).errors
    turn_text.envelope(sensed)
    for forms in (PUBLISHED_FORMS, ALL_FORMS):
        compiled = compile_workflow_snapshot(
            source_revision=git.head,
            repository=git.as_repository(),
            documents=found,
            status_forms=forms,
            unreadable=documents.unread,
        )
        assert compiled.snapshot is not None and validate_workflow_snapshot(compiled.snapshot).ok
        snapshot_sha256(compiled.snapshot)
    for text in parts[: len(PATHS)]:
        rows = [*feature_rows(text), *fix_rows(text)]
        choose_unit(rows)
        depends = dependencies(text)
        assert all(unit not in build_order(unit, depends, frozenset()) for unit in depends)
        read_phases(text)
        read_receipts(text)


def _document_starts() -> list[bytes]:
    state = "# Repository state\n\nStatus: frozen\n\n| Source revision | abc |\n"
    roadmap = (
        "| # | Feature | Status | Depends on |\n|---|---|---|---|\n"
        "| 11 | `x` | done | - |\n| 12 | csv | in-progress · P1 | 11 |\n| 13 | y | planned | 12, 13, 99 |\n"
    )
    fixes = "| Fix | Title | Status |\n|---|---|---|\n| `134-crash` | It crashes | planned |\n| 7-b | x | done |\n"
    spec = "## P1 — Parser\ntext\n### P2 - Writer\n"
    progress = "- Done: P1 (abc)\n- Remains: P2\n"
    whole = _SEPARATOR.join([state, roadmap, fixes, spec, progress])
    bold = _SEPARATOR.join(["**Status:** `contradicted` (since P1).\n", roadmap.replace("in-progress", "idea")])
    return [whole.encode(), bold.encode(), state.encode(), _SEPARATOR.encode() * 2 + fixes.encode()]


def _state(raw: bytes) -> None:
    text = raw.decode("utf-8", "replace")
    state = read_repository_state(text)
    read_status(text, ALL_FORMS)
    for form in ALL_FORMS:
        read_label(text, ("Status", "Created by"), form)
    again = render_repository_state(state)
    assert read_repository_state(again) == state


def _state_starts() -> list[bytes]:
    text = (
        "# Repository state\n\n**Status:** draft\nSource revision: abc\n\n## Repository facts\n\n"
        "| ID | Statement | Evidence | Status |\n|---|---|---|---|\n| F1 | It is \\| odd | a.py:3 | - |\n\n"
        "## Contradictions\n\n| ID | Prior statement | New evidence | Resolution | Reported by |\n"
        "|---|---|---|---|---|\n"
        "| C001 | a | b | - | discover |\n"
    )
    return [text.encode(), b"| Status | frozen (since P1) |\n| Created at | 2026-07-12 |\n", b"Status: `x`."]


_EXTRACT = ("slipway_lite.turns.extract.extract_last_json_block", "slipway_lite.turns.extract.find_last_json_block")

TARGETS = (
    Target("turns.turn", ("slipway_lite.turns.parse.parse_turn",), _turn, _turn_starts, longest=8192, weight=2),
    Target("turns.extract", _EXTRACT, _extract, _extract_starts, longest=1024, weight=2),
    Target("turns.line", ("slipway_lite.turns.parse.parse_line",), _line, _line_starts, longest=8192),
    Target(
        "turns.native",
        ("slipway_lite.turns.native.parse_native_verdict",),
        _native,
        lambda: [_verdict(words).encode() for words in ("MERGE-READY", "BLOCKED (2 blockers)", "BLOCKED (02 blocker)")],
    ),
    Target(
        "turns.repair",
        (
            "slipway_lite.turns.repair.repair_envelope",
            "slipway_lite.turns.envelope.validate_envelope",
            "slipway_lite.turns.outcome.validate_skill_outcome",
            "slipway_lite.turns.block.decode_block",
        ),
        _repair,
        _envelope_starts,
    ),
    Target(
        "turns.envelope",
        (
            "slipway_lite.turns.envelope.parse_envelope",
            "slipway_lite.turns.envelope.parse_envelope_v2_strict",
        ),
        _legacy,
        _block_starts,
    ),
    Target(
        "turns.sensor_output",
        (
            "slipway_lite.turns.conductor.parse_sensor_output",
            "slipway_lite.turns.conductor.decide_from_envelope",
        ),
        _sensed,
        lambda: [
            *_block_starts(),
            written(envelope()),
            written({**envelope(), "detail": {"urgent": {"issues": [{}]}}}),
        ],
    ),
    Target(
        "turns.decide",
        (
            "slipway_lite.turns.decide.decide_request",
            "slipway_lite.turns.decide.decide_workflow_action",
            "slipway_lite.turns.snapshot.validate_workflow_snapshot",
        ),
        _decide,
        _decide_starts,
        {"invalid_last_outcome": USAGE},
        longest=8192,
    ),
    Target(
        "turns.continuation",
        ("slipway_lite.turns.continuation.parse_continuation_argv",),
        _continuation,
        lambda: [b"/execute-phase 12-csv 'P 1' \"\"", b"a\xc2\xa0b '\"' \\ \x00"],
        longest=512,
    ),
    Target(
        "turns.documents",
        (
            "slipway_lite.turns.compiler.compile_workflow_snapshot",
            "slipway_lite.turns.phases.read_phases",
            "slipway_lite.turns.phases.read_receipts",
        ),
        _documents,
        _document_starts,
        weight=0.5,
    ),
    Target(
        "turns.repository_state",
        (
            "slipway_lite.turns.repository_state.read_repository_state",
            "slipway_lite.turns.status_forms.read_status",
            "slipway_lite.turns.status_forms.read_label",
        ),
        _state,
        _state_starts,
        {"invalid_repository_state": USAGE},
        weight=0.5,
    ),
)
