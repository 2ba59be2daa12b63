"""A Run as its journal tells it: the value that events are folded into (machine-protocol §2.3, §4.1). Pure.

A :class:`Run` is built by folding its events in order (:mod:`slipway_lite.protocol.fold`) and belongs to whoever
folded it; nothing shares or keeps one across commands.
"""

from __future__ import annotations

from slipway_lite.protocol.prose import observations_dropped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slipway_lite.protocol.context import Item

OBSERVATIONS_KEPT = 128


class Record:
    """One issued Action and what happened to it.

    ``decisions`` and ``outcomes`` are the context items as they were when it was issued, ``initial_git`` and
    ``changed`` what its brief may say about the worktree: what a pure function derives from them is not kept.
    ``issued`` is the document of an Action that another implementation issued, which is not derived but kept.
    """

    __slots__ = (
        "action_id", "authorization", "changed", "decisions", "given_brief", "host_brief", "issued", "issued_at",
        "kind", "ordinal", "outcome", "outcome_at", "outcome_payload_sha256", "outcomes", "remaining_budget",
        "skipped", "source", "voided",
    )  # fmt: skip

    def __init__(
        self,
        run: Run,
        action_id: str,
        kind: str,
        given_brief: str,
        host_brief: bool,
        authorization: dict[str, Any] | None,
        issued_at: str,
    ) -> None:
        self.action_id = action_id
        self.kind = kind
        self.ordinal = len(run.records) + 1
        self.given_brief = given_brief
        self.host_brief = host_brief
        self.authorization = authorization
        self.issued: dict[str, Any] | None = None
        self.issued_at = issued_at
        self.remaining_budget = run.remaining_budget - 1
        self.changed = run.changed
        self.source = run.pinned_source
        self.decisions: tuple[Item, ...] = tuple(run.decision_items.values())
        self.outcomes: tuple[Item, ...] = tuple(run.outcome_items.values())
        self.outcome: dict[str, Any] | None = None
        self.outcome_payload_sha256: str | None = None
        self.outcome_at: str | None = None
        self.voided = False
        self.skipped = False


class Run:
    """The state of one Run after some of its events."""

    def __init__(self, run_id: str, at: str, data: dict[str, Any]) -> None:
        """The Run right after ``run_started``, before its first Action is issued."""
        self.run_id = run_id
        self.goal: str = data["goal"]
        self.workspace: dict[str, Any] = data["workspace_identity"]
        self.review_enabled: bool = data["review_enabled"]
        self.initial_budget: int = data["initial_budget"]
        self.initial_git: dict[str, Any] = data["initial_git"]
        self.pinned_source: dict[str, Any] | None = data.get("pinned_source")
        self.created_at = at
        self.updated_at = at
        self.state = "active"
        self.pause_reason: str | None = None
        self.review_pending = False
        self.remaining_budget = self.initial_budget
        self.current_git = self.initial_git
        self.changed = False
        self.final_git_observed = False
        self.records: list[Record] = []
        self.by_id: dict[str, Record] = {}
        self.current: Record | None = None
        self.pending: list[dict[str, Any]] = []
        self.answers: list[dict[str, Any]] = []
        self.observations: list[str] = []
        self.known_issues: list[str] = []
        self.uncertainties: list[str] = []
        self.activities: list[dict[str, Any]] = []
        self.summary: str | None = None
        self.pending_request: dict[str, Any] | None = None
        self.grant: dict[str, Any] | None = None
        self.source_candidate: dict[str, Any] | None = None
        self.last_source_choice: dict[str, Any] | None = None
        self.last_resume_result: dict[str, Any] | None = None
        self.choices: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        self.accepted_sections: list[dict[str, Any]] = [*(self.pinned_source or {}).get("sections", ())]
        # Context items by Action id, in the order of the answers and records they come from.
        self.decision_items: dict[str, Item] = {}
        self.outcome_items: dict[str, Item] = {}
        # Where the Run is in its journal: how many events were folded, and the ledger row of the last one.
        self.event_count = 0
        # How many of them another implementation wrote, and `db import-jsonl` brought in.
        self.imported_count = 0
        self.head_seq = 0
        # What the last event touched, so that a projection writes these rows and no others.
        self.touched_records: set[int] = set()
        self.touched_answers: set[int] = set()
        self.reported: Record | None = None
        self.git_looks: list[tuple[str, str, dict[str, Any] | None]] = []
        self.git_look_count = 0
        self.finding_count = 0

    def forget_touched(self) -> None:
        self.touched_records.clear()
        self.touched_answers.clear()
        self.git_looks.clear()
        self.reported = None

    def looked(self, at: str, outcome: str, git: dict[str, Any] | None) -> None:
        """One look at git: ``observed`` (it differs from the one before), ``unchanged``, or ``failed``."""
        self.git_look_count += 1
        self.git_looks.append((at, outcome, git))

    @property
    def root(self) -> str:
        return str(self.workspace["worktree_root"])

    @property
    def ad_hoc(self) -> bool:
        return self.pinned_source is None

    @property
    def requirements_revision(self) -> str | None:
        return self.pinned_source["requirements_revision"] if self.pinned_source else None

    @property
    def visible_action(self) -> Record | None:
        """The Action a reply may show: the current one of an active or paused Run."""
        return self.current if self.state in ("active", "paused") else None

    def answer_for(self, action_id: str) -> dict[str, Any] | None:
        return next((answer for answer in self.answers if answer["action_id"] == action_id), None)

    def kept_observations(self) -> list[str]:
        """The newest observations, with one line in front for those that only the journal has."""
        dropped = len(self.observations) - OBSERVATIONS_KEPT
        if dropped <= 0:
            return self.observations
        return [observations_dropped(dropped), *self.observations[-OBSERVATIONS_KEPT:]]

    def observe_once(self, text: str) -> None:
        if text not in self.observations[-OBSERVATIONS_KEPT:]:
            self.observations.append(text)

    def doubt_once(self, text: str) -> None:
        if text not in self.uncertainties:
            self.uncertainties.append(text)
