"""The allow-list of the explorer: the packaged metadata, and which open databases are files of ours.

A file is recognised by its ``application_id``, whatever it is called. What the metadata does not list is denied.
"""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from slipway_lite.resources import resource
from slipway_lite.store.migrations import APPLICATION_ID

PLUGIN = "slipway-lite"
NAME = "slipway"
"""What the metadata calls the database; an open file of ours of any other name is treated the same."""

_ours: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()


@cache
def _packaged() -> dict[str, Any]:
    import yaml

    document: dict[str, Any] = yaml.safe_load(resource("datasette-metadata.yml").read_text("utf-8"))
    return document


def metadata() -> dict[str, Any]:
    """The packaged ``datasette-metadata.yml``, a copy each time: Datasette merges what others say into what it gets."""
    return deepcopy(_packaged())


def descriptions() -> dict[str, Any]:
    """What the metadata says about a file of ours: ``tables`` and ``queries``. A copy each time."""
    found: dict[str, Any] = metadata()["databases"][NAME]
    return found


def query(name: str) -> dict[str, Any]:
    """What the metadata says about one canned query; nothing for another name."""
    found: dict[str, Any] = deepcopy(_packaged()["databases"][NAME]["queries"].get(name, {}))
    return found


@cache
def listed(kind: str) -> frozenset[str]:
    """The names of the ``tables`` or ``queries`` that are allowed. Decided once; nothing can add to it."""
    return frozenset(name for name, entry in _packaged()["databases"][NAME][kind].items() if entry["allow"] is True)


async def is_ours(datasette: Any, name: str) -> bool:
    """Whether the open database ``name`` is a slipway-lite file."""
    database = datasette.databases.get(name)
    if database is None or name == "_internal":
        return False
    if database not in _ours:
        rows = await database.execute("pragma application_id")
        _ours[database] = rows.rows[0][0] == APPLICATION_ID
    return _ours[database]


def recognised(datasette: Any) -> list[str]:
    """The databases that :func:`is_ours` said yes to so far; :func:`recognise` asks about all."""
    return [name for name, database in datasette.databases.items() if _ours.get(database)]


async def recognise(datasette: Any) -> None:
    for name in list(datasette.databases):
        await is_ours(datasette, name)


def is_full(datasette: Any) -> bool:
    """Whether the owner asked for everything (``slipway explore --full``)."""
    return bool((datasette.plugin_config(PLUGIN) or {}).get("full"))


def rules(datasette: Any, action: str) -> list[tuple[str | None, str | None, int]]:
    """:func:`decide` as (database, table or query, 1 or 0) for every recognised file; the more specific one wins."""
    names = recognised(datasette)
    if action == "view-instance":
        return [(None, None, 1)] if names else []
    if action == "view-database":
        return [(name, None, 1) for name in names]
    if action in ("view-table", "view-query") and not is_full(datasette):
        entries = listed("tables" if action == "view-table" else "queries")
        return [(name, None, 0) for name in names] + [(name, entry, 1) for name in names for entry in sorted(entries)]
    is_owners = action in ("view-table", "view-query", "execute-sql") and is_full(datasette)
    return [(name, None, int(is_owners)) for name in names]


async def decide(datasette: Any, action: str, resource: Any) -> bool | None:
    """Whether ``action`` on ``resource`` is allowed; ``None`` where it does not concern a file of ours.

    Only what is listed is: reading the index, the database page, listed tables, views and queries. The owner's view
    adds every table and free SQL, and still no download and no write.
    """
    if action == "view-instance":
        return True if recognised(datasette) else None
    name = resource if isinstance(resource, str) else resource[0] if resource else None
    if name is None or not await is_ours(datasette, name):
        return None
    if action == "view-database":
        return True
    if action == "execute-sql":
        return is_full(datasette)
    if action in ("view-table", "view-query"):
        return is_full(datasette) or resource[1] in listed("tables" if action == "view-table" else "queries")
    return False
