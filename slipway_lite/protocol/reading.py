"""Reads of Runs: one, all, and the sections of an accepted source. They never write (machine-protocol §2.3 to §2.6)."""

from __future__ import annotations

import json
import os

from slipway_lite.canon import framed
from slipway_lite.errors import SlipwayError
from slipway_lite.protocol import commands, documents, replay
from slipway_lite.protocol.runs import Runs
from slipway_lite.store.journal import EVENT_COLUMNS, first_unsound
from slipway_lite.store.projections import DOES_NOT_FIT
from slipway_lite.store.reading import read_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from slipway_lite.protocol.run import Run
    from slipway_lite.protocol.workspace import Workspace
    from slipway_lite.store.connection import Store
    from slipway_lite.store.journal import EventRow

    T = TypeVar("T")

_EVERY_EVENT = (
    f"select e.stream, r.event_count, r.head_seq, {EVENT_COLUMNS} from journal_events e"
    " left join runs r on r.run_id = substr(e.stream, 5) left join ledger l on l.seq = e.seq"
    " where e.stream > 'run:' and e.stream < 'run;' order by e.stream, e.sequence"
)
_WITHOUT_EVENTS = (
    "select run_id, git_common_dir from runs"
    " where not exists (select 1 from journal_events where stream = 'run:' || run_id)"
)


class Reading(Runs):
    """The reads of the machine protocol for one worktree."""

    def __init__(self, workspace: Workspace, db: str | None = None) -> None:
        super().__init__(workspace, db)
        self._verified: dict[str, tuple[replay.Head, Run]] = {}

    def find(self, store: Store, run_id: str) -> Run:
        """The Run, or ``run_not_found``, ``run_journal_invalid``, ``workspace_identity_mismatch``."""
        try:
            run = self.load(store, run_id)
        except replay.Unreplayable as error:
            raise SlipwayError(
                "run_journal_invalid",
                f"The journal of the Run cannot be trusted: {error}. `slipway db verify` says more.",
                next=self.list_runs(),
            ) from error
        if run is None:
            raise self._not_found()
        return run

    def _not_found(self) -> SlipwayError:
        return SlipwayError(
            "run_not_found",
            "This repository has no such Run. `slipway status` lists those it has.",
            next=self.list_runs(),
        )

    def run(self, run_id: str) -> Run:
        """One Run, every event of it verified."""
        found: Run = self._read(lambda store: self.find(store, run_id), run_id)
        return found

    def _read(self, work: Callable[[Store], Any], run_id: str) -> Any:
        found = self._read_if_there(work, run_id)
        if found is None:
            raise self._not_found()
        return found

    def _read_if_there(self, work: Callable[[Store], T], run_id: str | None) -> T | None:
        """``work(store)``, or ``None`` where there is no file yet, or one that a first write has only begun.

        A place that leads elsewhere is refused, as it is for a write.
        """
        with self.storing(run_id, mutation=False):
            self.refuse_redirection()
            if not os.path.exists(self.path):
                return None
            try:
                return read_store(self.path, work)
            except SlipwayError as error:
                if error.code == "database_blank":
                    return None
                raise

    def status_list(self) -> tuple[list[Run], list[dict[str, Any]], list[dict[str, Any]]]:
        """``(local Runs, stubs of Runs of sibling worktrees, unavailable Runs)`` of this repository.

        Only the head of each journal is verified here; `status ID` verifies all of it.
        """
        rows, lost = self._read_if_there(
            lambda store: (store.rows(_EVERY_EVENT), store.rows(_WITHOUT_EVENTS)), None
        ) or ([], [])
        local: list[Run] = []
        stubs: list[dict[str, Any]] = []
        unavailable = [_unavailable(run_id, replay.Unreplayable(1)) for run_id, common in lost if self.sees(common)]
        for stream, known, events in _by_stream(rows):
            run_id = stream.removeprefix(replay.STREAM_PREFIX)
            try:
                header = json.loads(events[0][4])
                header = header.get("initialize", header)
                identity = header["workspace_identity"]
                if not self.sees(identity["git_common_dir"]):
                    continue
                if identity != self.workspace.document():
                    created_at = header.get("created_at", events[0][2])
                    stubs.append(documents.foreign_stub(run_id, created_at, "active", header))
                    continue
                local.append(_listed(run_id, stream, known, events))
            except (replay.Unreplayable, *DOES_NOT_FIT) as error:
                unavailable.append(_unavailable(run_id, error))
        return local, stubs, unavailable

    def status_document(self) -> dict[str, Any]:
        """``statusList`` (§2.5). A Run that cannot be shown is unavailable, like one that cannot be replayed."""
        local, stubs, unavailable = self.status_list()
        runs = []
        for run in local:
            try:
                runs.append(documents.run_status(run))
            except DOES_NOT_FIT:
                changed = replay.Unreplayable(run.event_count, "an event of the journal was changed")
                unavailable.append(_unavailable(run.run_id, changed))
        return documents.status_list([*runs, *stubs], unavailable)

    def action_material(self, run_id: str, action_id: str, key: str) -> dict[str, Any]:
        """``actionMaterial``: a section for the current, non-void Action (§1.6.2, §2.6)."""

        def read(store: Store) -> dict[str, Any]:
            run = self._find_for_material(store, run_id)
            record = run.by_id.get(action_id)
            if record is None:
                raise SlipwayError(
                    "material_action_not_found", "The Run has no such Action.", next=self.inspect(run_id)
                )
            if run.visible_action is not record:
                stale = commands.refusal(
                    run, "material_action_stale", "sections are read for its current Action only.", bare=True
                )
                raise stale
            return documents.action_material(run, action_id, self._section(store, run, key))

        document: dict[str, Any] = self._read(read, run_id)
        return document

    def _find_for_material(self, store: Store, run_id: str) -> Run:
        """The Run; one that this object verified before is not replayed again while its journal has the same head.

        A host reads the sections of an Action one after the other, and each reply checks its own payload anyway.
        """
        head = replay.head(store, run_id)
        known, run = self._verified.get(run_id, (None, None))
        if run is not None and known == head:
            return run
        try:
            run = self.find(store, run_id)
            if head is not None:
                self._verified[run_id] = (head, run)
            return run
        except SlipwayError as error:
            if error.code != "run_journal_invalid":
                raise
            raise SlipwayError("runtime_error", error.message, next=self.inspect(run_id)) from error

    def pinned_material(self, run_id: str, key: str) -> dict[str, Any]:
        """``pinnedMaterial``: a section for inspection, in any state (§2.6)."""

        def read(store: Store) -> dict[str, Any]:
            run = self.find(store, run_id)
            return documents.pinned_material(run, self._section(store, run, key))

        document: dict[str, Any] = self._read(read, run_id)
        return document

    def _section(self, store: Store, run: Run, key: str) -> dict[str, Any]:
        """The section ``key``, its stored payload checked three ways before it is shown."""
        inspect = self.inspect(run.run_id)
        if run.pinned_source is None:
            raise SlipwayError("material_unavailable", "The Run has no source, so it has no sections.", next=inspect)
        section = next((item for item in run.pinned_source["sections"] if item["key"] == key), None)
        if section is None:
            raise SlipwayError("material_section_not_found", "The source has no such section.", next=inspect)
        rows = store.rows("select content from materials where material_sha256 = ?", (section["material_sha256"],))
        raw = rows[0][0].encode() if rows else b""
        if not rows or framed("slipway-material/v1", raw) != section["material_sha256"]:
            raise SlipwayError(
                "material_unavailable",
                "The stored text of this section is missing or was changed. `slipway db verify` says more.",
                next=inspect,
            )
        revision = framed("slipway-section/v2", section["key"], section["role"], section["title"], raw)
        if len(raw) != section["bytes"] or revision != section["section_revision"]:
            raise SlipwayError(
                "material_corrupt",
                "The stored text of this section is not what the catalog says.",
                next=inspect,
            )
        return documents.section_document(section, rows[0][0])


def _by_stream(rows: list[Any]) -> list[tuple[str, tuple[int, int], list[EventRow]]]:
    streams: dict[str, tuple[tuple[int, int], list[EventRow]]] = {}
    for stream, event_count, head_seq, *event in rows:
        streams.setdefault(stream, ((event_count, head_seq), []))[1].append(tuple(event))
    return [(stream, known, events) for stream, (known, events) in streams.items()]


def _listed(run_id: str, stream: str, known: tuple[int, int], events: list[EventRow]) -> Run:
    head = events[-1]
    if known != (len(events), head[0]) or head[1] != len(events):
        raise replay.Unreplayable(len(events))
    if first_unsound(stream, [head], head[1]) is not None:
        raise replay.Unreplayable(head[1])
    return replay.replay(run_id, events)


def _unavailable(run_id: str, error: Exception) -> dict[str, Any]:
    detail = f"{error}." if isinstance(error, replay.Unreplayable) else "The first record cannot be read."
    return {"id": run_id, "code": "run_journal_invalid", "detail": detail}
