"""The package's public names."""

from __future__ import annotations

import subprocess
import sys

import pytest

from slipway_lite import turns


@pytest.mark.parametrize("name", turns.__all__)
def test_a_public_name_is_there_and_listed(name: str) -> None:
    assert getattr(turns, name) is not None
    assert name in dir(turns)


def test_another_name_is_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = turns.nothing


def test_importing_the_package_imports_none_of_its_modules() -> None:
    code = "import sys, slipway_lite.turns; print([m for m in sys.modules if m.startswith('slipway_lite.turns.')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_parsing_a_turn_imports_no_heavy_library_and_no_store() -> None:
    heavy = ("pydantic", "jsonschema", "typer", "sqlite3", "pysqlite3", "subprocess", "slipway_lite.store")
    code = (
        "import sys; from slipway_lite.turns import parse_turn, decide_workflow_action, compile_workflow_snapshot;"
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
