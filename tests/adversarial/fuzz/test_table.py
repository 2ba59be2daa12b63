"""The table of targets is whole: every decoder of the package stands in it, or here with the reason why not."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

import slipway_lite
from slipway_lite.http.routes import ROUTES
from tests.adversarial.fuzz import corpus
from tests.adversarial.fuzz.campaign import shares
from tests.adversarial.fuzz.table import TARGETS
from tests.adversarial.fuzz.target import execute

PACKAGE = Path(slipway_lite.__file__).parent
DECODES = re.compile(r"(decode|parse|read|extract|find|classify|validate|repair|import|compile|search|analyze)(_|$)")

NO_DECODER = {
    "slipway_lite.cli.audit.import_events": "the command around control.importing; cli.command",
    "slipway_lite.cli.files.read_descriptor": "bytes as they are",
    "slipway_lite.cli.files.read_regular": "bytes as they are",
    "slipway_lite.cli.gates.analyze": "the command around observe.analysis; cli.command",
    "slipway_lite.cli.plane.read": "reads what this program wrote",
    "slipway_lite.cli.schema.validate": "the command around canon.decode and jsonschema; cli.command",
    "slipway_lite.cli.search.search": "the command around observe.search; cli.command",
    "slipway_lite.cli.db_import.import_jsonl": "the command around import_journals",
    "slipway_lite.protocol.imported.service.import_journals": "directories; protocol.imported takes journals",
    "slipway_lite.cli.turn.parse": "the command around turns.parse; cli.command",
    "slipway_lite.control.instructions.compile_envelope": "from a task and a job, both validated",
    "slipway_lite.control.messages_base.validate": "one step of control.body.*",
    "slipway_lite.control.repositories.find": "a lookup by key",
    "slipway_lite.control.retry.classify": "of two texts of a validated result; control.use_cases",
    "slipway_lite.observe.gates.analyze": "one step of observe.gates",
    "slipway_lite.observe.gates.classify": "one step of observe.gates",
    "slipway_lite.store.reading.read_store": "opens a file; the tampering campaign",
    "slipway_lite.turns.worktree.read_documents": "files as they are; turns.documents takes their content",
}


def _functions() -> set[str]:
    found = set()
    for path in PACKAGE.rglob("*.py"):
        module = ".".join(("slipway_lite", *path.relative_to(PACKAGE).with_suffix("").parts))
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and DECODES.match(node.name):
                found.add(f"{module}.{node.name}")
    return found


def test_every_decoder_has_a_target_or_a_reason() -> None:
    covered = {name for target in TARGETS.values() for name in target.covers}
    assert _functions() - covered - NO_DECODER.keys() == set()
    assert NO_DECODER.keys() <= _functions(), "a reason for what is not there any more"
    assert not NO_DECODER.keys() & covered


@pytest.mark.parametrize("name", sorted({name for target in TARGETS.values() for name in target.covers}))
def test_what_a_target_covers_exists(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    assert callable(getattr(importlib.import_module(module), attribute))


def test_every_request_body_has_a_target() -> None:
    assert {f"control.body.{route.name}" for route in ROUTES if route.body is not None} <= TARGETS.keys()


def test_a_million_executions_are_shared_out_whole() -> None:
    share = shares({name: target.weight for name, target in TARGETS.items()}, 1_000_000)
    assert sum(share.values()) >= 1_000_000
    assert min(share.values()) >= 100


def test_every_kept_corpus_belongs_to_a_target() -> None:
    assert {path.stem for path in corpus.SEEDS.glob("*.jsonl")} <= TARGETS.keys()


def test_seeds_are_kept_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "SEEDS", tmp_path)
    inputs = [b"", b"text\n", "目\u2028".encode(), b"\xff\x00", b'{"base64": 1}']
    corpus.save("x", [*inputs, b"text\n"])
    assert sorted(corpus.load("x")) == sorted(inputs)
    assert corpus.load("y") == []


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_starts_from_something_that_it_accepts(name: str) -> None:
    target = TARGETS[name]
    assert "accepted" in [execute(target, raw) for raw in target.starts()]
