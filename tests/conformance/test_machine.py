"""The published scenarios against this implementation, and every recorded reply against both schemas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.machine_host import CHECKOUT, COMMAND, environment
from tests.published import published

pytestmark = pytest.mark.slow
NAME = "machine-protocol.schema.json"


def run(script: str, *argv: str) -> str:
    done = subprocess.run(
        [sys.executable, str(published("conformance", "machine", script)), *argv],
        env=environment(), capture_output=True, text=True, timeout=1800,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def test_every_recorded_answer_is_equal() -> None:
    answer = run("check.py", "--cmd", " ".join(COMMAND))
    good, _, total = answer.splitlines()[-1].partition(" of ")
    assert total == f"{good} steps equal" and int(good) >= 736


def test_every_reply_of_the_scenarios_is_valid(tmp_path: Path) -> None:
    run("drive.py", "record", "--cmd", " ".join(COMMAND), "--out", str(tmp_path / "out"),
        "--sandbox", str(tmp_path / "sandbox"))  # fmt: skip
    for schema in (published("oracles", "slipway", NAME), CHECKOUT / "schemas" / NAME):
        answer = run("drive.py", "validate", str(tmp_path / "out"), "--schema", str(schema))
        assert answer.rstrip().endswith("invalid: 0")
