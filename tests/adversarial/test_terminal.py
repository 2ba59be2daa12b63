"""Text that steers a terminal, in every place that somebody else fills: only ``--json`` gets it, and exactly."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.cli.human import harmless, page
from slipway_lite.control.importing import import_audit
from slipway_lite.control.service import ControlPlane
from slipway_lite.store.connection import open_store
from tests.control.world import World
from tests.machine_host import COMMAND, Host, Reply, environment, invoke, repository

WEAPONS = {
    "CSI": "\x1b[2J",
    "OSC 8, a link": "\x1b]8;;https://evil.example\x07here\x1b]8;;\x07",
    "OSC 52, the clipboard": "\x1b]52;c;cm0gLXJmIH4=\x07",
    "DCS": "\x1bP+q544e\x1b\\",
    "BEL": "\x07",
    "BS": "rm\x08\x08ls",
    "DEL": "\x7f",
    "C1 CSI": "\x9b31m",
    "C1 OSC": "\x9d0;title\x9c",
    "CR": "safe\rrm -rf",
    "LF": "one\nState:   ended",
    "VT": "\x0b",
    "bidi override": "\u202etxt.exe\u202c",
    "bidi isolate": "\u2066evil\u2069",
    "zero width": "a\u200b\u200d\ufeffb",
    "line separator": "a\u2028b\u2029c",
    "tags": "\U000e0001\U000e0041",
}
EVIL = "needle " + " ".join(WEAPONS.values()) + " end"
MARKDOWN = "needle " + " ".join(t for t in WEAPONS.values() if not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", t)) + "\r"
"""What of it the machine protocol takes: its texts have no control character but TAB, LF and CR."""
WORD = "needle" + "".join(WEAPONS.values()).replace("\n", "")


def assert_tame(raw: bytes) -> None:
    """Nothing but printable characters, spaces and line feeds."""
    text = raw.decode()
    assert not [c for c in text if harmless(c) != c and c != "\n"], text


# -- the functions


@pytest.mark.parametrize("name", WEAPONS)
def test_every_weapon_is_blunted(name: str) -> None:
    text = WEAPONS[name]
    assert harmless(text) != text and "\n" not in harmless(text)
    assert_tame(page(text).encode())


def test_a_page_keeps_its_lines_and_widens_its_tabs() -> None:
    assert page("a\tb\n\nc\r\n") == "a    b\n\nc\ufffd\n"


# -- commands over a file that is full of it


@pytest.fixture(scope="module")
def spoiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A repository whose file has such text in every member that takes it; the names of what is in there."""
    place = tmp_path_factory.mktemp("terminal")
    root = repository(place / "re\x1b[31mpo\u202e")
    asking = Host(root, MARKDOWN)
    asking.submit("needs_input", summary=MARKDOWN,
                  pause={"reason": "decision_required", "question": MARKDOWN, "destructive_request": None})  # fmt: skip
    Host(root, "another")
    db = root / ".git/slipway-lite/slipway.db"
    plane = ControlPlane.open(str(db))
    world = World(plane)
    task = world.create(title=EVIL, objective=EVIL, description=EVIL)
    job = world.dispatch(task, "plan")
    world.fail(task, job, summary=EVIL)
    plane.close()
    line = {
        "event_id": f"audit_{WORD}", "event_type": WORD, "task_id": WORD, "actor_type": "system", "actor_id": WORD,
        "payload": {"text": EVIL}, "occurred_at": "2025-05-01T09:00:00+09:00",
    }  # fmt: skip
    with open_store(str(db)) as store:
        import_audit(store, json.dumps(line).encode() + b"\n")
    names = {"root": str(root), "run": asking.run_id, "task": task, "job": job["job_id"], "db": str(db)}
    return names | {"event": line["event_id"]}


READING = (
    "status", "status {run}", "list", "doctor", "db path", "db info", "db head", "db verify", "db rebuild",
    "task list", "task get {task}", "task events {task}", "task audit-events {task}", "job get {job}", "audit list",
    "audit show {event}", "search needle", "search ne", "repo list", "turn snapshot", "turn sense",
)  # fmt: skip


def told(command: str, names: dict[str, str], *more: str) -> Reply:
    argv = [word.format_map(names) for word in command.split(" ")]
    return invoke(*argv, "--root", names["root"], *more)


@pytest.mark.parametrize("command", READING)
def test_people_get_nothing_that_steers(command: str, spoiled: dict[str, str]) -> None:
    reply = told(command, spoiled)
    assert_tame(reply.out)
    assert_tame(reply.err)
    assert reply.status == 0 or command.startswith("turn")


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("status {run} --json", MARKDOWN),
        ("task get {task} --json", EVIL),
        ("audit show {event} --json", EVIL),
    ],
)
def test_json_is_exact(command: str, text: str, spoiled: dict[str, str]) -> None:
    def texts(value: Any) -> set[str]:
        if isinstance(value, dict):
            return {text for member in value.values() for text in texts(member)}
        return {text for item in value for text in texts(item)} if isinstance(value, list) else {str(value)}

    assert text in texts(json.loads(told(command, spoiled).out))


# -- what a refusal repeats


@pytest.mark.parametrize(
    "argv",
    [
        [WORD], ["task", WORD], ["task", "list", f"--{WORD}"], ["task", "list", "--limit", WORD],
        ["task", "list", "--state", WORD], ["task", "get", WORD], ["job", "get", WORD], ["audit", "show", WORD],
        ["audit", "import", WORD], ["audit", "list", "--since", WORD], ["db", "verify", "--head", WORD],
        ["repo", "add", WORD], ["repo", "remove", WORD], ["schema", "show", WORD], ["status", WORD], ["stop", WORD],
        ["install", "--tool", WORD], ["protocol", WORD], ["protocol", "submit", "--run", WORD],
        ["observations", "export", "--format", WORD], ["observations", "export", "--cursor", WORD],
        ["turn", "instruction", WORD], ["gates", "analyze", WORD], ["docs", "chunks", WORD], ["demo", f"--{WORD}"],
        ["search", "--limit", WORD, "x"], ["explore", "--db", f"/nowhere/{WORD}"], ["serve", "--host", WORD],
        ["status", "--root", f"/nowhere/{WORD}"],
    ],
    ids=lambda argv: " ".join(argv).replace(WORD, "X"),
)  # fmt: skip
def test_a_refusal_is_one_harmless_line(
    argv: list[str], spoiled: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(spoiled["root"])
    reply = invoke(*argv)
    assert reply.status in (2, 3) and reply.out == b""
    assert_tame(reply.err)
    assert reply.err.count(b"\n") == 1
    # Escaped, and therefore still exact for a program.
    assert json.loads(reply.err)["code"]


def test_names_of_files_are_repeated_to_nobody(spoiled: dict[str, str]) -> None:
    root = Path(spoiled["root"])
    named = root / (WORD.replace("/", "")[:60] + ".txt")
    named.write_text("x")
    done = subprocess.run(
        [*COMMAND, "run", "Names", "--root", str(root)], env=environment(), capture_output=True, check=False
    )
    assert done.returncode == 0
    assert_tame(done.stdout)
    assert done.stderr == b""
    named.unlink()
