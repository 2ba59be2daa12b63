"""All changes of one command, or none of them, whenever the process dies (machine-protocol §9.4).

The journal lies in the Git directory of the worktree, which no clone brings along. It is written before the
first change, and giving it its second name is the commit: a journal that was only prepared is undone, a
committed one is finished, by this process or by the next command. No file is ever half written, because
content arrives under a temporary name and takes its place by a link (which replaces nothing) or a rename.
What is taken away is set aside first, and looked at again before it is really removed.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager, suppress
from typing import NamedTuple

from slipway_lite.canon import decode, encode
from slipway_lite.clock import monotonic
from slipway_lite.errors import InvalidDocument
from slipway_lite.hosts.ownership import UNSAFE
from slipway_lite.hosts.plan import Change
from slipway_lite.hosts.tree import MANAGED_FILE_LIMIT, Tree, UnsafePath, reason
from slipway_lite.ids import uuid4

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

STATE = "slipway-lite-adapters"
PREPARED = f"{STATE}/prepared.json"
COMMITTED = f"{STATE}/committed.json"
DIRECTORIES = f"{STATE}/directories.json"
_DRAFT = f"{STATE}/draft"

LOCK_SECONDS = 5.0
LOCK_POLL_SECONDS = 0.025

#: Which directories an install made, by host; a host that is not in it was not installed here.
Directories = dict[str, list[str]]


class Conflict(Exception):
    """A file is not what it was when the change was planned."""


class Unsettled(Exception):
    """An interrupted command could be neither undone nor finished. Nothing else was tried."""


class Step(NamedTuple):
    """One change as the journal remembers it: digests, or ``None`` where there is no file."""

    path: str
    before: str | None
    after: str | None


class Journal(NamedTuple):
    """Everything that undoing or finishing needs.

    ``made``: directories to create, outermost first. ``prune``: directories that go when they are empty.
    ``directories``: the record of directories as it is after the commit.
    """

    id: str
    steps: tuple[Step, ...]
    made: tuple[str, ...]
    prune: tuple[str, ...]
    directories: Directories

    def draft(self, number: int) -> str:
        """Where the new content of a step waits, and stays as a second name to tell our file from another."""
        return self._beside(number, "new")

    def aside(self, number: int) -> str:
        """Where the old file of a step waits."""
        return self._beside(number, "old")

    def _beside(self, number: int, suffix: str) -> str:
        directory, slash, _ = self.steps[number].path.rpartition("/")
        return f"{directory}{slash}.slipway-{self.id}-{number}.{suffix}"


class Settled(NamedTuple):
    """Edits of somebody else that were met: ``preserved`` in their place, or in ``artifacts`` beside it."""

    preserved: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()


class Result(NamedTuple):
    """How a transaction ended: ``outcome`` of machine-protocol §2.9, and in ``problem`` what went wrong."""

    outcome: str
    settled: Settled = Settled()
    problem: str | None = None


@contextmanager
def locked(git_dir: str) -> Iterator[None]:
    """No other install or uninstall in this worktree. Raises :class:`TimeoutError` after five seconds."""
    descriptor = os.open(git_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    deadline = monotonic() + LOCK_SECONDS
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if monotonic() >= deadline:
                    raise TimeoutError("Another install or uninstall is at work in this worktree.") from None
                time.sleep(LOCK_POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)


def read_directories(state: Tree) -> Directories:
    """The record of directories that installs made in this worktree; a damaged one remembers nothing."""
    file = state.read(DIRECTORIES)
    if file is None:
        return {}
    try:
        record = decode(file.raw, MANAGED_FILE_LIMIT)
        return {str(host): [str(path) for path in paths] for host, paths in record.items()}
    except (InvalidDocument, AttributeError, TypeError):
        return {}


def execute(
    tree: Tree,
    state: Tree,
    changes: Sequence[Change],
    *,
    made: Sequence[str],
    prune: Sequence[str],
    directories: Directories,
) -> Result:
    """Make every change or none. Expects the lock, and that :func:`recover` came before.

    ``committed``: all of them are made. ``not_committed``: nothing was touched. ``rolled_back``: what had
    been done is undone. ``ambiguous``: it could not be undone; the journal stays for the next command. A
    ``committed`` result with a ``problem`` only left something to clean up.
    """
    steps = tuple(Step(change.path, change.before, change.after_sha256) for change in changes)
    journal = Journal(uuid4(), steps, tuple(made), tuple(prune), directories)
    try:
        state.make_directory(STATE)
        state.sync("")
        _replace(state, PREPARED, _encode(journal))
    except (OSError, UnsafePath) as error:
        with suppress(OSError, UnsafePath):
            state.remove(PREPARED)
            _tidy(state)
        return Result("not_committed", problem=reason(error))
    try:
        for directory in journal.made:
            tree.make_directory(directory)
        for number, change in enumerate(changes):
            _apply(tree, journal, number, change)
        for directory in _touched(journal):
            tree.sync(directory)
        state.rename(PREPARED, COMMITTED)
    except (OSError, UnsafePath, Conflict) as error:
        problem = reason(error)
        try:
            return Result("rolled_back", _undo(tree, state, journal), problem)
        except (OSError, UnsafePath) as failure:
            return Result("ambiguous", problem=f"{problem} It could not be undone: {reason(failure)}")
    try:
        state.sync(STATE)
    except (OSError, UnsafePath) as error:
        return Result("ambiguous", problem=reason(error))
    try:
        return Result("committed", _finish(tree, state, journal))
    except (OSError, UnsafePath) as error:
        return Result("committed", problem=f"The next install or uninstall cleans up: {reason(error)}")


def recover(tree: Tree, state: Tree) -> Settled | None:
    """Undo or finish what an interrupted command left; ``None`` when there was nothing. Expects the lock.

    Raises :class:`Unsettled` when that cannot be done; the journal stays.
    """
    try:
        for path, settle in ((COMMITTED, _finish), (PREPARED, _undo)):
            file = state.read(path)
            if file is not None:
                return settle(tree, state, _decode(file.raw))
    except (OSError, UnsafePath, InvalidDocument, LookupError, AttributeError, TypeError, ValueError) as error:
        raise Unsettled(reason(error)) from None
    # Nothing was interrupted. Where tidying fails (a read-only disk), so will the command, with its own words.
    with suppress(OSError, UnsafePath):
        _tidy(state)
    return None


def _apply(tree: Tree, journal: Journal, number: int, change: Change) -> None:
    draft, aside = journal.draft(number), journal.aside(number)
    if _digest(tree, change.path) != change.before:
        raise Conflict(f"{change.path} changed in the meantime.")
    if change.before == change.after_sha256:
        return
    if change.after is None:
        tree.rename(change.path, aside)
    else:
        tree.write_new(draft, change.after, change.mode)
        if change.before is None:
            try:
                tree.link(draft, change.path)
            except FileExistsError:
                raise Conflict(f"{change.path} appeared in the meantime.") from None
            return
        tree.link(change.path, aside)
    if _digest(tree, aside) != change.before:
        raise Conflict(f"{change.path} changed in the meantime.")
    if change.after is not None:
        tree.rename(draft, change.path)


def _undo(tree: Tree, state: Tree, journal: Journal) -> Settled:
    """Every file as it was before, except those that somebody else has changed since."""
    preserved: list[str] = []
    artifacts: list[str] = []
    for number in reversed(range(len(journal.steps))):
        path, before, after = journal.steps[number]
        aside = journal.aside(number)
        if before == after:
            continue
        if before is None and after is not None:
            # Somebody else may have written the very same bytes: only the second name proves that it is ours.
            if tree.is_same_file(path, journal.draft(number)):
                tree.rename(path, aside)
            elif _digest(tree, path) is not None:
                preserved.append(path)
            _discard(tree, path, aside, after, preserved, artifacts)
        elif _digest(tree, aside) is not None:
            _put_back(tree, path, aside, after, artifacts)
        tree.remove(journal.draft(number))
    for directory in reversed(journal.made):
        tree.remove_directory(directory)
    for directory in _touched(journal):
        tree.sync(directory)
    state.remove(PREPARED)
    _tidy(state)
    return Settled(tuple(preserved), tuple(artifacts))


def _put_back(tree: Tree, path: str, aside: str, after: str | None, artifacts: list[str]) -> None:
    """``aside`` in its old place, unless somebody has put something else there."""
    current = _digest(tree, path)
    if current == _digest(tree, aside):
        tree.remove(aside)
    elif current is None:
        tree.link(aside, path)
        tree.remove(aside)
    elif current == after:
        tree.rename(aside, path)
    else:
        artifacts.append(aside)


def _discard(tree: Tree, path: str, aside: str, expected: str, preserved: list[str], artifacts: list[str]) -> None:
    """Remove ``aside`` if it still holds what was to be removed; an edit goes back to its place, or stays."""
    found = _digest(tree, aside)
    if found is None:
        return
    if found != expected:
        try:
            tree.link(aside, path)
            preserved.append(path)
        except FileExistsError:
            artifacts.append(aside)
            return
    tree.remove(aside)


def _finish(tree: Tree, state: Tree, journal: Journal) -> Settled:
    """What remains to be done after the commit."""
    preserved: list[str] = []
    artifacts: list[str] = []
    for number, (path, before, after) in enumerate(journal.steps):
        if before != after:
            tree.remove(journal.draft(number))
            if before is not None:
                _discard(tree, path, journal.aside(number), before, preserved, artifacts)
    for directory in sorted(journal.prune, key=lambda path: path.count("/"), reverse=True):
        tree.remove_directory(directory)
    _replace(state, DIRECTORIES, encode(journal.directories).encode())
    state.remove(COMMITTED)
    _tidy(state)
    return Settled(tuple(preserved), tuple(artifacts))


def _tidy(state: Tree) -> None:
    """No state directory where nothing is installed and nothing is open."""
    state.remove(_DRAFT)
    if state.read(DIRECTORIES) is not None and not read_directories(state):
        state.remove(DIRECTORIES)
    state.remove_directory(STATE)


def _replace(state: Tree, path: str, raw: bytes) -> None:
    state.remove(_DRAFT)
    state.write_new(_DRAFT, raw, 0o600)
    state.rename(_DRAFT, path)
    state.sync(STATE)


def _digest(tree: Tree, path: str) -> str | None:
    try:
        file = tree.read(path)
    except UnsafePath as error:
        if error.path != path:
            raise
        return UNSAFE
    return None if file is None else file.sha256


def _touched(journal: Journal) -> list[str]:
    """The directories in which a name appeared or went."""
    inside = {step.path.rpartition("/")[0] for step in journal.steps if step.before != step.after}
    return sorted(inside | {directory.rpartition("/")[0] for directory in journal.made})


def _encode(journal: Journal) -> bytes:
    return encode(journal._asdict()).encode()


def _decode(raw: bytes) -> Journal:
    """The journal in ``raw``; raises :class:`InvalidDocument`, or what another shape breaks."""
    document = decode(raw, MANAGED_FILE_LIMIT)
    document["steps"] = tuple(Step(*step) for step in document["steps"])
    journal = Journal(**document)
    digests = [digest for step in journal.steps for digest in step[1:] if digest is not None]
    lists = [[journal.id], [step.path for step in journal.steps], digests, journal.made, journal.prune]
    lists += [[*journal.directories], *journal.directories.values()]
    if not all(type(texts) is list and all(type(text) is str for text in texts) for texts in lists):
        raise InvalidDocument("A value of the journal has another type.")
    return journal
