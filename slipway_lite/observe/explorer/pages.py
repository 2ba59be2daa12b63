"""What the explorer adds to Datasette: charts, links, the page of a Run, observations, and a guard for loopback."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from datasette.utils import tilde_decode, tilde_encode
from datasette.utils.asgi import (
    Forbidden,
    NotFound,
    Response,
    asgi_send_file,
)
from markupsafe import Markup

from slipway_lite.errors import UsageError
from slipway_lite.observe.explorer import allowed, run_page
from slipway_lite.observe.observations import page
from slipway_lite.store.connection import Store

if TYPE_CHECKING:
    from collections.abc import Callable

STATIC = Path(__file__).parent / "static"
SCRIPTS = ("vega.min.js", "vega-lite.min.js", "vega-embed.min.js", "charts.js")
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})


# -- charts of canned queries


def _chart(datasette: Any, database: str | None, request: Any) -> tuple[str, dict[str, Any]] | None:
    """The canned query of this page and its Vega-Lite specification, if it has one."""
    if request is None or database not in allowed.recognised(datasette):
        return None
    name = request.path.rstrip("/").rpartition("/")[2]
    query = allowed.query(name)
    return (name, query["chart"]) if "chart" in query else None


def chart_scripts(datasette: Any, database: str | None, request: Any) -> list[str]:
    """The scripts of a page with a chart; none for any other."""
    if _chart(datasette, database, request) is None:
        return []
    return [f"/-/slipway/static/{name}" for name in SCRIPTS[:-1]]


def chart_holder(datasette: Any, database: str | None, request: Any) -> str:
    """A script that makes room for the chart above the query and draws it."""
    found = _chart(datasette, database, request)
    if found is None:
        return ""
    name, spec = found
    query = urlencode([("_shape", "array"), *_arguments(request)])
    values = {
        "spec": json.dumps(spec),
        "rows": f"{datasette.urls.path(request.path)}.json?{query}",
        "label": f"Chart: {allowed.query(name)['title']}",
        "script": datasette.urls.path(f"/-/slipway/static/{SCRIPTS[-1]}"),
    }
    return _PLACE_CHART.replace("VALUES", _in_script(values))


def _arguments(request: Any) -> list[tuple[str, str]]:
    return [(key, request.args[key]) for key in request.args if not key.startswith("_")]


def _in_script(value: Any) -> str:
    """``value`` as JSON that cannot leave its script element."""
    return json.dumps(value).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


_PLACE_CHART = """
(() => {
  const values = VALUES;
  const form = document.querySelector("form.sql");
  if (!form) return;
  const holder = document.createElement("div");
  holder.id = "slipway-chart";
  holder.dataset.spec = values.spec;
  holder.dataset.rows = values.rows;
  holder.dataset.label = values.label;
  form.before(holder);
  const script = document.createElement("script");
  script.src = values.script;
  document.body.append(script);
})();
"""


# -- links from ids to what they name


def link(datasette: Any, database: str, column: str, value: Any) -> Any:
    """An id as a link to the page of what it names; ``None`` leaves the cell to Datasette."""
    if not value or column not in ("run_id", "task_id") or database not in allowed.recognised(datasette):
        return None
    if column == "run_id":
        url = datasette.urls.path(f"/-/slipway/run/{tilde_encode(database)}/{tilde_encode(value)}")
    else:
        url = f"{datasette.urls.query(database, 'audit_of_a_task')}?{urlencode({'task_id': value})}"
    return Markup('<a href="{}">{}</a>').format(url, value)


# -- routes


async def _require(datasette: Any, request: Any, database: str) -> None:
    """Refuse anything but a file of ours that may be looked at."""
    if not await allowed.is_ours(datasette, database):
        raise NotFound("There is no such file of slipway-lite.")
    for action, resource in (("view-database", database), ("view-table", (database, "shown_runs"))):
        if not await _is_allowed(datasette, request, action, resource):
            raise Forbidden(action)


async def _is_allowed(datasette: Any, request: Any, action: str, resource: Any) -> bool:
    # Datasette 1.x has no such method and wants objects of its own instead; there our own answer counts.
    if hasattr(datasette, "permission_allowed"):
        return bool(await datasette.permission_allowed(request.actor, action, resource=resource, default=False))
    return bool(await allowed.decide(datasette, action, resource))


async def show_run(datasette: Any, request: Any) -> Any:
    """The page of one Run, with its timeline."""
    database, run_id = (tilde_decode(request.url_vars[name]) for name in ("database", "run_id"))
    await _require(datasette, request, database)
    is_full = allowed.is_full(datasette)
    context = await datasette.get_database(database).execute_fn(lambda conn: run_page.context(conn, run_id, is_full))
    if context is None:
        raise NotFound("There is no such Run.")
    text = await datasette.render_template(
        "slipway_run.html",
        {"database": database, "is_full": is_full, "metadata": datasette.metadata(), **context},
        request=request,
    )
    return Response.html(text)


async def show_observations(datasette: Any, request: Any) -> Any:
    """``GET /v1/improvement/observations`` of the first file of ours, or of the one named ``database`` (§6.1)."""
    names = allowed.recognised(datasette)
    database = request.args.get("database") or (names[0] if names else "")
    await _require(datasette, request, database)
    asked = {name: request.args.get(name) or None for name in ("since", "until", "cursor")}

    def work(connection: Any) -> Any:
        store = Store(connection, "")
        with store.snapshot():
            return page(store, **asked, limit=_limit(request.args.get("limit")))

    try:
        return Response.json(await datasette.get_database(database).execute_fn(work))
    except UsageError as error:
        return Response.json({"code": "INVALID_REQUEST", "message": error.message}, status=400)


def _limit(text: str | None) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 9):
        raise UsageError("invalid_limit", "limit is a whole number from 1 to 500.")
    return int(text)


async def static(request: Any, send: Any) -> None:
    """A file that comes with the explorer."""
    name = request.url_vars["name"]
    path = STATIC / name
    if path.suffix not in TYPES or not path.is_file():
        raise NotFound("There is no such file.")
    await asgi_send_file(send, str(path), content_type=TYPES[path.suffix], headers={"Cache-Control": "max-age=300"})


ROUTES: list[tuple[str, Any]] = [
    (r"^/-/slipway/static/(?P<name>[a-z.-]+)$", static),
    (r"^/v1/improvement/observations$", show_observations),
    (r"^/-/slipway/run/(?P<database>[^/]+)/(?P<run_id>[^/.]+)$", show_run),
]


# -- loopback


def loopback_only(datasette: Any) -> Callable[[Any], Any]:
    """Refuse requests that only seem to come from this machine or want more than to read, where the launcher asked so.

    A page elsewhere can make a browser send requests here, but not without naming its own host.
    """

    def wrap(app: Any) -> Any:
        async def guarded(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http" and (datasette.plugin_config(allowed.PLUGIN) or {}).get("loopback"):
                host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
                if re.sub(r":\d+$", "", host) not in LOOPBACK:
                    await Response.text("This file is only shown on this machine.", status=403).asgi_send(send)
                    return
                if scope["method"] not in ("GET", "HEAD"):
                    refusal = Response.text("This file is only read.", status=405, headers={"Allow": "GET, HEAD"})
                    await refusal.asgi_send(send)
                    return
            await app(scope, receive, send)

        return guarded

    return wrap
