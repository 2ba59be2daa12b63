"""``slipway repo``: which local repositories integrate may work on."""

from __future__ import annotations

from typing import Annotated

import typer

from slipway_lite.cli import plane
from slipway_lite.cli.noun import noun
from slipway_lite.cli.output import table
from slipway_lite.cli.place import DatabaseOption, JsonOption, RootOption, database, existing
from slipway_lite.store.connection import open_store
from slipway_lite.store.reading import read_store

app = noun("Repositories that integrate may work on.")

NameArgument = Annotated[str, typer.Argument(metavar="github:OWNER/NAME", help="The repository.")]


@app.command()
def add(
    repository: NameArgument,
    path: Annotated[str, typer.Option(help="Where its checkout or bare repository is.")],
    ci: Annotated[str, typer.Option(help="Shell command that checks an integration; exit 0 passes.")] = "",
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Let integrate work on a local repository.

    Example: slipway repo add github:octo/hub --path ~/src/hub --ci "make test"
    """
    from slipway_lite.control import repositories

    with open_store(database(db, root)[0]) as store:
        added = repositories.add(store, repository, path, ci or None)
    plane.show(added, json, plane.facts(added))


@app.command("list")
def list_repositories(db: DatabaseOption = "", root: RootOption = "", json: JsonOption = False) -> None:
    """List the configured repositories.

    Example: slipway repo list
    """
    from slipway_lite.control import repositories

    found = read_store(existing(db, root), repositories.listed)
    rows = [(item["repository"], item["path"], item.get("ci_command", "")) for item in found]
    plane.show({"items": found}, json, table(("repository", "path", "checks"), rows))


@app.command()
def remove(repository: NameArgument, db: DatabaseOption = "", root: RootOption = "", json: JsonOption = False) -> None:
    """Forget a repository; nothing in it changes.

    Example: slipway repo remove github:octo/hub
    """
    from slipway_lite.control import repositories

    with open_store(existing(db, root)) as store:
        removed = repositories.remove(store, repository)
    plane.show(removed, json, plane.facts(removed))
