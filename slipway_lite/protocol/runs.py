"""The Runs of one worktree: where their file is, how one is found, and what to say when that fails."""

from __future__ import annotations

import os

from slipway_lite.errors import SlipwayError
from slipway_lite.protocol import documents, replay
from slipway_lite.protocol import next as following
from slipway_lite.store.connection import open_store
from slipway_lite.store.location import locate, refuse_redirection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slipway_lite.protocol.run import Run
    from slipway_lite.protocol.workspace import Workspace
    from slipway_lite.store.connection import Store


class Runs:
    """Access to the Runs that one worktree may see; ``db`` overrides the place of the file (architecture §1)."""

    def __init__(self, workspace: Workspace, db: str | None = None) -> None:
        self.workspace = workspace
        self.path, self.place = locate(os.environ, workspace.git_common_dir, db)

    def sees(self, git_common_dir: str) -> bool:
        """Whether Runs of that repository are ours: in a file of several repositories only our own are (§1)."""
        return self.place == "repository" or git_common_dir == self.workspace.git_common_dir

    def load(self, store: Store, run_id: str) -> Run | None:
        """The verified Run, or ``None``. Raises ``workspace_identity_mismatch``, or :class:`replay.Unreplayable`."""
        run = replay.load(store, run_id)
        if run is None or not self.sees(run.workspace["git_common_dir"]):
            return None
        if run.workspace != self.workspace.document():
            raise SlipwayError(
                "workspace_identity_mismatch",
                "The Run belongs to another worktree, so it cannot be used from here. Look at it from its own.",
                details={
                    "expected_workspace_identity": run.workspace["id"],
                    "observed_workspace_identity": self.workspace.id,
                },
                next=documents.inspect_in_its_workspace(run.workspace),
            )
        return run

    def open_for_writing(self, run_id: str | None) -> Store:
        with self.storing(run_id):
            self.refuse_redirection()
            return open_store(self.path)

    def refuse_redirection(self) -> None:
        """Refuse a repository's own file where something leads elsewhere; another place is whatever its owner says."""
        if self.place == "repository":
            refuse_redirection(self.path)

    def inspect(self, run_id: str | None) -> dict[str, Any]:
        """``next``: look at the Run, or at all of them where its id is not known."""
        if run_id is None:
            return following.inspect_runs(self.workspace.id, self.workspace.worktree_root)
        return following.inspect_run(self.workspace.id, self.workspace.worktree_root, run_id)

    def list_runs(self) -> dict[str, Any]:
        return following.inspect_runs(self.workspace.id, self.workspace.worktree_root, "list-runs")

    def storing(self, run_id: str | None, *, mutation: bool = True) -> Storing:
        """``with runs.storing(run_id):`` turns the store's errors into those of the machine protocol."""
        return Storing(self, run_id, mutation)


def mutation_details(phase: str, *, committed: bool = False, ambiguous: bool = False) -> dict[str, Any]:
    """The ``details`` of a mutation that failed in ``phase`` (§1.5)."""
    return {
        "phase": phase,
        "committed": committed,
        "projection_stale": False,
        "namespace_detached": False,
        "ambiguous": ambiguous,
    }


class Storing:
    """Turns the store's errors into those of the machine protocol (§1.6.2, §1.7)."""

    def __init__(self, runs: Runs, run_id: str | None, mutation: bool) -> None:
        self._runs = runs
        self._run_id = run_id
        self._mutation = mutation

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if not isinstance(error, SlipwayError) or not error.code.startswith("database_"):
            return
        workspace = self._runs.workspace
        inspect = self._runs.inspect(self._run_id)
        if error.code == "database_busy":
            raise SlipwayError(
                "run_busy",
                "Another writer holds the database; nothing was changed. Try again.",
                details=mutation_details("lock_open") if self._mutation else None,
                next=inspect,
            ) from error
        if error.code == "database_ambiguous":
            raise SlipwayError(
                "mutation_outcome_ambiguous",
                f"{error.message} Look at the Run before you do anything again.",
                details=mutation_details("commit", ambiguous=True),
                next=inspect,
            ) from error
        if error.code == "database_failed" and self._mutation:
            raise SlipwayError(
                "mutation_not_committed",
                f"Nothing was changed: {error.message}",
                details=mutation_details("write"),
                next=following.none(workspace.id),
            ) from error
        raise SlipwayError(
            "runstore_unavailable",
            f"{error.message} `slipway doctor` says more about the repository, `slipway db info` about the file.",
            next=following.command(workspace.id, "run-doctor", "doctor", "--root", workspace.worktree_root),
        ) from error
