"""Verify Run directories before anything is written: every record, every rule, every material."""

from __future__ import annotations

from hashlib import sha256

from slipway_lite.canon import framed
from slipway_lite.errors import SlipwayError
from slipway_lite.protocol.imported.conform import Misshapen
from slipway_lite.protocol.imported.directories import Place, RunDirectory, Unreadable
from slipway_lite.protocol.imported.fold import Imported
from slipway_lite.protocol.imported.lines import CorruptLine, records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, BinaryIO

    from slipway_lite.protocol.imported.lines import Line
    from slipway_lite.protocol.run import Run

    Progress = Callable[[int, int], None]
    Report = dict[str, Any]
    # at, type, data
    Known = list[tuple[str, str, str]]


class Survey:
    """One Run as its directory has it, verified: what an import writes, but for the records themselves."""

    def __init__(self, run_id: str, events: int, digest: str, sections: list[dict[str, Any]]) -> None:
        self.run_id = run_id
        self.events = events
        self.journal_sha256 = digest
        self.sections = sections

    def report(self, known: Known) -> Report:
        """What an import does to this Run where ``known`` is what the file has of it."""
        new = max(self.events - len(known), 0)
        return {
            "run_id": self.run_id,
            "result": ("continued" if known else "imported") if new else "unchanged",
            "events": self.events,
            "imported_events": new,
            "materials": len({section["material_sha256"] for section in self.sections}),
            "journal_sha256": self.journal_sha256,
        }


class Hashing:
    """A file that is read line by line, and the digest of what was read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = sha256()

    def readline(self, limit: int) -> bytes:
        line = self._file.readline(limit)
        self._digest.update(line)
        return line

    def sha256(self) -> str:
        return "sha256:" + self._digest.hexdigest()


def surveyed(runs: Place, progress: Progress | None) -> list[Survey]:
    """Every Run, verified. Raises ``journal_import_refused`` with what is wrong with each of the others."""
    surveys, problems = [], []
    for done, run_id in enumerate(runs.run_ids, 1):
        try:
            surveys.append(_survey(runs, run_id))
        except CorruptLine as error:
            problems.append({"run_id": run_id, "line": error.number, "problem": f"{error}"})
        except Unreadable as error:
            problems.append({"run_id": run_id, "problem": f"{error}"})
        if progress is not None:
            progress(done, len(runs.run_ids))
    if problems:
        raise refused(problems)
    return surveys


def refused(problems: list[dict[str, Any]]) -> SlipwayError:
    """``journal_import_refused``, with everything that is wrong and the first of it in words."""
    first = problems[0]
    where = f", line {first['line']}" if "line" in first else ""
    return SlipwayError(
        "journal_import_refused",
        f"Nothing was imported. Runs that cannot be taken as they are: {len(problems)}. The first is "
        f"{first['run_id']}{where}: {first['problem'].rstrip('.')}.",
        details={"problems": problems},
    )


def _survey(runs: Place, run_id: str) -> Survey:
    """Raises :class:`CorruptLine` or :class:`Unreadable`."""
    with RunDirectory(runs, run_id) as directory, directory.journal() as file:
        journal, imported, count = Hashing(file), Imported(run_id), 0
        sections: dict[str, dict[str, Any]] = {}
        for line in records(journal.readline):
            run, count = folded(imported, line), line.sequence
            for source in (run.pinned_source, (run.source_candidate or {}).get("snapshot")):
                sections |= {section["section_revision"]: section for section in (source or {}).get("sections", ())}
        if not count:
            raise Unreadable("its journal holds no record")
        for section in sections.values():
            material(directory, section)
        return Survey(run_id, count, journal.sha256(), [*sections.values()])


def folded(imported: Imported, line: Line) -> Run:
    """The Run after one more record. Raises :class:`CorruptLine`."""
    try:
        return imported.fold(line.type, line.at, line.data)
    except Misshapen as error:
        raise CorruptLine(line.number, str(error)) from None


def material(directory: RunDirectory, section: dict[str, Any]) -> str:
    """The text of a section, which has to be what its digests say."""
    raw = directory.material(section["material_sha256"])
    revision = framed("slipway-section/v2", section["key"], section["role"], section["title"], raw)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise Unreadable("a material is not UTF-8") from None
    if framed("slipway-material/v1", raw) != section["material_sha256"] or len(raw) != section["bytes"]:
        raise Unreadable("a material is not what its name says")
    if revision != section["section_revision"]:
        raise Unreadable("a material is not the text of its section")
    return text
