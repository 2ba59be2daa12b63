from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from slipway_lite.hosts import github
from slipway_lite.hosts.github import github_checks


class Machine:
    """A PATH with the real git and a ``gh`` written by the test, and a repository with an origin."""

    def __init__(self, path: Path) -> None:
        self.bin, self.root, self.log = path / "bin", path / "repository", path / "log"
        self.bin.mkdir()
        self.root.mkdir()
        self.log.write_text("")
        for name in ("git", "sleep", "touch", "yes"):
            program = shutil.which(name)
            assert program is not None
            (self.bin / name).symlink_to(program)
        self.environ = {
            "PATH": str(self.bin),
            "HOME": str(path),
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)

    def origin(self, url: str) -> None:
        subprocess.run(["git", "-C", str(self.root), "remote", "add", "origin", url], check=True)

    def gh(self, version="echo 'gh version 2.95.0 (2026-01-01)'", auth="exit 0", api="exit 1") -> None:
        script = self.bin / "gh"
        script.write_text(
            f'#!/bin/sh\necho "$*" >> {self.log}\necho secret-on-stderr >&2\n'
            f'case "$1" in\n--version) {version};;\nauth) {auth};;\napi) {api};;\nesac\n'
        )
        script.chmod(0o755)

    def checks(self):
        return github_checks(str(self.root), self.environ)

    def codes(self):
        return [finding.code for finding in self.checks()]

    def calls(self):
        return self.log.read_text().splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_without_gh_nothing_else_is_asked(machine: Machine) -> None:
    [finding] = machine.checks()
    assert finding[:3] == ("github_cli_unavailable", "warning", "github_cli")


@pytest.mark.parametrize(
    ("version", "code", "status"),
    [
        ("echo 'gh version 2.94.0 (2026-01-01)'", "github_cli_compatible", "ok"),
        ("echo 'gh version v10.0.0'", "github_cli_compatible", "ok"),
        ("echo 'gh version 2.93.9'", "github_cli_rest_fallback_required", "warning"),
        ("echo 'gh version 1.100.100'", "github_cli_rest_fallback_required", "warning"),
        ("echo 'gh version 2.94'", "github_cli_version_unknown", "warning"),
        ("echo 'gh version 2.94.0-rc1'", "github_cli_version_unknown", "warning"),
        ("echo nothing", "github_cli_version_unknown", "warning"),
        ("printf '\\377\\376'", "github_cli_version_unknown", "warning"),
        ("echo 'gh version 2.95.0'; exit 1", "github_cli_version_unknown", "warning"),
    ],
)
def test_the_version_decides(machine: Machine, version: str, code: str, status: str) -> None:
    machine.gh(version=version)
    assert machine.checks()[0][:3] == (code, status, "github_cli")


def test_without_a_login_the_rights_are_not_asked(machine: Machine) -> None:
    machine.origin("https://github.com/example/oracle.git")
    machine.gh(auth="exit 1")
    assert machine.checks()[1][:3] == ("github_auth_unavailable", "warning", "github_auth")
    assert machine.calls() == ["--version", "auth status --hostname github.com"]


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/example/oracle",
        "https://github.com/example/oracle.git",
        "git@github.com:example/oracle.git",
        "ssh://git@github.com/example/oracle.git",
        "ssh://github.com/example/oracle",
    ],
)
def test_the_rights_are_asked_for_a_clean_origin(machine: Machine, url: str) -> None:
    machine.origin(url)
    machine.gh(api="""echo '{"pull":true,"push":true}'""")
    assert machine.codes() == [
        "github_cli_compatible",
        "github_auth_available",
        "github_issue_permissions_ok",
    ]
    assert machine.calls()[-1] == "api --hostname github.com repos/example/oracle --jq .permissions"


@pytest.mark.parametrize(
    "url",
    [
        "https://user:token@github.com/example/oracle",
        "https://token@github.com/example/oracle",
        "http://github.com/example/oracle",
        "https://github.com.evil.example/example/oracle",
        "https://gitlab.com/example/oracle",
        "https://github.com/example",
        "https://github.com/example/..",
        "https://github.com/example/oracle/../../x",
        "/srv/example/oracle.git",
    ],
)
def test_no_rights_are_asked_for_another_origin(machine: Machine, url: str) -> None:
    machine.origin(url)
    machine.gh()
    assert machine.codes() == ["github_cli_compatible", "github_auth_available"]


@pytest.mark.parametrize(
    ("permissions", "code", "status"),
    [
        ('{"pull":true,"triage":true,"push":true}', "github_issue_permissions_ok", "ok"),
        ('{"pull":true,"admin":true}', "github_issue_permissions_ok", "ok"),
        ('{"pull":true,"maintain":true}', "github_issue_permissions_ok", "ok"),
        ('{"pull":true,"triage":true}', "github_issue_permissions_limited", "warning"),
        ('{"pull":true}', "github_issue_permissions_limited", "warning"),
        ('{"push":true}', "github_issue_permissions_limited", "warning"),
        ('{"pull":"true","push":"true"}', "github_issue_permissions_limited", "warning"),
        ("null", "github_issue_permissions_unknown", "warning"),
        ("garbage", "github_issue_permissions_unknown", "warning"),
        ("", "github_issue_permissions_unknown", "warning"),
    ],
)
def test_the_rights_decide(machine: Machine, permissions: str, code: str, status: str) -> None:
    machine.origin("https://github.com/example/oracle")
    machine.gh(api=f"echo '{permissions}'")
    assert machine.checks()[2][:3] == (code, status, "github_permissions")


def test_a_refused_call_leaves_the_rights_unknown(machine: Machine) -> None:
    machine.origin("https://github.com/example/oracle")
    machine.gh(api="""echo '{"pull":true,"push":true}'; exit 1""")
    assert machine.codes()[2] == "github_issue_permissions_unknown"


def test_nothing_that_a_child_prints_is_shown(machine: Machine, capfd) -> None:
    machine.origin("https://github.com/example/oracle")
    machine.gh(version="echo secret", auth="echo secret", api="echo secret")
    assert "secret" not in str(machine.checks())
    assert capfd.readouterr() == ("", "")


def test_a_child_that_takes_too_long_is_ended_with_its_children(machine: Machine, monkeypatch) -> None:
    monkeypatch.setattr(github, "CHILD_SECONDS", 0.3)
    marker = machine.root / "alive"
    machine.gh(version=f"(sleep 1; touch {marker}) & wait", auth="exec 1>&-; sleep 30")
    start = time.monotonic()
    assert machine.codes() == ["github_cli_version_unknown", "github_auth_unavailable"]
    assert time.monotonic() - start < 5
    time.sleep(1.2)
    assert not marker.exists()


def test_a_child_that_prints_too_much_is_ended(machine: Machine) -> None:
    machine.gh(version="echo gh version 2.95.0; yes")
    assert machine.codes()[0] == "github_cli_version_unknown"


def test_a_gh_from_a_relative_path_is_never_run(machine: Machine, monkeypatch) -> None:
    machine.gh()
    (machine.bin / "gh").rename(machine.root / "gh")
    monkeypatch.chdir(machine.root)
    machine.environ["PATH"] = f".:{os.pathsep}{machine.bin}:"
    assert machine.codes() == ["github_cli_unavailable"] and machine.calls() == []


def test_git_variables_do_not_choose_another_repository(machine: Machine, tmp_path: Path) -> None:
    machine.gh()
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    subprocess.run(["git", "-C", str(other), "remote", "add", "origin", "https://github.com/other/other"], check=True)
    machine.environ["GIT_DIR"] = str(other / ".git")
    assert machine.codes() == ["github_cli_compatible", "github_auth_available"]
