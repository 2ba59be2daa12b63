"""Rules about the code itself: sizes, one owner for SQLite, public names, packed files."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import slipway_lite

ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / "slipway_lite").rglob("*.py"))


def test_no_module_is_longer_than_500_lines() -> None:
    assert {path.name: len(path.read_text("utf-8").splitlines()) for path in MODULES if _lines(path) > 500} == {}


def _lines(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def test_only_one_module_imports_sqlite() -> None:
    pattern = re.compile(r"^\s*(import|from)\s+(_?sqlite3|pysqlite3)\b", re.MULTILINE)
    importers = [path.relative_to(ROOT).as_posix() for path in MODULES if pattern.search(path.read_text("utf-8"))]
    assert importers == ["slipway_lite/store/sqlite.py"]


def test_time_and_randomness_have_one_source_each() -> None:
    pattern = re.compile(r"\b(time\.time|time_ns|datetime\.now|utcnow|os\.urandom|uuid\.uuid4|import random)\b")
    users = {path.name for path in MODULES if pattern.search(path.read_text("utf-8"))}
    assert users == {"clock.py", "ids.py"}


def test_no_module_is_named_after_nothing() -> None:
    assert not {path.stem for path in MODULES} & {"utils", "util", "helpers", "common", "misc", "manager"}


def test_the_public_names_are_those_of_all() -> None:
    assert dir(slipway_lite) == sorted(slipway_lite.__all__)
    for name in slipway_lite.__all__:
        assert getattr(slipway_lite, name) is not None


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    code = "import slipway_lite; slipway_lite.Slipways"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=ROOT, check=False)
    assert b"AttributeError" in done.stderr
