from __future__ import annotations

import os

import pytest

from slipway_lite.errors import SlipwayError
from slipway_lite.hosts.listing import list_report, list_text
from slipway_lite.hosts.registry import CAPABILITIES, HOST_IDS, HOSTS

from .conftest import Repository, command_next

BY_ID = {host.id: host for host in HOSTS}
NAMES = [name for name, _ in CAPABILITIES]


def test_ten_hosts_in_registry_order_whether_there_or_not(repository: Repository) -> None:
    report = list_report(str(repository.root), command_next=command_next)
    assert list(report) == ["contract_version", "hosts"] and report["contract_version"] == 2
    assert [list(host.values()) for host in report["hosts"]] == [
        [host_id, False, False, False, []] for host_id in HOST_IDS
    ]
    assert list(report["hosts"][0]) == ["id", "detected", "installed", "needs_refresh", "capabilities"]


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.id)
def test_each_detection_directory_is_enough(tmp_path, host) -> None:
    for number, directory in enumerate(host.detect):
        repository = Repository(tmp_path / str(number))
        repository.path(directory).mkdir(parents=True)
        report = list_report(str(repository.root), command_next=command_next)
        assert [entry["id"] for entry in report["hosts"] if entry["detected"]] == [host.id]


def test_an_installed_host_offers_its_capabilities_in_order(repository: Repository) -> None:
    repository.install("kiro", surface="cli")
    assert repository.host("kiro") == {
        "id": "kiro",
        "detected": True,
        "installed": True,
        "needs_refresh": False,
        "capabilities": NAMES,
    }


def test_a_capability_with_an_edited_file_is_not_offered(repository: Repository) -> None:
    repository.install("codex")
    repository.write(".codex/skills/slipway-review/agents/openai.yaml", "policy:\n")
    host = repository.host("codex")
    assert host["needs_refresh"] and host["capabilities"] == [name for name in NAMES if name != "slipway-review"]


@pytest.mark.parametrize("text", [None, "edited\n"])
def test_the_sentinel_counts_for_the_need_of_a_refresh(repository: Repository, text: str | None) -> None:
    repository.install("claude")
    sentinel = repository.path(BY_ID["claude"].sentinel)
    sentinel.unlink() if text is None else sentinel.write_text(text)
    host = repository.host("claude")
    assert host["needs_refresh"] and host["capabilities"] == NAMES


def test_a_host_that_cannot_be_inspected_warns_and_hides_nobody(repository: Repository) -> None:
    repository.install("claude", "pi")
    repository.path(BY_ID["claude"].manifest).write_text("garbage")
    repository.path(".pi").rename(repository.path("elsewhere"))
    repository.path(".pi").symlink_to("elsewhere")
    for host_id in ("claude", "pi"):
        host = repository.host(host_id)
        assert list(host)[-1] == "warning" and host["warning"]
        assert list(host.values())[:-1] == [host_id, True, False, False, []]
    assert not repository.host("codex")["detected"]


def test_listing_writes_nothing(repository: Repository) -> None:
    repository.install("all", surface="ide")
    before = {path: os.lstat(path).st_mtime_ns for path in repository.root.rglob("*")}
    list_report(str(repository.root), command_next=command_next)
    assert {path: os.lstat(path).st_mtime_ns for path in repository.root.rglob("*")} == before


def test_a_root_that_is_gone_fails_the_list(repository: Repository) -> None:
    root = str(repository.root / "gone")
    with pytest.raises(SlipwayError) as caught:
        list_report(root, command_next=command_next)
    error = caught.value
    assert (error.code, error.exit_code, error.details) == ("list_failed", 3, None)
    assert error.next is not None and error.next["variants"] == [
        {"id": "retry-list", "base_argv": ["slipway", "list", "--root", root, "--json"], "inputs": []}
    ]


def test_the_text_for_people_has_a_line_for_each_host(repository: Repository) -> None:
    repository.install("claude", "pi", "qwen")
    repository.path(".codex").mkdir()
    repository.path(".pi/slipway/.adapter-generated").write_text("edited")
    repository.path(BY_ID["qwen"].manifest).write_text("garbage")
    lines = list_text(list_report(str(repository.root), command_next=command_next)).splitlines()
    assert lines[:3] == [
        "claude    installed, 7 capabilities",
        "codex     detected, not installed",
        "copilot   not detected",
    ]
    assert "pi        installed, needs refresh, 7 capabilities" in lines
    assert lines[lines.index("qwen      detected, not installed") + 1].strip().startswith("This host cannot be")
