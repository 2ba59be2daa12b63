"""The Python API of the machine protocol: what the command line does, as methods with typed, frozen results.

::

    from slipway_lite import Slipway

    slipway = Slipway.open(root=".")
    state = slipway.run("Add a licence header to every source file")
    state = slipway.submit(state.run_id, state.action.action_id, outcome)

Every refusal is a :class:`SlipwayError` with the ``code``, ``exit_code`` and ``details`` of the command line's JSON
error, and a ``next`` whose operation is ``none`` where only a command line would know how to go on.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Literal

from slipway_lite.canon import sha256
from slipway_lite.errors import SlipwayError, UsageError
from slipway_lite.protocol import documents, inputs
from slipway_lite.protocol import next as following
from slipway_lite.protocol.messages import ActionMaterial, PinnedMaterial, ProtocolState, RunStatus, StatusList
from slipway_lite.protocol.outcome import decode_outcome
from slipway_lite.protocol.reading import Reading
from slipway_lite.protocol.resume import Mode
from slipway_lite.protocol.service import Service
from slipway_lite.protocol.workspace import Workspace, discover

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slipway_lite.observe.copies import Backup
    from slipway_lite.protocol.imported.messages import ImportReport
    from slipway_lite.protocol.run import Run
    from slipway_lite.protocol.service import Classified


class Slipway:
    """The Runs of one Git worktree. Every call looks where it is, opens the file, and leaves it whole."""

    def __init__(self, workspace: Workspace, db: str | None = None) -> None:
        self.workspace = workspace
        self._service = Service(workspace, db)
        self._reading = Reading(workspace, db)

    @classmethod
    def open(cls, root: str = ".", db: str | None = None) -> Slipway:
        """The worktree around ``root``; ``db`` overrides the place of the file (`slipway db path` tells it).

        Raises ``git_repository_required`` or ``git_repository_unavailable``.
        """
        return cls(discover(root), db)

    @property
    def path(self) -> str:
        """Where the database file is, or will be."""
        return self._service.path

    def run(
        self, goal: str, budget: int = following.BUDGET_DEFAULT, review: bool = True, source: bytes | None = None
    ) -> ProtocolState:
        """Start a Run for ``goal`` and get its first Orient Action (machine-protocol §4.5).

        ``budget`` is how many Actions may be issued (1 to 1000); ``source`` is a GitHub Change source envelope.
        Raises ``goal_required``, ``invalid_goal``, ``invalid_budget``, ``invalid_source``, ``action_too_large``,
        ``git_observation_failed`` …
        """
        with _Refusals(self.workspace):
            text = inputs.goal_text(_utf8(goal))
            inputs.check_budget(budget)
            if not isinstance(review, bool):
                raise TypeError("review is True or False")
            classified = None if source is None else _classified(source, "invalid_source")
            return _state(self._service.start(text, budget, review, classified))

    def submit(self, run_id: str, action_id: str, outcome: bytes | Mapping[str, Any]) -> ProtocolState:
        """Hand in the Outcome of the current Action (§3, §4.2): its JSON bytes, or a mapping of the same shape.

        The bytes identify the request: the same bytes again are answered with the Run as it is now.
        Raises ``invalid_outcome``, ``contract_version_mismatch``, ``stale_action``, ``outcome_conflict`` …
        """
        with _Refusals(self.workspace, run_id):
            raw = outcome if isinstance(outcome, bytes) else _encoded(outcome)
            return _state(self._service.submit(run_id, action_id, decode_outcome(raw), sha256(raw)))

    def answer(self, run_id: str, action_id: str, text: str) -> ProtocolState:
        """Answer a decision, or decline a destructive step with feedback (§4.7)."""
        with _Refusals(self.workspace, run_id):
            return _state(self._service.answer(run_id, action_id, inputs.answer_text(_utf8(text))))

    def confirm_destructive(self, run_id: str, action_id: str, scope_sha256: str, text: str = "") -> ProtocolState:
        """Confirm exactly the destructive scope with this digest, and nothing wider (§4.7)."""
        with _Refusals(self.workspace, run_id):
            inputs.check_confirmation_pair(True, scope_sha256)
            note = inputs.answer_text(_utf8(text))
            return _state(self._service.answer(run_id, action_id, note, True, scope_sha256))

    def skip(self, run_id: str, action_id: str) -> ProtocolState:
        """Skip the current Action (§4.7). Not idempotent."""
        with _Refusals(self.workspace, run_id):
            return _state(self._service.skip(run_id, action_id))

    def stop(self, run_id: str) -> ProtocolState:
        """Stop a Run and void its outstanding work (§4.7)."""
        with _Refusals(self.workspace, run_id):
            return _state(self._service.stop(run_id))

    def resume(
        self,
        run_id: str,
        budget: int | None = None,
        *,
        source: bytes | None = None,
        use_pinned_source: bool = False,
        choice: Literal["pinned", "adopt"] | None = None,
        candidate: str | None = None,
    ) -> ProtocolState:
        """Resume a Run (§4.7); at most one of ``source``, ``use_pinned_source``, and ``choice`` with ``candidate``.

        ``budget`` replaces what is left; without it that is kept, or refilled where nothing is left.
        """
        with _Refusals(self.workspace, run_id):
            if budget is not None:
                inputs.check_budget(budget)
            inputs.check_source_options(source is not None, use_pinned_source, choice, candidate)
            classification, materials = (
                (None, []) if source is None else _classified(source, "invalid_source_candidate")
            )
            mode = Mode(use_pinned_source, classification, choice or "", candidate or "")
            run, receipt = self._service.resume(run_id, budget or 0, mode, materials)
            return ProtocolState.of(documents.protocol_state(run, receipt))

    def status(self, run_id: str) -> RunStatus:
        """Everything on record about one Run, its journal verified (§2.3)."""
        with _Refusals(self.workspace, run_id):
            return RunStatus.of(documents.run_status(self._reading.run(run_id)))

    def runs(self) -> StatusList:
        """The Runs of this repository (§2.5)."""
        with _Refusals(self.workspace):
            return StatusList.of(self._reading.status_document())

    def backup(self, file: str | os.PathLike[str]) -> Backup:
        """Write a consistent copy of the database to ``file``, which is not there yet; others may write meanwhile.

        Raises ``database_not_found``, ``output_exists``, ``output_is_source``, ``output_directory_missing``,
        ``disk_full``, ``output_failed`` …
        """
        from slipway_lite.observe.copies import back_up

        with _Refusals(self.workspace):
            if not os.path.exists(self.path):
                raise SlipwayError("database_not_found", "There is no database yet; the first write makes it.")
            return back_up(self.path, file)

    def material(self, run_id: str, action_id: str, section: str) -> ActionMaterial:
        """One section of the requirements, for the current Action (§2.6)."""
        with _Refusals(self.workspace, run_id):
            inputs.check_section(section)
            return ActionMaterial.of(self._reading.action_material(run_id, action_id, section))

    def pinned_material(self, run_id: str, section: str) -> PinnedMaterial:
        """One section of the pinned source, for inspection in any state (§2.6)."""
        with _Refusals(self.workspace, run_id):
            return PinnedMaterial.of(self._reading.pinned_material(run_id, section))

    def import_journals(self, directory: str | None = None, *, check: bool = False) -> ImportReport:
        """Bring in the Runs that the published command line recorded, whole or not at all.

        ``directory`` is its ``slipway`` directory, ``runs`` in it, or one Run's own; by default that of this
        repository. ``check`` only verifies them. Raises ``journal_directory_not_found``, ``journal_import_refused`` or
        ``import_conflict``, and errors of the file as they are (``database_busy`` …).
        """
        from slipway_lite.protocol.imported.directories import published_place
        from slipway_lite.protocol.imported.messages import ImportReport
        from slipway_lite.protocol.imported.service import import_journals

        with _Refusals(self.workspace):
            self._service.refuse_redirection()
            place = directory or published_place(self.workspace.git_common_dir)
            return ImportReport.of(import_journals(place, self.path, check=check))


class _Refusals:
    """One call: the worktree still is where it was, the Run id can be one, and a refusal leaves with a ``next``.

    Raises ``git_repository_required``, ``workspace_identity_mismatch`` or ``invalid_run_id`` on the way in (§7.2).
    """

    def __init__(self, workspace: Workspace, run_id: str | None = None) -> None:
        self._workspace = workspace
        self._run_id = run_id

    def __enter__(self) -> None:
        try:
            self._check()
        except SlipwayError as error:
            self.__exit__(None, error, None)
            raise

    def _check(self) -> None:
        if self._run_id is not None:
            inputs.check_run_id(self._run_id)
        found = discover(self._workspace.worktree_root)
        if found.document() != self._workspace.document():
            raise SlipwayError(
                "workspace_identity_mismatch",
                "The worktree is not the one that was opened. Open it again.",
                details={
                    "expected_workspace_identity": self._workspace.id,
                    "observed_workspace_identity": found.id,
                },
            )

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if isinstance(error, SlipwayError) and error.next is None:
            error.next = following.none(self._workspace.id)


def _encoded(outcome: Mapping[str, Any]) -> bytes:
    """An Outcome mapping as JSON bytes. Raises ``invalid_outcome`` for what JSON cannot say."""
    try:
        return json.dumps(dict(outcome), ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError("invalid_outcome", "The Outcome is no JSON: a value of it has no place there.") from error


def _utf8(text: str) -> bytes:
    """``text`` as bytes; a lone surrogate stays invalid, so that it is refused like any other bad UTF-8."""
    return text.encode("utf-8", "surrogatepass")


def _state(run: Run) -> ProtocolState:
    return ProtocolState.of(documents.protocol_state(run))


def _classified(source: bytes, code: str) -> Classified:
    from slipway_lite.protocol.source.classify import classify
    from slipway_lite.protocol.source.envelope import decode_envelope

    return classify(decode_envelope(source, code))
