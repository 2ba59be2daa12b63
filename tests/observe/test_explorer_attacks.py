"""Requests to the explorer that want more than it shows: parameters that are SQL, other endpoints, other origins."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.observe.explorer import allowed, launch
from slipway_lite.store.reading import read_store
from tests.observe.conftest import Browser

Browse = Callable[..., Any]
Copy = Callable[[str], Path]
QUERIES = allowed.descriptions()["queries"]
PARAMETERS = {
    name: re.findall(r"(?<!:):([a-z_]+)", query["sql"])
    for name, query in QUERIES.items()
    if re.search(r"(?<!:):[a-z_]+", query["sql"])
}
INJECTIONS = (
    "' or '1'='1", "' union select goal from runs --", "'; drop table runs; --", "\0", "1; attach 'x.db' as x", "%",
    "*", '"', "\u202e", "a" * 20_000, "_cookie_ds_actor", ":goal", "') or exists (select 1 from runs) --",
)  # fmt: skip
ENDPOINTS = (
    "/-/config.json", "/-/metadata.json", "/-/plugins.json", "/-/versions.json", "/-/settings.json",
    "/-/threads.json", "/-/actor.json", "/-/databases.json", "/-/permissions", "/-/allow-debug", "/-/auth-token",
    "/-/logout", "/-/messages", "/-/patterns", "/-/jump.json", "/-/api", "/-/create-token", "/-/rules.json",
    "/-/slipway/static/..%2f..%2fallowed.py", "/-/slipway/static/../pages.py", "/-/static/../app.py",
    "/-/slipway/run/other/..%2f..%2fetc", "/-/slipway/run/other/'%20or%20'1'='1",
)  # fmt: skip


def goals(path: Path) -> set[str]:
    rows: list[tuple[str]] = read_store(str(path), lambda store: store.rows("select goal from runs"))
    return {row[0] for row in rows}


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_is_a_value_and_never_sql(name: str, copy: Copy, browse: Browse) -> None:
    path = copy("other.db")
    before = path.read_bytes()
    browser = browse(path)
    secret = goals(path)
    for injection in INJECTIONS:
        parameters = dict.fromkeys(PARAMETERS[name], injection) | {"_shape": "array", "sql": "select goal from runs"}
        answer = browser.get(f"/other/{name}.json", params=parameters)
        assert answer.status_code in (200, 400), (injection, answer.status_code)
        assert not any(goal in answer.text for goal in secret)
        assert answer.status_code != 200 or not answer.json(), injection
    assert path.read_bytes() == before


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize("where", ENDPOINTS)
def test_no_endpoint_of_datasette_tells_a_text(where: str, copy: Copy, browse: Browse) -> None:
    path = copy("other.db")
    answer = browse(path).get(where)
    assert answer.status_code < 500
    assert not any(goal in answer.text for goal in goals(path))
    assert "import annotations" not in answer.text


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("full", [False, True])
def test_the_launcher_only_reads(method: str, full: bool, copy: Copy) -> None:
    path = copy("other.db")
    before = path.read_bytes()
    browser = Browser(launch.datasette(str(path), full=full))
    for where in ("/", "/other", "/other/shown_runs", "/other/-/create", "/-/logout", "/other?sql=delete+from+runs"):
        answer = browser.get(where, method=method, headers={"host": "127.0.0.1"})
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
    browser.close()
    assert path.read_bytes() == before


@pytest.mark.usefixtures("plugin")
def test_no_other_origin_may_read_an_answer(copy: Copy, browse: Browse) -> None:
    answer = browse(copy("other.db")).get("/other/shown_runs.json", headers={"origin": "https://evil.example"})
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]
