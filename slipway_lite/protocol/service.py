"""One use case a method: load, decide, watch git, write one event in one transaction, answer with the Run.

Git is watched outside any transaction, so that a big repository never blocks other Runs. If another writer was
faster in between, the decision is made again on what it left.
"""

from __future__ import annotations

from slipway_lite import clock, ids
from slipway_lite.canon import encode
from slipway_lite.errors import SlipwayError
from slipway_lite.protocol import commands, fold, replay
from slipway_lite.protocol import next as following
from slipway_lite.protocol.action import check_issued
from slipway_lite.protocol.git import GitError
from slipway_lite.protocol.observation import Observing
from slipway_lite.protocol.projection import write_touched
from slipway_lite.protocol.runs import Runs, mutation_details

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from slipway_lite.protocol.run import Run
    from slipway_lite.protocol.workspace import Workspace
    from slipway_lite.store.connection import Store
    from slipway_lite.store.journal import Transaction

    Decide = Callable[[Run], dict[str, Any] | None]

EVENT_LIMIT = 4_128_768
EVENT_VERSION = 1


class Service(Runs):
    """The mutations of the machine protocol for one worktree.

    ``observing`` is a look at git that was started early for the one mutation of this process. Every refusal is a
    :class:`SlipwayError` with ``code`` and ``next``.
    """

    def __init__(self, workspace: Workspace, db: str | None = None, observing: Observing | None = None) -> None:
        super().__init__(workspace, db)
        self._observing = observing

    def start(self, goal: str, budget: int, review: bool, source: Any = None) -> Run:
        """Start a Run and issue its first Orient (§1.4 run, §4.5)."""
        again = following.start(self.workspace.id, self.workspace.worktree_root, budget, review, source is not None)
        with self.open_for_writing(None) as store:
            try:
                observation = self._observe()
            except GitError as error:
                raise SlipwayError(
                    "git_observation_failed",
                    f"No Run was started: {error}. Mend that, then start again.",
                    next=again,
                ) from error
            run_id, at = ids.uuid4(), clock.timestamp()
            data: dict[str, Any] = {
                "event_version": EVENT_VERSION,
                "run_id": run_id,
                "goal": goal,
                "workspace_identity": self.workspace.document(),
                "review_enabled": review,
                "initial_budget": budget,
                "initial_git": observation,
                "next_action_id": ids.uuid4(),
            }
            run = fold.start(run_id, at, data)
            try:
                check_issued(run, run.records[0])
            except SlipwayError as error:
                error.next = again
                raise
            with self.storing(None), store.immediate() as tx:
                self._append(tx, run, "run_started", at, data)
        return run

    def submit(self, run_id: str, action_id: str, outcome: dict[str, Any], payload_sha256: str) -> Run:
        """Hand in the Outcome of the current Action (§4.2, §4.3)."""
        return self._mutate(
            run_id, "outcome_submitted", lambda run: commands.submit(run, action_id, outcome, payload_sha256)
        )

    def answer(
        self, run_id: str, action_id: str, text: str | None, confirm: bool = False, scope_sha256: str = ""
    ) -> Run:
        """Answer a decision, decline a destructive step, or confirm exactly its scope (§4.7).

        A confirmation that finds no budget is recorded and still refused with ``budget_exhausted``.
        """
        run = self._mutate(
            run_id,
            "answer_recorded",
            lambda run: commands.answer(run, action_id, text, confirm, scope_sha256),
        )
        if confirm:
            commands.refuse_unaffordable(run)
        return run

    def skip(self, run_id: str, action_id: str) -> Run:
        """Skip the current Action (§4.7)."""
        return self._mutate(run_id, "action_skipped", lambda run: commands.skip(run, action_id))

    def stop(self, run_id: str) -> Run:
        """Stop a Run and void its outstanding work (§4.7)."""
        return self._mutate(run_id, "run_stopped", commands.stop)

    def resume_ad_hoc(self, run_id: str, budget: int = 0, source_option: bool = False) -> Run:
        """Resume a Run without a source; ``budget`` 0 keeps or refills what is left (§4.5)."""
        return self._mutate(run_id, "run_resumed", lambda run: commands.resume_ad_hoc(run, budget, source_option))

    def _mutate(self, run_id: str, kind: str, decide: Decide) -> Run:
        git: dict[str, Any] | None = None
        with self.open_for_writing(run_id) as store:
            while True:
                run = self._load_for_mutation(store, run_id)
                data = decide(run)
                if data is None:
                    return run
                if git is None and _needs_git(run, kind):
                    git = self._git_facts()
                at = clock.timestamp()
                with self.storing(run_id):
                    # Folding may refuse the Action it would issue; the Run on record is untouched by that.
                    moved = self._write(store, run, kind, at, data, git)
                if not moved:
                    return run

    def _write(
        self, store: Store, run: Run, kind: str, at: str, data: dict[str, Any], git: dict[str, Any] | None
    ) -> bool:
        """Fold and append one event; True when another writer was faster and nothing was written."""
        event_count, durable_next = run.event_count, following.derive(run)
        if git is not None:
            same = git.get("observation") == run.current_git
            data = data | {"git": {"unchanged": True} if same else git}
        data = data | {"next_action_id": ids.uuid4()}
        fold.apply(run, kind, at, data)
        if run.current is not None and run.current.action_id == data["next_action_id"]:
            try:
                check_issued(run, run.current)
            except SlipwayError as error:
                error.next = durable_next
                raise
        else:
            del data["next_action_id"]
        with store.immediate() as tx:
            if tx.next_sequence("journal_events", replay.stream(run.run_id)) != event_count + 1:
                return True
            self._append(tx, run, kind, at, data)
        return False

    def _append(self, tx: Transaction, run: Run, kind: str, at: str, data: dict[str, Any]) -> None:
        encoded = encode(data)
        size = len(encoded.encode())
        if size > EVENT_LIMIT:
            raise SlipwayError(
                "journal_record_too_large",
                "The step does not fit the size limit of a journal record. The Run is unchanged and still usable.",
                details={"context": "event payload", "size": size, "limit": EVENT_LIMIT},
                next=self.inspect(run.run_id if run.event_count else None),
            )
        run.head_seq = tx.append("journal_events", replay.stream(run.run_id), run.event_count + 1, at, kind, encoded)
        run.event_count += 1
        write_touched(tx, run)

    def _observe(self) -> dict[str, Any]:
        observing, self._observing = self._observing, None
        return (observing or Observing(self.workspace.worktree_root)).finish()

    def _git_facts(self) -> dict[str, Any]:
        try:
            return {"observation": self._observe()}
        except GitError as error:
            return {"failure": str(error)}

    def _load_for_mutation(self, store: Store, run_id: str) -> Run:
        try:
            run = self.load(store, run_id)
        except replay.Unreplayable as error:
            if error.sequence == 1:
                raise SlipwayError(
                    "runtime_error",
                    "The first record of the Run cannot be trusted; nothing changed. `slipway db verify` says more.",
                    next=self.inspect(run_id),
                ) from error
            raise SlipwayError(
                "mutation_not_committed",
                f"Nothing was changed: {error}. `slipway db verify` says more.",
                details=mutation_details("replay"),
                next=following.none(self.workspace.id),
            ) from error
        if run is None:
            raise SlipwayError(
                "runtime_error",
                "This repository has no such Run, so nothing was changed. `slipway status` lists those it has.",
                next=self.inspect(run_id),
            )
        return run


def _needs_git(run: Run, kind: str) -> bool:
    """Whether folding the event looks at git: always but for answers, stops, resumes and a Review's own (§4.3)."""
    return kind in ("outcome_submitted", "action_skipped") and run.current is not None and run.current.kind != "review"
