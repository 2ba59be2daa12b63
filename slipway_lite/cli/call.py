"""One machine command on its way: what several commands need, and how a refusal is printed."""

from __future__ import annotations

import os

from slipway_lite.cli import streams
from slipway_lite.errors import SlipwayError, UsageError
from slipway_lite.protocol import inputs
from slipway_lite.protocol import next as following
from slipway_lite.protocol.workspace import Discovery, discover, unavailable_identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from slipway_lite.cli.grammar import Parsed
    from slipway_lite.protocol.observation import Observing
    from slipway_lite.protocol.run import Run
    from slipway_lite.protocol.service import Service
    from slipway_lite.protocol.workspace import Workspace

    T = TypeVar("T")


class Call:
    """One machine command line on its way: flags, and the worktree once somebody asks for it."""

    def __init__(self, parsed: Parsed) -> None:
        self.flags = parsed
        self._discovery: Discovery | None = None
        self._observing: Observing | None = None
        self._workspace: Workspace | None = None
        self.committed: Run | None = None

    def look_early(self) -> None:
        """Start the git reads of discovery and of one observation side by side, while we import the rest.

        Only where the root is the top of a worktree for all we can see; a wrong guess is thrown away.
        """
        self._discovery = Discovery(self.flags["root"])
        if os.path.lexists(os.path.join(self._discovery.directory, ".git")):
            from slipway_lite.protocol.observation import Observing

            self._observing = Observing(self._discovery.directory)

    def workspace(self) -> Workspace:
        if self._workspace is None:
            self._discovery = self._discovery or Discovery(self.flags["root"])
            self._workspace = self._discovery.workspace()
        return self._workspace

    def service(self) -> Service:
        from slipway_lite.protocol.service import Service

        workspace = self.workspace()
        observing = self._observing
        if observing is not None and workspace.worktree_root != getattr(self._discovery, "directory", None):
            observing.abandon()
            observing = None
        return Service(workspace, observing=observing)

    def close(self) -> None:
        """Leave no git process behind."""
        if self._discovery is not None:
            self._discovery.abandon()
        if self._observing is not None:
            self._observing.abandon()

    # -- arguments that several commands share

    def inspect_runs(self, identifier: str = "inspect-runs") -> dict[str, Any]:
        workspace = self.workspace()
        return following.inspect_runs(workspace.id, workspace.worktree_root, identifier)

    def inspect_run(self, run_id: str) -> dict[str, Any]:
        workspace = self.workspace()
        return following.inspect_run(workspace.id, workspace.worktree_root, run_id)

    def usage(self, code: str, message: str, run_id: str | None = None) -> UsageError:
        """A usage error whose ``next`` is to look at the Run, where one is named."""
        return UsageError(code, message, next=None if run_id is None else self.inspect_run(run_id))

    def checked(self, run_id: str, check: Callable[[], T]) -> T:
        """``check()``, whose refusal leads to a look at the Run."""
        try:
            return check()
        except SlipwayError as error:
            error.next = self.inspect_run(run_id)
            raise

    def run_id(self, value: str) -> str:
        if not value:
            raise self.usage("run_id_required", "The command needs a Run id.")
        return self.checked_run_id(value)

    def checked_run_id(self, value: str) -> str:
        try:
            inputs.check_run_id(value)
        except UsageError as error:
            error.next = self.inspect_runs()
            raise
        return value

    def action_id(self, run_id: str) -> str:
        value: str = self.flags["action"]
        if not value:
            raise self.usage("action_id_required", "The command needs an Action id; the Run shows its own.", run_id)
        return value


def print_answer(call: Call, text: str) -> None:
    """Write the answer. Raises ``mutation_committed_output_failed``, or ``runtime_error`` where nothing was written."""
    try:
        streams.write(1, text)
    except OSError as error:
        if call.committed is None:
            raise SlipwayError("runtime_error", "The answer could not be written.") from error
        raise output_failed(call.committed) from error


def output_failed(committed: Run) -> SlipwayError:
    """The write is durable and its answer is lost (§1.7): look, never repeat blindly."""
    from slipway_lite.protocol.runs import mutation_details

    return SlipwayError(
        "mutation_committed_output_failed",
        "The step is on record, but its answer could not be written. Look at the Run before you do anything again.",
        details=mutation_details("response_output", committed=True),
        next=following.inspect_run(committed.workspace["id"], committed.root, committed.run_id),
    )


def report(error: SlipwayError, argv: list[str]) -> int:
    """Print a refusal as one JSON line on standard error and return its exit status.

    People see the line as well, so whatever of their words it repeats is escaped where it could steer a terminal.
    """
    from slipway_lite.canon import encode
    from slipway_lite.protocol.documents import error_document

    step = error.next
    if step is None or step["operation"] == "none":
        step = following.none(_identity_at(_raw_root(argv)))
    document = error_document(error.code, error.message, step, error.exit_code, error.details)
    try:
        streams.write(2, _escaped(encode(document)) + "\n")
    except OSError:
        return 1
    return error.exit_code


def _escaped(line: str) -> str:
    """The same JSON with ``\\u`` escapes for every character that is not printed as itself."""
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else _escape(c) for c in line)


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


def _raw_root(argv: list[str]) -> str:
    """The last ``--root`` before ``--`` of a command line, parsed or not (§1.3)."""
    root = ""
    for index, word in enumerate(argv):
        if word == "--":
            break
        if word == "--root" and index + 1 < len(argv):
            root = argv[index + 1]
        elif word.startswith("--root="):
            root = word.removeprefix("--root=")
    return root


def _identity_at(root: str) -> str:
    try:
        return discover(root).id
    except SlipwayError:
        return unavailable_identity(root)
