"""The machine commands, in the check order of machine-protocol §1.4, on a start that imports little.

A handler returns what is printed; :func:`run` turns a refusal into exactly one JSON line on standard error.
"""

from __future__ import annotations

import os

from slipway_lite.cli import grammar
from slipway_lite.cli.call import Call, output_failed, print_answer, report
from slipway_lite.cli.files import read_descriptor, read_regular
from slipway_lite.errors import SlipwayError, UsageError
from slipway_lite.protocol import inputs
from slipway_lite.protocol import next as following
from slipway_lite.text import is_blank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from slipway_lite.cli.grammar import Parsed
    from slipway_lite.protocol.run import Run
    from slipway_lite.protocol.service import Classified

    T = TypeVar("T")
    Handler = Callable[["Call"], str]


def run(argv: list[str]) -> int:
    """Run one machine command and return its exit status."""
    call: Call | None = None
    try:
        parsed = grammar.parse(argv)
        if parsed.help:
            from slipway_lite.cli.app import show_help

            return show_help(parsed.command)
        call = Call(parsed)
        text = HANDLERS[parsed.command.words](call)
        print_answer(call, text)
        return 0
    except SlipwayError as error:
        return report(error, argv)
    finally:
        if call is not None:
            call.close()


def answered(
    call: Call, run: Run, receipt: dict[str, Any] | None = None, people: Callable[[Run], str] | None = None
) -> str:
    """The reply to a committed mutation: its JSON state, or what ``people`` writes where ``--json`` was not given.

    ``receipt`` is that of a resume.
    """
    call.committed = run
    try:
        if people is not None and not call.flags["json"]:
            return people(run)
        from slipway_lite.canon import encode
        from slipway_lite.protocol.documents import protocol_state

        return encode(protocol_state(run, receipt)) + "\n"
    except Exception as error:
        raise output_failed(run) from error


def _started(run: Run) -> str:
    from slipway_lite.cli import human

    return human.started(run)


def _stopped(run: Run) -> str:
    from slipway_lite.cli import human

    return human.stopped(run)


def _start(call: Call) -> str:
    flags = call.flags
    goal = _goal(flags)
    inputs.check_budget(flags["budget"])
    if "source-file" in flags.given and not flags["source-file"]:
        raise UsageError("source_file_required", "--source-file needs the path of a source envelope.")
    call.look_early()
    source = None
    if "source-file" in flags.given:
        workspace = call.workspace()
        again = following.start(workspace.id, workspace.worktree_root, flags["budget"], not flags["no-review"], True)
        source = _source(flags["source-file"], "invalid_source", lambda: again)
    run = call.service().start(goal, flags["budget"], not flags["no-review"], source)
    return answered(call, run, people=_started)


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
        raw = os.fsencode(flags.positionals[0]) if flags.positionals else _standard_input("goal_unavailable")
    return inputs.goal_text(raw)


def _standard_input(code: str) -> bytes:
    try:
        return read_descriptor(0, inputs.TEXT_LIMIT)
    except OSError as error:
        raise UsageError(code, "Standard input cannot be read.") from error


def _text_input(path: str | None, code: str) -> bytes | None:
    if path is None:
        return None
    try:
        return read_regular(path, inputs.TEXT_LIMIT)
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
    return answered(call, call.service().submit(run_id, action_id, outcome, sha256(raw)))


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
    return answered(call, call.service().answer(run_id, action_id, text, confirm, scope))


def _answer_text(call: Call, run_id: str) -> str | None:
    flags = call.flags
    if ("text" in flags.given) + ("text-file" in flags.given) + flags["text-stdin"] > 1:
        raise call.usage("answer_mode_conflict", "Give the answer once: --text-file, --text-stdin, or --text.", run_id)
    if "text-file" in flags.given and is_blank(flags["text-file"]):
        raise call.usage("answer_file_required", "--text-file needs the path of a file.", run_id)
    path = flags["text-file"] if "text-file" in flags.given else None
    raw = call.checked(run_id, lambda: _text_input(path, "answer_unavailable"))
    if raw is None:
        if "text" in flags.given:
            raw = os.fsencode(flags["text"])
        elif flags["text-stdin"]:
            raw = call.checked(run_id, lambda: _standard_input("answer_unavailable"))
        else:
            return None
    return call.checked(run_id, lambda: inputs.answer_text(raw))


def _skip(call: Call) -> str:
    run_id = call.run_id(call.flags["run"])
    action_id = call.action_id(run_id)
    return answered(call, call.service().skip(run_id, action_id))


def _resume(call: Call) -> str:
    from slipway_lite.protocol.resume import Mode

    flags = call.flags
    run_id = call.run_id(flags.positionals[0])
    if "budget" in flags.given:
        call.checked(run_id, lambda: inputs.check_budget(flags["budget"]))
    if "source-file" in flags.given and not flags["source-file"]:
        raise call.usage("source_file_required", "--source-file needs the path of a source envelope.", run_id)
    given = {name: flags[name] if name in flags.given else None for name in ("source-choice", "candidate")}
    call.checked(
        run_id,
        lambda: inputs.check_source_options(
            "source-file" in flags.given, flags["use-pinned-source"], given["source-choice"], given["candidate"]
        ),
    )
    mode = Mode(flags["use-pinned-source"], None, flags["source-choice"], flags["candidate"])
    materials: list[tuple[str, str]] = []
    if "source-file" in flags.given:
        call.workspace()
        mode.classification, materials = _source(
            flags["source-file"], "invalid_source_candidate", lambda: _resume_again(call, run_id)
        )
    run, receipt = call.service().resume(run_id, flags["budget"], mode, materials)
    return answered(call, run, receipt)


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
    call.checked(run_id, lambda: inputs.check_section(flags["section"]))
    return encode(Reading(call.workspace()).action_material(run_id, action_id, flags["section"])) + "\n"


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
        return human.as_status_json(material) if flags["json"] else human.page(material["section"]["markdown"])
    reading = Reading(call.workspace())
    if run_id is not None:
        run = reading.run(run_id)
        return human.as_status_json(documents.run_status(run)) if flags["json"] else human.run_status(run)
    if flags["json"]:
        return human.as_status_json(reading.status_document())
    return human.status_list(*reading.status_list())


def _stop(call: Call) -> str:
    given = call.flags.positionals
    run_id = call.checked_run_id(given[0]) if given else _only_stoppable(call)
    return answered(call, call.service().stop(run_id), people=_stopped)


def _only_stoppable(call: Call) -> str:
    """The one Run that `stop` without an id means (§4.9)."""
    from slipway_lite.protocol.reading import Reading

    local, _, unavailable = Reading(call.workspace()).status_list()
    stoppable = [run.run_id for run in local if run.state in ("active", "paused")]
    if not stoppable and not unavailable:
        raise UsageError(
            "run_id_required",
            "No Run is active or paused, so there is nothing to stop.",
            next=call.inspect_runs("list-runs"),
        )
    if unavailable or len(stoppable) != 1:
        raise UsageError(
            "run_id_required",
            f"{len(stoppable)} Runs could be stopped and {len(unavailable)} cannot be read, so name the one to stop.",
            next=call.inspect_runs("list-runs"),
        )
    return stoppable[0]


def _adapters(name: str) -> Handler:
    """A handler that is imported when it is called: no Run command pays for the adapters."""

    def handle(call: Call) -> str:
        from slipway_lite.cli import adapters

        handler: Handler = getattr(adapters, name)
        return handler(call)

    return handle


HANDLERS: dict[str, Handler] = {
    "run": _start,
    "status": _status,
    "stop": _stop,
    "list": _adapters("show_list"),
    "doctor": _adapters("doctor"),
    "install": _adapters("install"),
    "uninstall": _adapters("uninstall"),
    "protocol submit": _submit,
    "protocol answer": _answer,
    "protocol skip": _skip,
    "protocol resume": _resume,
    "protocol material": _material,
}
