from __future__ import annotations

import json
from typing import Any

import pytest

from slipway_lite.control.importing import import_audit
from slipway_lite.control.refusals import Refused
from tests.control.world import World


def event(number: int, **members: Any) -> dict[str, Any]:
    return {
        "event_id": f"audit_{number}",
        "event_type": "run.systemGateEvaluated",
        "task_id": "task_theirs",
        "payload": {"gatefield": {"verdict": "hold"}},
        "occurred_at": "2025-05-01T09:00:00+09:00",
    } | members


def jsonl(*events: dict[str, Any]) -> bytes:
    return "".join(json.dumps(item) + "\n" for item in events).encode()


def test_every_line_becomes_an_audit_event_with_its_provenance(world: World) -> None:
    done = import_audit(world.plane.store, jsonl(event(1), event(2, actor_type="system", extra=1, job_id="j")))
    assert done["imported"] == 2
    rows = world.plane.store.rows(
        "select event_id, stream, sequence, actor_type, job_id, occurred_at, provenance from audit_events"
    )
    assert rows == [
        ("audit_1", "task:task_theirs", 1, "control_plane", None, "2025-05-01T00:00:00.000Z", done["provenance"]),
        ("audit_2", "task:task_theirs", 2, "system", "j", "2025-05-01T00:00:00.000Z", done["provenance"]),
    ]


@pytest.mark.parametrize(
    ("second", "code"),
    [
        (event(1), "DUPLICATE_EVENT"),
        (event(2, occurred_at="yesterday"), "INVALID_REQUEST"),
        (event(2, event_type=""), "INVALID_REQUEST"),
        (event(2, payload=[]), "INVALID_REQUEST"),
    ],
)
def test_one_bad_line_keeps_everything_out_and_is_named(world: World, second: dict[str, Any], code: str) -> None:
    with pytest.raises(Refused) as refused:
        import_audit(world.plane.store, jsonl(event(1)) + b"\n" + jsonl(second))
    assert refused.value.code == code
    assert refused.value.details is not None
    assert refused.value.details["line"] == 3
    assert world.plane.store.rows("select * from audit_events") == []


def test_a_second_import_of_the_same_file_is_refused(world: World) -> None:
    raw = jsonl(event(1))
    import_audit(world.plane.store, raw)
    with pytest.raises(Refused) as refused:
        import_audit(world.plane.store, raw)
    assert refused.value.code == "DUPLICATE_EVENT"


def test_what_is_no_json_is_refused(world: World) -> None:
    with pytest.raises(Refused) as refused:
        import_audit(world.plane.store, b"{nope")
    assert refused.value.code == "INVALID_REQUEST"
