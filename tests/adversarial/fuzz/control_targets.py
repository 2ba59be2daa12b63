"""The decoders of the control plane: one target per request body, and every use case with what a body may hold."""

from __future__ import annotations

import json
from functools import cache, partial
from typing import Any

from jsonschema.protocols import Validator
from jsonschema.validators import Draft202012Validator

from slipway_lite.canon import encode
from slipway_lite.control import chunks, importing, instants, queries, refs
from slipway_lite.control.bodies import decode_body
from slipway_lite.control.messages_base import Message, WireSchema, validate
from slipway_lite.control.projections import TaskProjector
from slipway_lite.control.records import Records
from slipway_lite.control.refusals import HTTP_STATUS
from slipway_lite.http.routes import ROUTES, Route
from tests.adversarial.fuzz import plane
from tests.adversarial.fuzz.protocol_targets import written
from tests.adversarial.fuzz.target import RUNTIME, USAGE, Target
from tests.control.world import PATCH, REGRESSION, REPO, TIME, TYPED_REF, create_body, result_body

BODIES = tuple(route for route in ROUTES if route.body is not None)

_POLICY = {
    "update_strategy": "pull_request", "main_push_actor": "any", "require_ci_pass": True,
    "allowed_merge_methods": ["squash"], "protected_branches": ["main", "release/*"],
}  # fmt: skip
_REF = {"kind": "github_issue", "value": "7"}

STARTS: dict[str, tuple[dict[str, Any], ...]] = {
    "createTask": (
        create_body(),
        create_body(
            description="More.",
            risk_level="high",
            labels=["a"],
            publish_plan={"mode": "apply", "approval_required": True},
            repo_policy=_POLICY,
            external_refs=[_REF],
            repo_ref={**REPO, "base_sha": "aaaaaaa1"},
        ),
    ),
    "dispatchTask": ({"target_stage": "dev", "worker_selection": "codex"}, {"target_stage": "plan"}),
    "applyResult": (
        result_body(
            plane.JOB,
            typed_ref=plane.REF,
            patch_ref=PATCH,
            test_results=[REGRESSION],
            verdict={"outcome": "accept", "reason": "ok"},
        ),
        result_body(
            plane.JOB,
            typed_ref=plane.REF,
            status="failed",
            failure_class="retryable_transient",
            failure_code="timeout",
            artifacts=[],
        ),
        result_body(
            plane.JOB,
            typed_ref=plane.REF,
            requested_escalations=[{"kind": "network_access", "reason": "fetch", "approved": False}],
            branch_ref={"name": "work/1", "head_sha": "aaaaaaa1"},
            external_refs=[_REF],
            resolver_refs={"doc_refs": ["doc:a:b"], "stale_status": "stale"},
            raw_outputs=[{"channel": "stdout", "artifact_id": "art_log"}],
            metadata={"a": 1, "b": None},
            usage={"runtime_ms": 7, "litellm": {"model": "m", "cost_usd": 0.5}},
        ),
    ),
    "completeAcceptance": (
        {"checked_items": [{"id": "manual_check", "notes": "x"}], "verdict": {"outcome": "accept"}},
        {},
    ),
    "tickChecklist": ({"checked_items": [{"id": "manual_check", "checked_by": "me", "notes": "x"}]},),
    "recordTransition": (
        {
            "event_id": "evt-1",
            "task_id": plane.TASK,
            "from_state": "queued",
            "to_state": "cancelled",
            "actor_type": "human",
            "actor_id": "me",
            "reason": "by hand",
            "occurred_at": TIME,
        },
        {
            "event_id": "evt-2",
            "task_id": plane.TASK,
            "from_state": "developing",
            "to_state": "blocked",
            "actor_type": "policy_engine",
            "actor_id": "p",
            "reason": "r",
            "occurred_at": TIME,
            "metadata": {"waiting_on": "human", "resume_state": "developing"},
        },
    ),
    "integrateTask": (
        {"expected_state": "accepted", "expected_version": 6, "base_sha": "aaaaaaa1", "branch_ref": "work/1"},
        {"expected_state": "accepted", "base_sha": "aaaaaaa1", "patch_ref": PATCH},
    ),
    "completeIntegrate": ({"checks_passed": True, "integration_head_sha": "aaaaaaa1", "main_updated_sha": "bbbbbbb1"},),
    "publishTask": (
        {"mode": "apply", "idempotency_key": "k1", "approval_token": "t"},
        {"mode": "no_op", "idempotency_key": "k"},
    ),
    "issueApproval": ({},),
    "approvePublish": ({"approval_token": "t"}, {}),
    "completePublish": ({"external_refs": [_REF], "rollback_notes": "revert"}, {}),
    "cancelTask": ({"reason": "not wanted"}, {}),
    "buildContextBundle": ({"purpose": "review_prepare", "rebuild_level": "L2"}, {}),
    "heartbeatJob": ({"worker_id": "w", "stage": "plan", "progress": {"percent": 5}, "observed_at": TIME},),
    "acknowledgeEvidence": ({"reviewed_by": "me", "purpose": "audit"},),
    "resolveDocs": ({"feature": "csv", "topic": "t", "task_seed": "s"}, {}),
    "acknowledgeDocs": ({"task_id": plane.TASK, "doc_id": "doc:feature:csv", "version": "1"},),
    "checkStaleDocs": ({"doc_ids": ["doc:feature:csv"]}, {}),
    "linkTracker": ({"typed_ref": plane.REF, "connection_ref": "c", "entity_ref": "github_issue:7"},),
    "ingestDoc": (
        {
            "doc_type": "feature",
            "title": "CSV",
            "content": "# A\n\ntext\n## B\nmust not\n",
        },
    ),
    "generateRetrospective": ({},),
    "getChunks": (
        {"doc_id": "doc:feature:csv", "limit": 3, "heading": "A", "query": "text"},
        {"chunk_ids": ["chunk:doc:feature:csv:001"]},
    ),
    "resolveContracts": ({"feature": "csv"},),
}
"""Bodies to begin with, by the name of the route; each is accepted in some state of a task."""

REFUSALS = {code: USAGE if status in (400, 413) else RUNTIME for code, status in HTTP_STATUS.items() if status < 500}


def _starts(name: str) -> list[bytes]:
    return [written(body) for body in STARTS[name]]


@cache
def _validator(model: type[Message]) -> Validator:
    return Draft202012Validator(model.model_json_schema(schema_generator=WireSchema))


def _body(model: type[Message], raw: bytes) -> None:
    body = validate(model, decode_body(raw))
    assert decode_body(encode(body).encode()) == body
    assert _validator(model).is_valid(body), "the model takes what its schema refuses"


# -- use cases


def _use_case(raw: bytes) -> None:
    """The first two bytes choose an operation and the state of its task, the rest is the body."""
    first, second, rest = raw[:1], raw[1:2], raw[2:]
    route = BODIES[(first or b"\0")[0] % len(BODIES)]
    place = plane.place((second or b"\0")[0])
    body = place.filled(decode_body(rest))
    if not isinstance(body, dict):
        return
    if not route.is_write:
        _answered(route, json.loads(route.call(place.store, body)))
        return
    given = {"{task_id}": place.task_id, "{run_id}": place.task_id, "{job_id}": place.job_id}
    args: list[Any] = [value for name, value in given.items() if name in route.path]
    if "{evidence_id}" in route.path:
        args.append("art_log")
    with plane.undone(place.store) as tx:
        records = Records(tx, "instance")
        answer = route.call(records, place.settings, *args, body)
        _answered(route, answer)
        if place.task_id in args:
            queries.task(place.store, place.task_id)


def _answered(route: Route, answer: Any) -> None:
    validate(route.answer, json.loads(encode(answer).encode()), code="NO_VALID_ANSWER")


def _use_case_starts() -> list[bytes]:
    found = []
    for number, route in enumerate(BODIES):
        for body in STARTS[route.name]:
            found += [bytes([number, state]) + written(body) for state in plane.states_of(route.name)]
    return found


def _projection(raw: bytes) -> None:
    """One event a line."""
    lines = raw.decode("utf-8", "replace").split("\n")
    rows = [(number, number, f"{TIME[:19]}.{number:06}Z", "", line) for number, line in enumerate(lines, 1)]
    plane.projected(TaskProjector(), plane.Journal("task:t1", rows))


def _projection_starts() -> list[bytes]:
    found = []
    for place in plane.places():
        lines = [row[4].replace(place.task_id, "t1") for row in place.store.events(f"task:{place.task_id}")]
        found.append("\n".join(lines).encode())
    return found


# -- what else comes from outside


def _import(raw: bytes) -> None:
    answer = importing.import_audit(plane.Undone(plane.place(0).store), raw)  # type: ignore[arg-type]  # all it uses
    assert answer["imported"] == sum(1 for line in raw.split(b"\n") if line.strip())


def _import_starts() -> list[bytes]:
    event = {
        "event_id": "e1", "event_type": "task.created", "task_id": "task_1", "run_id": "r", "job_id": "j",
        "actor_type": "worker", "actor_id": "w", "payload": {"a": [1.5, None]},
        "occurred_at": "2026-01-01T00:00:00+09:00",
    }  # fmt: skip
    return [written(event) + b"\n" + written({**event, "event_id": "e2"}) + b"\n\n", written(event), b"{}\n"]


def _refs(raw: bytes) -> None:
    text = raw.decode("utf-8", "replace")
    if refs.is_typed_ref(text):
        assert text.count(":") >= 3 and len(text) <= refs.TYPED_REF_LIMIT and not set(text) & set("\n\r\u2028\u2029")
    kind, value = refs.entity(text)
    assert kind in (*refs.ENTITY_KINDS, "entity_link") and value in text
    assert refs.segment(refs.segment(text)) == refs.segment(text)
    assert refs.doc_id("feature", text).isascii()


def _instant(raw: bytes) -> None:
    text = raw.decode("utf-8", "replace")
    wire = instants.normalised(text)
    assert len(wire) == 24 and instants.normalised(wire) == wire
    assert instants.from_micros(wire.replace("Z", "000Z")) == wire
    instants.milliseconds(wire)


def _chunks(raw: bytes) -> None:
    text = raw.decode("utf-8", "replace")
    for part in chunks.split(text, 40):
        assert part.body
    for document in chunks.chunks("doc:a:b", "1", text):
        encode(document).encode()
    chunks.select(chunks.chunks("doc:a:b", "1", text), text[:3], text[3:6])


TARGETS = (
    *(
        Target(
            f"control.body.{route.name}",
            ("slipway_lite.control.bodies.decode_body", f"{route.body.__module__}.{route.body.__qualname__}"),
            partial(_body, route.body),
            partial(_starts, route.name),
            {"INVALID_REQUEST": USAGE, "BODY_TOO_LARGE": USAGE},
            weight=0.5,
        )
        for route in BODIES
        if route.body is not None
    ),
    Target(
        "control.use_cases",
        tuple(sorted({f"{route.call.__module__}.{route.call.__qualname__}" for route in BODIES})),
        _use_case,
        _use_case_starts,
        REFUSALS,
        weight=1.5,
    ),
    Target(
        "control.projection",
        ("slipway_lite.control.projections.TaskProjector",),
        _projection,
        _projection_starts,
        longest=30000,
        weight=0.5,
    ),
    Target(
        "control.import_audit",
        ("slipway_lite.control.importing.import_audit", "slipway_lite.control.importing.ImportedAuditEvent"),
        _import,
        _import_starts,
        {"INVALID_REQUEST": USAGE, "DUPLICATE_EVENT": RUNTIME},
        weight=0.5,
    ),
    Target(
        "control.refs",
        tuple(f"slipway_lite.control.refs.{name}" for name in ("is_typed_ref", "entity", "segment", "doc_id")),
        _refs,
        lambda: [TYPED_REF.encode(), b"github_issue:7", b"word", "a:b:c:\u2028".encode()],
        longest=600,
    ),
    Target(
        "control.instants",
        tuple(f"slipway_lite.control.instants.{name}" for name in ("parse", "normalised")),
        _instant,
        lambda: [TIME.encode(), b"2024-02-29t23:59:59.999999999+23:59", b"0001-01-01T00:00:00+00:01"],
        raises=(ValueError,),
        longest=64,
    ),
    Target(
        "control.chunks",
        ("slipway_lite.control.chunks.split", "slipway_lite.control.chunks.chunks"),
        _chunks,
        lambda: ["# A\n\ntext\n###### B \x0b C\n目\n".encode(), b"a" * 200 + b"\r\n#\tb\n\nMUST\n"],
    ),
)
