"""``slipway search``: find texts in the file, for its owner."""

from __future__ import annotations

from typing import Annotated

import typer

from slipway_lite.cli.human import visible
from slipway_lite.cli.noun import noun
from slipway_lite.cli.output import emit
from slipway_lite.cli.place import DatabaseOption, JsonOption, RootOption, existing
from slipway_lite.store.reading import read_store

app = noun("Find texts in the file.")


@app.command()
def search(
    words: Annotated[list[str], typer.Argument(help="Words that have to stand in the text, in any order.")],
    db: DatabaseOption = "",
    root: RootOption = "",
    limit: Annotated[int, typer.Option(help="How many hits, 1 to 500.")] = 20,
    json: JsonOption = False,
) -> None:
    """Find texts in the file, in any script, also words of one or two characters.

    Searches goals, summaries, questions, answers, findings, task titles and objectives. Writes nothing.

    Example: slipway search retry timeout
    """
    from slipway_lite.observe.search import search as find

    found = read_store(existing(db, root), lambda store: find(store, " ".join(words), limit))
    lines = []
    for item in found["items"]:
        lines += [f"{item['at'][:19]}  {item['kind']} {item['id']}  {item['field']}", f"    {visible(item['snippet'])}"]
    if not found["items"]:
        lines = ["Nothing holds all of these words."]
    elif not found["is_complete"]:
        lines.append(f"There are more than {limit}; give more words, or --limit.")
    emit(found, json, lines)
