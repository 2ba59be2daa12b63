"""``slipway db``: the one file, for its owner."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from slipway_lite.canon import is_digest
from slipway_lite.cli import db_copies
from slipway_lite.cli.db_import import import_jsonl
from slipway_lite.cli.noun import noun
from slipway_lite.cli.output import emit, progress
from slipway_lite.cli.place import DatabaseOption, JsonOption, RootOption, database, existing
from slipway_lite.errors import SlipwayError, UsageError
from slipway_lite.store.connection import Store, open_store
from slipway_lite.store.reading import read_store

app = noun("The database file: where it is, what it holds, whether it is sound.")

SEQ_DIGITS = 18
"""More than a chain has rows; every such number is an integer of SQLite."""

WHY = {
    "option": "given with --db",
    "environment": "given in SLIPWAY_DB",
    "repository": "the place of this repository",
    "user": "no repository here, so the place of this user",
}

app.command("import-jsonl")(import_jsonl)


def _projectors() -> list[Any]:
    from slipway_lite.observe.projection import projectors

    return projectors()


@app.command()
def path(db: DatabaseOption = "", root: RootOption = "", json: JsonOption = False) -> None:
    """Print where the database is, and why.

    Example: slipway db path
    """
    where, rule = database(db, root)
    emit({"path": where, "rule": rule}, json, [f"{where}  ({WHY[rule]})"])


@app.command()
def info(db: DatabaseOption = "", root: RootOption = "", json: JsonOption = False) -> None:
    """Say what is known about the file.

    Versions, size, permissions, rows, free disk, and whether the chain is sound. Changes nothing.

    Example: slipway db info --json
    """
    from slipway_lite.store.facts import fact_lines, facts

    document = facts(*database(db, root))
    emit(document, json, fact_lines(document))


@app.command()
def head(db: DatabaseOption = "", root: RootOption = "", json: JsonOption = False) -> None:
    """Print the newest link of the chain, to write down elsewhere.

    It is SEQ:SHA256. With it, `db verify --head` finds a tail that was cut off and a chain that was recomputed.

    Example: slipway db head >> ~/slipway-heads.txt
    """
    from slipway_lite.store.journal import head as newest

    seq, digest = read_store(existing(db, root), lambda store: newest(store.connection))
    emit({"seq": seq, "sha256": digest}, json, [f"{seq}:{digest}"])


@app.command()
def verify(
    db: DatabaseOption = "",
    root: RootOption = "",
    head: Annotated[str | None, typer.Option("--head", help="A SEQ:SHA256 that `db head` printed earlier.")] = None,
    json: JsonOption = False,
) -> None:
    """Prove that every row is what was written.

    Checks the whole chain, every journal row and material, and every projection against its replay. Names each row
    that is wrong and leaves with 3. Writes nothing.

    Example: slipway db verify --head "$(cat head.txt)"
    """
    from slipway_lite.store.verify import verify as check

    noted = None if head is None else _noted_head(head)
    show = progress("verified")

    def work(store: Store) -> dict[str, Any]:
        return check(store, _projectors(), noted, show)

    report = read_store(existing(db, root), work, as_it_is=True)
    if report["problems"]:
        first = report["problems"][0]
        raise SlipwayError(
            "database_not_verified",
            f"Problems found: {len(report['problems'])}. The first is {first['table']} {first['row']}, "
            f"which {first['problem']}.",
            details=report,
        )
    emit(
        report,
        json,
        [
            f"Sound: {report['ledger_rows']} rows of the ledger, and every projection equals its replay.",
            *([] if noted is None else [f"The head that was noted, row {noted[0]}, is in the chain."]),
        ],
    )


def _noted_head(text: str) -> tuple[int, str]:
    seq, _, digest = text.strip().partition(":")
    if not (seq.isascii() and seq.isdigit() and len(seq) <= SEQ_DIGITS and is_digest(digest)):
        raise UsageError("invalid_head", "--head takes SEQ:SHA256 as `slipway db head` prints it.")
    return int(seq), digest


@app.command()
def rebuild(db: DatabaseOption = "", root: RootOption = "", json: JsonOption = False) -> None:
    """Drop every projection and replay it from the journals.

    Example: slipway db rebuild
    """
    from slipway_lite.store.projections import rebuild as replay

    with open_store(existing(db, root)) as store:
        unreplayable = replay(store, _projectors(), progress("replayed"))
    document = {"unreplayable": [{"stream": stream, "sequence": sequence} for stream, sequence in unreplayable]}
    if unreplayable:
        raise SlipwayError(
            "journal_unreplayable",
            f"Journals that do not replay to their end: {len(unreplayable)}. The projections hold what they gave.",
            details=document,
        )
    emit(document, json, ["Every projection was rebuilt from its journal."])


app.command()(db_copies.backup)
app.command()(db_copies.merge)
