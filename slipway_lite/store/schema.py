"""Is the schema of a file the one that the migrations make?

A digest says what a row was in the table that it was written to. So the tables, and the views that projections are
replayed from, must be ours before a row can be trusted; indexes and triggers must be ours so that reads find every row
and writes keep every rule. And a trigger runs with a write, a view and a computed column with a read, all of them text
in the file: nothing in a file may act in our name. Tables, views and indexes with other names are the owner's affair.
"""

from __future__ import annotations

import hashlib
from functools import cache

from slipway_lite.errors import SlipwayError
from slipway_lite.store import migrations, sqlite
from slipway_lite.store.migrations import apply, refusals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slipway_lite.store.sqlite import Connection

    # type, name
    Object = tuple[str, str]
    # the table that it belongs to, its SQL; none for an index that a UNIQUE or a PRIMARY KEY makes
    Made = tuple[str, str | None]

PRISTINE_SHA256 = "7c0ef29bfda6536e8e3cdcd787b49fd1627c3fa679f52177362b8c42a517436d"
"""The digest of a file that holds what our scripts make and nothing else, which is nearly every file."""
READ_FROM = ("table", "view")
_KEPT_BY_OTHERS = ("_sqlite_migrations", "sqlite_")
"""The list of sqlite-utils, whose versions word its table differently, and what SQLite keeps for itself."""


def check(connection: Connection) -> None:
    """Raise ``database_altered`` for a schema that would act in our name.

    A missing object is left to whoever misses it.
    """
    found = _objects(connection)
    if digest(found) != PRISTINE_SHA256 and (count := _acting(found)):
        raise SlipwayError(
            "database_altered",
            "The file has tables, views or triggers that slipway-lite did not make and that would act in its name: "
            f"{count}. `slipway db verify` names them; nothing was read or written.",
        )


def digest(objects: dict[Object, Made]) -> str:
    """The digest of all tables, views and triggers that are not kept by others."""
    lines = sorted(
        f"{kind}\0{name}\0{sql}"
        for (kind, name), (_, sql) in objects.items()
        if kind != "index" and not (kind == "table" and str(name).startswith(_KEPT_BY_OTHERS))
    )
    return hashlib.sha256("\0".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _acting(found: dict[Object, Made]) -> int:
    """How many tables, views and triggers bear one of our names and are not ours, or are triggers all the same."""
    ours = {name: (kind, sql) for (kind, name), (_, sql) in made().items()}
    count = 0
    for (kind, name), (_, sql) in found.items():
        # SQLite takes names without regard to case.
        expected = ours.get(str(name).lower())
        if kind != "index" and (expected is not None or kind == "trigger") and expected != (kind, sql):
            count += 1
    return count


def made() -> dict[Object, Made]:
    """Every object of a file that has all steps."""
    return _made_by(migrations.STEPS)


@cache
def _made_by(steps: tuple[str, ...]) -> dict[Object, Made]:
    connection = sqlite.connect("file::memory:", 0)
    try:
        for step in steps:
            apply(connection, step)
        return _objects(connection)
    finally:
        connection.close()


def _objects(connection: Connection) -> dict[Object, Made]:
    return {
        (kind, name): (table, sql)
        for kind, name, table, sql in connection.execute("select type, name, tbl_name, sql from main.sqlite_schema")
    }


def differences(connection: Connection) -> tuple[list[tuple[str, str]], bool]:
    """``(table or view, problem)`` for all that the migrations did not make so, and whether rows can be read."""
    found, expected = _objects(connection), made()
    problems: list[tuple[str, str]] = []
    unlike = set()
    for (kind, name), (table, sql) in expected.items():
        if found.get((kind, name)) == (table, sql) or table in unlike:
            continue
        if kind in READ_FROM:
            problems.append((name, "is not what the migrations make" if (kind, name) in found else "is missing"))
            unlike.add(name)
        elif kind == "trigger" and name in refusals(table):
            problems.append((table, "no longer refuses changes"))
        else:
            problems.append((table, f"has no {kind} {name} as the migrations make it"))
    problems += [
        (found[kind, name][0], f"has an extra {kind}: {name}")
        for kind, name in sorted(found.keys() - expected.keys(), key=str)
        if kind == "trigger"
    ]
    # A table of which both triggers are gone has one problem.
    return list(dict.fromkeys(problems)), not unlike
