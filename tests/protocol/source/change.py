"""A Change to write tests about: the five sections of appendix A.2, and a way to spoil each part of them."""

from __future__ import annotations

import copy
import json
from typing import Any

from slipway_lite.protocol.source import digests
from slipway_lite.protocol.source.classify import classify
from slipway_lite.protocol.source.envelope import decode_envelope
from slipway_lite.text import normalize_newlines

MARKER = "<!-- slipway-level: change/v2 -->"
ISSUE_URL = "https://github.com/example/ship/issues/7"
TIME = "2026-07-12T09:00:00Z"

SECTIONS = (
    ("outcome", "outcome", "Outcome", "Ship it.\n"),
    ("reqs", "requirements", "Requirements", "Must build.\n"),
    ("examples", "acceptance_examples", "Examples", "Given x.\n"),
    ("limits", "constraints", "Limits", "No network.\n"),
    ("not-now", "non_goals", "Not now", "No UI.\n"),
)


class Change:
    """A source envelope in parts. ``manifest`` and ``envelope`` are written over what the parts give."""

    def __init__(self, sections: tuple[tuple[str, str, str, str], ...] = SECTIONS) -> None:
        self.sections = [
            {
                "key": key,
                "role": role,
                "title": title,
                "comment_node_id": f"IC_{number}",
                "comment_database_id": 100 + number,
                "body": f"<!-- slipway-section:v1 key={key} -->\n{payload}",
            }
            for number, (key, role, title, payload) in enumerate(sections, 1)
        ]
        self.title = "[Change] Ship"
        self.url = ISSUE_URL
        self.number = 7
        self.parent_revision: str | None = None
        self.between, self.after = "\n", ""
        self.manifest: dict[str, Any] = {}
        self.envelope: dict[str, Any] = {}
        self.comments: dict[int, dict[str, Any]] = {}
        self.body: str | None = None

    def copy(self) -> Change:
        return copy.deepcopy(self)

    def amend(self, number: int, payload: str, parent_revision: str) -> Change:
        """The same Change whose section ``number`` (from 1) is asked for in a new comment."""
        amended = self.copy()
        section = amended.sections[number - 1]
        section["body"] = f"<!-- slipway-section:v1 key={section['key']} -->\n{payload}"
        section["comment_node_id"] += "_next"
        section["comment_database_id"] += 1000
        amended.parent_revision = parent_revision
        return amended

    def manifest_document(self) -> dict[str, Any]:
        sections = [
            {name: value for name, value in section.items() if name != "body"}
            | {"body_sha256": digests.comment_body(normalize_newlines(section["body"]))}
            for section in self.sections
        ]
        parent = {} if self.parent_revision is None else {"parent_requirements_revision": self.parent_revision}
        return {
            "manifest_version": 2,
            "profile": "change/v2",
            **parent,
            "sections": sections,
            **self.manifest,
        }

    def issue_body(self) -> str:
        if self.body is not None:
            return self.body
        manifest = json.dumps(self.manifest_document(), ensure_ascii=False)
        return f"{MARKER}\n{self.between}```slipway-manifest\n{manifest}\n```\n{self.after}"

    def document(self) -> dict[str, Any]:
        comments = [
            {
                "node_id": section["comment_node_id"],
                "database_id": section["comment_database_id"],
                "url": f"{self.url}#issuecomment-{section['comment_database_id']}",
                "updated_at": TIME,
                "author_id": "U_1",
                "is_minimized": False,
                "body": section["body"],
                **self.comments.get(number, {}),
            }
            for number, section in enumerate(self.sections, 1)
        ]
        return {
            "source_version": 2,
            "provider": "github",
            "host": "github.com",
            "repository_id": "R_1",
            "issue_id": "I_1",
            "issue_number": self.number,
            "canonical_url": self.url,
            "updated_at": TIME,
            "fetched_at": TIME,
            "title": self.title,
            "body": self.issue_body(),
            "labels": [],
            "comments": comments,
            **self.envelope,
        }

    def raw(self) -> bytes:
        return json.dumps(self.document(), ensure_ascii=False).encode()

    def classify(self) -> dict[str, Any]:
        classification, self.materials = classify(decode_envelope(self.raw()))
        return classification

    def snapshot(self) -> dict[str, Any]:
        classification = self.classify()
        assert classification["valid"], classification["classification_error"]
        snapshot: dict[str, Any] = classification["snapshot"]
        return snapshot
