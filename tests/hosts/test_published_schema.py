"""Every document that the host adapters answer with is valid under the published schema."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from slipway_lite.errors import SlipwayError
from slipway_lite.hosts.doctor import doctor_report
from slipway_lite.hosts.listing import list_report
from slipway_lite.protocol.documents import error_document
from tests.published import published

from .conftest import Repository, command_next


def validate(name: str, document: dict[str, Any]) -> None:
    schema = json.loads(published("oracles", "slipway", "machine-protocol.schema.json").read_text())
    definition = {"$schema": schema["$schema"], "$ref": f"#/$defs/{name}", "$defs": schema["$defs"]}
    jsonschema.Draft202012Validator(definition).validate(document)


def reports(repository: Repository) -> None:
    root, git_dir = str(repository.root), str(repository.git_dir)
    validate("listReport", list_report(root, command_next=command_next))
    validate("doctorReport", doctor_report(root, git_dir, environ={"PATH": ""}, command_next=command_next))


def test_reports_are_valid_in_every_state(repository: Repository) -> None:
    reports(repository)
    validate("changeReport", repository.install("all", surface="ide"))
    reports(repository)
    repository.write(".claude/skills/slipway-run/SKILL.md", "edited")
    repository.write(".pi/slipway/ownership-manifest.json", "garbage")
    repository.write(".git/slipway/locks", "old")
    reports(repository)
    validate("changeReport", repository.install("claude", refresh=True))
    validate("changeReport", repository.uninstall("claude"))


@pytest.mark.parametrize(
    ("tools", "surface"), [((), None), (("",), None), (("nope",), None), (("kiro",), None), (("claude",), None)]
)
def test_refusals_are_valid(repository: Repository, just_before, tools, surface) -> None:
    if tools == ("claude",):
        just_before("os.mkdir", ".claude", lambda: repository.write(".claude/skills/slipway-run/SKILL.md", "mine"))
    with pytest.raises(SlipwayError) as caught:
        repository.install(*tools, surface=surface)
    error = caught.value
    assert error.next is not None
    validate("cliError", error_document(error.code, error.message, error.next, error.exit_code, error.details))
