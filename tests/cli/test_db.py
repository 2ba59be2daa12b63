"""`slipway db`: the one file, for its owner."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.cli.db import WHY
from slipway_lite.store.connection import open_store
from slipway_lite.store.journal import head
from slipway_lite.store.reading import read_store
from slipway_lite.store.tables import GENESIS_SHA256
from tests.machine_host import COMMAND, Host, database, environment, invoke, process, whole_run
from tests.store.files import directory_state, dump, plain
from tests.store.tampering import recompute, tampered


def document(*argv: str) -> dict[str, Any]:
    reply = invoke("db", *argv, "--json")
    assert reply.status == 0, reply.err
    return reply.document


def text(*argv: str) -> str:
    reply = invoke("db", *argv)
    assert (reply.status, reply.err) == (0, b"")
    return reply.out.decode()


# -- path


@pytest.mark.parametrize("rule", WHY)
def test_path_says_where_and_why(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    argv = {
        "option": ["--db", str(tmp_path / "o.db"), "--root", str(root)],
        "environment": ["--root", str(root)],
        "repository": ["--root", str(root)],
        "user": [],
    }[rule]
    where = {
        "option": tmp_path / "o.db",
        "environment": tmp_path / "e.db",
        "repository": database(root),
        "user": tmp_path / "data" / "slipway-lite" / "slipway.db",
    }[rule]
    monkeypatch.chdir(tmp_path)
    if rule in ("option", "environment"):
        monkeypatch.setenv("SLIPWAY_DB", str(tmp_path / "e.db"))
    assert document("path", *argv) == {"path": str(where), "rule": rule}
    assert text("path", *argv) == f"{where}  ({WHY[rule]})\n"
    assert not where.exists()


def test_path_in_a_linked_worktree_is_the_repositorys(root: Path, tmp_path: Path) -> None:
    from tests.machine_host import git

    git(root, "worktree", "add", "--quiet", "--detach", str(tmp_path / "sibling"))
    assert document("path", "--root", str(tmp_path / "sibling"))["path"] == str(database(root))


# -- info and head


def test_info_of_nothing_makes_nothing(root: Path) -> None:
    found = document("info", "--root", str(root))
    assert (found["exists"], found["rule"], found["rows"]) == (False, "repository", {})
    assert not database(root).parent.exists()
    assert "exists: False" in text("info", "--root", str(root)) or "There is no" in text("info", "--root", str(root))


def test_info_and_head_agree_and_change_nothing(root: Path) -> None:
    whole_run(root)
    before = directory_state(database(root).parent)
    found, newest = document("info", "--root", str(root)), document("head", "--root", str(root))
    assert found["head"] == f"{newest['seq']}:{newest['sha256']}"
    assert text("head", "--root", str(root)) == found["head"] + "\n"
    assert (newest["seq"], newest["sha256"]) == read_store(str(database(root)), lambda store: head(store.connection))
    assert found["rows"]["ledger"] == newest["seq"] == 21
    assert directory_state(database(root).parent) == before


@pytest.mark.parametrize("verb", ["head", "verify", "rebuild"])
def test_no_database_is_told(root: Path, verb: str) -> None:
    reply = invoke("db", verb, "--root", str(root))
    assert (reply.status, reply.code) == (3, "database_not_found")
    assert not database(root).parent.exists()


@pytest.mark.parametrize("verb", ["path", "info", "head", "verify", "rebuild"])
def test_a_root_that_is_named_and_no_worktree_is_refused(tmp_path: Path, verb: str) -> None:
    reply = invoke("db", verb, "--root", str(tmp_path / "nowhere"))
    assert (reply.status, reply.code) == (2, "git_repository_required")


def test_info_says_what_is_wrong_with_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    plain(tmp_path / "other.db").executescript("create table t (x)")
    found = document("info", "--db", str(tmp_path / "other.db"))
    assert "another program" in found["problem"]
    assert found["rows"] == {}
    assert f"problem: {found['problem']}" in text("info", "--db", str(tmp_path / "other.db"))


@pytest.mark.parametrize("verb", ["head", "verify", "rebuild"])
def test_a_file_of_another_kind_is_told(tmp_path: Path, verb: str) -> None:
    (tmp_path / "text.db").write_text("Not a database. " * 100)
    plain(tmp_path / "other.db").executescript("create table t (x)")
    for name, code in (("text.db", "database_unreadable"), ("other.db", "database_foreign")):
        before = (tmp_path / name).read_bytes()
        reply = invoke("db", verb, "--db", str(tmp_path / name))
        assert (reply.status, reply.code) == (3, code)
        assert (tmp_path / name).read_bytes() == before


# -- verify


def test_verify_of_a_sound_file(root: Path) -> None:
    whole_run(root)
    before = directory_state(database(root).parent)
    found = document("verify", "--root", str(root))
    assert found == {"ledger_rows": 21, "head": document("head", "--root", str(root)), "problems": []}
    assert text("verify", "--root", str(root)).startswith("Sound: 21 rows of the ledger")
    assert directory_state(database(root).parent) == before


def test_verify_names_every_row_and_leaves_with_3(root: Path) -> None:
    host = whole_run(root)
    tampered(database(root), "update journal_events set at = 'x' where seq = 4")
    with open_store(str(database(root))) as store:
        store.connection.execute("update run_actions set kind = 'clarify' where ordinal = 1")
    for argv in ([], ["--json"]):
        reply = invoke("db", "verify", "--root", str(root), *argv)
        assert (reply.status, reply.code) == (3, "database_not_verified")
        named = {(row["table"], row["row"]) for row in reply.document["details"]["problems"]}
        assert {("journal_events", "4"), ("run_actions", f"{host.run_id}/1")} <= named


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("drop trigger turns_refuses_delete", ("turns", "no longer refuses changes")),
        ("drop index runs_by_repository", ("runs", "has no index runs_by_repository as the migrations make it")),
    ],
)
def test_verify_names_what_is_wrong_with_the_schema(root: Path, statement: str, problem: tuple[str, str]) -> None:
    Host(root)
    connection = plain(database(root))
    connection.execute(statement)
    connection.close()
    reply = invoke("db", "verify", "--root", str(root), "--json")
    assert (reply.status, reply.code) == (3, "database_not_verified")
    assert [(row["table"], row["problem"]) for row in reply.document["details"]["problems"]] == [problem]
    assert document("info", "--root", str(root))["verification"] == "problems found: 1; slipway db verify names them"


def test_a_trigger_that_is_not_ours_is_named_and_nothing_else_looks_into_the_file(root: Path) -> None:
    Host(root)
    connection = plain(database(root))
    connection.execute("create trigger x after insert on turns begin select 1; end")
    connection.close()
    reply = invoke("db", "verify", "--root", str(root), "--json")
    assert (reply.status, reply.code) == (3, "database_not_verified")
    (problem,) = reply.document["details"]["problems"]
    assert problem == {"table": "turns", "row": "-", "problem": "has an extra trigger: x"}
    assert "did not make" in document("info", "--root", str(root))["problem"]
    assert invoke("db", "head", "--root", str(root)).code == "database_altered"


def test_names_and_digests_that_are_no_text_are_told_as_text(root: Path) -> None:
    Host(root)
    connection = plain(database(root))
    connection.execute('create trigger "\x1b[31mred" after insert on turns begin select 1; end')
    connection.close()
    tampered(database(root), "update ledger set sha256 = cast(x'ff1b' as text) where seq = 2")
    reply = invoke("db", "verify", "--root", str(root))
    assert (reply.status, reply.code) == (3, "database_not_verified")
    assert b"\x1b" not in reply.err
    problems = [(row["table"], row["problem"]) for row in reply.document["details"]["problems"]]
    assert problems[0] == ("turns", "has an extra trigger: \x1b[31mred") and "ledger" in dict(problems)


def test_verify_with_a_head_finds_what_a_chain_alone_cannot(root: Path, tmp_path: Path) -> None:
    host = Host(root)
    noted = text("head", "--root", str(root)).strip()
    host.submit()
    assert invoke("db", "verify", "--root", str(root), "--head", noted).status == 0
    later = text("head", "--root", str(root)).strip()
    path = database(root)
    tampered(path, *(f"delete from {table} where seq > 3" for table in ("journal_events", "audit_events", "ledger")))
    assert invoke("db", "rebuild", "--root", str(root)).status == 0
    assert invoke("db", "verify", "--root", str(root)).status == 0
    reply = invoke("db", "verify", "--root", str(root), "--head", later)
    assert [(row["table"], row["row"]) for row in reply.document["details"]["problems"]] == [("ledger", "6")]
    tampered(path, "update journal_events set data = json_set(data, '$.goal', 'Another') where seq = 1")
    recompute(path)
    assert invoke("db", "rebuild", "--root", str(root)).status == 0
    assert invoke("db", "verify", "--root", str(root)).status == 0
    reply = invoke("db", "verify", "--root", str(root), "--head", noted)
    assert [(row["table"], row["row"]) for row in reply.document["details"]["problems"]] == [("ledger", "3")]


@pytest.mark.parametrize("wrong", ["x", "1", "1:", ":" + GENESIS_SHA256, "-1:" + GENESIS_SHA256, "1:sha256:ABC",
                                   "١:" + GENESIS_SHA256, "1:" + GENESIS_SHA256 + "0", "9" * 19 + ":" + GENESIS_SHA256,
                                   "9" * 5000 + ":" + GENESIS_SHA256])  # fmt: skip
def test_a_head_of_another_shape_is_a_usage_error(root: Path, wrong: str) -> None:
    Host(root)
    reply = invoke("db", "verify", "--root", str(root), "--head=" + wrong)
    assert (reply.status, reply.code) == (2, "invalid_head")


# -- rebuild


def test_rebuild_gives_the_same_rows(root: Path) -> None:
    whole_run(root)
    before = read_store(str(database(root)), lambda store: dump(store.connection))
    assert document("rebuild", "--root", str(root)) == {"unreplayable": []}
    assert read_store(str(database(root)), lambda store: dump(store.connection)) == before
    assert text("rebuild", "--root", str(root)) == "Every projection was rebuilt from its journal.\n"


def test_rebuild_reports_a_journal_that_does_not_replay(root: Path) -> None:
    host = whole_run(root)
    tampered(database(root), "update journal_events set data = '{}' where seq = 7")
    reply = invoke("db", "rebuild", "--root", str(root))
    assert (reply.status, reply.code) == (3, "journal_unreplayable")
    assert reply.document["details"] == {"unreplayable": [{"stream": f"run:{host.run_id}", "sequence": 3}]}


@pytest.mark.parametrize(("verb", "label"), [("rebuild", "replayed"), ("verify", "verified")])
def test_long_work_shows_progress_on_a_terminal_only(root: Path, verb: str, label: str) -> None:
    whole_run(root)
    reply = process("db", verb, cwd=root)
    assert (reply.status, reply.err) == (0, b"")
    controller, terminal = pty.openpty()
    done = subprocess.run(
        [*COMMAND, "db", verb, "--json"], cwd=root, env=environment(), stdout=subprocess.PIPE, stderr=terminal
    )
    os.close(terminal)
    shown = os.read(controller, 10_000)
    os.close(controller)
    assert done.returncode == 0 and done.stdout.count(b"\n") == 1
    assert f"\r{label} 1/1".encode() in shown


@pytest.mark.parametrize("argv", [["nope"], ["path", "word"], ["verify", "--nope"], ["--nope"], ["path", "--db"]])
def test_wrong_words_are_invalid_usage(argv: list[str]) -> None:
    reply = invoke("db", *argv)
    assert (reply.status, reply.code) == (2, "invalid_usage")


@pytest.mark.parametrize("head", ["", " ", "1", "1:sha256:x", "x:" + "0" * 64])
def test_a_head_that_is_given_and_none_is_refused(root: Path, head: str) -> None:
    whole_run(root)
    reply = invoke("db", "verify", "--root", str(root), "--head", head)
    assert (reply.status, reply.code) == (2, "invalid_head")


def test_an_event_that_nests_too_deep_is_named(root: Path) -> None:
    host = whole_run(root)
    connection = plain(database(root))
    connection.execute("drop trigger journal_events_refuses_update")
    deep = "[" * 999 + "]" * 999
    connection.execute("update journal_events set data = ? where sequence = 2", (deep,))
    connection.close()
    reply = invoke("db", "verify", "--root", str(root))
    assert reply.code == "database_not_verified"
    assert {"table": "journal_events", "row": "4", "problem": "was changed"} in reply.document["details"]["problems"]
    assert invoke("status", host.run_id, "--root", str(root), "--json").code == "run_journal_invalid"
    listed = invoke("status", "--root", str(root), "--json").document
    assert [run["id"] for run in listed["unavailable_runs"]] == [host.run_id]
    assert invoke("db", "rebuild", "--root", str(root)).code == "journal_unreplayable"
