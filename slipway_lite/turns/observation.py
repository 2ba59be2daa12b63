"""Looking at a working tree for turns: compile its snapshot, sense it, pin and replace its repository state."""

from __future__ import annotations

from typing import Any, NamedTuple

from slipway_lite import clock
from slipway_lite.canon import sha256
from slipway_lite.errors import SlipwayError
from slipway_lite.turns.compiler import REPOSITORY_STATE_PATH, compile_workflow_snapshot
from slipway_lite.turns.loop import RUN_LOG_PATH
from slipway_lite.turns.repository_state import (
    HEADER,
    SECTIONS,
    RepositoryState,
    check_replacement,
    read_repository_state,
    render_repository_state,
)
from slipway_lite.turns.sensor import build_envelope, unit_folders
from slipway_lite.turns.status_forms import ALL_FORMS
from slipway_lite.turns.worktree import (
    INDEX_PATHS,
    Documents,
    GitFacts,
    observe_git,
    read_documents,
)
from slipway_lite.turns.writing import write_document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from slipway_lite.turns.compiler import SnapshotResult
    from slipway_lite.turns.driver import Journal

UNIT_DOCUMENTS = ("SPEC.md", "progress.md")


class Observation(NamedTuple):
    """Git facts and documents of one working tree, taken one after the other."""

    git: GitFacts
    documents: Documents

    def snapshot(self, status_forms: Sequence[str] = ALL_FORMS) -> SnapshotResult:
        """The snapshot at the head revision, its status read in every form unless told otherwise."""
        return compile_workflow_snapshot(
            source_revision=self.git.head,
            repository=self.git.as_repository(),
            documents=self.documents.documents,
            status_forms=status_forms,
            unreadable=self.documents.unread,
        )

    def envelope(self) -> dict[str, Any]:
        """What the built-in ``workflow-status`` sensor answers for this tree."""
        return build_envelope(self.git, self.documents)

    def repository_state(self) -> RepositoryState | None:
        content = self.documents.content(REPOSITORY_STATE_PATH)
        return None if content is None else read_repository_state(content)

    def repository_state_document(self) -> dict[str, Any]:
        """The repository state as one JSON document.

        Its status is ``missing`` when there is none, and ``unknown``, with the ``degradations`` that say why, when
        there is one that cannot be read.
        """
        state = self.repository_state()
        if REPOSITORY_STATE_PATH in self.documents.unread:
            named = [name for name in self.documents.degradations if name.endswith(f":{REPOSITORY_STATE_PATH}")]
            return {"path": REPOSITORY_STATE_PATH, "status": "unknown", "degradations": named}
        if state is None:
            return {"path": REPOSITORY_STATE_PATH, "status": "missing"}
        rows = {
            name: [row._asdict() for row in getattr(state, name)]
            for name in (*(name for name, _ in SECTIONS), "contradictions", "open_contradictions")
        }
        header = {name: getattr(state, name) for name, _, _ in HEADER}
        return {"path": REPOSITORY_STATE_PATH, **header, **rows}

    def pinned_document(self) -> dict[str, str] | None:
        """The repository-state document that is planned from: its path, the head revision, the digest of its bytes."""
        content = self.documents.content(REPOSITORY_STATE_PATH)
        if content is None:
            return None
        return {
            "path": REPOSITORY_STATE_PATH,
            "revision": self.git.head,
            "sha256": sha256(content.encode()),
        }


def observe_worktree(root: str, ignore: Iterable[str] = (RUN_LOG_PATH,)) -> Observation:
    """Observe the working tree that ``root`` lies in; paths in ``ignore`` do not make it dirty.

    By default that is the conductor's own run log.

    Raises what :func:`slipway_lite.turns.worktree.observe_git` raises.
    """
    git = observe_git(root, ignore)
    indexes = read_documents(git.root, INDEX_PATHS)
    wanted = [f"{folder}/{name}" for folder in unit_folders(indexes) for name in UNIT_DOCUMENTS]
    units = read_documents(git.root, wanted)
    return Observation(
        git,
        Documents(
            [*indexes.documents, *units.documents],
            [*indexes.degradations, *units.degradations],
        ),
    )


def try_to_observe(root: str) -> Observation | None:
    """The observation of ``root``, or ``None`` where there is no repository or no commit to cite yet."""
    try:
        return observe_worktree(root)
    except SlipwayError as error:
        if error.code in ("not_a_repository", "no_revision"):
            return None
        raise


def replace_repository_state(root: str, state: RepositoryState, *, role: str) -> None:
    """Write ``state`` as the repository-state document of ``root``, losing nothing that an existing one holds.

    ``role`` is the skill that writes. Raises what :func:`check_replacement` and :func:`render_repository_state`
    raise, and ``document_unreadable`` when a document is there that cannot be read.
    """
    content = render_repository_state(state)
    existing = read_documents(root, (REPOSITORY_STATE_PATH,))
    if existing.degradations:
        raise SlipwayError("document_unreadable", "The repository-state document exists and cannot be read.")
    if existing.documents:
        check_replacement(read_repository_state(existing.documents[0]["content"]), state, role=role)
    write_document(root, REPOSITORY_STATE_PATH, content)


def draft_repository_state(observed: Observation) -> None:
    """Write a draft that cites the head revision and claims nothing else. Raises ``document_exists``."""
    if observed.documents.content(REPOSITORY_STATE_PATH) is not None:
        raise SlipwayError("document_exists", "The repository-state document exists already; nothing was written.")
    draft = RepositoryState(status="draft", source_revision=observed.git.head, created_at=clock.timestamp())
    replace_repository_state(observed.git.root, draft, role="discover-repository-state")


def journal_snapshot(journal: Journal, observed: Observation) -> dict[str, Any]:
    """Compile the snapshot of ``observed``, append it to ``journal`` and return it."""
    compiled = observed.snapshot()
    assert compiled.snapshot is not None, "git facts always make a snapshot"
    journal.append_snapshot({"snapshot": compiled.snapshot, "readings": list(compiled.readings)})
    return compiled.snapshot


class PinnedJournal:
    """A journal that adds to each turn what it was planned from and the revision at which it ended.

    ``pinned`` is the repository-state document of :meth:`Observation.pinned_document`; ``facts`` are further columns
    of ``turns``: the snapshot, the decision, the evidence that was proved for it.
    """

    def __init__(
        self,
        journal: Journal,
        root: str,
        pinned: dict[str, str] | None = None,
        facts: dict[str, Any] | None = None,
    ) -> None:
        self._journal = journal
        self._root = root
        self._facts = {f"document_{name}": value for name, value in (pinned or {}).items()} | (facts or {})

    def append_turn(self, record: dict[str, Any]) -> None:
        self._journal.append_turn({**record, **self._facts, "source_revision": self._revision()})

    def append_snapshot(self, record: dict[str, Any]) -> None:
        self._journal.append_snapshot(record)

    def _revision(self) -> str | None:
        """The head now; ``None`` where there is none to read, because a turn is journaled all the same."""
        try:
            return observe_git(self._root).head
        except SlipwayError:
            return None
