"""Journals as the published command line writes them, made from a Run of ours (machine-protocol §6.1 to §6.3).

The differences are taken from what a Run shows of itself before and after each event, by a differ of this module's own:
nothing of the code under test has a part in them.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from random import Random
from typing import Any

from slipway_lite.canon import framed
from slipway_lite.errors import SlipwayError
from slipway_lite.protocol.documents import run_status
from slipway_lite.protocol.run import Run
from tests.protocol.model import Model
from tests.protocol.source.change import SECTIONS
from tests.protocol.test_fold import Host

Document = dict[str, Any]

TEXTS = [*(payload for *_, payload in SECTIONS), "Must fly.\n", *(f"Must {number}.\n" for number in range(40))]
"""Every section text that a test may have in a source."""

LISTS = ("observations", "known_issues", "uncertainties", "activities", "answers")


def shown(run: Run) -> Document:
    """Everything that a Run shows of itself, without the cut that a reply makes."""
    document: Document = json.loads(json.dumps(run_status(run)))
    document["observations"] = list(run.observations)
    document["resolutions"] = [
        {"receipt": copy.deepcopy(receipt), "result": copy.deepcopy(result)} for receipt, result in run.choices.values()
    ]
    return document


def started(after: Document) -> Document:
    """The ``data`` of the first event."""
    start = {name: after[name] for name in ("goal", "workspace", "workspace_identity", "review_enabled")}
    start |= {name: after[name] for name in ("initial_budget", "initial_git")}
    if "pinned_source" in after:
        start["pinned_source"] = after["pinned_source"]
    start["created_at"] = after["created_at"]
    delta = _header(after) | {"initialize": start, "state": "active", "remaining_budget": after["remaining_budget"]}
    delta |= {"current_action_set": True, "current_action": after["current_action"]}
    delta["action_updates"] = [{"index": 0, "record": after["actions"][0]}]
    if after.get("uncertainties"):
        delta["uncertainties_append"] = after["uncertainties"]
    return delta


def changed(before: Document, after: Document) -> Document:
    """The ``data`` of a later event."""
    delta = _header(after)
    for name, absent in (("state", None), ("pause_reason", ""), ("summary", "")):
        if before.get(name, absent) != after.get(name, absent):
            delta[name] = after.get(name, absent)
    for name in ("review_pending", "remaining_budget", "final_git_observed"):
        if before[name] != after[name]:
            delta[name] = after[name]
    for name in (
        "current_action", "pinned_source", "source_candidate", "last_source_choice", "last_resume_result",
        "pending_destructive_request", "destructive_grant",
    ):  # fmt: skip
        if before.get(name) != after.get(name):
            delta[f"{name}_set"] = True
            if name in after:
                delta[name] = after[name]
    if before["current_git"] != after["current_git"]:
        delta["current_git"] = {"observation": after["current_git"]}
    updates = []
    for index, record in enumerate(after["actions"]):
        if before["actions"][index : index + 1] != [record]:
            updates.append({"index": index, "record": record})
    answered = []
    for index, answer in enumerate(before.get("answers", [])):
        now = after["answers"][index]
        if now != answer:
            answered.append({"index": index, "active": now["active"], "superseded_by": now["superseded_by"]})
    old, new = before.get("pending_actions", []), after.get("pending_actions", [])
    kept = 1 if old and old == new[: len(old)] else 0
    lists = {"action_updates": updates, "answer_updates": answered}
    for name in LISTS:
        lists[f"{name}_append"] = after.get(name, [])[len(before.get(name, [])) :]
    lists["source_choice_resolutions_append"] = after["resolutions"][len(before["resolutions"]) :]
    lists["pending_append"] = new[kept:]
    delta |= {name: items for name, items in lists.items() if items}
    if len(old) > kept:
        delta["pending_drop"] = len(old) - kept
    return delta


def _header(after: Document) -> Document:
    return {"event_version": 2, "contract_version": 2, "run_id": after["id"], "updated_at": after["updated_at"]}


def line(record: Document) -> bytes:
    """One line of a journal, as Go's encoder has it."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class Published:
    """The journal of one Run, growing as the Run does; ``documents`` are its records."""

    def __init__(self, run: Run, at: str) -> None:
        self.run_id = run.run_id
        self.documents: list[Document] = []
        self._shown = shown(run)
        self._keep("run_started", at, started(self._shown))

    def _keep(self, kind: str, at: str, data: Document) -> None:
        record = {"sequence": len(self.documents) + 1, "type": kind, "at": at, "data": copy.deepcopy(data)}
        self.documents.append(record)

    def event(self, run: Run, kind: str, at: str) -> None:
        """The Run went on by one event."""
        before, self._shown = self._shown, shown(run)
        self._keep(kind, at, changed(before, self._shown))

    @property
    def lines(self) -> list[bytes]:
        return [line(record) for record in self.documents]

    @property
    def journal(self) -> bytes:
        return b"".join(self.lines)

    def write(self, runs: Path, journal: bytes | None = None) -> Path:
        """The directory of this Run below ``runs``, with the files of §6.1 around the journal."""
        directory = runs / self.run_id
        directory.mkdir(mode=0o700, parents=True)
        (directory / "journal.jsonl").write_bytes(self.journal if journal is None else journal)
        (directory / "run.json").write_bytes(b"{}\n")
        (directory / "run.lock").write_bytes(b"slipway run lock\n")
        write_materials(directory)
        return directory


def write_materials(directory: Path) -> None:
    """The materials of §6.1; one that nobody refers to is harmless."""
    materials = directory / "materials"
    materials.mkdir(mode=0o700)
    for text in TEXTS:
        (materials / framed("slipway-material/v1", text).removeprefix("sha256:")).write_bytes(text.encode())


class PublishedModel(Model):
    """A model Run that is published while it is driven."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.published = Published(self.run, self.events[0][2])

    def _keep(self, kind: str, data: dict[str, Any]) -> None:
        super()._keep(kind, data)
        if len(self.events) > 1:
            self.published.event(self.run, kind, self.events[-1][2])


def random_model(random: Random, steps: int) -> PublishedModel:
    """A Run that a random host drove for ``steps`` commands."""
    host = Host(random, PublishedModel)
    for _ in range(steps):
        if host.model.run.state == "ended":
            break
        try:
            host.step()
        except SlipwayError:
            continue
    model = host.model
    assert isinstance(model, PublishedModel)
    return model
