"""The decoders of the machine protocol: Outcomes, sources, texts, git output, journals."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import Any

from slipway_lite import canon
from slipway_lite.errors import SlipwayError
from slipway_lite.protocol import inputs, observation, replay
from slipway_lite.protocol.documents import protocol_state, run_status
from slipway_lite.protocol.git import GitError
from slipway_lite.protocol.outcome import decode_outcome
from slipway_lite.protocol.projection import touched_rows
from slipway_lite.protocol.rules import validate
from slipway_lite.protocol.source import digests, refresh
from slipway_lite.protocol.source.body import manifest_text
from slipway_lite.protocol.source.classify import classify
from slipway_lite.protocol.source.codes import InvalidChange
from slipway_lite.protocol.source.envelope import decode_envelope, is_timestamp, issue_number_of
from slipway_lite.protocol.source.manifest import decode_manifest
from slipway_lite.protocol.source.scan import second_marker
from slipway_lite.text import normalize_newlines
from tests.adversarial.fuzz import plane
from tests.adversarial.fuzz.target import RUNTIME, USAGE, Target
from tests.protocol import outcomes
from tests.protocol.model import DIRTY, RUN_ID, Model
from tests.protocol.source import plain_scan
from tests.protocol.source.change import Change

LIMIT = 1 << 20
KINDS = ("orient", "clarify", "implement", "review", "summarize")


def written(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()


# -- strict JSON


def _canon(raw: bytes) -> None:
    value = canon.decode(raw, LIMIT)
    again = canon.decode(canon.encode(value).encode(), LIMIT)
    assert again == value
    assert canon.decode(canon.encode_canonical(value).encode(), LIMIT) == value


def _canon_starts() -> list[bytes]:
    return [
        b'{"a":[1,-2,null,true,"\\u00e9\\n"],"b":{"c":""}}',
        b" [0, 9223372036854775807, 1.5e3, 12345678901234567890] \r\n",
        b'"\\ud83d\\ude00 \\ud800"',
        b'{"a":1,"\\u0061":2}',
        b"[" * 120 + b"]" * 120,
    ]


# -- Outcomes


@cache
def _events(kind: str) -> tuple[Any, ...]:
    """The journal of a Run whose current Action is of ``kind``."""
    model = Model()
    if kind in ("clarify", "implement"):
        model.submit(suggested_actions=[{"kind": kind, "brief": "Go on."}])
    elif kind == "review":
        model.to_implement().git = DIRTY
        model.submit()
    elif kind == "summarize":
        model.submit()
    assert model.current.kind == kind
    return tuple(model.events)


def _model(kind: str) -> Model:
    model = Model()
    model.events = list(_events(kind))
    model.run = model.replayed()
    model.drawn = len(model.run.records)
    return model


def _outcome(raw: bytes) -> None:
    outcome = decode_outcome(raw)
    assert decode_outcome(canon.encode(outcome).encode()) == outcome
    kind = outcome["action_kind"]
    model = _model(kind if kind in KINDS else "orient")
    outcome["action_id"] = model.current.action_id
    validate(outcome, model.current.action_id, model.current.kind)
    model.submit_document(outcome)
    assert model.status() == json.loads(canon.encode(run_status(model.replayed())))
    canon.encode(protocol_state(model.run)).encode()


def _outcome_starts() -> list[bytes]:
    documents = [
        outcomes.outcome("orient", suggested_actions=[outcomes.suggestion()]),
        outcomes.outcome("orient", "needs_input"),
        outcomes.outcome("clarify", "error"),
        outcomes.outcome("implement", implementation=outcomes.implementation(activities=[outcomes.activity()])),
        outcomes.outcome("implement", "partial"),
        outcomes.outcome("implement", "needs_input", pause=outcomes.destructive()),
        outcomes.outcome("review", review=outcomes.review("findings_reported", 2)),
        outcomes.outcome("summarize"),
        outcomes.outcome("orient", contract_version=1),
    ]
    return [written(document) for document in documents]


# -- sources


def _envelope(raw: bytes) -> None:
    envelope = decode_envelope(raw)
    again = {name: value for name, value in envelope.items() if value is not None}
    assert decode_envelope(canon.encode(again).encode()) == envelope
    classification, materials = classify(copy.deepcopy(envelope))
    assert classify(copy.deepcopy(envelope)) == (classification, materials)
    canon.encode(classification).encode()
    for digest, text in materials:
        assert digests.material(text) == digest
    decision = refresh.refresh(_pinned(), [], copy.deepcopy(classification))
    if decision.get("operation") == "source_candidate_created":
        for choice in ("pinned", "adopt"):
            candidate = {"candidate_id": "cand-1", **decision["classification"]}
            canon.encode(refresh.choose(_pinned(), candidate, choice)).encode()


def _pinned() -> dict[str, Any]:
    return {**copy.deepcopy(_snapshot()), "url_aliases": []}


@cache
def _snapshot() -> dict[str, Any]:
    return Change().snapshot()


def _envelope_starts() -> list[bytes]:
    amended = Change().amend(1, "Something else.\n", _snapshot()["requirements_revision"])
    changes = [Change(), amended, Change(), Change(), Change()]
    changes[2].body = "Only prose."
    changes[3].envelope = {"parent": None}
    changes[4].after = "```\n<!-- slipway-level: change/v2 -->\n```\n> - text\n"
    return [change.raw() for change in changes]


def _body(raw: bytes) -> None:
    text = normalize_newlines(raw.decode("utf-8", "replace"))
    found = second_marker(text)
    assert found == plain_scan.second_marker(text), "the fast scan and the plain one disagree"
    decode_manifest(manifest_text(text))


def _body_starts() -> list[bytes]:
    level, manifest = "<!-- slipway-level: change/v2 -->", "```slipway-manifest"
    texts = [
        Change().issue_body(),
        f"text\n{level}\n",
        f"```\n{level}\n```\n",
        f"> - a\n\n>   ```\n> {level}",
        f"- > ~~~ x\n  > {level}\n1) {manifest}\n",
        f"text\n2. ```\n   {level}\n* * *\n10)   ```\n      {level}\n",
        f"{level}\n\n{manifest}\n{{}}\n```\n{level}\n",
    ]
    return [text.encode() for text in texts]


def _fields(raw: bytes) -> None:
    text = raw.decode("utf-8", "replace")
    if is_timestamp(text):
        assert text.isprintable()
    number = issue_number_of(text)
    assert number == "" or (number.isascii() and number.isdigit() and text.endswith(number))


def _field_starts() -> list[bytes]:
    return [
        b"2026-07-12T09:00:00Z", b"2024-02-29T9:00:00,5+24:00", b"2026-12-31T23:59:59.999999999-00:60",
        b"https://github.com/acme/ship/issues/7", b"https://github.com/a-b/c.d/issues/007",
    ]  # fmt: skip


# -- texts and options


def _goal(raw: bytes) -> None:
    goal = inputs.goal_text(raw)
    assert goal.encode() == raw
    canon.encode(goal).encode()


def _answer(raw: bytes) -> None:
    text = inputs.answer_text(raw)
    assert text.encode() == raw
    model = _asking()
    try:
        model.answer(text)
    except SlipwayError as error:
        assert error.exit_code == RUNTIME, "an answer that was read is refused by the state of the Run"
        return
    assert json.loads(canon.encode(run_status(model.replayed()))) == model.status()


def _asking() -> Model:
    model = _model("orient")
    model.submit("needs_input")
    return model


def _option(raw: bytes) -> None:
    text = raw.decode("utf-8", "replace")
    words = text.split("\n")
    for check in (
        lambda: inputs.check_run_id(text),
        lambda: inputs.check_section(text),
        lambda: inputs.check_confirmation_pair(len(words) > 1, words[0]),
        lambda: inputs.check_budget(len(raw) - 2),
        lambda: inputs.check_source_options(
            len(raw) % 2 == 1, len(raw) % 3 == 1, words[0] or None, words[1] if len(words) > 1 else None
        ),
    ):
        try:
            check()
        except SlipwayError as error:
            assert OPTION_REFUSALS[error.code] == error.exit_code


OPTION_REFUSALS = {
    "invalid_run_id": USAGE,
    "material_section_invalid": RUNTIME,
    "destructive_confirmation_pair_required": USAGE,
    "invalid_budget": USAGE,
    "source_choice_requires_candidate": USAGE,
    "invalid_source_choice": USAGE,
    "source_mode_conflict": USAGE,
}


# -- what git prints


def _status(raw: bytes) -> None:
    found = observation.parse_status(raw)
    for path, (category, state) in found.items():
        assert path and not path.startswith("/") and ".." not in path.split("/")
        canon.encode([path, category, state]).encode()
    document = observation.observation("/nonexistent", "0" * 40, raw, raw)
    canon.encode(document).encode()
    assert document["path_count"] == len(found)


def _status_starts() -> list[bytes]:
    ordinary = b"1 .M N... 100644 100644 100644 " + b"0" * 40 + b" " + b"1" * 40 + b" src/a b.py"
    renamed = b"2 R. N... 100644 100644 100644 " + b"0" * 40 + b" " + b"1" * 40 + b" R100 new.py\0old.py"
    unmerged = b"u UU N... 100644 100644 100644 100644 " + b" ".join([b"0" * 40] * 3) + b" both.py"
    return [
        b"\0".join([ordinary, renamed, unmerged, b"? new/", b"! ignored", b""]),
        b"2 C. N... 1 1 1 0 0 C75 copy\0from\0? ../x\0",
        b"? caf\xc3\xa9\0? \xff\0",
        b"",
    ]


# -- journals


def rows(raw: bytes) -> list[Any]:
    """Event rows from lines of ``type``, ``at`` and data, separated by a tab."""
    found = []
    for number, line in enumerate(raw.decode("utf-8", "replace").split("\n"), 1):
        kind, _, rest = line.partition("\t")
        at, _, data = rest.partition("\t")
        found.append((number, number, at, kind, data, "", "", ""))
    return found


def _projection(raw: bytes) -> None:
    plane.projected(replay.RunProjector(), plane.Journal(f"run:{RUN_ID}", rows(raw)))


def _journal(raw: bytes) -> None:
    for run in replay.steps(RUN_ID, rows(raw)):
        for _, row in touched_rows(run):
            assert all(value is None or isinstance(value, int | str) for value in row)
    canon.encode(run_status(run)).encode()
    canon.encode(protocol_state(run)).encode()


def _journal_starts() -> list[bytes]:
    models = [Model(), Model(review=False), Model(), Model(source=_pinned()), Model(budget=1)]
    models[0].submit(suggested_actions=[outcomes.suggestion()])
    models[0].to_end()
    models[1].to_destructive()
    models[1].answer(None, True, models[1].run.pending_request["scope_sha256"])  # type: ignore[index]  # just asked
    models[2].submit("needs_input")
    models[2].answer("The first one.")
    models[2].skip()
    models[3].submit()
    models[3].stop()
    models[4].submit()
    models[4].resume(3)
    return ["\n".join("\t".join((row[3], row[2], row[4])) for row in model.events).encode() for model in models]


TARGETS = (
    Target(
        "canon.decode", ("slipway_lite.canon.decode",), _canon, _canon_starts, {"invalid_document": USAGE}, weight=2
    ),
    Target(
        "protocol.outcome",
        ("slipway_lite.protocol.outcome.decode_outcome", "slipway_lite.protocol.rules.validate"),
        _outcome,
        _outcome_starts,
        {
            "contract_version_mismatch": RUNTIME,
            "action_too_large": RUNTIME,
            "next_action_too_large": RUNTIME,
            "invalid_outcome": (USAGE, RUNTIME),  # stage 1 and stage 2 (machine-protocol §3)
        },
        longest=8192,
        weight=2,
    ),
    Target(
        "protocol.envelope",
        (
            "slipway_lite.protocol.source.envelope.decode_envelope",
            "slipway_lite.protocol.source.classify.classify",
            "slipway_lite.protocol.source.refresh.refresh",
            "slipway_lite.protocol.source.refresh.choose",
        ),
        _envelope,
        _envelope_starts,
        {"invalid_source": USAGE},
        longest=16384,
        weight=2,
    ),
    Target(
        "protocol.change_body",
        (
            "slipway_lite.protocol.source.body.manifest_text",
            "slipway_lite.protocol.source.manifest.decode_manifest",
            "slipway_lite.protocol.source.scan.second_marker",
        ),
        _body,
        _body_starts,
        raises=(InvalidChange,),
        weight=3,
    ),
    Target(
        "protocol.source_fields",
        (
            "slipway_lite.protocol.source.envelope.is_timestamp",
            "slipway_lite.protocol.source.envelope.issue_number_of",
        ),
        _fields,
        _field_starts,
        longest=256,
    ),
    Target(
        "protocol.goal",
        ("slipway_lite.protocol.inputs.goal_text",),
        _goal,
        lambda: [b"Make it better.\n", "目標\t\u2028".encode(), b"\x1b[31mred"],
        {"action_too_large": USAGE, "invalid_goal": USAGE, "goal_required": USAGE},
    ),
    Target(
        "protocol.answer",
        ("slipway_lite.protocol.inputs.answer_text",),
        _answer,
        lambda: [b"The second one.\n", b"", b"\x00\x1b", "はい".encode()],
        {"answer_too_large": USAGE, "invalid_answer": USAGE},
        weight=0.5,
    ),
    Target(
        "protocol.options",
        tuple(
            f"slipway_lite.protocol.inputs.{name}"
            for name in (
                "check_run_id",
                "check_section",
                "check_budget",
                "check_source_options",
                "check_confirmation_pair",
            )
        ),
        _option,
        lambda: [b"run-1", b"adopt\ncand-1", b"pinned\n", b"section.key_1", b"x\n"],
        longest=256,
    ),
    Target(
        "protocol.git_status",
        ("slipway_lite.protocol.observation.parse_status",),
        _status,
        _status_starts,
        raises=(GitError,),
        weight=2,
    ),
    Target(
        "protocol.replay",
        ("slipway_lite.protocol.replay.steps",),
        _journal,
        _journal_starts,
        raises=(replay.Unreplayable,),
        longest=20000,
        weight=2,
    ),
    Target(
        "protocol.projection",
        ("slipway_lite.protocol.replay.RunProjector",),
        _projection,
        _journal_starts,
        longest=20000,
        weight=0.5,
    ),
)
