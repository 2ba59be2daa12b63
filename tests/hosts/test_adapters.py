from __future__ import annotations

import hashlib
import os

import pytest

from slipway_lite.errors import SlipwayError, UsageError
from slipway_lite.hosts.adapters import change_report, change_text
from slipway_lite.hosts.registry import HOST_IDS, HOSTS
from slipway_lite.hosts.transaction import locked

from .conftest import IDENTITY, Repository

BY_ID = {host.id: host for host in HOSTS}
RUN = ".claude/skills/slipway-run/SKILL.md"
EMPTY = {
    "contract_version": 2,
    "hosts": [],
    "transaction_outcome": "not_committed",
    "written": [],
    "removed": [],
    "preserved": [],
    "recovery_artifacts": [],
    "warnings": [],
}


def variant(error: SlipwayError) -> dict[str, object]:
    assert error.next is not None and error.next["operation"] == "command"
    assert error.next["workspace_identity"] == IDENTITY
    [only] = error.next["variants"]
    return only


# Bars


@pytest.mark.parametrize("surface", ["ide", "cli"])
def test_uninstall_leaves_files_and_directories_as_they_were(repository: Repository, surface: str) -> None:
    repository.write("README.md", "mine")
    repository.path(".github/workflows").mkdir(parents=True)
    repository.path(".claude").mkdir()
    repository.path(".kiro/steering").mkdir(parents=True)
    repository.write(".codex/config.toml", "mine")
    before = repository.snapshot()
    report = repository.install("all", surface=surface)
    assert report["hosts"] == list(HOST_IDS) and report["transaction_outcome"] == "committed"
    assert len(report["written"]) == 135 and report["preserved"] == report["warnings"] == []
    report = repository.uninstall("all")
    assert len(report["removed"]) == 135 and report["preserved"] == report["recovery_artifacts"] == []
    assert repository.snapshot() == before


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.id)
def test_edits_of_all_generated_files_survive_refresh_and_uninstall(repository: Repository, host) -> None:
    surface = "ide" if host.has_surfaces else None
    written = repository.install(host.id, surface=surface)["written"]
    paths = [path for path in written if path != host.manifest]
    for path in paths:
        repository.path(path).write_text(f"mine: {path}")
    assert repository.install(host.id, refresh=True)["preserved"] == paths
    report = repository.uninstall(host.id)
    assert report["removed"] == [host.manifest] and report["preserved"] == [host.sentinel]
    assert all(repository.path(path).read_text() == f"mine: {path}" for path in paths)


@pytest.mark.slow
@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.id)
def test_an_edit_of_any_one_generated_file_survives_refresh_and_uninstall(repository: Repository, host) -> None:
    surface = "ide" if host.has_surfaces else None
    paths = [path for path in repository.install(host.id, surface=surface)["written"] if path != host.manifest]
    repository.uninstall(host.id)
    for path in paths:
        repository.install(host.id, surface=surface)
        repository.path(path).write_text(repository.path(path).read_text() + "\nmine\n")
        edited = repository.path(path).read_bytes()
        assert path in repository.install(host.id, refresh=True)["preserved"]
        assert repository.path(path).read_bytes() == edited
        report = repository.uninstall(host.id)
        assert path not in report["removed"] and repository.path(path).read_bytes() == edited
        repository.path(path).unlink()
        remove_empty(repository.path(path.split("/")[0]))


def remove_empty(directory) -> None:
    """As a person would tidy up: directories that hold nothing."""
    for path, _, _ in os.walk(directory, topdown=False):
        if not os.listdir(path):
            os.rmdir(path)


def test_an_edit_survives_uninstall_without_a_refresh(repository: Repository) -> None:
    repository.install("claude")
    repository.path(RUN).write_text("mine")
    report = repository.uninstall("claude")
    assert report["preserved"] == [RUN] and len(report["removed"]) == 9
    assert repository.path(RUN).read_text() == "mine" and not repository.host("claude")["installed"]


# Directories


def test_directories_that_were_empty_before_stay(repository: Repository) -> None:
    for name in (".claude/skills/slipway-run", ".claude/slipway"):
        repository.path(name).mkdir(parents=True)
    before = repository.snapshot()
    repository.install("claude")
    repository.uninstall("claude")
    assert repository.snapshot() == before


def test_a_refresh_remembers_the_directories_of_the_install(repository: Repository) -> None:
    before = repository.snapshot()
    repository.install("claude")
    repository.install("claude", refresh=True)
    repository.uninstall("claude")
    assert repository.snapshot() == before


def test_a_directory_that_a_person_made_anew_is_theirs(repository: Repository) -> None:
    repository.install("claude")
    for path in sorted(repository.path(".claude").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    before = repository.snapshot()
    repository.install("claude")
    repository.uninstall("claude")
    assert {name for name in repository.snapshot() if name.startswith(".claude")} == {".claude"}
    assert ".claude" in before


def test_in_a_clone_only_directories_with_our_name_go(repository: Repository) -> None:
    repository.install("claude", "copilot")
    for path in (repository.git_dir / "slipway-lite-adapters").iterdir():
        path.unlink()
    repository.uninstall()
    left = {name for name in repository.snapshot() if not name.startswith(".git/") and name != ".git"}
    assert left == {".claude", ".claude/skills", ".github", ".github/agents", ".github/agents/references",
                    ".github/copilot"}  # fmt: skip


def test_in_a_clone_a_refresh_makes_our_directories_ours(repository: Repository) -> None:
    repository.install("claude")
    (repository.git_dir / "slipway-lite-adapters/directories.json").unlink()
    repository.install("claude", refresh=True)
    repository.uninstall()
    assert {name for name in repository.snapshot() if name.startswith(".claude")} == {".claude", ".claude/skills"}


def test_a_directory_with_a_file_of_the_person_stays(repository: Repository) -> None:
    repository.install("claude")
    repository.write(".claude/skills/slipway-run/notes.md", "mine")
    repository.uninstall()
    assert {name for name in repository.snapshot() if name.startswith(".claude")} == {
        ".claude", ".claude/skills", ".claude/skills/slipway-run", ".claude/skills/slipway-run/notes.md"
    }  # fmt: skip


# Selection (machine-protocol §9.3)


def test_tools_repeat_split_at_commas_and_ignore_case(repository: Repository) -> None:
    assert repository.install(" Pi,QWEN", "claude,", "pi")["hosts"] == ["claude", "pi", "qwen"]
    assert repository.uninstall("ALL")["hosts"] == list(HOST_IDS)


@pytest.mark.parametrize("command", ["install", "uninstall"])
@pytest.mark.parametrize("tools", [("",), (" , ",), ("", "")])
def test_an_empty_tool_is_refused(repository: Repository, command: str, tools) -> None:
    with pytest.raises(UsageError) as caught:
        getattr(repository, command)(*tools)
    assert caught.value.code == "host_adapter_required" and caught.value.details is None
    assert variant(caught.value) == {
        "id": "list-host-adapters",
        "base_argv": ["slipway", "list", "--root", str(repository.root)],
        "inputs": [],
    }


@pytest.mark.parametrize("command", ["install", "uninstall"])
@pytest.mark.parametrize("tools", [("nope",), ("claude", "nope"), ("all,nope",), ("clau de",)])
def test_an_unknown_tool_is_refused(repository: Repository, command: str, tools) -> None:
    before = repository.snapshot()
    with pytest.raises(UsageError) as caught:
        getattr(repository, command)(*tools)
    assert caught.value.code == "unknown_host_adapter" and caught.value.details is None
    assert variant(caught.value)["id"] == "list-host-adapters"
    assert repository.snapshot() == before


def test_without_a_tool_install_takes_every_detected_host(repository: Repository) -> None:
    for name in (".qwen", ".kilo", ".github/prompts"):
        repository.path(name).mkdir(parents=True)
    assert repository.install()["hosts"] == ["copilot", "kilo", "qwen"]


def test_without_a_tool_and_a_detected_host_install_fails(repository: Repository) -> None:
    with pytest.raises(SlipwayError) as caught:
        repository.install()
    check_failed(caught.value, repository, "install_failed")


def test_without_a_tool_uninstall_takes_every_host_with_a_manifest(repository: Repository) -> None:
    repository.install("claude", "pi")
    repository.path(".qwen").mkdir()
    assert repository.uninstall()["hosts"] == ["claude", "pi"]


def test_without_a_tool_and_a_manifest_uninstall_fails(repository: Repository) -> None:
    repository.path(".qwen").mkdir()
    with pytest.raises(SlipwayError) as caught:
        repository.uninstall()
    check_failed(caught.value, repository, "uninstall_failed")


def check_failed(error: SlipwayError, repository: Repository, code: str) -> None:
    assert (error.code, error.exit_code) == (code, 3)
    assert error.details == {"report": EMPTY, "transaction_outcome": "not_committed"}
    assert list(error.details) == sorted(error.details)
    assert variant(error) == {
        "id": "inspect-host-adapters",
        "base_argv": ["slipway", "list", "--root", str(repository.root)],
        "inputs": [],
    }


# The surface of Kiro (machine-protocol §9.3)


@pytest.mark.parametrize(
    ("tools", "surface"),
    [
        (("kiro",), None),
        (("all",), None),
        (("kiro",), "web"),
        (("kiro",), ""),
        (("claude",), "ide"),
        ((), "ide"),
    ],
)
def test_a_surface_that_does_not_fit_is_refused(repository: Repository, tools, surface) -> None:
    repository.path(".claude").mkdir()
    before = repository.snapshot()
    with pytest.raises(UsageError) as caught:
        repository.install(*tools, surface=surface)
    assert caught.value.code == "invalid_adapter_surface" and caught.value.details is None
    assert variant(caught.value) == {
        "id": "install-kiro",
        "base_argv": ["slipway", "install", "--root", str(repository.root), "--tool", "kiro"],
        "inputs": [
            {
                "name": "surface",
                "type": "enum",
                "flag": "--surface",
                "required": True,
                "choices": ["ide", "cli"],
            }
        ],
    }
    assert repository.snapshot() == before


def test_the_recorded_surface_holds(repository: Repository) -> None:
    repository.install("kiro", surface="cli")
    assert ".kiro/agents/slipway-run.json" in repository.install("kiro", refresh=True)["written"]
    assert repository.install("kiro", surface="cli", refresh=True)["transaction_outcome"] == "committed"
    with pytest.raises(UsageError) as caught:
        repository.install("kiro", surface="ide", refresh=True)
    assert caught.value.code == "invalid_adapter_surface"


def test_kiro_detected_beside_others_is_left_out_with_a_warning(repository: Repository) -> None:
    for name in (".kiro", ".pi"):
        repository.path(name).mkdir()
    report = repository.install()
    assert report["hosts"] == ["pi"] and len(report["warnings"]) == 1
    assert repository.install(surface="ide", refresh=True)["hosts"] == ["kiro", "pi"]


def test_kiro_detected_alone_needs_its_surface(repository: Repository) -> None:
    repository.path(".kiro").mkdir()
    with pytest.raises(UsageError) as caught:
        repository.install()
    assert caught.value.code == "invalid_adapter_surface"


# Safety (machine-protocol §9.4)


def test_a_manifest_cannot_make_us_touch_anything_else(repository: Repository) -> None:
    repository.install("claude")
    repository.write(RUN, "mine")
    manifest = repository.path(BY_ID["claude"].manifest)
    digest = hashlib.sha256(b"mine").hexdigest()
    lines = manifest.read_text().split("\n")
    at = next(number for number, line in enumerate(lines) if RUN in line)
    lines[at + 1] = f'      "sha256": "{digest}"'
    manifest.write_text("\n".join(lines))
    report = repository.install("claude", refresh=True)
    assert report["preserved"] == [RUN] and len(report["warnings"]) == 1
    assert repository.path(RUN).read_text() == "mine"
    manifest.write_text("\n".join(lines))
    report = repository.uninstall("claude")
    assert report["preserved"] == [RUN] and repository.path(RUN).read_text() == "mine"


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_an_unreadable_manifest_fails_the_whole_command(repository: Repository, command: str) -> None:
    repository.install("claude", "pi")
    repository.path(BY_ID["claude"].manifest).write_text("garbage")
    before = repository.snapshot()
    with pytest.raises(SlipwayError) as caught:
        repository.install("all", surface="ide", refresh=True) if command == "install" else repository.uninstall("all")
    check_failed(caught.value, repository, f"{command}_failed")
    assert repository.snapshot() == before


@pytest.mark.parametrize("name", [".claude", ".claude/slipway"])
def test_nothing_is_written_through_a_link(repository: Repository, name: str) -> None:
    outside = repository.root.parent / "outside"
    outside.mkdir()
    repository.path(name).parent.mkdir(parents=True, exist_ok=True)
    repository.path(name).symlink_to(outside)
    with pytest.raises(SlipwayError) as caught:
        repository.install("claude", "pi")
    assert caught.value.code == "install_failed" and f"{name} is a symbolic link" in caught.value.message
    assert os.listdir(outside) == [] and not repository.path(".pi").exists()


def test_a_link_on_the_way_to_a_host_that_is_not_used_is_nobodys_business(repository: Repository) -> None:
    outside = repository.root.parent / "outside"
    outside.mkdir()
    repository.path(".github").symlink_to(outside)
    repository.path(".pi").mkdir()
    assert repository.install()["hosts"] == ["pi"]
    assert repository.host("copilot")["detected"] is False
    assert repository.uninstall()["hosts"] == ["pi"]
    with pytest.raises(SlipwayError, match=r"\.github is a symbolic link"):
        repository.install("copilot")
    assert os.listdir(outside) == []


def test_a_command_waits_for_another_one_and_then_gives_up(repository: Repository, monkeypatch) -> None:
    monkeypatch.setattr("slipway_lite.hosts.transaction.LOCK_SECONDS", 0.05)
    with locked(str(repository.git_dir)), pytest.raises(SlipwayError) as caught:
        repository.install("claude")
    check_failed(caught.value, repository, "install_failed")
    assert "at work" in caught.value.message and not repository.path(".claude").exists()


def test_a_linked_skill_directory_is_preserved_as_it_is(repository: Repository) -> None:
    outside = repository.root.parent / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_text("mine")
    repository.path(".claude/skills").mkdir(parents=True)
    repository.path(".claude/skills/slipway-run").symlink_to(outside)
    report = repository.install("claude")
    assert report["preserved"] == [RUN] and len(report["written"]) == 9
    assert os.listdir(outside) == ["SKILL.md"] and (outside / "SKILL.md").read_text() == "mine"
    assert repository.uninstall("claude")["transaction_outcome"] == "committed"
    assert (outside / "SKILL.md").read_text() == "mine"


def test_a_lost_race_rolls_every_host_back(repository: Repository, just_before) -> None:
    before = repository.snapshot()
    target = repository.path(".qwen/skills/slipway-run/SKILL.md")
    just_before("os.mkdir", ".qwen", lambda: repository.write(".qwen/skills/slipway-run/SKILL.md", "mine"))
    with pytest.raises(SlipwayError) as caught:
        repository.install("claude", "qwen")
    error = caught.value
    assert error.code == "install_failed" and error.details["transaction_outcome"] == "rolled_back"
    report = error.details["report"]
    assert report["hosts"] == ["claude", "qwen"] and report["written"] == report["removed"] == []
    assert target.read_text() == "mine" and not repository.path(".claude").exists()
    assert {name for name in repository.snapshot() if not name.startswith(".qwen")} == set(before)


def test_an_interrupted_command_is_settled_first_and_told(repository: Repository, just_before) -> None:
    class Killed(BaseException):
        pass

    def die() -> None:
        raise Killed

    just_before("os.link", "ownership-manifest.json", die)
    with pytest.raises(Killed):
        repository.install("claude")
    assert repository.path(RUN).exists() and not repository.host("claude")["installed"]
    report = repository.install("claude")
    assert report["transaction_outcome"] == "committed" and len(report["written"]) == 10
    assert report["warnings"] == ["An interrupted install or uninstall was settled first."]


def test_an_unsettled_command_stops_the_next_one(repository: Repository) -> None:
    state = repository.git_dir / "slipway-lite-adapters"
    state.mkdir()
    (state / "prepared.json").write_text("garbage")
    with pytest.raises(SlipwayError) as caught:
        repository.install("claude")
    check_failed(caught.value, repository, "install_failed")
    assert "interrupted" in caught.value.message


def test_run_data_is_never_touched(repository: Repository) -> None:
    for name in (".git/slipway/runs/1/journal.jsonl", ".git/slipway-lite/slipway.db"):
        repository.write(name, "data")
    before = repository.snapshot()
    repository.install("all", surface="ide")
    repository.uninstall("all")
    assert repository.snapshot() == before


# The report


def test_the_report_is_sorted_and_without_duplicates() -> None:
    report = change_report(["pi", "claude"], "committed", written=["b", "a", "b"], warnings=["w", "w"])
    assert list(report) == list(EMPTY)
    assert report["hosts"] == ["claude", "pi"] and report["written"] == ["a", "b"] and report["warnings"] == ["w"]


def test_the_text_for_people_names_every_path_that_is_not_as_one_may_expect(repository: Repository) -> None:
    repository.write(RUN, "mine")
    assert change_text(repository.install("claude")) == f"claude: 9 written, 1 preserved\npreserved: {RUN}\n"
    text = change_text(repository.install("claude"))
    assert text == "claude: nothing to do\nwarning: claude: already installed; --refresh updates it.\n"
    assert change_text(repository.uninstall("claude")) == "claude: 9 removed\n"
    kept = change_report(["pi"], "committed", recovery_artifacts=[".pi/.slipway-1-2.old"])
    assert change_text(kept) == "pi: nothing to do\nset aside: .pi/.slipway-1-2.old\n"
