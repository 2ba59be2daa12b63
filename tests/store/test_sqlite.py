from __future__ import annotations

import re
import sqlite3 as standard
import subprocess
import sys
from pathlib import Path

import pytest

import slipway_lite
from slipway_lite.store import sqlite
from tests.machine_host import environment, repository

PACKAGE = Path(slipway_lite.__file__).parent


def test_one_module_imports_sqlite() -> None:
    pattern = re.compile(r"^\s*(?:import|from)\s+(?:sqlite3|pysqlite3)\b", re.MULTILINE)
    found = {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if pattern.search(path.read_text())}
    assert found == {"store/sqlite.py"}


def test_the_library_is_new_enough_for_strict_tables() -> None:
    assert sqlite.library_version() >= sqlite.MINIMUM_VERSION


def test_connections_are_in_autocommit_mode(tmp_path: Path) -> None:
    connection = sqlite.connect(f"file:{tmp_path / 'a.db'}", 1.0)
    connection.execute("create table t (x)")
    assert not connection.in_transaction
    connection.close()


def test_busy_is_told_by_its_code(tmp_path: Path) -> None:
    first = sqlite.connect(f"file:{tmp_path / 'a.db'}", 0.0)
    second = sqlite.connect(f"file:{tmp_path / 'a.db'}", 0.0)
    first.execute("begin immediate")
    with pytest.raises(sqlite.OperationalError) as busy:
        second.execute("begin immediate")
    assert sqlite.is_busy(busy.value)
    with pytest.raises(sqlite.OperationalError) as other:
        second.execute("select * from no_table")
    assert not sqlite.is_busy(other.value)
    first.close()
    second.close()


WITHOUT = """
import sys
sys.modules["pysqlite3"] = None
from slipway_lite.cli.main import execute
sys.exit(execute(sys.argv[1:]))
"""


@pytest.mark.skipif(
    standard.sqlite_version_info < sqlite.MINIMUM_VERSION, reason="the SQLite of this Python is too old"
)
def test_the_sqlite_that_comes_with_python_writes_and_proves_a_file(tmp_path: Path) -> None:
    """An older SQLite takes no null for JSON, and says so in a check that a newer one passes."""
    root = str(repository(tmp_path / "repo"))
    for argv in (["run", "goal", "--root", root], ["db", "verify", "--root", root], ["db", "rebuild", "--root", root]):
        done = subprocess.run([sys.executable, "-c", WITHOUT, *argv], capture_output=True, env=environment())
        assert done.returncode == 0, done.stderr
