"""The wheel, not the checkout: built, installed into an empty environment, used from there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (built,) = out.glob("*.whl")
    return built


def interpreter(version: str) -> str | None:
    """A Python of that version on this machine: on the path, or one that pyenv keeps off it."""
    kept = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/{version}.*/bin/python"))
    for found in (shutil.which(f"python{version}"), *map(str, kept)):
        asked = found and subprocess.run([found, "--version"], capture_output=True, text=True)
        if asked and asked.stdout.startswith(f"Python {version}."):
            return found
    return None


@pytest.fixture(scope="module", params=["3.11", "3.12", "3.13"])
def installed(request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of a new environment that has the wheel and what it depends on."""
    python = interpreter(request.param)
    if python is None:
        pytest.skip(f"there is no Python {request.param} here")
    home = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([python, "-m", "venv", str(home)], check=True, capture_output=True)
    install = [str(home / "bin" / "python"), "-m", "pip", "install", "-q", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    return home / "bin"


def test_schemas_metadata_and_sql_are_packed(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for schema in (ROOT / "schemas").glob("*.schema.json"):
        assert f"slipway_lite/schemas/{schema.name}" in names
    for script in (ROOT / "slipway_lite" / "store" / "sql").glob("*.sql"):
        assert f"slipway_lite/store/sql/{script.name}" in names
    for template in (ROOT / "slipway_lite" / "hosts" / "templates").rglob("*.*"):
        assert template.relative_to(ROOT).as_posix() in names
    assert "slipway_lite/datasette-metadata.yml" in names
    assert "slipway_lite/py.typed" in names


def test_the_installed_program_drives_a_run_and_shows_its_schemas(installed: Path, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("SLIPWAY_DB", "PYTHONPATH")}
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, capture_output=True)

    def slipway(*words: str) -> bytes:
        command = [str(installed / "slipway"), *words]
        return subprocess.run(command, check=True, capture_output=True, cwd=tmp_path, env=environment).stdout

    state = json.loads(slipway("run", "--json", "--", "From the wheel"))
    assert state["action"]["kind"] == "orient"
    assert json.loads(slipway("status", state["run_id"], "--json"))["state"] == "active"
    assert slipway("db", "verify").startswith(b"Sound: ")
    names = json.loads(slipway("schema", "list", "--json"))["schemas"]
    assert names == sorted(path.name.removesuffix(".schema.json") for path in (ROOT / "schemas").glob("*.schema.json"))
    for name in names:
        assert "$id" in json.loads(slipway("schema", "show", name))
    report = json.loads(slipway("install", "--tool", "claude", "--json"))
    assert report["transaction_outcome"] == "committed"
    assert slipway("--version").startswith(b"slipway-lite ")
