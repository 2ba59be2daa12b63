from __future__ import annotations

import json
import subprocess
import sys

import pytest
import yaml

from slipway_lite.hosts.registry import CAPABILITIES, HOSTS, generated_files
from slipway_lite.hosts.render import rendered

ALL = [(host, surface) for host in HOSTS for surface in host.entries]
SKILLS = [host for host in HOSTS if host.id in ("claude", "codex", "cursor", "pi", "qwen")]
BY_ID = {host.id: host for host in HOSTS}


def front_matter(raw: bytes) -> tuple[dict[str, object], str]:
    _, head, body = raw.decode().split("---\n", 2)
    return yaml.safe_load(head), body.strip()


@pytest.mark.parametrize(("host", "surface"), ALL, ids=lambda value: getattr(value, "id", value))
def test_every_file_is_clean_text_that_ends_with_one_newline(host, surface) -> None:
    for path, raw in rendered(host, surface).items():
        text = raw.decode()
        assert text.endswith("\n") and not text.endswith("\n\n") and "\n\n\n" not in text, path
        assert "\r" not in text and "\t" not in text and "{%" not in text and "{{" not in text, path
        assert all(line == line.rstrip() for line in text.split("\n")), path


@pytest.mark.parametrize("host", SKILLS, ids=lambda host: host.id)
def test_a_skill_is_self_contained_and_never_invoked_by_the_model(host) -> None:
    content = rendered(host, "")
    for name, description in CAPABILITIES:
        head, body = front_matter(content[host.entries[""].path.format(capability=name)])
        assert head == {"name": name, "description": description, "disable-model-invocation": True}
        assert body.startswith(f"# {name}\n") and len(body) > 1000


def test_a_copilot_agent_is_self_contained_and_never_invoked_by_the_model() -> None:
    content = rendered(BY_ID["copilot"], "")
    for name, description in CAPABILITIES:
        raw = content[f".github/agents/{name}.agent.md"]
        assert f"description: {json.dumps(description)}\n".encode() in raw
        head, body = front_matter(raw)
        assert head == {"name": name, "description": description, "disable-model-invocation": True}
        assert body.startswith(f"# {name}\n")


def test_codex_gets_a_policy_against_implicit_invocation_for_each_skill() -> None:
    content = rendered(BY_ID["codex"], "")
    for name, _ in CAPABILITIES:
        raw = content[f".codex/skills/{name}/agents/openai.yaml"]
        assert raw == b"policy:\n  allow_implicit_invocation: false\n"


@pytest.mark.parametrize(
    ("host_id", "surface", "head", "line"),
    [
        ("kilo", "", {"description": ..., "subtask": False}, "@.kilocode/slipway/capabilities/{}.md"),
        ("kiro", "ide", {"inclusion": "manual"}, "#[[file:.kiro/slipway/capabilities/{}.md]]"),
        ("opencode", "", {"description": ...}, "@.opencode/slipway/capabilities/{}.md"),
        ("windsurf", "", {"description": ...}, "@.windsurf/slipway/capabilities/{}.md"),
    ],
)
def test_a_thin_entry_points_to_the_capability_by_one_line(host_id, surface, head, line) -> None:
    host = BY_ID[host_id]
    content = rendered(host, surface)
    for name, description in CAPABILITIES:
        found, body = front_matter(content[host.entries[surface].path.format(capability=name)])
        assert found == {key: description if value is ... else value for key, value in head.items()}
        assert body == line.format(name)
        assert content[host.body.format(capability=name)].startswith(f"# {name}\n".encode())


def test_a_kiro_agent_for_the_command_line_is_json() -> None:
    content = rendered(BY_ID["kiro"], "cli")
    for name, description in CAPABILITIES:
        assert json.loads(content[f".kiro/agents/{name}.json"]) == {
            "name": name,
            "description": description,
            "prompt": f"file://../slipway/capabilities/{name}.md",
            "tools": ["*"],
        }


@pytest.mark.parametrize(("host", "surface"), ALL, ids=lambda value: getattr(value, "id", value))
def test_the_reference_lies_beside_the_clarify_text_that_points_to_it(host, surface) -> None:
    content = rendered(host, surface)
    [clarify] = [path for path, raw in content.items() if b"`references/decision-interview.md`" in raw]
    assert clarify.rpartition("/")[0] + "/references/decision-interview.md" == host.reference
    assert content[host.reference].startswith(b"# Interviewing")


def test_a_description_is_one_sentence_that_demands_an_explicit_request() -> None:
    for _, description in CAPABILITIES:
        assert description.startswith("On explicit request only, ")
        assert description.endswith(".") and description.count(".") == 1


def test_rendering_covers_exactly_the_generated_files() -> None:
    for host, surface in ALL:
        assert list(rendered(host, surface)) == [file.path for file in generated_files(host, surface)]


def test_templates_are_loaded_only_when_something_is_rendered() -> None:
    program = """
import sys
from slipway_lite.hosts import adapters, doctor, listing
sys.exit("jinja2" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
