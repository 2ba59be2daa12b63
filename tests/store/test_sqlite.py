from __future__ import annotations

import re
from pathlib import Path

import pytest

import slipway_lite
from slipway_lite.store import sqlite

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
