"""The early-error identity rule (machine-protocol §1.3): whose identity a refusal without a ``next`` carries."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from slipway_lite.protocol.workspace import discover, unavailable_identity
from tests.machine_host import COMMAND, environment, invoke, repository


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repository(tmp_path_factory.mktemp("other") / "repo")


def identity(*argv: str) -> str:
    document = invoke(*argv).document
    assert document["next"]["operation"] == "none"
    return str(document["next"]["workspace_identity"])


@pytest.mark.parametrize(
    "argv", [["run"], ["run", "--nope"], ["protocol"], ["protocol", "submit"], ["nope"], ["--nope"]]
)
def test_without_a_root_it_is_the_current_directory(
    bare_root: Path, monkeypatch: pytest.MonkeyPatch, argv: list[str]
) -> None:
    monkeypatch.chdir(bare_root)
    assert identity(*argv) == discover(str(bare_root)).id


@pytest.mark.parametrize("form", ["--root {}", "--root={}"])
@pytest.mark.parametrize("argv", ["run {}", "run --nope {}", "protocol {} submit", "protocol {}", "nope {}"])
def test_a_root_on_the_line_counts_even_where_the_line_is_wrong(
    bare_root: Path, other: Path, monkeypatch: pytest.MonkeyPatch, argv: str, form: str
) -> None:
    monkeypatch.chdir(bare_root)
    assert identity(*argv.format(form.format(other)).split()) == discover(str(other)).id


def test_the_last_root_wins(bare_root: Path, other: Path) -> None:
    assert identity("run", f"--root={bare_root}", "--root", str(other)) == discover(str(other)).id


def test_a_root_after_two_dashes_is_a_word(bare_root: Path, other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bare_root)
    assert identity("run", "a", "--", f"--root={other}") == discover(str(bare_root)).id


def test_a_root_without_a_value_is_no_root(bare_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bare_root)
    assert identity("run", "--root") == discover(str(bare_root)).id


def test_a_directory_below_the_root_and_a_file_in_it_are_the_same_worktree(bare_root: Path) -> None:
    for place in (bare_root / ".git", bare_root / "README.md"):
        assert identity("run", "--root", str(place)) in (discover(str(bare_root)).id, unavailable_identity(str(place)))
    assert identity("run", "--root", str(bare_root / "README.md")) == discover(str(bare_root)).id


def test_outside_a_worktree_it_is_the_digest_of_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert identity("run", "--root", str(tmp_path)) == unavailable_identity(str(tmp_path))
    assert identity("run", "--root", str(tmp_path / "missing")) == unavailable_identity(str(tmp_path / "missing"))
    monkeypatch.chdir(tmp_path)
    assert identity("run") == unavailable_identity(str(tmp_path))
    assert identity("run", "--root", "missing") == unavailable_identity(str(tmp_path / "missing"))


@pytest.mark.parametrize("argv", [["status"], ["run", "--", "g"], ["list"], ["protocol", "nope"]])
def test_a_current_directory_that_is_gone_is_no_worktree(tmp_path: Path, argv: list[str]) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'cd "$1"; rmdir "$1"; shift; exec "$@"'
    done = subprocess.run(
        ["sh", "-c", script, "sh", str(gone), *COMMAND, *argv], env=environment(), capture_output=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert json.loads(done.stderr)["code"] in ("git_repository_required", "invalid_usage")
