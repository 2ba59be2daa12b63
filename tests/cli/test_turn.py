"""``slipway turn``: one document out, prose elsewhere, exit status 0, 2 or 3."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from slipway_lite.cli import turn
from slipway_lite.errors import SlipwayError
from slipway_lite.store.connection import open_store
from slipway_lite.turns.vocabulary import EVIDENCE, INTENTS
from tests.machine_host import process, repository
from tests.turns.conftest import STATE, Tree, tree
from tests.turns.documents import envelope, fenced, outcome, snapshot

__all__ = ["tree"]

PROSE = "I did it."


class Ran(NamedTuple):
    status: int
    out: str

    @property
    def document(self) -> Any:
        assert self.out.endswith("\n") and self.out.count("\n") == 1
        return json.loads(self.out)


Slipway = Callable[..., Ran]


@pytest.fixture
def slipway(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slipway]:
    """Run one command line of the noun in this process, standard input and output included."""
    monkeypatch.setenv("SLIPWAY_DB", str(tmp_path / "slipway.db"))
    command = typer.main.get_command(turn.app)
    kept = os.dup(0)

    def run(*argv: str, stdin: str | bytes = "") -> Ran:
        source = tmp_path / "stdin"
        source.write_bytes(stdin.encode("utf-8") if isinstance(stdin, str) else stdin)
        descriptor = os.open(source, os.O_RDONLY)
        os.dup2(descriptor, 0)
        os.close(descriptor)
        capfd.readouterr()
        status = command(list(argv), standalone_mode=False)
        return Ran(status if isinstance(status, int) else 0, capfd.readouterr().out)

    yield run
    os.dup2(kept, 0)
    os.close(kept)


def code(run: Callable[[], Any]) -> tuple[str, int]:
    with pytest.raises(SlipwayError) as caught:
        run()
    return caught.value.code, caught.value.exit_code


def test_profiles_are_listed(slipway: Slipway) -> None:
    assert len(slipway("profiles", "--json").document["profiles"]) == 13
    assert slipway("profiles").out.splitlines()[1].startswith("init-workspace")


def test_an_instruction_is_printed(slipway: Slipway) -> None:
    document = slipway("instruction", "plan-fix", "--json").document
    assert document["skill"] == "plan-fix" and slipway("instruction", "plan-fix").out == document["instruction"] + "\n"
    assert code(lambda: slipway("instruction", "advance")) == ("unknown_skill", 2)


def test_a_reply_is_parsed_from_standard_input_or_a_file(slipway: Slipway, tmp_path: Path) -> None:
    file = tmp_path / "reply.md"
    file.write_text(fenced(outcome()), "utf-8")
    piped = slipway("parse", "--skill", "execute-phase", "--json", stdin=fenced(outcome()))
    assert piped.document["outcome"] == outcome()
    assert piped == slipway("parse", "--skill", "execute-phase", "--json", str(file))
    shown = slipway("parse", "--skill", "execute-phase", stdin=fenced(outcome())).out.splitlines()
    assert shown[0] == "State:   completed (from skill-outcome-v1)"
    assert "Next:    review-change 12-csv" in shown and "Blocker: gate lint (unit): one warning" in shown


def test_a_reply_without_a_result_is_a_document_and_status_3(slipway: Slipway) -> None:
    ran = slipway("parse", "--skill", "execute-phase", "--json", stdin=PROSE)
    assert ran.status == 3 and ran.document["errors"][0]["code"] == "no_machine_result"
    shown = slipway("parse", "--skill", "execute-phase", stdin=fenced(outcome()) + "```json\n{")
    assert shown.status == 0 and "opener-after-block" in shown.out
    refused = slipway("parse", "--skill", "execute-phase", "--strict-tail", stdin=fenced(outcome()) + "```json\n{")
    assert refused.status == 3 and refused.out.startswith("No result.\n  stale_tail at $")


def test_the_context_unit_reaches_the_parser(slipway: Slipway) -> None:
    text = fenced({**envelope("audit-pr"), "unit": {**envelope()["unit"], "id": 12}})
    assert slipway("parse", "--skill", "audit-pr", stdin=text).status == 3
    ran = slipway("parse", "--skill", "audit-pr", "--context-unit", "12-csv", "--json", stdin=text)
    assert ran.document["diagnostics"][0]["code"] == "unit-id-from-context"


def test_a_lone_surrogate_is_printed_as_its_escape(slipway: Slipway) -> None:
    ran = slipway("parse", "--skill", "execute-phase", "--json", stdin=fenced(outcome(summary="\ud800")))
    assert "\\ud800" in ran.out and ran.document["outcome"]["summary"] == "\ud800"


def test_control_characters_of_a_reply_do_not_reach_the_terminal(slipway: Slipway) -> None:
    out = slipway("parse", "--skill", "execute-phase", stdin=fenced(outcome(summary="a\x1b[31mb"))).out
    assert "\x1b" not in out


def test_many_turns_are_parsed_line_by_line(slipway: Slipway) -> None:
    lines = [
        json.dumps({"id": "a", "skill": "execute-phase", "text": fenced(outcome())}),
        "{",
        json.dumps({"skill": "execute-phase", "text": PROSE}),
        json.dumps({"text": fenced(outcome("plan-fix"))}),
    ]
    ran = slipway("parse", "--jsonl", "--skill", "plan-fix", stdin="\n".join(lines))
    found = [json.loads(line) for line in ran.out.splitlines()]
    assert [(row["line"], row.get("id"), row["ok"]) for row in found] == [
        (1, "a", True),
        (2, None, False),
        (3, None, False),
        (4, None, True),
    ]
    assert found[1]["errors"][0]["code"] == "invalid_line" and ran.status == 0
    assert slipway("parse", "--jsonl", stdin="").out == ""


PROGRAM = (sys.executable, "-c", "from slipway_lite.cli.main import main; main()", "turn", "parse", "--jsonl")


def test_progress_goes_to_a_terminal_on_standard_error_and_nowhere_else() -> None:
    reader, terminal = os.openpty()
    lines = b"{}\n" * 150
    done = subprocess.run(PROGRAM, input=lines, stdout=subprocess.PIPE, stderr=terminal, check=True)
    os.close(terminal)
    assert os.read(reader, 1000).decode().split("\r") == ["", "read 100 turns", "read 150 turns", "\n"]
    os.close(reader)
    assert done.stdout.count(b"\n") == 150 and b"read" not in done.stdout
    assert subprocess.run(PROGRAM, input=lines, capture_output=True, check=True).stderr == b""


def test_an_output_that_takes_nothing_is_an_error() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(PROGRAM, input=b"{}\n", stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 3 and json.loads(done.stderr)["code"] == "output_failed"


def test_wrong_invocations_have_codes(slipway: Slipway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert code(lambda: slipway("parse")) == ("missing_skill", 2)
    assert code(lambda: slipway("parse", "--skill", "advance")) == ("unknown_skill", 2)
    assert code(lambda: slipway("parse", "--skill", "plan-fix", str(tmp_path / "absent"))) == ("input_unreadable", 2)
    assert code(lambda: slipway("parse", "--jsonl", str(tmp_path / "absent"))) == ("input_unreadable", 2)
    monkeypatch.setattr(turn, "INPUT_LIMIT", 3)
    assert code(lambda: slipway("parse", "--skill", "plan-fix", stdin="four")) == ("input_too_large", 2)


def test_a_verdict_that_is_the_answer_leaves_standard_error_empty() -> None:
    done = subprocess.run([*PROGRAM[:-1], "--skill", "plan-fix", "--json"], input=b"no result", capture_output=True)
    assert (done.returncode, done.stderr) == (3, b"") and not json.loads(done.stdout)["ok"]


@pytest.mark.parametrize("more", [[], ["--jsonl"]])
def test_a_standard_input_that_cannot_be_read_is_not_an_output_that_was_lost(tmp_path: Path, more: list[str]) -> None:
    with open(tmp_path / "write-only", "wb") as source:
        done = subprocess.run([*PROGRAM[:-1], "--skill", "plan-fix", *more], stdin=source, capture_output=True)
    assert (done.returncode, done.stdout, json.loads(done.stderr)["code"]) == (2, b"", "input_unreadable")


def test_a_snapshot_is_compiled_from_a_tree(slipway: Slipway, tree: Tree) -> None:
    tree.plan(state="| Status | frozen |\n")
    document = slipway("snapshot", "--root", str(tree.root), "--json").document
    assert document["snapshot"]["repositoryState"] == "frozen" and document["readings"][0]["form"] == "table"
    published = slipway("snapshot", "--root", str(tree.root), "--published-status", "--json").document
    assert published["snapshot"]["repositoryState"] == "unknown"
    shown = slipway("snapshot", "--root", str(tree.root)).out
    assert "Unit:    12-csv (in-progress)\nPhase:   P2, 1 of 2 done\n" in shown


def test_a_snapshot_shows_conflicts_unknowns_and_unread_sources(slipway: Slipway, tree: Tree) -> None:
    tree.plan(state="Status: contradicted\n")
    tree.write("docs/features/ROADMAP.md", b"\xff")
    shown = slipway("snapshot", "--root", str(tree.root)).out
    assert "(uncommitted work)" in shown and "Unit:    none" in shown
    assert "Conflict: repositoryState" in shown and "Unknown: unit" in shown and "Unread:  not-utf8:" in shown


def test_outside_a_repository_there_is_no_snapshot(slipway: Slipway, tmp_path: Path) -> None:
    assert code(lambda: slipway("snapshot", "--root", str(tmp_path))) == ("not_a_repository", 3)


def test_the_built_in_sensor_prints_an_envelope(slipway: Slipway, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.plan()
    monkeypatch.chdir(tree.root)
    assert slipway("sense", "--json").document["next"]["recommended"] == "/execute-phase 12-csv P2"
    tree.write("docs/features/ROADMAP.md", "")
    assert "Asks:    Uncommitted work" in slipway("sense").out


def test_the_repository_state_is_drafted_and_shown(slipway: Slipway, tree: Tree) -> None:
    root = ("--root", str(tree.root))
    assert slipway("state", *root).out.startswith("State:   missing\n")
    assert slipway("state", *root, "--init", "--json").document["status"] == "draft"
    assert (tree.root / STATE).is_file()
    assert slipway("state", *root).out.splitlines()[0] == "State:   draft"
    assert code(lambda: slipway("state", *root, "--init")) == ("document_exists", 3)


@pytest.mark.parametrize("kind", ["not-utf8", "unreadable", "outside"])
def test_an_unreadable_repository_state_is_named_and_nothing_is_recommended(
    slipway: Slipway, tree: Tree, tmp_path: Path, kind: str
) -> None:
    tree.plan()
    place = tree.root / STATE
    place.unlink()
    (tmp_path / "theirs.md").write_text("Status: frozen\n")
    make: dict[str, Callable[[], object]] = {
        "not-utf8": lambda: place.write_bytes(b"\xff"),
        "unreadable": lambda: os.mkfifo(place),
        "outside": lambda: place.symlink_to(tmp_path / "theirs.md"),
    }
    make[kind]()
    root = ("--root", str(tree.root))
    sensed = slipway("sense", *root).out
    assert sensed.startswith(f"State:   BLOCKED: {STATE} exists and cannot be read ({kind}).\nNext:    nothing\n")
    assert f"Unread:  {kind}:{STATE}" in sensed
    assert slipway("state", *root).out == f"State:   unknown\nUnread:  {kind}:{STATE}\n"
    assert code(lambda: slipway("state", *root, "--init")) == ("document_unreadable", 3)


def test_a_draft_is_never_written_through_a_link_that_the_repository_carries(
    slipway: Slipway, tree: Tree, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tree.root / "docs").mkdir()
    (tree.root / "docs/workflow").symlink_to(outside)
    assert code(lambda: slipway("state", "--root", str(tree.root), "--init")) == ("document_behind_link", 3)
    assert list(outside.iterdir()) == []


def request(**changes: Any) -> str:
    return json.dumps(
        {
            "snapshot": snapshot(contradictions=[]),
            "lastOutcome": outcome("status", "execute-phase", evidence_refs=list(EVIDENCE)),
            "lastOutcomeSourceRevision": "rev1",
            "policy": {"allowedIntents": list(INTENTS), "forgeWriteAuthorized": True},
            **changes,
        }
    )


def test_a_request_is_decided(slipway: Slipway) -> None:
    next_ = {"intent": "execute-phase", "targets": ["12-csv"]}
    last = outcome("status", next=next_, evidence_refs=list(EVIDENCE))
    document = slipway("decide", "--json", stdin=request(lastOutcome=last)).document
    assert (document["kind"], document["intent"], document["targets"]) == ("invoke", "execute-phase", ["12-csv"])
    shown = slipway("decide", stdin=request(lastOutcome=None)).out
    assert shown.startswith("sense: status\nBecause: sense-initial: ")


def test_a_request_that_is_no_json_is_refused(slipway: Slipway) -> None:
    assert code(lambda: slipway("decide", stdin="{")) == ("invalid_document", 2)
    assert code(lambda: slipway("decide", stdin=b"\xff")) == ("invalid_document", 2)
    assert code(lambda: slipway("decide", stdin=request(lastOutcome="x"))) == ("invalid_last_outcome", 2)


def agent(*replies: str) -> tuple[str, ...]:
    """A command whose first call prints the first reply, and so on; it counts calls in a file of the tree's .git."""
    source = (
        "import sys, pathlib; prompt = sys.stdin.read(); count = pathlib.Path('.git/calls');"
        "calls = count.read_text().count('x') if count.exists() else 0; count.write_text('x' * (calls + 1));"
        "pathlib.Path(f'.git/prompt-{calls}').write_text(prompt);"
        f"print({replies!r}[calls])"
    )
    return sys.executable, "-c", source


def rows(tmp_path: Path, sql: str) -> list[Any]:
    with open_store(str(tmp_path / "slipway.db")) as store:
        return store.rows(sql)


def test_a_turn_belongs_to_a_run_of_its_own_repository(slipway: Slipway, tree: Tree, tmp_path: Path) -> None:
    tree.plan()
    other = repository(tmp_path / "other")
    shared = {"SLIPWAY_DB": str(tmp_path / "slipway.db")}
    ours, theirs = (
        process("run", "goal", "--json", "--root", str(root), env=shared).document["run_id"]
        for root in (tree.root, other)
    )
    drive = ("drive", "--skill", "execute-phase", "--prompt", "x", "--root", str(tree.root), "--run")
    advance = ("advance", "--root", str(tree.root), "--run")
    reply = fenced(outcome())
    assert code(lambda: slipway(*drive, theirs, "--", *agent(reply))) == ("run_not_found", 3)
    assert code(lambda: slipway(*advance, theirs, "--", *agent(reply))) == ("run_not_found", 3)
    assert slipway(*drive, ours, "--", *agent(reply)).status == 0
    assert rows(tmp_path, "select run_id from turns") == [(ours,)]


def test_a_real_command_is_driven_and_journaled(slipway: Slipway, tree: Tree, tmp_path: Path) -> None:
    head = tree.plan()
    argv = ("drive", "--skill", "execute-phase", "--root", str(tree.root))
    ran = slipway(*argv, "--json", "--", *agent(PROSE, fenced(outcome())), stdin="Do P2.")
    assert ran.status == 0 and ran.document["repair"] == "fresh-call" and ran.document["outcome"] == outcome()
    first, second = ((tree.root / f".git/prompt-{call}").read_text("utf-8") for call in (0, 1))
    assert first.startswith("Do P2.\n\nEnd your reply") and second.startswith(first + f"\n\n{PROSE}")
    assert ran.document["envelope"] is None
    assert rows(
        tmp_path,
        "select t.repair, t.source_revision, t.document_path, s.source_revision from turns t"
        " join workflow_snapshots s using (snapshot_sha256)",
    ) == [("fresh-call", head, STATE, head)]


def test_the_re_ask_goes_to_the_resume_command(slipway: Slipway, tree: Tree) -> None:
    tree.plan()
    resume = f'{sys.executable} -c \'import sys; open(".git/asked", "w").write(sys.stdin.read()); print("no")\''
    argv = (
        "drive",
        "--skill",
        "execute-phase",
        "--root",
        str(tree.root),
        "--prompt",
        "Do P2.",
        "--resume-command",
        resume,
    )
    ran = slipway(*argv, "--", *agent(PROSE))
    assert ran.status == 3 and ran.out.startswith("FAILED\nNo result.\n  no_machine_result")
    assert "asked again (same-session)" in ran.out
    assert (tree.root / ".git/asked").read_text("utf-8") == "Emit only the machine result for the turn above."


def test_a_turn_can_be_driven_where_there_is_no_repository_yet(slipway: Slipway, tmp_path: Path) -> None:
    place = tmp_path / "new"
    (place / ".git").mkdir(parents=True)
    argv = ("drive", "--skill", "init-workspace", "--root", str(place), "--prompt", "Start.", "--json")
    ran = slipway(*argv, "--", *agent(fenced(outcome("init-workspace"))))
    assert ran.document["verdict"] == "validated"
    assert rows(tmp_path, "select source_revision, document_path, snapshot_sha256 from turns") == [(None, None, None)]


@pytest.mark.parametrize("value", ['"', "'a", " "])
@pytest.mark.parametrize(
    ("command", "option"),
    [("drive", "--resume-command"), ("advance", "--resume-command"), ("advance", "--check"), ("advance", "--sensor")],
)
def test_a_command_in_an_option_that_is_badly_quoted_or_empty_is_refused(
    slipway: Slipway, tree: Tree, tmp_path: Path, command: str, option: str, value: str
) -> None:
    skill = ("--skill", "plan-fix", "--prompt", "x") if command == "drive" else ()
    argv = (command, "--root", str(tree.root), *skill, option, value, "--", *agent(PROSE))
    assert code(lambda: slipway(*argv)) == ("invalid_command", 2)
    assert not (tree.root / ".git/calls").exists() and not (tmp_path / "slipway.db").exists()


def test_drive_refuses_before_the_agent_is_called(slipway: Slipway, tree: Tree) -> None:
    tree.plan()
    argv = ("drive", "--root", str(tree.root), "--prompt", "x")
    calls = agent(PROSE)
    assert code(lambda: slipway(*argv, "--skill", "advance", "--", *calls)) == ("unknown_skill", 2)
    assert code(lambda: slipway(*argv, "--skill", "plan-fix", "--action", "a", "--", *calls)) == (
        "action_without_run",
        2,
    )
    assert code(lambda: slipway(*argv, "--skill", "plan-fix", "--run", "r", "--", *calls)) == ("run_not_found", 3)
    assert not (tree.root / ".git/calls").exists()


def test_an_agent_that_fails_is_an_error_and_its_turn_is_on_record(
    slipway: Slipway, tree: Tree, tmp_path: Path
) -> None:
    tree.plan()
    argv = ("drive", "--skill", "plan-fix", "--root", str(tree.root), "--prompt", "x", "--", "false")
    assert code(lambda: slipway(*argv)) == ("agent_failed", 3)
    assert rows(tmp_path, "select verdict from turns") == [("failed",)]


@pytest.mark.parametrize("command", ["drive", "advance"])
def test_an_agent_that_takes_longer_than_the_timeout_has_a_code_and_its_turn_is_on_record(
    slipway: Slipway, tree: Tree, tmp_path: Path, command: str
) -> None:
    tree.plan(state="Status: draft\n")
    skill = ("--skill", "plan-fix", "--prompt", "x") if command == "drive" else ()
    argv = (command, "--root", str(tree.root), *skill, "--timeout", "1", "--", "sleep", "60")
    if command == "drive":
        assert code(lambda: slipway(*argv)) == ("agent_timed_out", 3)
    else:
        ran = slipway(command, "--json", *argv[1:])
        assert ran.status == 3 and ran.document["message"] == "The agent command gave no reply within 1 seconds."
    assert rows(tmp_path, "select verdict from turns") == [("failed",)]


def test_advance_drives_one_stage_of_a_real_agent(slipway: Slipway, tree: Tree, tmp_path: Path) -> None:
    tree.plan()
    argv = ("advance", "--root", str(tree.root))
    ran = slipway(*argv, "--json", "--", *agent(fenced(outcome(blockers=[]))))
    assert ran.status == 0
    assert ran.document == {
        "banner": "ADVANCE: CONTINUE",
        "stopCode": None,
        "iterations": 2,
        "message": ran.document["message"],
    }
    assert (tree.root / ".git/prompt-0").read_text("utf-8").startswith("/skill:execute-phase 12-csv\n\n")
    decided = json.loads(rows(tmp_path, "select decision from turns")[0][0])
    assert decided["reasonCode"] == "invoke-proven-transition"


def test_advance_that_stops_leaves_with_3_and_complete_with_0(slipway: Slipway, tree: Tree) -> None:
    tree.plan()
    argv = ("advance", "--root", str(tree.root), "--unattended", "--security-path", "src/**")
    ran = slipway(*argv, "--sensitive-path", "a", "--iterations-cap", "2", "--continue", "--", *agent(PROSE, PROSE))
    assert ran.status == 3 and ran.out.startswith("ADVANCE: STOPPED (stop-failed)\n")
    assert "--adversarial 3" in (tree.root / ".git/prompt-0").read_text("utf-8")
    tree.plan(roadmap="| 12 | csv | done |\n")
    done = slipway("advance", "--root", str(tree.root), "--", *agent())
    assert done.status == 0 and done.out.startswith("ADVANCE: COMPLETE (stop-nothing-startable)\n")


def test_every_command_says_what_it_does_and_gives_an_example() -> None:
    commands: Any = typer.main.get_command(turn.app)
    assert set(commands.commands) == {
        "profiles", "instruction", "parse", "snapshot", "sense", "state", "decide", "drive", "advance",
    }  # fmt: skip
    for command in commands.commands.values():
        assert "Example: slipway turn " in command.help
