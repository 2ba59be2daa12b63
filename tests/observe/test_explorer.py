"""The explorer fails closed: what the allow-list does not name is denied, whatever the file is called."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from datasette.utils import tilde_encode  # type: ignore[import-untyped]  # Datasette has no types

from slipway_lite.errors import SlipwayError
from slipway_lite.observe.explorer import allowed, launch
from slipway_lite.observe.observations import page
from slipway_lite.store.connection import open_store
from slipway_lite.store.projections import columns
from slipway_lite.store.reading import read_store
from tests.observe.conftest import Browser

Browse = Callable[..., Any]
Copy = Callable[[str], Path]
TABLES = allowed.descriptions()["tables"]
QUERIES = allowed.descriptions()["queries"]
NEEDS_PLUGIN = {"shown_merged_files", "shown_activities", "shown_findings", "shown_claims", "shown_audit_events"}
"""Views that call redact(), which only connections of ours and of the plugin have."""


EXPLORE = (
    "import sys; from slipway_lite.observe.explorer.launch import explore;"
    " explore(sys.argv[1], lambda address: print(address, flush=True), port=0{options})"
)


def everything(path: Path) -> set[str]:
    """Every table and view of the file, those of SQLite itself included."""
    sql = "select name from sqlite_schema where type in ('table', 'view')"
    rows = read_store(str(path), lambda store: store.rows(sql))
    return {row[0] for row in rows} | {"sqlite_master", "sqlite_schema"}


# -- the allow-list


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize("name", ["slipway.db", "other.db", "runs.sqlite", "a-b c.db"])
def test_with_the_plugin_only_listed_tables_are_shown_whatever_the_name(name: str, copy: Copy, browse: Browse) -> None:
    path = copy(name)
    browser = browse(path)
    route = tilde_encode(path.stem)
    for table in everything(path):
        assert (browser.status(f"/{route}/{table}.json") == 200) is (table in TABLES), table


@pytest.mark.usefixtures("no_plugin")
def test_without_the_plugin_only_listed_tables_are_shown(copy: Copy, browse: Browse) -> None:
    path = copy("slipway.db")
    browser = browse(path)
    for table in everything(path):
        status = browser.status(f"/slipway/{table}.json")
        assert (status == 200) is (table in TABLES and table not in NEEDS_PLUGIN), table
    assert {browser.status(where) for where in ("/", "/slipway", "/slipway.json", "/-/databases.json")} == {403}


@pytest.mark.usefixtures("no_plugin")
def test_without_the_plugin_nothing_is_shown_of_a_file_with_another_name(copy: Copy, browse: Browse) -> None:
    path = copy("other.db")
    browser = browse(path)
    paths = ["/", "/other", *(f"/other/{name}.json" for name in (*everything(path), *QUERIES))]
    assert {browser.status(where) for where in paths} <= {403, 404}


@pytest.mark.usefixtures("plugin")
def test_the_plugin_denies_without_any_metadata(copy: Copy, browse: Browse) -> None:
    path = copy("other.db")
    browser = browse(path, metadata={})
    for table in everything(path):
        assert (browser.status(f"/other/{table}.json") == 200) is (table in TABLES), table
    assert browser.status("/other.json?sql=select+1") == 403


@pytest.mark.usefixtures("plugin")
def test_metadata_of_somebody_else_does_not_open_anything(copy: Copy, browse: Browse) -> None:
    metadata = {"allow": True, "allow_sql": True, "databases": {"other": {"tables": {"runs": {"allow": True}}}}}
    browser = browse(copy("other.db"), metadata=metadata)
    assert browser.status("/other/runs.json") == 403
    assert browser.status("/other.json?sql=select+1") == 403


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize("statement", ["create table novel (a)", "create view novel as select goal from runs"])
def test_a_new_table_or_view_is_denied_until_it_is_listed(statement: str, copy: Copy, browse: Browse) -> None:
    path = copy("other.db")
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.close()
    assert browse(path).status("/other/novel.json") == 403


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize(
    "where",
    [
        "/other.json?sql=select+goal+from+runs",
        "/other?sql=select+goal+from+runs",
        "/other/runs_by_outcome.json?sql=select+goal+from+runs&_shape=array",
        "/other/shown_runs.json?_where=exists(select+1+from+runs)",
        "/other/runs",
        "/other/RUNS.json",
        "/other/Journal_Events.json",
        "/other/runs.csv?_stream=1",
        "/other.db",
        "/other/journal_events/1.json",
        "/other/materials/1.blob?_blob_column=content",
        "/other/shown_runs.json?_extra=all",
        "/other/shown_runs.json?goal__contains=a",
        "/other/shown_runs.json?_sort=goal",
    ],
)  # fmt: skip
def test_no_way_around_shows_a_text(where: str, copy: Copy, browse: Browse) -> None:
    path = copy("other.db")
    answer = browse(path).get(where)
    goals = read_store(str(path), lambda store: {row[0] for row in store.rows("select goal from runs")})
    assert answer.status_code != 200 or where.startswith(("/other/runs_by_outcome", "/other/shown_runs"))
    assert not any(goal in answer.text for goal in goals)


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize("table", ["journal_events", "runs", "run_actions"])
def test_another_table_cannot_be_asked_through_a_listed_one(table: str, copy: Copy, browse: Browse) -> None:
    through = json.dumps({"table": table, "column": "data", "value": "x"})
    answer = browse(copy("other.db")).get("/other/gate_observations.json", params={"_through": through})
    assert answer.status_code != 200


@pytest.mark.usefixtures("plugin")
def test_a_file_of_another_program_is_left_to_datasette(tmp_path: Path, copy: Copy, browse: Browse) -> None:
    path = tmp_path / "mine.db"
    connection = sqlite3.connect(path)
    connection.execute("create table t (a)")
    connection.close()
    assert browse(path, metadata={}).status("/mine/t.json") == 200
    beside = browse(path, copy("other.db"))
    assert beside.status("/mine/t.json") == 403
    assert beside.status("/other/shown_runs.json") == 200


@pytest.mark.usefixtures("plugin")
def test_no_listed_table_refers_to_another(copy: Copy) -> None:
    """A foreign key would let `_through` and labels tell about tables that are not listed."""
    sql = "select s.name from sqlite_schema s, pragma_foreign_key_list(s.name)"
    referring = read_store(str(copy("other.db")), lambda store: store.rows(sql))
    assert referring
    assert not {row[0] for row in referring} & TABLES.keys()


# -- descriptions and queries


def test_every_listed_column_is_described_and_nothing_else(demo: Path) -> None:
    found = read_store(str(demo), lambda store: {table: columns(store.connection, table) for table in TABLES})
    for table, described in TABLES.items():
        assert found[table] == list(described["columns"]), table
        assert {"allow", "title", "description", "sort_desc", "size"} <= described.keys()
        assert {described["sort_desc"], *described.get("facets", ())} <= described["columns"].keys()


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize("name", sorted(QUERIES))
def test_every_query_answers_and_draws_columns_that_it_has(name: str, copy: Copy, browse: Browse) -> None:
    query = QUERIES[name]
    assert {"allow", "title", "description", "sql"} <= query.keys()
    browser = browse(copy("other.db"))
    rows = browser.get(f"/other/{name}.json?_shape=array").json()
    assert rows
    page = browser.get(f"/other/{name}").text
    assert ("slipway-chart" in page) is ("chart" in query)
    if "chart" in query:
        made = set(re.findall(r"as: \[?([\w, ]+)", json.dumps(query["chart"]).replace('"', "")))
        fields = set(re.findall(r'"field": "(\w+)"', json.dumps(query["chart"])))
        assert fields <= rows[0].keys() | {word.strip() for words in made for word in words.split(",")}


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize(
    ("query", "parameter", "table"), [("timeline_of_a_run", "run_id", "runs"), ("audit_of_a_task", "task_id", "tasks")]
)
def test_a_query_with_a_parameter_answers_for_it_alone(
    query: str, parameter: str, table: str, copy: Copy, browse: Browse
) -> None:
    path = copy("other.db")
    wanted = read_store(str(path), lambda store: store.rows(f"select {parameter} from {table} limit 1")[0][0])
    rows = browse(path).get(f"/other/{query}.json?_shape=array&{parameter}={wanted}").json()
    assert {row[parameter] for row in rows} == {wanted}
    assert [row["seq"] for row in rows] == sorted(row["seq"] for row in rows)


@pytest.mark.slow
@pytest.mark.usefixtures("plugin")
def test_every_query_on_the_rich_demo_answers_within_300_ms(tmp_path: Path, browse: Browse) -> None:
    from slipway_lite.observe.rich_demo import write_rich_demo

    path = tmp_path / "rich.db"
    write_rich_demo(str(path))
    browser = browse(path)
    for name in QUERIES:
        browser.get(f"/rich/{name}.json")
        started = time.perf_counter()
        assert browser.status(f"/rich/{name}.json") == 200
        assert time.perf_counter() - started < 0.3, name


# -- pages


@pytest.mark.usefixtures("plugin")
def test_the_page_of_a_run_tells_its_steps_in_order(copy: Copy, browse: Browse) -> None:
    path = copy("other.db")
    run_id = read_store(
        str(path), lambda store: store.rows("select run_id from run_activities where exit_code <> 0 limit 1")[0][0]
    )
    page = browse(path).get(f"/-/slipway/run/other/{run_id}").text
    steps = [page.index(step) for step in ("The Run was started", "An Action was issued", "An Outcome was accepted")]
    assert steps == sorted(steps)
    assert "git: seen" in page
    assert 'class="slipway-badge failed"' in page


@pytest.mark.usefixtures("plugin")
def test_an_unknown_run_or_database_is_not_found(copy: Copy, browse: Browse) -> None:
    browser = browse(copy("other.db"))
    assert browser.status("/-/slipway/run/other/nobody") == 404
    assert browser.status("/-/slipway/run/elsewhere/nobody") == 404
    assert browser.status("/-/slipway/static/none.js") == 404


@pytest.mark.usefixtures("plugin")
def test_ids_link_to_what_they_name(copy: Copy, browse: Browse) -> None:
    browser = browse(copy("other.db"))
    assert "/-/slipway/run/other/" in browser.get("/other/shown_runs").text
    assert "/other/audit_of_a_task?task_id=" in browser.get("/other/shown_tasks").text


@pytest.mark.usefixtures("plugin")
def test_pages_name_no_other_host(copy: Copy, browse: Browse) -> None:
    browser = browse(copy("other.db"))
    for where in ("/", "/other", "/other/shown_runs", "/other/runs_by_outcome"):
        for kind, url in re.findall(r'<(script|link|img)[^>]+(?:src|href)="([^"]+)"', browser.get(where).text):
            assert url.startswith(("/-/", "http://localhost/")), (kind, url)


# -- the owner's view and the launcher


@pytest.fixture
def full(copy: Copy) -> Iterator[Browser]:
    path = copy("other.db")
    browser = Browser(launch.datasette(str(path), full=True))
    yield browser
    browser.close()


@pytest.mark.usefixtures("plugin")
def test_the_owner_sees_every_table_and_asks_anything(full: Any) -> None:
    local = {"headers": {"host": "127.0.0.1:1"}}
    assert full.get("/other/runs.json", **local).status_code == 200
    goals = full.get("/other.json?sql=select+goal+from+runs+limit+1&_shape=array", **local).json()
    run = full.get("/other.json?sql=select+run_id,goal+from+runs+limit+1&_shape=array", **local).json()[0]
    assert goals[0]["goal"] == run["goal"]
    assert run["goal"] in full.get(f"/-/slipway/run/other/{run['run_id']}", **local).text
    assert full.get("/other.db", **local).status_code == 403
    assert full.get("/other.json?sql=delete+from+runs", **local).status_code == 400


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize("host", ["evil.example", "evil.example:8001", "127.0.0.1.evil.example:8001", ""])
def test_the_launcher_answers_only_requests_to_this_machine(full: Any, host: str) -> None:
    assert full.get("/other/runs.json", headers={"host": host}).status_code == 403


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "localhost:8001", "[::1]:8001"])
def test_the_launcher_answers_requests_to_this_machine(full: Any, host: str) -> None:
    assert full.get("/other/runs.json", headers={"host": host}).status_code == 200


def test_reading_a_resting_file_leaves_no_sidecar_and_the_same_bytes(copy: Copy) -> None:
    path = copy("other.db")
    before = path.read_bytes()
    with launch.left_as_it_was(str(path)):
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        connection.execute("select count(*) from runs").fetchone()
        connection.close()
        assert Path(f"{path}-wal").exists()
    assert sorted(found.name for found in path.parent.iterdir()) == ["other.db"]
    assert path.read_bytes() == before


def test_sidecars_of_a_writer_stay(copy: Copy) -> None:
    path = copy("other.db")
    with open_store(str(path)) as store:
        with store.immediate() as tx:
            tx.execute("insert into _repositories values ('r', '/p', null, 'now')")
        with launch.left_as_it_was(str(path)):
            pass
        assert Path(f"{path}-wal").exists()
        assert store.rows("select count(*) from _repositories") == [(1,)]


# -- observations over HTTP


@pytest.mark.usefixtures("plugin")
def test_observations_are_paged_over_http_as_they_are_exported(copy: Copy, browse: Browse) -> None:
    path = copy("other.db")
    browser = browse(path)
    asked = {"limit": "7", "since": "2026-02-01T00:00:00Z"}
    first = browser.get("/v1/improvement/observations", params=asked).json()
    second = browser.get("/v1/improvement/observations", params=asked | {"cursor": first["next_cursor"]}).json()
    for bundle, cursor in ((first, None), (second, first["next_cursor"])):
        expected = read_store(str(path), lambda store: page(store, asked["since"], None, cursor, 7))  # noqa: B023  # read at once
        assert bundle | {"generated_at": ""} == expected | {"generated_at": ""}


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize(
    "query", ["limit=0", "limit=501", "limit=1.5", "limit=ten", "since=yesterday", "cursor=gate:nobody"]
)
def test_a_wrong_request_for_observations_is_400(query: str, copy: Copy, browse: Browse) -> None:
    answer = browse(copy("other.db")).get(f"/v1/improvement/observations?{query}")
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")


@pytest.mark.usefixtures("plugin")
def test_observations_of_a_file_that_is_not_ours_are_not_found(tmp_path: Path, browse: Browse) -> None:
    path = tmp_path / "mine.db"
    sqlite3.connect(path).close()
    assert browse(path, metadata={}).status("/v1/improvement/observations") == 404


# -- live reading


@pytest.mark.slow
def test_a_live_file_is_read_while_it_is_written(copy: Copy, tmp_path: Path) -> None:
    """50 commits a second beside a browser that reloads: no writer is refused, no page fails, new rows are seen."""
    path = copy("other.db")
    writer = "import sys, time; from tests.observe.test_explorer import write_for; write_for(sys.argv[1], 6.0)"
    explore = EXPLORE.format(options="")
    with subprocess.Popen([sys.executable, "-c", explore, str(path)], stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        address = served.stdout.readline().strip()
        _wait_for(f"{address}.json")
        with subprocess.Popen([sys.executable, "-c", writer, str(path)], stdout=subprocess.PIPE, text=True) as writing:
            counts = []
            while writing.poll() is None:
                counts.append(json.loads(_fetch(f"{address}/shown_ledger.json?_size=1"))["filtered_table_rows_count"])
                _fetch(f"{address}/runs_by_outcome")
            assert writing.stdout is not None
            committed = int(writing.stdout.read())
        served.send_signal(signal.SIGTERM)
        assert served.wait(20) == 0
    assert committed >= 200
    assert counts == sorted(counts)
    assert counts[-1] > counts[0]
    assert sorted(found.name for found in path.parent.iterdir() if found.is_file()) == ["other.db"]


def write_for(path: str, seconds: float) -> None:
    """Commit a row every 20 ms, and print how many; a busy database would raise."""
    deadline, count = time.monotonic() + seconds, 0
    with open_store(path) as store:
        while time.monotonic() < deadline:
            with store.immediate() as tx:
                count += 1
                tx.append("journal_events", "note:live", count, "2026-01-01T00:00:00.000000Z", "noted", "{}")
            time.sleep(0.02)
    print(count)


def _fetch(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as answer:
        assert answer.status == 200
        return bytes(answer.read())


def _wait_for(url: str) -> None:
    for _ in range(100):
        try:
            _fetch(url)
            return
        except (OSError, urllib.error.URLError):
            time.sleep(0.1)
    raise AssertionError("the explorer did not answer")


@pytest.mark.slow
@pytest.mark.parametrize("options", ["", ", snapshot=True"])
def test_exploring_a_resting_file_leaves_it_as_it_was(copy: Copy, options: str) -> None:
    path = copy("other.db")
    before = path.read_bytes()
    explore = EXPLORE.format(options=options)
    with subprocess.Popen([sys.executable, "-c", explore, str(path)], stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        address = served.stdout.readline().strip()
        _wait_for(f"{address}.json")
        _fetch(f"{address}/shown_runs")
        served.send_signal(signal.SIGINT)
        assert served.wait(20) == 0
    assert path.read_bytes() == before
    assert [found.name for found in path.parent.iterdir() if found.is_file()] == ["other.db"]


def test_a_taken_port_is_refused(copy: Copy) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(SlipwayError) as refused:
            launch.explore(str(copy("other.db")), print, port=taken.getsockname()[1])
    assert refused.value.code == "port_taken"


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize(
    "action", ["view-database", "view-table", "view-query", "execute-sql", "view-database-download", "insert-row"]
)
def test_the_rules_for_datasette_1_are_those_of_0(action: str, copy: Copy, browse: Browse) -> None:
    browser = browse(copy("other.db"))
    browser.get("/")
    datasette = browser.datasette
    given = {(parent, child): allow for parent, child, allow in allowed.rules(datasette, action)}
    names = [*TABLES, *QUERIES, "runs", "journal_events", "novel"]
    for name in names:
        resource = ("other", name) if action in ("view-table", "view-query", "insert-row") else "other"
        decided = asyncio.run(allowed.decide(datasette, action, resource))
        assert given.get(("other", name), given[("other", None)]) == decided, name
