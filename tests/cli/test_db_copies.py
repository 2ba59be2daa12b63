"""``slipway db backup`` and ``slipway db merge``: one document out, and a code and a status for every refusal."""

from __future__ import annotations

import hashlib
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest

from slipway_lite.store.connection import open_store
from tests.machine_host import COMMAND, Host, database, environment, invoke, process, repository, whole_run
from tests.store.older import older
from tests.store.tampering import tampered


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two repositories with a Run each. Not to be written to."""
    found = [repository(tmp_path_factory.mktemp(name) / "repo") for name in ("one", "other")]
    for root in found:
        whole_run(root)
    return found


def head(*argv: str) -> Any:
    return invoke("db", "head", *argv, "--json").document


def test_backup_prints_digest_and_head(roots: list[Path], tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    document = invoke("db", "backup", str(target), "--root", str(roots[0]), "--json").document
    assert document == {
        "bytes": target.stat().st_size,
        "sha256": f"sha256:{hashlib.sha256(target.read_bytes()).hexdigest()}",
        "head": head("--root", str(roots[0])),
    }
    assert head("--db", str(target)) == document["head"]


def test_backup_tells_people_the_same(roots: list[Path], tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    reply = invoke("db", "backup", str(target), "--root", str(roots[0]))
    digest, newest = reply.out.decode().splitlines()
    assert digest == f"sha256:{hashlib.sha256(target.read_bytes()).hexdigest()}  {target.stat().st_size} bytes"
    assert newest == f"head {head('--db', str(target))['seq']}:{head('--db', str(target))['sha256']}"
    assert reply.err == b""


def test_a_backup_goes_where_a_relative_path_says(roots: list[Path], tmp_path: Path) -> None:
    reply = process("db", "backup", "backup.db", "--root", str(roots[0]), "--json", cwd=tmp_path)
    assert reply.document["bytes"] == (tmp_path / "backup.db").stat().st_size


def test_a_restored_backup_goes_on(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo")
    host = Host(root)
    assert invoke("db", "backup", str(tmp_path / "backup.db"), "--root", str(root)).status == 0
    database(root).unlink()
    os.rename(tmp_path / "backup.db", database(root))
    host.submit()
    assert invoke("db", "verify", "--root", str(root)).status == 0


def test_merge_prints_files_rows_digest_and_head(roots: list[Path], tmp_path: Path) -> None:
    files = [str(database(root)) for root in roots]
    document = invoke("db", "merge", *files, "-o", str(tmp_path / "out.db"), "--json").document
    heads = [head("--root", str(root)) for root in roots]
    assert document["files"] == [{"name": "slipway.db", "head": newest} for newest in heads]
    assert document["ledger_rows"] == sum(newest["seq"] for newest in heads) + 2
    assert document["head"] == head("--db", str(tmp_path / "out.db"))
    assert document["sha256"] == f"sha256:{hashlib.sha256((tmp_path / 'out.db').read_bytes()).hexdigest()}"
    for newest in heads:
        noted = f"{newest['seq']}:{newest['sha256']}"
        assert invoke("db", "verify", "--db", str(tmp_path / "out.db"), "--head", noted).status == 0
    other = f"1:sha256:{'0' * 64}"
    reply = invoke("db", "verify", "--db", str(tmp_path / "out.db"), "--head", other)
    assert (reply.status, reply.code) == (3, "database_not_verified")


def test_merge_tells_people_the_same(roots: list[Path], tmp_path: Path) -> None:
    files = [str(database(root)) for root in roots]
    lines = invoke("db", "merge", *files, "-o", str(tmp_path / "out.db")).out.decode().splitlines()
    newest = head("--db", str(tmp_path / "out.db"))
    assert lines[0] == f"2 files, {newest['seq']} rows of the ledger"
    assert lines[2] == f"head {newest['seq']}:{newest['sha256']}"


def refusal(*argv: str) -> tuple[int, str]:
    reply = invoke("db", *argv, "--json")
    return reply.status, reply.code


def test_every_refusal_of_backup_has_a_code(roots: list[Path], tmp_path: Path) -> None:
    here = str(database(roots[0]))
    (tmp_path / "there.db").touch()
    assert refusal("backup", str(tmp_path / "there.db"), "--db", here) == (3, "output_exists")
    assert refusal("backup", here, "--db", here) == (2, "output_is_source")
    assert refusal("backup", f"{here}-wal", "--db", here) == (2, "output_is_source")
    assert refusal("backup", str(tmp_path / "no" / "b.db"), "--db", here) == (3, "output_directory_missing")
    assert refusal("backup", str(tmp_path / "b.db"), "--db", str(tmp_path / "no.db")) == (3, "database_not_found")
    assert refusal("backup", str(tmp_path / "b.db"), "--db", str(tmp_path / "there.db")) == (3, "database_blank")
    assert refusal("backup") == (2, "invalid_usage")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["there.db"]


def test_every_refusal_of_merge_has_a_code(roots: list[Path], tmp_path: Path) -> None:
    one, other = (str(database(root)) for root in roots)
    out = ("-o", str(tmp_path / "out.db"))
    spoiled = older(tmp_path / "spoiled.db", 2)
    open_store(str(spoiled)).close()
    tampered(spoiled, "update journal_events set type = 'x' where seq = 1")
    (tmp_path / "text.db").write_text("text" * 2000)
    assert refusal("merge", one, *out) == (2, "merge_needs_two")
    assert refusal("merge", one, other) == (2, "invalid_usage")
    assert refusal("merge", one, one, *out) == (3, "merge_same_file")
    assert refusal("merge", one, str(tmp_path / "no.db"), *out) == (3, "database_not_found")
    assert refusal("merge", one, str(tmp_path / "text.db"), *out) == (3, "database_unreadable")
    assert refusal("merge", one, str(spoiled), *out) == (3, "merge_source_unsound")
    assert refusal("merge", one, other, "-o", one) == (2, "output_is_source")
    assert refusal("merge", one, other, "-o", str(tmp_path / "text.db")) == (3, "output_exists")
    assert refusal("merge", one, other, "-o", str(tmp_path / "no" / "out.db")) == (3, "output_directory_missing")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["spoiled.db", "text.db"]


def test_runs_that_went_on_on_two_machines_are_refused_by_name(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo")
    host = Host(root)
    copy = tmp_path / "copy.db"
    assert invoke("db", "backup", str(copy), "--root", str(root)).status == 0
    host.submit()
    here = database(root).read_bytes()
    database(root).write_bytes(copy.read_bytes())
    host.stop()
    (tmp_path / "here.db").write_bytes(here)
    reply = invoke("db", "merge", str(tmp_path / "here.db"), str(database(root)), "-o", str(tmp_path / "o"), "--json")
    assert (reply.status, reply.code) == (3, "merge_conflict")
    assert reply.document["details"] == {
        "count": 1, "clashes": [{"name": "run_id", "id": host.run_id, "files": [1, 2]}]
    }  # fmt: skip
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(("words", "label"), [(["backup"], b"copied"), (["merge"], b"merged")])
def test_a_terminal_sees_progress_and_standard_output_does_not(
    roots: list[Path], tmp_path: Path, words: list[str], label: bytes
) -> None:
    files = [str(database(root)) for root in roots]
    out = str(tmp_path / "out.db")
    argv = [*words, out, "--db", files[0]] if words == ["backup"] else [*words, *files, "-o", out]
    ours, terminal = pty.openpty()
    done = subprocess.run(
        [*COMMAND, "db", *argv], env=environment(), stdout=subprocess.PIPE, stderr=terminal, timeout=60, check=True
    )
    os.close(terminal)
    shown = os.read(ours, 1 << 16)
    os.close(ours)
    assert label in shown
    assert label not in done.stdout
