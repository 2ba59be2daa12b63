from __future__ import annotations

import pytest

from slipway_lite.hosts.registry import CAPABILITIES, HOST_IDS, HOSTS, NO_SURFACE, generated_files

#: Files of each host and surface, manifest and sentinel included (machine-protocol §9.2).
COUNTS = {
    ("claude", NO_SURFACE): 10,
    ("codex", NO_SURFACE): 17,
    ("copilot", NO_SURFACE): 10,
    ("cursor", NO_SURFACE): 10,
    ("kilo", NO_SURFACE): 17,
    ("kiro", "ide"): 17,
    ("kiro", "cli"): 17,
    ("opencode", NO_SURFACE): 17,
    ("pi", NO_SURFACE): 10,
    ("qwen", NO_SURFACE): 10,
    ("windsurf", NO_SURFACE): 17,
}


def test_hosts_stand_in_registry_order() -> None:
    assert (
        HOST_IDS
        == ("claude", "codex", "copilot", "cursor", "kilo", "kiro", "opencode", "pi", "qwen", "windsurf")
    )  # fmt: skip


def test_the_seven_capabilities_stand_in_their_order() -> None:
    names = ["run", "clarify", "propose", "decompose", "implement", "review", "workflow"]
    assert [name for name, _ in CAPABILITIES] == [f"slipway-{name}" for name in names]


def test_each_host_and_surface_generates_the_published_number_of_files() -> None:
    found = {(host.id, surface): len(generated_files(host, surface)) + 2 for host in HOSTS for surface in host.entries}
    assert found == COUNTS


def test_all_hosts_with_one_kiro_surface_make_135_files() -> None:
    assert sum(count for (_, surface), count in COUNTS.items() if surface != "cli") == 135


def test_no_path_is_generated_twice() -> None:
    paths = [
        path
        for host in HOSTS
        for path in (
            host.manifest,
            host.sentinel,
            *{f.path for s in host.entries for f in generated_files(host, s)},
        )
    ]
    assert len(paths) == len(set(paths))


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.id)
def test_support_files_come_before_the_entry_that_needs_them(host) -> None:
    for surface in host.entries:
        seen: set[str] = set()
        for file in generated_files(host, surface):
            assert set(file.needs) <= seen
            seen.add(file.path)


def test_entries_lie_where_the_hosts_look_for_them() -> None:
    entries = {
        (host.id, surface): next(file.path for file in generated_files(host, surface) if file.is_entry)
        for host in HOSTS
        for surface in host.entries
    }
    assert entries == {
        ("claude", ""): ".claude/skills/slipway-run/SKILL.md",
        ("codex", ""): ".codex/skills/slipway-run/SKILL.md",
        ("copilot", ""): ".github/agents/slipway-run.agent.md",
        ("cursor", ""): ".cursor/skills/slipway-run/SKILL.md",
        ("kilo", ""): ".kilo/commands/slipway-run.md",
        ("kiro", "ide"): ".kiro/steering/slipway-run.md",
        ("kiro", "cli"): ".kiro/agents/slipway-run.json",
        ("opencode", ""): ".opencode/commands/slipway-run.md",
        ("pi", ""): ".pi/skills/slipway-run/SKILL.md",
        ("qwen", ""): ".qwen/skills/slipway-run/SKILL.md",
        ("windsurf", ""): ".windsurf/workflows/slipway-run.md",
    }
