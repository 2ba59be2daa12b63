"""``docs/workflow/REPOSITORY_STATE.md``: the ledger that discovery writes and everybody reads (turn-contract §10).

Two readers exist: one takes a plain ``Status: word`` line at the start of a line, the other also the two-column
table. :func:`render_repository_state` writes both notations, so that every reader understands the document, and
:func:`check_replacement` says what a new version of it must not lose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from slipway_lite.errors import InvalidDocument, SlipwayError
from slipway_lite.text import is_plain
from slipway_lite.turns.ecma import pattern, trim
from slipway_lite.turns.status_forms import ALL_FORMS, plain_value, read_label

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

STATUSES = ("draft", "frozen", "contradicted", "resolved", "needs-input")
"""The statuses in use; ``needs-input`` is known to the compiler only, ``resolved`` to the sensor script only."""

RESOLVER = "resolve-repository-state"
"""The sole writer of frozen facts and accepted decisions."""

_NONE = "—"
_ID = pattern(r"[A-Za-z][A-Za-z0-9-]*\Z")
_OPEN_RESOLUTIONS = frozenset({"", _NONE, "-", "open", "pending", "needs-input"})


class Entry(NamedTuple):
    """One row of evidence: a fact (F…), decision (AD-…), piece of planned work (W…), document or inference (I…)."""

    id: str
    statement: str
    evidence: str
    status: str


class Contradiction(NamedTuple):
    """A conflict between a prior statement and new evidence; open until its resolution says otherwise."""

    id: str
    prior_statement: str
    new_evidence: str
    resolution: str
    reported_by: str

    @property
    def is_open(self) -> bool:
        word = self.resolution.lower().split(":")[0]
        return trim(word) in _OPEN_RESOLUTIONS


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """The document as values. ``snapshot_id`` and ``source_revision`` are ``None`` where it names none."""

    status: str
    snapshot_id: str | None = None
    source_revision: str | None = None
    created_by: str | None = None
    created_at: str | None = None
    facts: tuple[Entry, ...] = ()
    decisions: tuple[Entry, ...] = ()
    planned_work: tuple[Entry, ...] = ()
    documentation: tuple[Entry, ...] = ()
    inference: tuple[Entry, ...] = ()
    open_questions: tuple[Entry, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()

    @property
    def open_contradictions(self) -> tuple[Contradiction, ...]:
        return tuple(row for row in self.contradictions if row.is_open)


# field, label written, labels read
HEADER = (
    ("snapshot_id", "Snapshot ID", ("Snapshot ID", "Snapshot")),
    ("source_revision", "Source revision", ("Source revision", "Source")),
    ("status", "Status", ("Status",)),
    ("created_by", "Created by", ("Created by",)),
    ("created_at", "Created at", ("Created at",)),
)
SECTIONS = (
    ("facts", "Repository facts"),
    ("decisions", "Accepted decisions"),
    ("planned_work", "Planned work"),
    ("documentation", "Documentation"),
    ("inference", "Inference"),
    ("open_questions", "Open questions"),
)
_CONTRADICTIONS = "Contradictions"
_ENTRY_COLUMNS = ("ID", "Statement", "Evidence", "Status")
_CONTRADICTION_COLUMNS = ("ID", "Prior statement", "New evidence", "Resolution", "Reported by")


def read_repository_state(content: str) -> RepositoryState:
    """The document as values; a document without a status reads as ``draft``.

    Header values are looked for as a colon line, bold or plain, then as a table row, and lose back-ticks, asterisks
    and a trailing parenthesis. Sections are found by the start of their heading.
    """
    header = {name: _header_value(content, labels) for name, _, labels in HEADER}
    rows = {name: _rows(content, title, _ENTRY_COLUMNS) for name, title in SECTIONS}
    return RepositoryState(
        status=(header["status"] or "draft").lower(),
        snapshot_id=header["snapshot_id"],
        source_revision=header["source_revision"],
        created_by=header["created_by"],
        created_at=header["created_at"],
        facts=tuple(Entry(*row) for row in rows["facts"]),
        decisions=tuple(Entry(*row) for row in rows["decisions"]),
        planned_work=tuple(Entry(*row) for row in rows["planned_work"]),
        documentation=tuple(Entry(*row) for row in rows["documentation"]),
        inference=tuple(Entry(*row) for row in rows["inference"]),
        open_questions=tuple(Entry(*row) for row in rows["open_questions"]),
        contradictions=tuple(Contradiction(*row) for row in _rows(content, _CONTRADICTIONS, _CONTRADICTION_COLUMNS)),
    )


def _header_value(content: str, labels: tuple[str, ...]) -> str | None:
    found = (read_label(content, labels, form) for form in ALL_FORMS)
    value = next((reading[0] for reading in found if reading is not None), None)
    return None if value in (None, "", _NONE) else value


def _rows(content: str, title: str, columns: tuple[str, ...]) -> Iterable[list[str]]:
    """The rows of the first table in the section whose heading starts with ``title``, one value a column.

    A column that the table does not have reads as empty; the placeholder row of an empty table is no row.
    """
    names: list[str] | None = None
    inside = False
    for line in content.split("\n"):
        if line.startswith("#"):
            inside = trim(line.lstrip("#")).lower().startswith(title.lower())
            names = None
            continue
        if not inside or not trim(line).startswith("|"):
            continue
        cells = _split_row(line)
        if names is None:
            names = [cell.lower() for cell in cells]
            continue
        row = dict(zip(names, cells, strict=False))
        values = [row.get(column.lower(), "") for column in columns]
        if values[0] not in ("", _NONE) and set(values[0]) - {"-", ":"}:
            yield ["" if value == _NONE else value for value in values]


def _split_row(line: str) -> list[str]:
    inner = trim(line).removeprefix("|").removesuffix("|")
    return [trim(cell.replace("\0", "|")) for cell in inner.replace("\\|", "\0").split("|")]


def render_repository_state(state: RepositoryState) -> str:
    """The document for ``state``, its status as a plain line and as a table row; reading it back gives ``state``.

    Raises :class:`InvalidDocument` ``invalid_repository_state`` for a status that is not in use or a value that does
    not fit into one table cell.
    """
    if state.status not in STATUSES:
        raise _invalid("status", f"The status must be one of: {', '.join(STATUSES)}.")
    lines = [
        "# Repository state",
        "",
        f"Status: {state.status}",
        "",
        "## Snapshot",
        "",
        "| Field | Value |",
        "|---|---|",
    ]
    for name, label, _ in HEADER:
        value = getattr(state, name) or _NONE
        if plain_value(value) != value or "|" in value:
            raise _invalid(name, "A header value must have no back-ticks, asterisks, bars or trailing parenthesis.")
        lines.append(f"| {label} | {_cell(value, name)} |")
    for name, title in SECTIONS:
        lines += _table(title, _ENTRY_COLUMNS, getattr(state, name), name)
    lines += _table(_CONTRADICTIONS, _CONTRADICTION_COLUMNS, state.contradictions, "contradictions")
    return "\n".join(lines) + "\n"


def _table(title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], name: str) -> list[str]:
    if not all(_ID.match(row[0]) for row in rows):
        raise _invalid(name, "Every row needs an id such as F1, AD-2 or C001.")
    body = [f"| {' | '.join(_cell(cell or _NONE, name) for cell in row)} |" for row in rows]
    placeholder = f"|{f' {_NONE} |' * len(columns)}"
    return [
        "",
        f"## {title}",
        "",
        f"| {' | '.join(columns)} |",
        f"|{'---|' * len(columns)}",
        *(body or [placeholder]),
    ]


def _cell(value: str, name: str) -> str:
    if not is_plain(value) or value != trim(value):
        raise _invalid(name, "A value must be one line without control characters or outer white space.")
    return value.replace("|", "\\|")


def _invalid(name: str, message: str) -> InvalidDocument:
    return InvalidDocument(message, f"$.{name}", code="invalid_repository_state")


def check_replacement(old: RepositoryState, new: RepositoryState, *, role: str) -> None:
    """Refuse a new version of the document that would lose what the old one holds.

    Nobody drops a contradiction (``contradiction_would_be_lost``). Only the resolver settles one or leaves the status
    ``contradicted`` (``contradiction_needs_resolver``), and only the resolver changes or drops a fact or an accepted
    decision of a document that was frozen (``frozen_row_would_change``); anybody may add rows.
    """
    kept = {row.id: row for row in new.contradictions}
    if any(row.id not in kept for row in old.contradictions):
        raise SlipwayError("contradiction_would_be_lost", "The new document drops a declared contradiction.")
    if role == RESOLVER:
        return
    settled = any(row.is_open and not kept[row.id].is_open for row in old.contradictions)
    if settled or (old.status == "contradicted" and new.status != "contradicted"):
        raise SlipwayError(
            "contradiction_needs_resolver",
            "A contradiction is settled by resolve-repository-state and nobody else.",
        )
    if old.status != "draft" and not (set(old.facts) <= set(new.facts) and set(old.decisions) <= set(new.decisions)):
        raise SlipwayError("frozen_row_would_change", "A frozen fact or decision is changed by the resolver only.")
