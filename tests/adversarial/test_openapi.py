"""Schemathesis against a served instance, every check on: no 5xx, no status, header or body that is not documented."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adversarial.scale import scaled
from tests.http.served import Served

CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
SECONDS = scaled(15, 900)


def _program() -> str | None:
    beside = Path(sys.executable).with_name("schemathesis")
    return str(beside) if beside.exists() else shutil.which("schemathesis")


@pytest.mark.adversarial
@pytest.mark.skipif(_program() is None, reason="schemathesis is not installed")
def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    program = _program()
    assert program is not None
    with Served(tmp_path / "slipway.db") as served:
        done = subprocess.run(
            [program, "--config-file", str(CONFIGURATION), "run", f"http://127.0.0.1:{served.port}/openapi.json",
             "--checks", "all", "--max-time", str(SECONDS), "--no-color"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=2 * SECONDS + 120,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        served.stop()
        assert "Traceback" not in served.errors
