"""Bring the published command line's Runs into the file, whole or not at all (machine-protocol §6).

Each record becomes one row of the Run's own journal, with its sequence, its time, its type and the very text of its
``data``; ``event_version`` 2 in it says for good that the row was imported. The audit events that it would have had
here are told as well, with the digest of the journal as their provenance, and ``run.imported`` after them. Every Run is
read, verified and folded before the first write, and all of them are written in one transaction.
"""

from __future__ import annotations

import os

from slipway_lite import clock
from slipway_lite.errors import SlipwayError
from slipway_lite.protocol import audit
from slipway_lite.protocol.imported.directories import Place, RunDirectory, Unreadable
from slipway_lite.protocol.imported.fold import Imported
from slipway_lite.protocol.imported.lines import CorruptLine, records
from slipway_lite.protocol.imported.survey import Hashing, folded, material, refused, surveyed
from slipway_lite.protocol.projection import write_touched
from slipway_lite.protocol.replay import stream
from slipway_lite.store.audit import append_audits
from slipway_lite.store.connection import open_store
from slipway_lite.store.materials import store_material
from slipway_lite.store.reading import read_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from slipway_lite.protocol.imported.lines import Line
    from slipway_lite.protocol.imported.survey import Known, Progress, Report, Survey
    from slipway_lite.store.audit import Event
    from slipway_lite.store.connection import Store
    from slipway_lite.store.journal import Transaction

    KnownOf = Callable[[str], Known]

EVENT_TYPE = "run.imported"
_KNOWN = "select at, type, data from journal_events where stream = ? order by sequence"


def import_journals(place: str, database: str, *, check: bool = False, progress: Progress | None = None) -> Report:
    """Import every Run under ``place`` into the file ``database``; with ``check`` only say what that would do.

    ``place`` is the repository's ``slipway`` directory, its ``runs``, or one Run's directory; it is left as it is.
    Returns ``{"check", "runs", "imported_runs", "imported_events"}``, each Run with ``run_id``, ``result`` (imported,
    continued, or unchanged where every record is there already), ``events``, ``imported_events``, ``materials`` and
    ``journal_sha256``.

    Raises ``journal_directory_not_found``; ``journal_import_refused`` when a Run cannot be read or breaks a rule of
    machine-protocol §6, with ``{"problems": [{"run_id", "line", "problem"}]}`` (``line`` is absent where it is not one
    line); ``import_conflict`` when a Run is there and is not the beginning of what its directory has, with
    ``{"conflicts": [{"run_id", "sequence", "problem"}]}``. Then nothing was written.
    """
    with Place(place) as runs:
        surveys = surveyed(runs, progress)
        if not check and surveys:
            with open_store(database) as store, store.immediate() as tx:
                return _report(check, settled(runs, surveys, _known_in(store), tx))
        if os.path.exists(database):
            try:
                return read_store(
                    database, lambda store: _report(check, settled(runs, surveys, _known_in(store), None))
                )
            except SlipwayError as error:
                if error.code != "database_blank":
                    raise
        return _report(check, [survey.report([]) for survey in surveys])


def _known_in(store: Store) -> KnownOf:
    return lambda name: store.rows(_KNOWN, (name,))


class Conflict(Exception):
    """The file has another event than the journal at ``sequence``."""

    def __init__(self, sequence: int, reason: str) -> None:
        super().__init__(reason)
        self.sequence = sequence


def settled(runs: Place, surveys: list[Survey], known_of: KnownOf, tx: Transaction | None) -> list[Report]:
    """Write what is missing of each Run, or, without ``tx``, say what that would be.

    Raises ``import_conflict``, or ``journal_import_refused`` for a Run that is no longer what was verified.
    """
    at, reports, conflicts = clock.timestamp(), [], []
    for survey in surveys:
        try:
            # Nobody is waited for while the file is locked for writing.
            with RunDirectory(runs, survey.run_id, seconds=0) as directory:
                reports.append(_settle(tx, directory, survey, known_of(stream(survey.run_id)), at))
        except Conflict as error:
            conflicts.append({"run_id": survey.run_id, "sequence": error.sequence, "problem": f"{error}"})
        except (CorruptLine, Unreadable) as error:
            raise refused([{"run_id": survey.run_id, "problem": f"{error}"}]) from error
    if conflicts:
        raise SlipwayError(
            "import_conflict",
            f"Nothing was imported. Runs that are in the file already and went on differently: {len(conflicts)}. The "
            f"first is {conflicts[0]['run_id']}, event {conflicts[0]['sequence']}: {conflicts[0]['problem']}.",
            details={"conflicts": conflicts},
        )
    return reports


def _is_known(known: Known, line: Line) -> bool:
    """Whether the file has this record. Raises :class:`Conflict` where it has another one in its place."""
    if line.sequence > len(known):
        return False
    at, kind, data = known[line.sequence - 1]
    if (at, kind, data) != (line.at, line.type, line.data):
        raise Conflict(line.sequence, "the file has another event there")
    return True


def _settle(tx: Transaction | None, directory: RunDirectory, survey: Survey, known: Known, at: str) -> Report:
    report = survey.report(known)
    writing = None if tx is None or not report["imported_events"] else _Writing(tx, report, at)
    with directory.journal() as file:
        journal = Hashing(file)
        for line in records(journal.readline):
            is_known = _is_known(known, line)
            if writing is not None:
                writing.event(line, is_known)
        if journal.sha256() != survey.journal_sha256:
            raise Unreadable("its journal changed while it was imported; do it again")
    if writing is not None:
        for section in survey.sections:
            writing.material(section["material_sha256"], material(directory, section))
        writing.end()
    return report


class _Writing:
    """Writes one Run into the transaction."""

    def __init__(self, tx: Transaction, report: Report, at: str) -> None:
        self._tx = tx
        self._report = report
        self._at = at
        self._run_id: str = report["run_id"]
        self._imported = Imported(self._run_id)

    def event(self, line: Line, is_known: bool) -> None:
        """Fold a record, and append it if it is new: journal, audit events and read tables."""
        run = folded(self._imported, line)
        if is_known:
            return
        name = stream(self._run_id)
        seq = self._tx.append("journal_events", name, line.sequence, line.at, line.type, line.data)
        run.event_count, run.head_seq = line.sequence, seq
        write_touched(self._tx, run)
        self._audit(audit.events(run, line.type, self._imported.facts), line.at)

    def material(self, digest: str, text: str) -> None:
        store_material(self._tx, digest, text, self._at)

    def end(self) -> None:
        payload = {name: self._report[name] for name in ("journal_sha256", "events", "imported_events", "materials")}
        self._audit([(EVENT_TYPE, *audit.PERSON, payload)])

    def _audit(self, events: Iterable[Event], occurred_at: str | None = None) -> None:
        provenance = "import:" + self._report["journal_sha256"].removeprefix("sha256:")
        append_audits(
            self._tx,
            stream(self._run_id),
            self._at,
            events,
            run_id=self._run_id,
            provenance=provenance,
            occurred_at=occurred_at,
        )


def _report(check: bool, reports: list[Report]) -> Report:
    return {
        "check": check,
        "runs": reports,
        "imported_runs": sum(1 for report in reports if report["imported_events"]),
        "imported_events": sum(report["imported_events"] for report in reports),
    }
