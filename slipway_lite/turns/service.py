"""The journal of turns over the store: one immediate transaction an append, every row in the ledger.

A working tree has one stream in each of the two tables. What is read back is a hypothesis: after a restart the driver
recomputes the snapshot and lets the freshness test of the decider judge the last outcome.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from slipway_lite import clock, ids
from slipway_lite.canon import encode
from slipway_lite.errors import SlipwayError
from slipway_lite.store.audit import append_audits
from slipway_lite.store.tables import APPEND_ONLY
from slipway_lite.turns.snapshot import snapshot_sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from slipway_lite.store.audit import Event
    from slipway_lite.store.connection import Store

_JSON_COLUMNS = frozenset(
    {"outcome", "diagnostics", "errors", "attempts", "decision", "evidence", "snapshot", "readings"}
)
_EMPTY: dict[str, list[Any]] = {
    "evidence": [],
    "diagnostics": [],
    "errors": [],
    "attempts": [],
    "readings": [],
}


class LastOutcome(NamedTuple):
    """The newest validated outcome of a working tree and the revision at which its turn ended."""

    outcome: dict[str, Any]
    source_revision: str | None
    turn_id: str


class TurnJournal:
    """Appends turns and snapshots of the working tree at ``root``; ``run_id`` and ``action_id`` link its turns.

    A file may hold several repositories: the Run has to be one of the repository ``git_common_dir``. Raises
    :class:`SlipwayError`: ``run_not_found``, ``action_not_found``.
    """

    def __init__(
        self,
        store: Store,
        root: str,
        *,
        run_id: str | None = None,
        action_id: str | None = None,
        git_common_dir: str | None = None,
    ) -> None:
        self._store = store
        self._stream = _text(f"worktree:{root}")
        self._links = {"run_id": run_id, "action_id": action_id}
        if run_id is not None and not store.rows(
            "select 1 from runs where run_id = ? and git_common_dir = ?", (run_id, git_common_dir)
        ):
            raise SlipwayError("run_not_found", "The database has no such Run of this repository.")
        if action_id is not None and not store.rows(
            "select 1 from run_actions where run_id = ? and action_id = ?", (run_id, action_id)
        ):
            raise SlipwayError("action_not_found", "The Run has no such Action.")

    def append_turn(self, record: dict[str, Any]) -> None:
        """Append one turn: a record of :meth:`DrivenTurn.as_record` with any of the other columns of ``turns``."""
        turn = {"turn_id": ids.uuid4(), **self._links, **record}
        self._append("turns", turn, [_audit(turn)])

    def append_snapshot(self, record: dict[str, Any]) -> None:
        """Append ``{"snapshot": …, "readings": […]}``; its digest and its key facts become columns."""
        snapshot = record["snapshot"]
        unit = snapshot["unit"]
        self._append(
            "workflow_snapshots",
            {
                "snapshot_sha256": snapshot_sha256(snapshot),
                "source_revision": snapshot["sourceRevision"],
                "repository_state": snapshot["repositoryState"],
                "unit_id": unit and unit["id"],
                **record,
            },
        )

    def _append(self, table: str, record: dict[str, Any], audits: Iterable[Event] = ()) -> None:
        values = [_column(name, record.get(name, _EMPTY.get(name))) for name in APPEND_ONLY[table]]
        with self._store.immediate() as tx:
            at = clock.timestamp()
            tx.append(table, self._stream, tx.next_sequence(table, self._stream), at, *values)
            run_id = self._links["run_id"]
            append_audits(tx, f"run:{run_id}" if run_id else self._stream, at, audits, run_id=run_id)

    def last_outcome(self, skill: str | None = None) -> LastOutcome | None:
        """The newest validated outcome, of ``skill`` when one is named."""
        rows = self._store.rows(
            "select outcome, source_revision, turn_id from turns"
            " where stream = :stream and verdict = 'validated' and (:skill is null or skill = :skill)"
            " order by sequence desc limit 1",
            {"stream": self._stream, "skill": skill},
        )
        return LastOutcome(json.loads(rows[0][0]), rows[0][1], rows[0][2]) if rows else None


def _audit(turn: dict[str, Any]) -> Event:
    """What the audit trail keeps of a turn: how it went, never what it says."""
    payload = {name: turn.get(name) for name in ("turn_id", "skill", "verdict", "source", "repair", "action_id")}
    return "turn.parsed" if turn["verdict"] == "validated" else "turn.failed", "worker", "agent", payload


def _column(name: str, value: Any) -> Any:
    return _text(encode(value)) if name in _JSON_COLUMNS and value is not None else value


def _text(document: str) -> str:
    """``document`` with a lone surrogate, which a reply may escape and SQLite refuses, as its JSON escape."""
    return document.encode("utf-8", "backslashreplace").decode()
