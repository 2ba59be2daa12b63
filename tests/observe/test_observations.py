"""Observations: what an audit event means, windows, cursors and pages (control-plane §6.1 to §6.3)."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slipway_lite.canon import encode
from slipway_lite.errors import SlipwayError, UsageError
from slipway_lite.observe import export, messages
from slipway_lite.observe.observations import KINDS, merged, page
from slipway_lite.observe.projection import ObservationProjector
from slipway_lite.store.connection import Store, open_store
from slipway_lite.store.projections import rebuild
from slipway_lite.store.reading import read_store
from slipway_lite.store.verify import verify
from tests.published import published

AT = "2026-07-01T00:00:00.000Z"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "file.db")) as opened:
        yield opened


def audit(
    store: Store, number: int, event_type: str, payload: dict[str, Any], at: str = AT, task_id: str | None = "task_1"
) -> None:
    with store.immediate() as tx:
        stream = f"task:{task_id}"
        tx.append(
            "audit_events", stream, tx.next_sequence("audit_events", stream), at, f"audit_{number:04}", event_type,
            task_id, None, None, "control_plane", "control_plane", at, encode(payload), None,
        )  # fmt: skip


def gate(store: Store, number: int, at: str = AT, **payload: Any) -> None:
    audit(store, number, "run.systemGateEvaluated", payload, at)


def only_gate(store: Store) -> dict[str, Any]:
    (found,) = merged(store)["gate_observations"]
    return dict(found)


# -- what an audit event means (§6.3)


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({"gate_id": "lint"}, {"gate_id": "lint"}),
        ({}, {"gate_id": "unknown", "owner": "unknown", "policy_revision": "unknown", "decision": "unknown",
              "effective_action": "unknown", "transition_changed": "unknown", "risk": "unknown",
              "override": "unknown"}),
        ({"gate_id": "", "gate_owner": "", "policy_revision": "", "risk": ""},
         {"gate_id": "unknown", "owner": "unknown", "policy_revision": "unknown", "risk": "unknown"}),
        ({"gate_id": 7, "gate_owner": {}, "risk": None}, {"gate_id": "unknown", "owner": "unknown", "risk": "unknown"}),
        ({"gate_owner": "ops", "policy_revision": "2"}, {"owner": "ops", "policy_revision": "2"}),
        ({"decision": "hold", "gatefield": {"verdict": "pass"}}, {"decision": "hold"}),
        ({"gatefield": {"verdict": "warn"}}, {"decision": "warn"}),
        ({"decision": "", "gatefield": {"verdict": "block"}}, {"decision": "block"}),
        ({"decision": "maybe", "gatefield": {"verdict": "pass"}}, {"decision": "unknown"}),
        ({"effective_action": "continue"}, {"effective_action": "continue"}),
        ({"effective_action": "shrug"}, {"effective_action": "unknown"}),
        ({"transition_changed": True}, {"transition_changed": True}),
        ({"transition_changed": False}, {"transition_changed": False}),
        ({"transition_changed": "true"}, {"transition_changed": "unknown"}),
        ({"transition_changed": 1}, {"transition_changed": "unknown"}),
        ({"override": "applied"}, {"override": "applied"}),
        ({"override": "none"}, {"override": "none"}),
        ({"override": {"applied": True}}, {"override": "applied"}),
        ({"override": {"applied": False}}, {"override": "none"}),
        ({"override": {"applied": "yes"}}, {"override": "unknown"}),
        ({"override": True}, {"override": "unknown"}),
    ],
)  # fmt: skip
def test_a_gate_evaluation_is_normalised(store: Store, payload: dict[str, Any], expected: dict[str, Any]) -> None:
    gate(store, 1, **payload)
    found = only_gate(store)
    assert found | expected == found
    assert (found["observation_id"], found["source_event_id"]) == ("gate:audit_0001", "audit_0001")
    assert (found["task_id"], found["run_id"], found["occurred_at"]) == ("task_1", "task_1", AT)
    messages.check(messages.ImprovementObservationBundle, merged(store), "invalid")


@pytest.mark.parametrize("event_type", ["run.systemPacketPrepared", "retry_triggered", "run.started"])
def test_other_events_are_no_observations(store: Store, event_type: str) -> None:
    audit(store, 1, event_type, {"gate_id": "g", "evidence_id": "e", "reviewed_by": "r"})
    assert all(merged(store)[kind.member] == [] for kind in KINDS)


@pytest.mark.parametrize(
    "payload",
    [{"evidence_id": "", "reviewed_by": "r"}, {"evidence_id": "e", "reviewed_by": ""}, {"evidence_id": "e"},
     {"reviewed_by": "r"}, {"evidence_id": 1, "reviewed_by": "r"}],
)  # fmt: skip
def test_an_acknowledgement_needs_evidence_and_a_reviewer(store: Store, payload: dict[str, Any]) -> None:
    audit(store, 1, "evidence.acknowledged", payload)
    assert merged(store)["evidence_consumption_observations"] == []


def test_evidence_is_generated_and_then_acknowledged_under_its_type(store: Store) -> None:
    audit(store, 1, "evidence.generated", {"evidence_id": "e", "evidence_type": "trace"})
    audit(store, 2, "evidence.acknowledged", {"evidence_id": "e", "reviewed_by": "r", "purpose": "p"})
    audit(store, 3, "evidence.acknowledged", {"evidence_id": "other", "reviewed_by": "r"})
    audit(store, 4, "evidence.acknowledged", {"evidence_id": "e", "reviewed_by": "r"}, task_id="task_2")
    generated, *acknowledged = merged(store)["evidence_consumption_observations"]
    assert generated == {
        "observation_id": "evidence:audit_0001", "task_id": "task_1", "evidence_id": "e", "evidence_type": "trace",
        "occurred_at": AT, "disposition": "generated", "source_event_id": "audit_0001",
    }  # fmt: skip
    assert [item["evidence_type"] for item in acknowledged] == ["trace", "unknown", "unknown"]
    assert (acknowledged[0]["reviewed_by"], acknowledged[0]["purpose"]) == ("r", "p")


def test_a_retrospective_becomes_a_reflection_without_its_narrative(store: Store) -> None:
    document = {"narrative": "SECRET", "summary_metrics": {
        "job_count": 3, "job_success_count": 1, "job_failure_count": 2, "job_blocked_count": 0, "retry_count": 1,
        "checkpoint_count": 4, "risk_level": "high", "token_count": 999,
    }}  # fmt: skip
    with store.immediate() as tx:
        tx.append("retrospectives", "task:task_1", 1, AT, "retro_task_1_gen1", "task_1", 1, AT, encode(document))
    (found,) = merged(store)["reflection_summaries"]
    assert found == {
        "session_id": "shipyard-retrospective:retro_task_1_gen1", "task_id": "task_1",
        "objective": "Runtime retrospective for task task_1",
        "changes": [{"summary": "Jobs: 3 total, 1 successful, 2 failed, 0 blocked."}],
        "lessons": [{"observation": "Risk level high, 1 retries, 4 checkpoints.", "category": "process",
                     "actionable": True}],
        "open_questions": [], "next_actions": [], "sources": [{"type": "task", "ref": "task_1"}], "created_at": AT,
        "schema_version": "self-improvement/v1",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["gate_id", "gate_owner", "policy_revision", "risk"])
def test_a_name_that_looks_like_a_secret_is_redacted(store: Store, name: str) -> None:
    gate(store, 1, **{name: "ghp_q7Zp2LmX9vKc4RtB8nWs"})
    assert "q7Zp2" not in json.dumps(merged(store))


# -- the catalogue


def test_the_catalogue_names_the_gates_of_the_page_and_always_run_system(store: Store) -> None:
    assert [entry["gate_id"] for entry in page(store)["gate_catalog"]] == ["run-system"]
    gate(store, 1, gate_id="z", gate_owner="o", policy_revision="1")
    gate(store, 2, "2026-07-02T00:00:00.000Z", gate_id="hard-safety:x", gate_owner="o", policy_revision="1")
    gate(store, 3, "2026-07-02T00:00:00.000Z", gate_id="z", gate_owner="o", policy_revision="1")
    assert [(entry["gate_id"], entry["hard_safety"]) for entry in merged(store)["gate_catalog"]] == [
        ("hard-safety:x", True), ("run-system", False), ("z", False),
    ]  # fmt: skip
    assert [entry["gate_id"] for entry in page(store, limit=1)["gate_catalog"]] == ["run-system", "z"]


# -- windows and cursors


def test_both_ends_of_the_window_belong_to_it(store: Store) -> None:
    for number, second in enumerate(("00", "01", "02", "03")):
        gate(store, number, f"2026-07-01T00:00:{second}.000Z")
    found = page(store, since="2026-07-01T09:00:01+09:00", until="2026-07-01T00:00:02Z")
    assert [item["source_event_id"] for item in found["gate_observations"]] == ["audit_0001", "audit_0002"]
    assert (found["since"], found["until"]) == ("2026-07-01T09:00:01+09:00", "2026-07-01T00:00:02Z")


@pytest.mark.parametrize(("since", "expected"), [("00:00.001", 0), ("00:00.0001", 0), ("00:00.000", 1)])
def test_a_window_is_compared_as_instants(store: Store, since: str, expected: int) -> None:
    gate(store, 1)
    assert len(page(store, since=f"2026-07-01T00:{since}Z")["gate_observations"]) == expected


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"since": "yesterday"}, "invalid_window"),
        ({"until": "2026-07-01"}, "invalid_window"),
        ({"until": "2026-07-01T00:00:00"}, "invalid_window"),
        ({"since": "9999-12-31T23:59:59.9999Z"}, "invalid_window"),
        ({"since": "2026-07-02T00:00:00Z", "until": "2026-07-01T00:00:00Z"}, "invalid_window"),
        ({"limit": 0}, "invalid_limit"),
        ({"limit": 501}, "invalid_limit"),
        ({"cursor": "gate:nobody"}, "invalid_cursor"),
        ({"cursor": "nobody"}, "invalid_cursor"),
        ({"cursor": "gate:audit_0001", "since": "2026-07-02T00:00:00Z"}, "invalid_cursor"),
        ({"cursor": "evidence:audit_0001"}, "invalid_cursor"),
    ],
)
def test_a_wrong_request_is_refused_by_its_code(store: Store, options: dict[str, Any], code: str) -> None:
    gate(store, 1)
    with pytest.raises(UsageError) as refused:
        page(store, **options)
    assert refused.value.code == code


def test_a_window_of_one_instant_is_allowed(store: Store) -> None:
    gate(store, 1)
    assert len(page(store, since=AT, until=AT)["gate_observations"]) == 1


def test_the_last_page_has_no_next_cursor(store: Store) -> None:
    for number in range(3):
        gate(store, number)
    first = page(store, limit=2)
    assert first["next_cursor"] == "gate:audit_0001"
    assert "next_cursor" not in page(store, limit=1, cursor=first["next_cursor"])
    assert "next_cursor" not in page(store, limit=3)


ITEMS = st.lists(
    st.tuples(
        st.sampled_from(["run.systemGateEvaluated", "evidence.generated", "evidence.acknowledged", "retry_triggered"]),
        st.integers(0, 4),
    ),
    max_size=25,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ITEMS, st.integers(1, 7), st.integers(0, 4), st.integers(0, 4))
def test_pages_put_together_are_the_whole_window_in_order(
    tmp_path_factory: pytest.TempPathFactory, events: list[tuple[str, int]], limit: int, first: int, last: int
) -> None:
    since, until = (f"2026-07-01T00:00:0{second}Z" for second in sorted((first, last)))
    with open_store(str(tmp_path_factory.mktemp("paging") / "file.db")) as store:
        for number, (event_type, second) in enumerate(events):
            payload = {"evidence_id": "e", "reviewed_by": "r"}
            audit(store, number, event_type, payload, f"2026-07-01T00:00:0{second}.000Z")
        expected = sorted(
            (second, f"{'gate' if 'Gate' in name else 'evidence'}:audit_{number:04}")
            for number, (name, second) in enumerate(events)
            if name != "retry_triggered" and min(first, last) <= second <= max(first, last)
        )
        found: list[str] = []
        cursor = None
        while True:
            bundle = page(store, since, until, cursor, limit)
            items = [*bundle["gate_observations"], *bundle["evidence_consumption_observations"]]
            assert len(items) <= limit
            found += [
                item["observation_id"]
                for item in sorted(items, key=lambda item: (item["occurred_at"], item["observation_id"]))
            ]
            cursor = bundle.get("next_cursor")
            if cursor is None:
                break
            assert cursor == found[-1]
        assert found == [name for _, name in expected]


# -- projections


def test_triggers_and_rebuild_give_the_same_rows(demo: Path, tmp_path: Path) -> None:
    path = tmp_path / "file.db"
    path.write_bytes(demo.read_bytes())
    with open_store(str(path)) as store:
        before = {kind.table: store.rows(f"select * from {kind.table} order by 1, 2") for kind in KINDS}
        assert all(before.values())
        assert verify(store, [ObservationProjector()])["problems"] == []
        assert rebuild(store, [ObservationProjector()]) == []
        assert before == {kind.table: store.rows(f"select * from {kind.table} order by 1, 2") for kind in KINDS}
        with store.immediate() as tx:
            tx.execute("update gate_observations set decision = 'unknown' where decision = 'block'")
        assert verify(store, [ObservationProjector()])["problems"]


# -- exports


@pytest.fixture
def whole(demo: Path) -> dict[str, Any]:
    return read_store(str(demo), merged)


def exported(demo: Path, form: str, **options: Any) -> bytes:
    out = io.BytesIO()
    read_store(str(demo), lambda store: export.write(store, export.Request(**options), form, out))
    return out.getvalue()


def test_a_whole_export_is_a_valid_bundle(demo: Path, whole: dict[str, Any]) -> None:
    schema = published("oracles", "workflow-cookbook", "improvement-observation-bundle.schema.json")
    document = json.loads(exported(demo, "json", whole=True))
    jsonschema.Draft202012Validator(json.loads(schema.read_text("utf-8"))).validate(document)
    assert document | {"generated_at": whole["generated_at"]} == whole
    assert all(document[kind.member] for kind in KINDS)


def test_a_page_is_a_valid_bundle(demo: Path) -> None:
    document = json.loads(exported(demo, "json", limit=500))
    messages.check(messages.ImprovementObservationBundle, document, "invalid")
    assert sum(len(document[kind.member]) for kind in KINDS) == 500 or "next_cursor" not in document


def test_every_line_of_ndjson_is_a_document_of_its_schema(demo: Path, whole: dict[str, Any]) -> None:
    lines = [json.loads(line) for line in exported(demo, "ndjson", whole=True).splitlines()]
    for kind in KINDS:
        documents = [line["document"] for line in lines if line["schema"] == kind.schema]
        assert documents == whole[kind.member]


def test_csv_and_parquet_hold_the_same_rows(demo: Path, whole: dict[str, Any]) -> None:
    import csv

    import pyarrow.parquet  # type: ignore[import-untyped]  # pyarrow has no types

    rows = list(csv.DictReader(io.StringIO(exported(demo, "csv", whole=True).decode())))
    table = pyarrow.parquet.read_table(io.BytesIO(exported(demo, "parquet", whole=True))).to_pylist()
    assert [row["observation_id"] for row in rows] == [row["observation_id"] for row in table]
    assert len(rows) == sum(len(whole[kind.member]) for kind in KINDS)
    assert {row["job_count"] for row in table if row["kind"] == "reflection"} <= set(range(100))


@pytest.mark.parametrize("value", ["=1+1", "+1", "-1", "@SUM(A1)", "=HYPERLINK(A1)", "＝1", "＋1", "－1", "＠A1"])
def test_no_cell_of_a_csv_is_a_formula_and_json_is_exact(tmp_path: Path, value: str) -> None:
    path = tmp_path / "file.db"
    with open_store(str(path)) as store:
        audit(store, 1, "evidence.acknowledged", {"evidence_id": "e", "reviewed_by": value})
    assert f",'{value},".encode() in exported(path, "csv", whole=True)
    for form in ("json", "ndjson"):
        assert f'"reviewed_by":"{value}"'.encode() in exported(path, form, whole=True)


@pytest.mark.parametrize("start", ["\t", "\r", "\n"])
def test_no_cell_that_starts_with_white_space_hides_a_formula(start: str) -> None:
    assert export._cell(f"{start}=1") == f"'{start}=1"
    assert (export._cell(-1), export._cell("a=1"), export._cell(None)) == (-1, "a=1", None)


def test_parquet_without_pyarrow_is_refused(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SlipwayError) as refused:
        exported(demo, "parquet", whole=True)
    assert refused.value.code == "pyarrow_required"
