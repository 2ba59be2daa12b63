"""``slipway turn``: machine results of driven agent turns, from the instruction to the next step."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from slipway_lite.cli import streams, turn_text
from slipway_lite.cli.files import read_descriptor
from slipway_lite.cli.noun import noun
from slipway_lite.cli.output import emit
from slipway_lite.cli.place import DatabaseOption, JsonOption, RootOption, database
from slipway_lite.errors import InvalidDocument, SlipwayError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slipway_lite.store.connection import Store
    from slipway_lite.turns.service import TurnJournal

app = noun("Machine results of driven agent turns, and what to do next.")

FAILED = 3
INPUT_LIMIT = 64 * 1024 * 1024
"""Bytes of one file or stream that a command reads whole."""
TIMEOUT, LONGEST_TIMEOUT = 3600, 7 * 24 * 3600
"""Seconds that one call of an agent may take: by default, and at most."""

SkillOption = Annotated[str, typer.Option("--skill", help="The skill of the turn; `slipway turn profiles` lists them.")]
UnitOption = Annotated[str, typer.Option("--context-unit", help="The unit id that the turn was called for.")]
StrictTailOption = Annotated[
    bool, typer.Option("--strict-tail", help="Refuse a result after which another fence was opened.")
]
FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="A file, or - for standard input.")]
CommandArgument = Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="The agent: prompt in, reply out.")]
TimeoutOption = Annotated[
    int, typer.Option("--timeout", min=1, max=LONGEST_TIMEOUT, help="Seconds that one call of the agent may take.")
]
ResumeOption = Annotated[
    str, typer.Option("--resume-command", help="Command that continues the agent's session, for the one re-ask.")
]


@app.command()
def profiles(json: JsonOption = False) -> None:
    """List the thirteen output profiles.

    Example: slipway turn profiles
    """
    from slipway_lite.turns.profiles import PROFILES

    documents = [profile.as_document() for profile in PROFILES.values()]
    emit({"profiles": documents}, json, turn_text.profiles(documents))


@app.command()
def instruction(
    skill: Annotated[str, typer.Argument(help="A skill with a profile.")], json: JsonOption = False
) -> None:
    """Print the line that a driver appends to a driven turn.

    Example: slipway turn instruction execute-phase
    """
    from slipway_lite.turns.profiles import render_output_instruction

    text = render_output_instruction(skill)
    emit({"skill": skill, "instruction": text}, json, text.split("\n"))


@app.command()
def parse(
    file: FileArgument = "-",
    skill: SkillOption = "",
    context_unit: UnitOption = "",
    strict_tail: StrictTailOption = False,
    jsonl: Annotated[
        bool,
        typer.Option("--jsonl", help='Many turns: {"skill", "text", "context"?} a line in, one result a line out.'),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Read the machine result out of a final reply. Leaves with 3 when there is none.

    Example: slipway turn parse --skill execute-phase --json reply.md
    """
    from slipway_lite.turns.parse import parse_turn
    from slipway_lite.turns.profiles import profile_of

    if jsonl:
        _parse_lines(file, skill, strict_tail)
        return
    if not skill:
        raise UsageError("missing_skill", "--skill says whose reply this is.")
    profile_of(skill)
    text = _read(file).decode("utf-8", "replace")
    context = {"unitId": context_unit} if context_unit else None
    parsed = parse_turn(skill=skill, text=text, context=context, strict_tail=strict_tail)
    emit(parsed.as_document(), json, turn_text.parsed(parsed))
    if not parsed.ok:
        raise typer.Exit(FAILED)


def _parse_lines(file: str, skill: str, strict_tail: bool) -> None:
    """Stream: every line in gives one line out, in order; a line that is no turn gives an error in its place."""
    from slipway_lite.canon import encode
    from slipway_lite.turns.parse import parse_line

    watched = os.isatty(2)
    number = 0
    for number, line in enumerate(_lines(file), 1):
        document = {"line": number, **parse_line(line, skill=skill or None, strict_tail=strict_tail)}
        try:
            streams.write(1, encode(document) + "\n")
        except OSError as error:
            raise SlipwayError("output_failed", "The answer could not be written to standard output.") from error
        if watched and number % 100 == 0:
            streams.write(2, f"\rread {number} turns")
    if watched:
        streams.write(2, f"\rread {number} turns\n")


@app.command()
def snapshot(
    root: RootOption = "",
    published_status: Annotated[
        bool,
        typer.Option("--published-status", help="Read the status as the published compiler does: colon form only."),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Compile the WorkflowSnapshot v1 of a tree. It is taken at the head revision.

    Example: slipway turn snapshot --root . --json
    """
    from slipway_lite.turns.observation import observe_worktree
    from slipway_lite.turns.status_forms import ALL_FORMS, PUBLISHED_FORMS

    observed = observe_worktree(root or os.getcwd())
    compiled = observed.snapshot(PUBLISHED_FORMS if published_status else ALL_FORMS)
    document = {
        **compiled.as_document(),
        "readings": list(compiled.readings),
        "degradations": observed.documents.degradations,
    }
    emit(document, json, turn_text.snapshot(document))


@app.command()
def sense(root: RootOption = "", json: JsonOption = False) -> None:
    """Print what the workflow-status sensor sees. It is one strict Envelope v2.

    Example: slipway turn sense --root . --json
    """
    from slipway_lite.turns.observation import observe_worktree

    envelope = observe_worktree(root or os.getcwd()).envelope()
    emit(envelope, json, turn_text.envelope(envelope))


@app.command()
def state(
    root: RootOption = "",
    init: Annotated[bool, typer.Option("--init", help="Write a draft where there is no document yet.")] = False,
    json: JsonOption = False,
) -> None:
    """Show the repository-state document. With --init, write a first draft of it.

    Example: slipway turn state --init
    """
    from slipway_lite.turns.observation import draft_repository_state, observe_worktree

    observed = observe_worktree(root or os.getcwd())
    if init:
        draft_repository_state(observed)
        observed = observe_worktree(observed.git.root)
    document = observed.repository_state_document()
    emit(document, json, turn_text.repository_state(document))


@app.command()
def decide(file: FileArgument = "-", json: JsonOption = False) -> None:
    """Decide the next step.

    The request is {snapshot, lastOutcome, lastOutcomeSourceRevision, policy}.

    Example: slipway turn decide --json request.json
    """
    from slipway_lite.turns.block import decode_block
    from slipway_lite.turns.decide import decide_request

    try:
        request, problem = decode_block(_read(file).decode())
    except UnicodeDecodeError:
        raise InvalidDocument("The request is not valid UTF-8.") from None
    if problem is not None:
        raise InvalidDocument("The request is not one JSON document.")
    decision = decide_request(request).as_document()
    emit(decision, json, turn_text.decision(decision))


@app.command()
def drive(
    command: CommandArgument,
    skill: SkillOption,
    resume_command: ResumeOption = "",
    prompt: Annotated[str, typer.Option("--prompt", help="The prompt (default: standard input).")] = "",
    timeout: TimeoutOption = TIMEOUT,
    context_unit: UnitOption = "",
    strict_tail: StrictTailOption = False,
    run: Annotated[str, typer.Option("--run", help="The Run that the turn belongs to.")] = "",
    action: Annotated[str, typer.Option("--action", help="The Action that the turn belongs to.")] = "",
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Drive one turn of a real agent.

    Instruct, parse, re-ask once, journal. Leaves with 3 when it failed.

    Example: slipway turn drive --skill plan-fix --prompt "Plan 134" -- my-agent --print
    """
    from slipway_lite.turns.agent import ProcessAgent
    from slipway_lite.turns.driver import drive_turn
    from slipway_lite.turns.observation import PinnedJournal, journal_snapshot, try_to_observe
    from slipway_lite.turns.profiles import profile_of
    from slipway_lite.turns.snapshot import snapshot_sha256

    profile_of(skill)
    resume = _words("--resume-command", resume_command)
    observed = try_to_observe(root or os.getcwd())
    top = observed.git.root if observed else os.path.realpath(root or os.getcwd())
    with _store(db, root) as store:
        journal = _journal(store, top, observed.git.common_dir if observed else None, run, action)
        asked = prompt or ("" if os.isatty(0) else _read("-").decode("utf-8", "replace"))
        pinned = observed.pinned_document() if observed else None
        facts = {"snapshot_sha256": snapshot_sha256(journal_snapshot(journal, observed))} if observed else {}
        turn = drive_turn(
            skill,
            ProcessAgent(command, resume, root=top, seconds=timeout),
            context={"unitId": context_unit} if context_unit else None,
            journal=PinnedJournal(journal, top, pinned, facts),
            prompt=asked,
            same_session=resume is not None,
            strict_tail=strict_tail,
        )
    document = turn.as_document()
    emit({**document, "envelope": turn.parsed and turn.parsed.envelope}, json, turn_text.driven(document))
    if not turn.ok:
        raise typer.Exit(FAILED)


@app.command()
def advance(
    command: CommandArgument,
    resume_command: ResumeOption = "",
    timeout: TimeoutOption = TIMEOUT,
    sensor: Annotated[str, typer.Option("--sensor", help="Sensor command (default: `slipway turn sense`).")] = "",
    check: Annotated[str, typer.Option("--check", help="Command whose exit status 0 proves `verification`.")] = "",
    go_on: Annotated[bool, typer.Option("--continue", help="Go on past one stage.")] = False,
    unattended: Annotated[bool, typer.Option("--unattended", "--fullauto", help="Nobody watches.")] = False,
    iterations_cap: Annotated[int, typer.Option("--iterations-cap", min=1, help="Most iterations of one call.")] = 12,
    sensitive_path: Annotated[list[str] | None, typer.Option(help="A path whose reviews are adversarial.")] = None,
    security_path: Annotated[list[str] | None, typer.Option(help="A path that makes every step adversarial.")] = None,
    run: Annotated[str, typer.Option("--run", help="The Run that the turns belong to.")] = "",
    action: Annotated[str, typer.Option("--action", help="The Action that the turns belong to.")] = "",
    db: DatabaseOption = "",
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Advance the work by one stage.

    Sense, decide, drive one turn of the agent. It never merges.

    Example: slipway turn advance --check "make test" -- my-agent --print
    """
    from slipway_lite.turns.agent import ProcessAgent
    from slipway_lite.turns.conduct import AdvanceSetup
    from slipway_lite.turns.conduct import advance as conduct
    from slipway_lite.turns.loop import AdvanceConfig
    from slipway_lite.turns.worktree import observe_git

    resume = _words("--resume-command", resume_command)
    sensor_command, check_command = _words("--sensor", sensor), _words("--check", check)
    git = observe_git(root or os.getcwd())
    with _store(db, root) as store:
        result = conduct(
            AdvanceSetup(
                root=git.root,
                journal=_journal(store, git.root, git.common_dir, run, action),
                new_agent=lambda: ProcessAgent(command, resume, root=git.root, seconds=timeout),
                same_session=resume is not None,
                sensor=sensor_command,
                check=check_command,
                config=AdvanceConfig(
                    iterations_cap=iterations_cap,
                    sensitive_paths=tuple(sensitive_path or ()),
                    security_paths=tuple(security_path or ()),
                    sense_again_after_invoke=go_on,
                ),
                attended=not unattended,
                go_on=go_on,
            )
        ).as_document()
    emit(result, json, turn_text.advanced(result))
    if result["stopCode"] not in (None, "stop-nothing-startable"):
        raise typer.Exit(FAILED)


def _words(option: str, command: str) -> list[str] | None:
    """The words of a command that an option gives, quoted as for a shell; ``None`` where it is not given."""
    if not command:
        return None
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError("invalid_command", f"{option} is not a command: {error}.") from None
    if not words:
        raise UsageError("invalid_command", f"{option} is not a command: it has no word.")
    return words


def _store(db: str, root: str) -> Store:
    from slipway_lite.store.connection import open_store

    return open_store(database(db, root)[0])


def _journal(store: Store, root: str, git_common_dir: str | None, run: str, action: str) -> TurnJournal:
    from slipway_lite.turns.service import TurnJournal

    if action and not run:
        raise UsageError("action_without_run", "--action names an Action of a Run; give --run too.")
    return TurnJournal(store, root, run_id=run or None, action_id=action or None, git_common_dir=git_common_dir)


def _read(file: str) -> bytes:
    try:
        with open(0 if file == "-" else file, "rb", buffering=0, closefd=file != "-") as source:
            raw = read_descriptor(source.fileno(), INPUT_LIMIT)
    except OSError as error:
        raise UsageError("input_unreadable", f"The input cannot be read: {error.strerror}.") from error
    if len(raw) > INPUT_LIMIT:
        raise UsageError("input_too_large", f"The input is larger than {INPUT_LIMIT} bytes.")
    return raw


def _lines(file: str) -> Iterator[bytes]:
    try:
        with open(0 if file == "-" else file, "rb", closefd=file != "-") as source:
            while line := source.readline(INPUT_LIMIT + 1):
                if len(line) > INPUT_LIMIT:
                    raise UsageError("input_too_large", f"A line is larger than {INPUT_LIMIT} bytes.")
                yield line
    except OSError as error:
        raise UsageError("input_unreadable", f"The input cannot be read: {error.strerror}.") from error
