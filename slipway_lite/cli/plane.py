"""What the control plane's commands share: opening the file, building a body, printing a document."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slipway_lite.cli.files import read_descriptor, read_regular
from slipway_lite.cli.output import emit
from slipway_lite.cli.place import database, existing
from slipway_lite.errors import UsageError
from slipway_lite.store.connection import unsound
from slipway_lite.store.reading import read_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from slipway_lite.control.service import ControlPlane

FileOption = Annotated[str, typer.Option("--file", help="JSON body; - reads standard input. Flags override it.")]
VersionOption = Annotated[
    int, typer.Option("--expected-version", show_default=False, help="Refuse unless the task is at this version.")
]
TaskArgument = Annotated[str, typer.Argument(metavar="TASK", help="The task's id.")]
ANY_VERSION = -1


def open_plane(db: str, root: str, *, make: bool = False) -> ControlPlane:
    """The control plane of the database that is meant; only with ``make`` one that is not there is made.

    Raises ``database_not_found``, so that a request that can only be refused leaves no file behind.
    """
    from slipway_lite.control.service import ControlPlane

    return ControlPlane.open(database(db, root)[0] if make else existing(db, root))


def read(db: str, root: str, query: Callable[..., str], *args: Any) -> dict[str, Any]:
    """The document that a query gives, without touching the file. Raises ``database_unreadable`` where it is none."""
    text = read_store(existing(db, root), lambda store: query(store, *args))
    try:
        document: dict[str, Any] = json.loads(text)
    except ValueError:
        raise unsound() from None
    return document


def body(file: str, **flags: Any) -> dict[str, Any]:
    """A request body: the JSON object of ``file``, with the ``flags`` that were given on top."""
    from slipway_lite.control.bodies import BODY_LIMIT, decode_body

    document: Any = {}
    if file:
        try:
            raw = read_descriptor(0, BODY_LIMIT) if file == "-" else read_regular(file, BODY_LIMIT)
        except OSError:
            raise UsageError("unreadable_file", "The file of --file cannot be read.") from None
        document = decode_body(raw)
    if not isinstance(document, dict):
        raise UsageError("invalid_body", "The body is a JSON object.")
    return {**document} | {name: value for name, value in flags.items() if value not in ("", None, [], ())}


def expected(version: int) -> int | None:
    """The version of ``--expected-version``, if it was given."""
    return None if version == ANY_VERSION else version


def show(document: dict[str, Any], as_json: bool, lines: Iterable[str]) -> None:
    """Print a document, or lines about it for people."""
    emit(document, as_json, lines)


def facts(document: dict[str, Any], *names: str) -> list[str]:
    """``name: value`` for the members of ``document`` that are there; all scalar ones without ``names``."""
    wanted = names or [name for name, value in document.items() if not isinstance(value, dict | list)]
    return [f"{name.replace('_', ' ')}: {document[name]}" for name in wanted if name in document]


def absolute(path: str) -> str:
    """``path`` as an absolute one, for what the record keeps of files."""
    return os.path.abspath(path)
