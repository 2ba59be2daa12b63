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
from slipway_lite.protocol.recording import append_event, append_refusal
from slipway_lite.protocol.runs import Runs, mutation_details
from slipway_lite.store.materials import store_material

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from slipway_lite.protocol.resume import Mode
    from slipway_lite.protocol.run import Run
    from slipway_lite.protocol.workspace import Workspace
    from slipway_lite.store.connection import Store
    from slipway_lite.store.journal import Transaction

    Decide = Callable[[Run], commands.Event | None]
    Classified = tuple[dict[str, Any], list[tuple[str, str]]]
    Materials = Iterable[tuple[str, str]]

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

    def start(self, goal: str, budget: int, review: bool, source: Classified | None = None) -> Run:
        """Start a Run and issue its first Orient (§1.4 run, §4.5).

        ``source`` is a classification and its materials; one that is no valid Change is ``invalid_source``.
        """
        again = following.start(self.workspace.id, self.workspace.worktree_root, budget, review, source is not None)
        snapshot, materials = _accepted(source, again)
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
            if snapshot is not None:
                data["pinned_source"] = snapshot
            run = fold.start(run_id, at, data)
            try:
                check_issued(run, run.records[0])
            except SlipwayError as error:
                error.next = again
                raise
            with self.storing(None), store.immediate() as tx:
                self._append(tx, run, "run_started", at, data, materials)
        return run

    def submit(self, run_id: str, action_id: str, outcome: dict[str, Any], payload_sha256: str) -> Run:
        """Hand in the Outcome of the current Action (§4.2, §4.3)."""
        request = ("submit", action_id)
        return self._mutate(run_id, lambda run: commands.submit(run, action_id, outcome, payload_sha256), request)

    def answer(
        self, run_id: str, action_id: str, text: str | None, confirm: bool = False, scope_sha256: str = ""
    ) -> Run:
        """Answer a decision, decline a destructive step, or confirm exactly its scope (§4.7).

        A confirmation that finds no budget is recorded and still refused with ``budget_exhausted``.
        """
        request = ("answer", action_id)
        run = self._mutate(run_id, lambda run: commands.answer(run, action_id, text, confirm, scope_sha256), request)
        if confirm:
            commands.refuse_unaffordable(run)
        return run

    def skip(self, run_id: str, action_id: str) -> Run:
        """Skip the current Action (§4.7)."""
        return self._mutate(run_id, lambda run: commands.skip(run, action_id), ("skip", action_id))

    def stop(self, run_id: str) -> Run:
        """Stop a Run and void its outstanding work (§4.7)."""
        return self._mutate(run_id, commands.stop, ("stop", None))

    def resume(self, run_id: str, budget: int, mode: Mode, materials: Materials = ()) -> tuple[Run, dict[str, Any]]:
        """Resume a Run (§4.7, §8.7, §8.8): the Run and the receipt of this resume.

        ``budget`` 0 keeps or refills what is left; ``materials`` go with a fetched source. Repeating a choice
        gives the receipt of the first time, whatever happened since.
        """
        from slipway_lite.protocol.resume import resume

        candidate_id, at = ids.uuid4(), clock.timestamp()
        run = self._mutate(run_id, lambda run: resume(run, budget, mode, candidate_id, at), ("resume", None), materials)
        if mode.choice:
            return run, run.choices[mode.candidate][1]
        assert run.last_resume_result is not None
        return run, run.last_resume_result

    def _mutate(self, run_id: str, decide: Decide, request: tuple[str, str | None], materials: Materials = ()) -> Run:
        git: dict[str, Any] | None = None
        with self.open_for_writing(run_id) as store, self.storing(run_id):
            while True:
                run = self._load_for_mutation(store, run_id)
                event = self._decided(store, run, decide, request)
                if event is None:
                    return run
                if git is None and looks_at_git(run, event[0]):
                    git = self._git_facts()
                if self._write(store, run, event, git, materials):
                    return run

    def _decided(
        self, store: Store, run: Run, decide: Decide, request: tuple[str, str | None]
    ) -> commands.Event | None:
        """What ``decide`` says; a refusal is audited before it leaves."""
        try:
            return decide(run)
        except SlipwayError as error:
            with store.immediate() as tx:
                append_refusal(tx, run, clock.timestamp(), *request, error.code)
            raise

    def _write(
        self,
        store: Store,
        run: Run,
        event: commands.Event,
        git: dict[str, Any] | None,
        materials: Materials,
    ) -> bool:
        """Fold and append one event; False when another writer was faster, and nothing was written.

        Folding may refuse the Action that it would issue; what is on record is untouched by that.
        """
        kind, data = event
        event_count, durable_next, at = run.event_count, following.derive(run), clock.timestamp()
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
                return False
            self._append(tx, run, kind, at, data, materials)
        return True

    def _append(
        self, tx: Transaction, run: Run, kind: str, at: str, data: dict[str, Any], materials: Materials
    ) -> None:
        encoded = encode(data)
        size = len(encoded.encode())
        if size > EVENT_LIMIT:
            raise SlipwayError(
                "journal_record_too_large",
                "The step does not fit the size limit of a journal record. The Run is unchanged and still usable.",
                details={"context": "event payload", "size": size, "limit": EVENT_LIMIT},
                next=self.inspect(run.run_id if run.event_count else None),
            )
        for digest, text in materials:
            store_material(tx, digest, text, at)
        append_event(tx, run, kind, at, data, encoded)

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


def looks_at_git(run: Run, kind: str) -> bool:
    """Whether folding the event looks at git: always but for answers, stops, resumes and a Review's own (§4.3)."""
    return kind in ("outcome_submitted", "action_skipped") and run.current is not None and run.current.kind != "review"


def _accepted(source: Classified | None, again: dict[str, Any]) -> tuple[dict[str, Any] | None, Materials]:
    if source is None:
        return None, ()
    from slipway_lite.protocol.source.classify import accepted_snapshot

    classification, materials = source
    try:
        return accepted_snapshot(classification), materials
    except SlipwayError as error:
        error.next = again
        raise
