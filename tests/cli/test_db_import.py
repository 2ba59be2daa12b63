"""`slipway db import-jsonl`: what it prints, what it refuses, and with which status."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path
from random import Random

import pytest

from slipway_lite import Slipway, SlipwayError
from slipway_lite.protocol.workspace import discover
from tests.machine_host import COMMAND, Host, Reply, database, environment, invoke
from tests.protocol.conftest import Repository
from tests.protocol.imported.published_run import PublishedRun
from tests.protocol.imported.publishing import Published, random_model


def published(directory: Path, *seeds: int) -> dict[str, Published]:
    """Random Runs of a worktree elsewhere below ``directory``, by id."""
    found = {}
    for seed in seeds:
        model = random_model(Random(seed), 12)
        journal = model.published.journal.replace(b'"run-1"', b'"run-%d"' % seed)
        model.published.run_id = f"run-{seed}"
        model.published.write(directory / "runs", journal)
        found[model.published.run_id] = model.published
    return found


def command(root: Path, *argv: str) -> Reply:
    return invoke("db", "import-jsonl", *argv, "--root", str(root))


def test_it_says_what_it_did_and_what_it_would_do(root: Path, tmp_path: Path) -> None:
    runs = published(tmp_path / "slipway", 1, 2)
    counts = {name: len(found.documents) for name, found in runs.items()}
    total = sum(counts.values())
    would = command(root, str(tmp_path / "slipway"), "--check")
    assert (would.status, would.err) == (0, b"")
    assert would.out.decode().splitlines() == [
        *(f"{name}  would be imported  {count} of {count} events" for name, count in counts.items()),
        f"{total} events of 2 Runs would be imported.",
    ]
    assert not database(root).exists()
    done = command(root, str(tmp_path / "slipway"))
    assert done.out.decode().splitlines() == [
        *(f"{name}  imported  {count} of {count} events" for name, count in counts.items()),
        f"{total} events of 2 Runs were imported.",
    ]
    again = command(root, str(tmp_path / "slipway" / "runs" / "run-2"))
    assert again.out.decode().splitlines() == [
        f"run-2  unchanged  0 of {counts['run-2']} events",
        "0 events of 0 Runs were imported.",
    ]
    assert invoke("db", "verify", "--root", str(root)).status == 0
    shown = invoke("audit", "list", "--root", str(root))
    assert shown.out.count(b"run.imported") == 2


def test_its_document_is_that_of_the_python_api(root: Path, tmp_path: Path) -> None:
    published(tmp_path / "slipway", 3)
    checked = Slipway.open(str(root)).import_journals(str(tmp_path / "slipway"), check=True)
    reply = command(root, str(tmp_path / "slipway"), "--check", "--json")
    assert reply.document == checked.document()
    assert list(reply.document) == ["check", "runs", "imported_runs", "imported_events"]
    done = Slipway.open(str(root)).import_journals(str(tmp_path / "slipway"))
    assert (done.check, done.runs, done.imported_runs) == (False, checked.runs, 1)
    (stub,) = Slipway.open(str(root)).runs().runs
    assert (stub.id, stub.workspace) == ("run-3", "/home/dev/repo")


def test_by_default_it_takes_the_runs_of_this_repository(root: Path, tmp_path: Path) -> None:
    run = PublishedRun(Repository(root), tmp_path / "elsewhere.db", "A goal").submit().publish()
    assert command(root).status == 0
    status = invoke("status", run.run.run_id, "--root", str(root))
    assert b"Origin:  2 of its 2 events were imported\n" in status.out
    host = Host(root, "Another goal")
    assert b"Origin" not in invoke("status", host.run_id, "--root", str(root)).out
    document = invoke("status", run.run.run_id, "--json", "--root", str(root)).document
    assert document == invoke("status", run.run.run_id, "--json", "--root", str(root)).document
    action = document["current_action"]
    skip = ["protocol", "skip", "--run", run.run.run_id, "--action", action["action_id"], "--root", str(root)]
    assert invoke(*skip).status == 0
    assert b"Origin:  2 of its 3 events" in invoke("status", run.run.run_id, "--root", str(root)).out
    assert Slipway.open(str(root)).import_journals().runs[0].result == "unchanged"


def test_runs_are_listed_by_time_however_many_digits_it_has(root: Path, tmp_path: Path) -> None:
    """The published command line drops zeros at the end of a time."""
    times = ["2026-07-12T09:00:00Z", "2026-07-12T09:00:00.05Z", "2026-07-12T09:00:00.5Z", "2026-07-12T09:00:01Z"]
    runs = tmp_path / "slipway" / "runs"
    for number, at in zip((3, 1, 2, 0), times, strict=True):
        model = random_model(Random(1), 0)
        record = model.published.documents[0]
        record["data"]["initialize"]["created_at"] = at
        model.published.run_id = f"run-{number}"
        model.published.write(runs, model.published.journal.replace(b'"run-1"', b'"run-%d"' % number))
    assert command(root, str(runs)).status == 0
    listed = invoke("status", "--json", "--root", str(root)).document
    assert [run["created_at"] for run in listed["runs"]] == times
    lines = invoke("status", "--root", str(root)).out.decode().splitlines()
    assert [line.split()[0] for line in lines] == ["run-3", "run-1", "run-2", "run-0"]


def test_a_place_that_is_not_there_is_refused(root: Path, tmp_path: Path) -> None:
    for argv in ([], [str(tmp_path / "nowhere")]):
        reply = command(root, *argv)
        assert (reply.status, reply.code) == (3, "journal_directory_not_found")
    assert not database(root).exists()


def test_outside_of_a_repository_the_place_has_to_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published(tmp_path / "slipway", 1)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    db = str(tmp_path / "all.db")
    reply = invoke("db", "import-jsonl", "--db", db)
    assert (reply.status, reply.code) == (2, "git_repository_required")
    assert invoke("db", "import-jsonl", "slipway", "--db", db).status == 0
    assert invoke("db", "verify", "--db", db).status == 0


def test_what_cannot_be_read_is_refused_with_a_list(root: Path, tmp_path: Path) -> None:
    published(tmp_path / "slipway", 1, 2, 3)
    (tmp_path / "slipway" / "runs" / "run-2" / "journal.jsonl").write_bytes(b"{}\n")
    (tmp_path / "slipway" / "runs" / "run-9").write_bytes(b"")
    for more in ([], ["--check"], ["--json"]):
        reply = command(root, str(tmp_path / "slipway"), *more)
        assert (reply.status, reply.code) == (3, "journal_import_refused")
        assert reply.document["details"] == {
            "problems": [
                {"run_id": "run-2", "line": 1, "problem": "the record has no sequence"},
                {"run_id": "run-9", "problem": "it is no directory that can be read: Not a directory"},
            ]
        }
    assert not database(root).exists()


def test_what_went_on_differently_is_refused_with_a_list(root: Path, tmp_path: Path) -> None:
    published(tmp_path / "slipway", 1, 2)
    assert command(root, str(tmp_path / "slipway")).status == 0
    before = database(root).read_bytes()
    journal = tmp_path / "slipway" / "runs" / "run-1" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"data":{', b'"data": { '))
    reply = command(root, str(tmp_path / "slipway"))
    assert (reply.status, reply.code) == (3, "import_conflict")
    assert reply.document["details"] == {
        "conflicts": [{"run_id": "run-1", "sequence": 1, "problem": "the file has another event there"}]
    }
    assert database(root).read_bytes() == before


def test_a_repository_whose_place_leads_elsewhere_is_refused(root: Path, tmp_path: Path) -> None:
    published(tmp_path / "slipway", 1)
    (tmp_path / "trap").mkdir()
    (root / ".git" / "slipway-lite").symlink_to(tmp_path / "trap")
    reply = command(root, str(tmp_path / "slipway"))
    assert (reply.status, reply.code) == (3, "database_unavailable")
    with pytest.raises(SlipwayError) as caught:
        Slipway(discover(str(root))).import_journals(str(tmp_path / "slipway"))
    assert caught.value.code == "database_unavailable"
    assert list((tmp_path / "trap").iterdir()) == []


def test_progress_is_shown_on_a_terminal(root: Path, tmp_path: Path) -> None:
    published(tmp_path / "slipway", 1, 2)
    leader, follower = pty.openpty()
    argv = [*COMMAND, "db", "import-jsonl", str(tmp_path / "slipway"), "--root", str(root)]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=follower, env=environment(), timeout=60)
    os.close(follower)
    assert (done.returncode, os.read(leader, 200)) == (0, b"\rverified 1/2\rverified 2/2\r\n")
    os.close(leader)
