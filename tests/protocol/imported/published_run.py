"""Runs of a real worktree, published as they go on: what the published command line would have left there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from slipway_lite.protocol.imported.service import import_journals
from slipway_lite.protocol.resume import Mode
from slipway_lite.protocol.run import Run
from slipway_lite.protocol.source.classify import classify
from slipway_lite.protocol.source.envelope import decode_envelope
from slipway_lite.store.tables import PROJECTIONS
from tests.protocol.conftest import Repository
from tests.protocol.imported.publishing import Published
from tests.protocol.outcomes import activity, decision, destructive, implementation, review, suggestion
from tests.protocol.source.change import Change
from tests.protocol.stored import Stored


class PublishedRun:
    """One Run in a file elsewhere; its directory below the repository is written by :meth:`publish`."""

    def __init__(self, repository: Repository, elsewhere: Path, goal: str = "Ship it", **options: Any) -> None:
        self.repository = repository
        self.stored = Stored(repository, str(elsewhere))
        self.run = self.stored.start(goal, **options)
        self.published = Published(self.run, self.run.updated_at)

    def _went(self, kind: str, run: Run) -> PublishedRun:
        self.run = run
        self.published.event(run, kind, run.updated_at)
        return self

    def submit(self, status: str = "completed", **fields: Any) -> PublishedRun:
        return self._went("outcome_submitted", self.stored.submit(self.run, status, **fields))

    def answer(self, text: str, confirm: bool = False, scope: str = "") -> PublishedRun:
        return self._went("answer_recorded", self.stored.answer(self.run, text, confirm, scope))

    def skip(self) -> PublishedRun:
        return self._went("action_skipped", self.stored.skip(self.run))

    def stop(self) -> PublishedRun:
        return self._went("run_stopped", self.stored.stop(self.run))

    def resume(self, mode: Mode | None = None, budget: int = 0) -> PublishedRun:
        run = self.stored.resume(self.run, budget, mode)
        assert run.last_resume_result is not None
        operation = run.last_resume_result["operation"]
        return self._went("run_resumed" if operation == "ad_hoc_resumed" else operation, run)

    @property
    def runs(self) -> Path:
        return self.repository.root / ".git" / "slipway" / "runs"

    @property
    def directory(self) -> Path:
        return self.runs / self.run.run_id

    def publish(self) -> PublishedRun:
        """Write the directory as it is now."""
        if self.directory.exists():
            (self.directory / "journal.jsonl").write_bytes(self.published.journal)
        else:
            self.published.write(self.runs)
        return self


def bound(repository: Repository, elsewhere: Path, change: Change | None = None) -> PublishedRun:
    """A Run with a source."""
    source = classify(decode_envelope((change or Change()).raw()))
    return PublishedRun(repository, elsewhere, source=source)


def imported(here: Stored, **options: Any) -> dict[str, Any]:
    return import_journals(str(here.repository.root / ".git" / "slipway"), here.path, **options)


def tables(stored: Stored) -> dict[str, list[Any]]:
    """The read tables, without where the journal's end is in the ledger."""
    found = {table: stored.rows(f"select * from {table} order by 1, 2") for table in PROJECTIONS["run"]}
    return found | {"runs": [row[:-1] for row in found["runs"]]}


def facts(stored: Stored) -> list[Any]:
    if not os.path.exists(stored.path):
        return []
    return [
        stored.rows(f"select * from {table} order by seq") for table in ("ledger", "journal_events", "audit_events")
    ]


def story(repository: Repository, elsewhere: Path) -> PublishedRun:
    """A Run through every kind of Action, a destructive step and two stops, to its end."""
    run = PublishedRun(repository, elsewhere, budget=20)
    run.submit("needs_input", pause=decision()).answer("stable")
    run.submit(suggested_actions=[suggestion()], observations=["seen"]).submit("needs_input", pause=destructive())
    assert run.run.pending_request is not None
    run.answer("", True, run.run.pending_request["scope_sha256"])
    repository.write("new")
    run.submit(implementation=implementation(activities=[activity()], files_changed=["new"], uncertainties=["u"]))
    run.submit(review=review("findings_reported", 2)).stop().resume(budget=5).skip().skip().submit()
    assert run.run.state == "ended"
    return run.publish()
