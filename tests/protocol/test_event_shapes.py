"""An event that somebody else chained is refused by its shape before anything is folded."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.canon import encode
from slipway_lite.protocol import fold, replay
from slipway_lite.protocol.event_shapes import EVENT_SHAPES, fits
from slipway_lite.protocol.fold_source import SOURCE_EVENTS
from tests.machine_host import database, invoke, repository, whole_run
from tests.protocol.model import RUN_ID, Model
from tests.store.tampering import recompute, tampered


def whole() -> Model:
    model = Model()
    model.submit("needs_input")
    model.answer("Say \\udead or \\u2028, as you like.")
    model.to_implement().submit()
    return model.to_end()


EVENTS = whole().events


def replayed_with(number: int, change: Any) -> None:
    """Replay with the data of event ``number`` (from 0) changed; text replaces it as it stands."""
    rows = copy.deepcopy(EVENTS)
    seq, sequence, at, kind, raw, *rest = rows[number]
    if not isinstance(change, str):
        data = json.loads(raw)
        change(data)
        change = encode(data)
    rows[number] = (seq, sequence, at, kind, change, *rest)  # type: ignore[assignment]  # as long as it was
    replay.replay(RUN_ID, rows)


def test_every_kind_of_event_has_a_shape() -> None:
    assert EVENT_SHAPES.keys() == {"run_started", *fold.EVENTS, *SOURCE_EVENTS}


def test_what_a_run_writes_fits() -> None:
    assert all(fits(json.loads(row[4]), EVENT_SHAPES[row[3]]) for row in EVENTS)
    replay.replay(RUN_ID, EVENTS)


def git_of(data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = data["initial_git"]
    return found


@pytest.mark.parametrize(
    "change",
    [
        lambda data: git_of(data).pop("index_fingerprint"),
        lambda data: git_of(data).update(path_count="1"),
        lambda data: git_of(data).update(content_bytes_hashed=2**63),
        lambda data: git_of(data).update(content_bytes_hashed=True),
        lambda data: git_of(data).update(dirty_files=[1]),
        lambda data: git_of(data).update(path_observations=[{"path": "a"}]),
        lambda data: data["workspace_identity"].pop("git_dir"),
        lambda data: data.update(review_enabled="yes"),
        lambda data: data.update(initial_budget=1.5),
        lambda data: data.update(pinned_source={"sections": []}),
        lambda data: data.update(extra=0),
    ],
)
def test_a_start_of_another_shape_is_unreplayable(change: Any) -> None:
    with pytest.raises(replay.Unreplayable) as refused:
        replayed_with(0, change)
    assert refused.value.sequence == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.pop("outcome_payload_sha256"),
        lambda data: data["outcome"].pop("review"),
        lambda data: data["outcome"].update(observations=None),
        lambda data: data["outcome"]["pause"].update(question=7),
        lambda data: data["git"].update(unchanged="true"),
        "[" * 100_000,
        '{"action_id":NaN}',
        "{}",
        "[]",
    ],
)
def test_a_later_event_of_another_shape_is_unreplayable(change: Any) -> None:
    with pytest.raises(replay.Unreplayable) as refused:
        replayed_with(1, change)
    assert refused.value.sequence == 2


def test_half_a_character_in_an_event_is_unreplayable() -> None:
    with pytest.raises(replay.Unreplayable):
        replayed_with(0, EVENTS[0][4].replace('"Ship it"', '"Ship \\ud800"'))


def test_verify_and_rebuild_name_a_correctly_chained_event_of_another_shape(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo")
    whole_run(root)
    path = database(root)
    tampered(
        path,
        "update journal_events set data = json_remove(data, '$.initial_git.status_fingerprint') where sequence = 1",
    )
    recompute(path)
    reply = invoke("db", "verify", "--root", str(root))
    assert (reply.status, json.loads(reply.err)["code"]) == (3, "database_not_verified")
    reply = invoke("db", "rebuild", "--root", str(root))
    assert (reply.status, json.loads(reply.err)["code"]) == (3, "journal_unreplayable")
    reply = invoke("status", "--json", "--root", str(root))
    assert reply.status == 0 and len(json.loads(reply.out)["unavailable_runs"]) == 1
