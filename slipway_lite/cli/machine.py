"""The machine commands, in the check order of machine-protocol §1.4, on a start that imports little.

A handler returns what is printed; :func:`run` turns a refusal into exactly one JSON line on standard error.
"""

from __future__ import annotations

import os

from slipway_lite.cli import grammar, streams
from slipway_lite.cli.files import read_descriptor, read_regular
from slipway_lite.errors import SlipwayError, UsageError
from slipway_lite.protocol import next as following
from slipway_lite.protocol.workspace import Discovery, discover, unavailable_identity
from slipway_lite.text import is_blank, is_md

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from slipway_lite.cli.grammar import Parsed
    from slipway_lite.protocol.observation import Observing
    from slipway_lite.protocol.run import Run
    from slipway_lite.protocol.service import Classified, Service
    from slipway_lite.protocol.workspace import Workspace

    Handler = Callable[["Call"], str]

TEXT_LIMIT = 262_144
_RUN_ID_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


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

    def run_id(self, value: str) -> str:
        if not value:
            raise self.usage("run_id_required", "The command needs a Run id.")
        return self.checked_run_id(value)

    def checked_run_id(self, value: str) -> str:
        if not 1 <= len(value) <= 128 or not _RUN_ID_CHARACTERS.issuperset(value):
            raise UsageError(
                "invalid_run_id",
                "A Run id is 1 to 128 letters, digits, underscores or hyphens. `slipway status` lists the Runs.",
                next=self.inspect_runs(),
            )
        return value

    def action_id(self, run_id: str) -> str:
        value: str = self.flags["action"]
        if not value:
            raise self.usage("action_id_required", "The command needs an Action id; the Run shows its own.", run_id)
        return value


def run(argv: list[str]) -> int:
    """Run one machine command and return its exit status."""
    call: Call | None = None
    try:
        parsed = grammar.parse(argv)
        if parsed.help:
            from slipway_lite.cli.app import show_help

            return show_help(argv)
        call = Call(parsed)
        text = HANDLERS[parsed.command.words](call)
        _print(call, text)
        return 0
    except SlipwayError as error:
        return report(error, argv)
    finally:
        if call is not None:
            call.close()


def _print(call: Call, text: str) -> None:
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
    """Print a refusal as one JSON line on standard error and return its exit status."""
    from slipway_lite.canon import encode
    from slipway_lite.protocol.documents import error_document

    step = error.next
    if step is None or step["operation"] == "none":
        step = following.none(_identity_at(_raw_root(argv)))
    document = error_document(error.code, error.message, step, error.exit_code, error.details)
    try:
        streams.write(2, encode(document) + "\n")
    except OSError:
        return 1
    return error.exit_code


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
        return unavailable_identity(root or os.getcwd())


def answered(call: Call, run: Run, human: str, resume_result: dict[str, Any] | None = None) -> str:
    """The reply to a committed mutation: the JSON state, or text for people where ``human`` names some."""
    call.committed = run
    try:
        if human and not call.flags["json"]:
            from slipway_lite.cli import human as texts

            return str(getattr(texts, human)(run))
        from slipway_lite.canon import encode
        from slipway_lite.protocol.documents import protocol_state

        return encode(protocol_state(run, resume_result)) + "\n"
    except Exception as error:
        raise output_failed(run) from error


def _start(call: Call) -> str:
    flags = call.flags
    goal = _goal(flags)
    if not following.BUDGET_MINIMUM <= flags["budget"] <= following.BUDGET_MAXIMUM:
        raise UsageError("invalid_budget", "The budget is a whole number from 1 to 1000.")
    if "source-file" in flags.given and not flags["source-file"]:
        raise UsageError("source_file_required", "--source-file needs the path of a source envelope.")
    call.look_early()
    source = None
    if "source-file" in flags.given:
        workspace = call.workspace()
        again = following.start(workspace.id, workspace.worktree_root, flags["budget"], not flags["no-review"], True)
        source = _source(flags["source-file"], "invalid_source", lambda: again)
    run = call.service().start(goal, flags["budget"], not flags["no-review"], source)
    return answered(call, run, "started")


def _source(path: str, code: str, step: Callable[[], dict[str, Any]]) -> Classified:
    """The classified envelope in a source file, and its materials; ``step`` is the ``next`` of a refusal."""
    from slipway_lite.protocol.source.classify import classify
    from slipway_lite.protocol.source.envelope import ENVELOPE_LIMIT, decode_envelope

    try:
        try:
            raw = read_regular(path, ENVELOPE_LIMIT)
        except (OSError, ValueError) as error:
            raise UsageError(code, "The source file is missing, unreadable, or no regular file.") from error
        return classify(decode_envelope(raw, code))
    except UsageError as error:
        error.next = step()
        raise


def _goal(flags: Parsed) -> str:
    modes = len(flags.positionals) + ("goal-file" in flags.given) + flags["goal-stdin"]
    if not modes:
        raise UsageError("goal_required", "A Run needs a goal: --goal-file, --goal-stdin, or one argument.")
    if modes > 1:
        raise UsageError("goal_mode_conflict", "Give the goal once: --goal-file, --goal-stdin, or one argument.")
    if "goal-file" in flags.given and is_blank(flags["goal-file"]):
        raise UsageError("goal_file_required", "--goal-file needs the path of a file.")
    raw = _text_input(flags["goal-file"] if "goal-file" in flags.given else None, "goal_unavailable")
    if raw is None:
        raw = os.fsencode(flags.positionals[0]) if flags.positionals else read_descriptor(0, TEXT_LIMIT)
    if len(raw) > TEXT_LIMIT:
        raise UsageError("action_too_large", f"The goal is larger than {TEXT_LIMIT} bytes.")
    try:
        goal = raw.decode()
    except UnicodeDecodeError:
        raise UsageError("invalid_goal", "The goal is not valid UTF-8.") from None
    if is_blank(goal):
        raise UsageError("goal_required", "The goal is blank.")
    if not is_md(goal):
        raise UsageError("invalid_goal", "The goal has a control character other than tab and line breaks.")
    if _encoded_size(goal) > TEXT_LIMIT:
        raise UsageError("action_too_large", f"The goal takes more than {TEXT_LIMIT} bytes as a JSON string.")
    return goal


def _encoded_size(text: str) -> int:
    from slipway_lite.canon import encode

    return len(encode(text).encode())


def _text_input(path: str | None, code: str) -> bytes | None:
    if path is None:
        return None
    try:
        return read_regular(path, TEXT_LIMIT)
    except (OSError, ValueError) as error:
        raise UsageError(code, "The file is missing, unreadable, or no regular file.") from error


def _submit(call: Call) -> str:
    from slipway_lite.canon import sha256
    from slipway_lite.protocol.outcome import OUTCOME_LIMIT, decode_outcome

    flags = call.flags
    run_id = call.run_id(flags["run"])
    action_id = call.action_id(run_id)
    if ("outcome-file" in flags.given) + flags["outcome-stdin"] != 1:
        raise call.usage("outcome_mode_required", "Give the Outcome by --outcome-file or --outcome-stdin.", run_id)
    stdin = flags["outcome-stdin"]
    if not stdin and is_blank(flags["outcome-file"]):
        raise call.usage("outcome_file_required", "--outcome-file needs the path of a file.", run_id)
    call.look_early()
    try:
        raw = read_descriptor(0, OUTCOME_LIMIT) if stdin else read_regular(flags["outcome-file"], OUTCOME_LIMIT)
    except (OSError, ValueError) as error:
        raise UsageError(
            "outcome_unavailable",
            "The Outcome could not be read: missing, unreadable, or no regular file. Hand it in again.",
            next=_submit_again(call, run_id, action_id, stdin),
        ) from error
    try:
        outcome = decode_outcome(raw)
    except SlipwayError as error:
        error.next = _submit_again(call, run_id, action_id, stdin)
        if error.code == "contract_version_mismatch":
            workspace = call.workspace()
            error.next = following.command(
                workspace.id, "refresh-adapters", "install", "--refresh", "--root", workspace.worktree_root
            )
        raise
    return answered(call, call.service().submit(run_id, action_id, outcome, sha256(raw)), "")


def _submit_again(call: Call, run_id: str, action_id: str, stdin: bool) -> dict[str, Any]:
    workspace = call.workspace()
    return following.submit_again(workspace.id, workspace.worktree_root, run_id, action_id, stdin)


def _answer(call: Call) -> str:
    flags = call.flags
    run_id = call.run_id(flags["run"])
    action_id = call.action_id(run_id)
    text = _answer_text(call, run_id)
    confirm, scope = flags["confirm-destructive"], flags["scope-sha256"]
    if confirm != (not is_blank(scope)):
        raise call.usage(
            "destructive_confirmation_pair_required",
            "--confirm-destructive and --scope-sha256 go together.",
            run_id,
        )
    return answered(call, call.service().answer(run_id, action_id, text, confirm, scope), "")


def _answer_text(call: Call, run_id: str) -> str | None:
    flags = call.flags
    if ("text" in flags.given) + ("text-file" in flags.given) + flags["text-stdin"] > 1:
        raise call.usage("answer_mode_conflict", "Give the answer once: --text-file, --text-stdin, or --text.", run_id)
    if "text-file" in flags.given and is_blank(flags["text-file"]):
        raise call.usage("answer_file_required", "--text-file needs the path of a file.", run_id)
    try:
        raw = _text_input(flags["text-file"] if "text-file" in flags.given else None, "answer_unavailable")
    except UsageError as error:
        error.next = call.inspect_run(run_id)
        raise
    if raw is None:
        if "text" in flags.given:
            raw = os.fsencode(flags["text"])
        elif flags["text-stdin"]:
            raw = read_descriptor(0, TEXT_LIMIT)
        else:
            return None
    if len(raw) > TEXT_LIMIT:
        raise call.usage("answer_too_large", f"The answer is larger than {TEXT_LIMIT} bytes.", run_id)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise call.usage("invalid_answer", "The answer is not valid UTF-8.", run_id) from None
    if _encoded_size(text) > TEXT_LIMIT:
        raise call.usage("answer_too_large", f"The answer takes more than {TEXT_LIMIT} bytes as a JSON string.", run_id)
    return text


def _skip(call: Call) -> str:
    run_id = call.run_id(call.flags["run"])
    action_id = call.action_id(run_id)
    return answered(call, call.service().skip(run_id, action_id), "")


def _resume(call: Call) -> str:
    from slipway_lite.protocol.resume import Mode

    flags = call.flags
    run_id = call.run_id(flags.positionals[0])
    if "budget" in flags.given and not following.BUDGET_MINIMUM <= flags["budget"] <= following.BUDGET_MAXIMUM:
        raise call.usage("invalid_budget", "The budget is a whole number from 1 to 1000.", run_id)
    if "source-file" in flags.given and not flags["source-file"]:
        raise call.usage("source_file_required", "--source-file needs the path of a source envelope.", run_id)
    choice, candidate = "source-choice" in flags.given, "candidate" in flags.given
    if choice != candidate or (candidate and not flags["candidate"]):
        raise call.usage(
            "source_choice_requires_candidate",
            "--source-choice and --candidate go together, neither empty.",
            run_id,
        )
    if choice and flags["source-choice"] not in ("pinned", "adopt"):
        raise call.usage("invalid_source_choice", "--source-choice is pinned or adopt.", run_id)
    if ("source-file" in flags.given) + flags["use-pinned-source"] + choice > 1:
        raise call.usage(
            "source_mode_conflict",
            "Give one of --source-file, --use-pinned-source, or --source-choice.",
            run_id,
        )
    mode = Mode(flags["use-pinned-source"], None, flags["source-choice"], flags["candidate"])
    materials: list[tuple[str, str]] = []
    if "source-file" in flags.given:
        call.workspace()
        mode.classification, materials = _source(
            flags["source-file"], "invalid_source_candidate", lambda: _resume_again(call, run_id)
        )
    run, receipt = call.service().resume(run_id, flags["budget"], mode, materials)
    return answered(call, run, "", receipt)


def _resume_again(call: Call, run_id: str) -> dict[str, Any]:
    """How to resume the Run after all: as it is on record, or with a fresh source where it cannot be read."""
    from slipway_lite.protocol.reading import Reading

    workspace = call.workspace()
    try:
        return following.derive_resume(Reading(workspace).run(run_id))
    except SlipwayError:
        return following.refresh_source(workspace.id, workspace.worktree_root, run_id, call.flags["budget"])


def _material(call: Call) -> str:
    from slipway_lite.canon import encode
    from slipway_lite.protocol.reading import Reading

    flags = call.flags
    if not flags["run"]:
        raise UsageError("run_id_required", "The command needs a Run id.", next=call.inspect_runs())
    run_id = call.checked_run_id(flags["run"])
    action_id = call.action_id(run_id)
    if not flags["section"]:
        raise call.usage("material_section_required", "--section needs the key of a section.", run_id)
    if not _is_key(flags["section"]):
        raise SlipwayError("material_section_invalid", "The section is no valid key.", next=call.inspect_run(run_id))
    return encode(Reading(call.workspace()).action_material(run_id, action_id, flags["section"])) + "\n"


def _is_key(text: str) -> bool:
    allowed = "abcdefghijklmnopqrstuvwxyz0123456789"
    return 1 <= len(text) <= 64 and text[0] in allowed and not text.strip(allowed + "._-")


def _status(call: Call) -> str:
    from slipway_lite.cli import human
    from slipway_lite.protocol import documents
    from slipway_lite.protocol.reading import Reading

    flags = call.flags
    run_id = call.checked_run_id(flags.positionals[0]) if flags.positionals else None
    if "section" in flags.given:
        if run_id is None:
            raise UsageError("run_id_required", "--section needs the id of one Run.", next=call.inspect_runs())
        if not flags["section"]:
            raise call.usage("material_section_required", "--section needs the key of a section.", run_id)
        material = Reading(call.workspace()).pinned_material(run_id, flags["section"])
        return human.as_status_json(material) if flags["json"] else str(material["section"]["markdown"])
    reading = Reading(call.workspace())
    if run_id is not None:
        run = reading.run(run_id)
        return human.as_status_json(documents.run_status(run)) if flags["json"] else human.run_status(run)
    local, stubs, unavailable = reading.status_list()
    if flags["json"]:
        runs = [*(documents.run_status(run) for run in local), *stubs]
        return human.as_status_json(documents.status_list(runs, unavailable))
    return human.status_list(local, stubs, unavailable)


def _stop(call: Call) -> str:
    given = call.flags.positionals
    run_id = call.checked_run_id(given[0]) if given else _only_stoppable(call)
    return answered(call, call.service().stop(run_id), "stopped")


def _only_stoppable(call: Call) -> str:
    """The one Run that `stop` without an id means (§4.9)."""
    from slipway_lite.protocol.reading import Reading

    local, _, unavailable = Reading(call.workspace()).status_list()
    stoppable = [run.run_id for run in local if run.state in ("active", "paused")]
    if unavailable or len(stoppable) != 1:
        raise UsageError(
            "run_id_required",
            f"{len(stoppable)} Runs could be stopped and {len(unavailable)} cannot be read, so name the one to stop.",
            next=call.inspect_runs("list-runs"),
        )
    return stoppable[0]


HANDLERS: dict[str, Handler] = {
    "run": _start,
    "status": _status,
    "stop": _stop,
    "protocol submit": _submit,
    "protocol answer": _answer,
    "protocol skip": _skip,
    "protocol resume": _resume,
    "protocol material": _material,
}
