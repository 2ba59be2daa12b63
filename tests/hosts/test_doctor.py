from __future__ import annotations

import os

import pytest

from slipway_lite.errors import SlipwayError
from slipway_lite.hosts.doctor import LEGACY_NAMES, doctor_report, doctor_text
from slipway_lite.hosts.registry import HOST_IDS, HOSTS

from .conftest import Repository, command_next

BY_ID = {host.id: host for host in HOSTS}
CLAUDE = BY_ID["claude"]
RUN = ".claude/skills/slipway-run/SKILL.md"
NOTHING_ON_PATH = {"PATH": "/nonexistent"}


def report(repository: Repository):
    return doctor_report(
        str(repository.root), str(repository.git_dir), environ=NOTHING_ON_PATH, command_next=command_next
    )


def adapter(repository: Repository, host_id: str = "claude") -> dict[str, object]:
    [found] = [check for check in report(repository)["checks"] if check["host_id"] == host_id]
    return found


def code(repository: Repository) -> tuple[object, object, object]:
    found = adapter(repository)
    return found["code"], found["status"], found["name"]


def test_the_checks_stand_in_the_published_order(repository: Repository) -> None:
    found = report(repository)
    assert list(found) == ["contract_version", "checks"] and found["contract_version"] == 2
    assert [(check["code"], check["host_id"]) for check in found["checks"]] == [
        ("repository_ok", "-"),
        *(("adapter_not_detected", host_id) for host_id in HOST_IDS),
        ("runstore_durability_full", "-"),
        ("github_cli_unavailable", "-"),
    ]
    for check in found["checks"]:
        assert list(check)[:5] == ["code", "status", "host_id", "name", "detail"] and check["detail"]


def test_the_repository_check_names_the_root(repository: Repository) -> None:
    first = report(repository)["checks"][0]
    assert (first["status"], first["name"], first["detail"]) == ("ok", "repository", str(repository.root))


def test_durability_says_what_is_flushed(repository: Repository) -> None:
    [check] = [check for check in report(repository)["checks"] if check["name"] == "runstore durability"]
    assert check["durability"] == {
        "level": "file_and_directory_fsync",
        "file_sync": True,
        "directory_sync": True,
    }


def test_a_healthy_adapter_counts_its_files(repository: Repository) -> None:
    repository.install("claude")
    assert code(repository) == ("adapter_healthy", "ok", "adapter")
    assert "8" in str(adapter(repository)["detail"])


def test_a_detected_host_without_manifest_names_orphans(repository: Repository) -> None:
    repository.path(".claude").mkdir()
    assert code(repository) == ("adapter_not_installed", "warning", "adapter")
    repository.write(RUN, "x")
    assert RUN in str(adapter(repository)["detail"])
    repository.write(CLAUDE.sentinel, "generated\n")
    assert code(repository) == ("adapter_not_installed", "warning", "adapter")
    assert CLAUDE.sentinel in str(adapter(repository)["detail"])


def test_an_unreadable_manifest_is_an_error(repository: Repository) -> None:
    repository.write(CLAUDE.manifest, "garbage")
    assert code(repository) == ("adapter_manifest_unreadable", "error", "manifest")


def test_a_failed_inspection_is_an_error(repository: Repository) -> None:
    repository.path("elsewhere").mkdir()
    repository.path(".claude").symlink_to("elsewhere")
    assert code(repository) == ("adapter_inspection_unavailable", "error", "adapter inspection")


MODIFIED = ("adapter_modified", "warning", "adapter")
REFRESH = ("adapter_refresh_required", "warning", "adapter")


def test_each_condition_of_an_installed_adapter_comes_before_the_next(repository: Repository) -> None:
    repository.install("claude")
    repository.write(RUN, "edited")
    assert code(repository) == MODIFIED and RUN in str(adapter(repository)["detail"])
    sentinel = repository.path(CLAUDE.sentinel)
    sentinel.unlink()
    assert code(repository) == REFRESH and "Not every" in str(adapter(repository)["detail"])
    manifest = repository.path(CLAUDE.manifest)
    lines = manifest.read_text().split("\n")
    at = next(number for number, line in enumerate(lines) if RUN in line)
    lines[at + 1] = f'      "sha256": "{"a" * 64}"'
    manifest.write_text("\n".join(lines))
    assert code(repository) == REFRESH and "another version" in str(adapter(repository)["detail"])
    sentinel.write_text("edited")
    assert code(repository) == MODIFIED and CLAUDE.sentinel in str(adapter(repository)["detail"])


def test_a_missing_file_is_a_modification(repository: Repository) -> None:
    repository.install("claude")
    repository.path(RUN).unlink()
    assert code(repository) == MODIFIED


def test_an_incomplete_claim_set_needs_a_refresh(repository: Repository) -> None:
    repository.install("claude")
    repository.write(RUN, "edited")
    repository.install("claude", refresh=True)
    assert code(repository) == REFRESH


def test_legacy_residue_is_named_and_sorted_between_hosts_and_durability(repository: Repository) -> None:
    for name in (*LEGACY_NAMES, "runs", "mystery"):
        repository.path(f".git/slipway/{name}").mkdir(parents=True)
    checks = report(repository)["checks"]
    residue = [check for check in checks if check["name"] == "legacy_runstore"]
    assert checks[11 : 11 + len(residue)] == residue
    assert [check["code"] for check in residue] == [
        "legacy_cache_residue",
        "legacy_locks_residue",
        "legacy_unknown_residue",
        "legacy_processes_residue",
        "legacy_repair_backups_residue",
        "legacy_runtime_residue",
        "legacy_scope_root_residue",
        "legacy_scopes_residue",
    ]
    assert {(check["status"], check["host_id"]) for check in residue} == {("warning", "-")}


def test_a_legacy_namespace_that_cannot_be_read_is_unknown_residue(repository: Repository) -> None:
    repository.write(".git/slipway", "a file")
    assert "legacy_unknown_residue" in [check["code"] for check in report(repository)["checks"]]


def test_our_own_files_are_no_residue(repository: Repository) -> None:
    repository.install("claude")
    repository.write(".git/slipway-lite/slipway.db", "")
    assert not [check for check in report(repository)["checks"] if check["name"] == "legacy_runstore"]


def test_doctor_writes_nothing(repository: Repository) -> None:
    repository.install("all", surface="ide")
    before = {path: os.lstat(path).st_mtime_ns for path in repository.root.rglob("*")}
    report(repository)
    assert {path: os.lstat(path).st_mtime_ns for path in repository.root.rglob("*")} == before


def test_a_root_that_is_gone_fails_the_doctor(repository: Repository) -> None:
    root = str(repository.root / "gone")
    with pytest.raises(SlipwayError) as caught:
        doctor_report(root, str(repository.git_dir), environ=NOTHING_ON_PATH, command_next=command_next)
    error = caught.value
    assert (error.code, error.exit_code, error.details) == ("doctor_failed", 3, None)
    assert error.next is not None and error.next["variants"] == [
        {"id": "retry-doctor", "base_argv": ["slipway", "doctor", "--root", root, "--json"], "inputs": []}
    ]


def test_the_text_for_people_has_a_line_for_each_check(repository: Repository) -> None:
    repository.write(CLAUDE.manifest, "garbage")
    found = report(repository)
    lines = doctor_text(found).splitlines()
    assert len(lines) == len(found["checks"])
    assert lines[0] == f"ok    repository: {repository.root}"
    assert lines[1].startswith("FAIL  manifest claude: ")
    assert lines[-1].startswith("warn  github_cli: ")
