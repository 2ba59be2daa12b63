"""Bring a file to the newest schema: numbered SQL scripts, all pending ones in one immediate transaction.

A step is the file ``sql/NNN_name.sql`` and is never edited after a release. ``user_version`` holds how many steps
a file has, so that a file that is up to date costs one PRAGMA and no import of sqlite-utils.
"""

from __future__ import annotations

from slipway_lite.errors import SlipwayError
from slipway_lite.store.tables import FACTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlite_utils import Database, Migrations

    from slipway_lite.store.sqlite import Connection

STEPS = ("001_ledger", "002_runs", "003_turns", "004_tasks", "005_observations", "006_merges")
HEAD = len(STEPS)
APPLICATION_ID = 0x534C5057
"""``SLPW``: how tools recognise the file, whatever its name."""


def version(connection: Connection) -> int:
    """How many steps the file has; 0 for a blank one. Raises ``database_foreign`` or ``database_too_new``."""
    # One statement, so that another process cannot bring a blank file up to date between two of them.
    application_id, found, blank = connection.execute(
        "select (select application_id from pragma_application_id), (select user_version from pragma_user_version),"
        " not exists (select 1 from sqlite_schema)"
    ).fetchone()
    if application_id != APPLICATION_ID and (application_id or found or not blank):
        raise SlipwayError("database_foreign", "The file is a database of another program; nothing was changed.")
    if found > HEAD:
        raise SlipwayError(
            "database_too_new",
            f"The database has schema {found}; this slipway-lite knows {HEAD}. Install a newer one.",
        )
    return int(found)


def load() -> Migrations:
    """Everything an upgrade needs. It takes a while, so it is done before the write lock is taken."""
    import sys

    # sqlite-utils imports these where they are installed, for a fifth of a second and for nothing that we use.
    hidden = [name for name in ("numpy", "pandas") if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None is what makes an import fail
    try:
        from sqlite_utils import Migrations
    finally:
        for name in hidden:
            del sys.modules[name]
    migrations = Migrations("slipway_lite")
    for step in STEPS:
        migrations(name=step)(_script(step))
    return migrations


def upgrade(connection: Connection, migrations: Migrations) -> None:
    """Apply what is pending. The caller holds an immediate transaction, has asked :func:`version`, and commits."""
    from sqlite_utils import Database

    migrations.apply(Database(connection, execute_plugins=False))
    connection.execute(f"pragma application_id = {APPLICATION_ID}")
    connection.execute(f"pragma user_version = {HEAD}")


def _script(step: str) -> Callable[[Database], None]:
    def run(db: Database) -> None:
        apply(db.conn, step)

    run.__name__ = step
    return run


def apply(connection: Connection, step: str) -> None:
    """Run one script, and let the append-only tables that it makes refuse changes."""
    before = _tables(connection)
    for statement in statements(step):
        connection.execute(statement)
    for table in sorted(_tables(connection).intersection(FACTS) - before):
        protect(connection, table)


def _tables(connection: Connection) -> set[str]:
    return {name for (name,) in connection.execute("select name from sqlite_schema where type = 'table'")}


def statements(step: str) -> list[str]:
    """The statements of one script. Scripts keep ``;`` at line ends for statement ends only."""
    from importlib.resources import files

    script = files("slipway_lite.store").joinpath("sql", f"{step}.sql").read_text("utf-8")
    return [part for part in script.split(";\n") if part.strip()]


def refusals(table: str) -> dict[str, str]:
    """The triggers that make ``table`` append-only: each by its name, with its body."""
    return {
        f"{table}_refuses_{verb}": (
            f"before {verb} on {table} begin select raise(abort, '{table} is append-only'); end"
        )
        for verb in ("update", "delete")
    }


def protect(connection: Connection, table: str) -> None:
    """Let ``table`` refuse UPDATE and DELETE: its rows are facts."""
    for name, body in refusals(table).items():
        connection.execute(f"create trigger {name} {body}")
