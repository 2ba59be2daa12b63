"""What an import reports, typed, for Python callers."""

from __future__ import annotations

from typing import Literal

from slipway_lite.protocol.messages import Message


class ImportedRun(Message):
    """One Run of an import; ``unchanged`` is one whose every record was there already."""

    run_id: str
    result: Literal["imported", "continued", "unchanged"]
    events: int
    imported_events: int
    materials: int
    journal_sha256: str


class ImportReport(Message):
    """What an import did, or, where ``check`` is true, would do."""

    check: bool
    runs: tuple[ImportedRun, ...]
    imported_runs: int
    imported_events: int
