"""The audit trail: filters, pages by key, one event in full."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slipway_lite.errors import SlipwayError, UsageError
from slipway_lite.observe.audit import Filter, event, events
from slipway_lite.store.reading import read_store


def listed(demo: Path, cursor: int | None = None, limit: int = 50, **wanted: Any) -> dict[str, Any]:
    return read_store(str(demo), lambda store: events(store, Filter(**wanted), cursor, limit))


def one(demo: Path, sql: str) -> Any:
    return read_store(str(demo), lambda store: store.rows(sql)[0][0])


def test_events_are_listed_newest_first_without_payloads(demo: Path) -> None:
    items = listed(demo)["items"]
    assert [item["seq"] for item in items] == sorted((item["seq"] for item in items), reverse=True)
    assert not any("payload" in item for item in items)


def test_pages_put_together_are_everything(demo: Path) -> None:
    found: list[int] = []
    cursor = None
    while True:
        page = listed(demo, cursor, 500)
        found += [item["seq"] for item in page["items"]]
        cursor = page.get("next_cursor")
        if cursor is None:
            break
    assert found == read_store(
        str(demo), lambda store: [row[0] for row in store.rows("select seq from audit_events order by seq desc")]
    )


@pytest.mark.parametrize("name", ["task_id", "run_id", "event_type"])
def test_a_filter_lets_only_its_own_through(demo: Path, name: str) -> None:
    value = one(demo, f"select {name} from audit_events where {name} is not null order by seq desc limit 1")
    items = listed(demo, limit=500, **{name: value})["items"]
    assert {item[name] for item in items} == {value}
    count = one(demo, f"select count(*) from audit_events where {name} = '{value}'")
    assert len(items) == min(count, 500)


def test_filters_hold_together(demo: Path) -> None:
    run_id = one(demo, "select run_id from runs limit 1")
    (found,) = listed(demo, run_id=run_id, event_type="run.started")["items"]
    assert (found["run_id"], found["event_type"]) == (run_id, "run.started")


def test_a_window_is_inclusive_at_both_ends(demo: Path) -> None:
    at = one(demo, "select occurred_at from audit_events order by seq limit 1")
    assert {item["occurred_at"] for item in listed(demo, since=at, until=at)["items"]} == {at}


@pytest.mark.parametrize("limit", [0, 501])
def test_a_wrong_limit_is_refused(demo: Path, limit: int) -> None:
    with pytest.raises(UsageError) as refused:
        listed(demo, limit=limit)
    assert refused.value.code == "invalid_limit"


def test_one_event_is_shown_with_its_payload(demo: Path) -> None:
    event_id = one(demo, "select event_id from audit_events where event_type = 'run.started' limit 1")
    document = read_store(str(demo), lambda store: event(store, event_id))
    assert document["payload"]["initial_budget"] >= 1


def test_an_unknown_event_is_refused(demo: Path) -> None:
    with pytest.raises(SlipwayError) as refused:
        read_store(str(demo), lambda store: event(store, "audit_nobody"))
    assert refused.value.code == "audit_event_not_found"
