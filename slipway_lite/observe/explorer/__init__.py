"""The Datasette plugin: it opens files of ours, and only what the allow-list names in them.

Registered as an entry point of the group ``datasette``, so that plain Datasette is as safe as ``slipway explore``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from datasette import hookimpl

from slipway_lite.observe.explorer import allowed, pages
from slipway_lite.store.sqlite import give_functions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

F = TypeVar("F", bound="Callable[..., Any]")


def hook(implementation: F) -> F:
    """``hookimpl``, typed."""
    marked: F = hookimpl(implementation)
    return marked


def last_hook(implementation: F) -> F:
    """``hookimpl`` for a hook whose answer comes after those of all other plugins."""
    marked: F = hookimpl(implementation, trylast=True)
    return marked


@hook
def startup(datasette: Any) -> Callable[[], Awaitable[None]]:
    async def recognise() -> None:
        await allowed.recognise(datasette)

    return recognise


@hook
def prepare_connection(conn: Any) -> None:
    """Give every connection ``redact``, which the public views call."""
    give_functions(conn)


@hook
def get_metadata(datasette: Any) -> dict[str, Any]:
    """The packaged descriptions for files of ours that have another name than the metadata knows."""
    return {"databases": {name: allowed.descriptions() for name in allowed.recognised(datasette)}}


@last_hook
def permission_allowed(datasette: Any, action: str, resource: Any) -> Callable[[], Awaitable[bool | None]]:
    """See :func:`allowed.decide`. Datasette takes the last answer, and this hook is the last."""

    async def decide() -> bool | None:
        return await allowed.decide(datasette, action, resource)

    return decide


@hook
def permission_resources_sql(datasette: Any, action: str) -> Any:
    """The same rules for Datasette 1.x, which asks for them as rows."""
    from datasette.permissions import PermissionSQL

    rules = allowed.rules(datasette, action)
    sql = (
        "select value ->> 0 as parent, value ->> 1 as child, value ->> 2 as allow, 'slipway-lite' as reason"
        " from json_each(:slipway_lite_rules)"
    )
    return PermissionSQL(sql=sql, params={"slipway_lite_rules": json.dumps(rules)}) if rules else None


@hook
def register_routes() -> list[tuple[str, Any]]:
    return pages.ROUTES


@hook
def extra_css_urls() -> list[str]:
    return ["/-/slipway/static/explorer.css"]


@hook
def extra_js_urls(datasette: Any, database: str | None, request: Any) -> list[str]:
    return pages.chart_scripts(datasette, database, request)


@hook
def extra_body_script(datasette: Any, database: str | None, request: Any) -> str:
    return pages.chart_holder(datasette, database, request)


@hook
def render_cell(value: Any, column: str, database: str, datasette: Any) -> Any:
    return pages.link(datasette, database, column, value)


@hook
def asgi_wrapper(datasette: Any) -> Callable[[Any], Any]:
    return pages.loopback_only(datasette)
