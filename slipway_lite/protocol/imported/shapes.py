"""The shape of an imported event, as tables (machine-protocol §6.2, §6.3; the documents in it §2, §7.6, §8). Pure.

What a shape is, :mod:`slipway_lite.protocol.imported.conform` says.
"""

from __future__ import annotations

import re
from datetime import date

from slipway_lite.canon import is_digest
from slipway_lite.protocol.inputs import is_run_id
from slipway_lite.protocol.outcome import typed_outcome
from slipway_lite.protocol.rules import ACTIVITY_KINDS, KINDS, SUGGESTED_KINDS, TARGET_KINDS
from slipway_lite.protocol.source.manifest import ROLES
from slipway_lite.redact import redact
from slipway_lite.text import is_blank, is_key, is_md, is_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TIMESTAMP = re.compile(
    r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3])(:[0-5][0-9]){2}(\.[0-9]{1,9})?Z"
)
_ZERO_TIME = "0001-01-01T00:00:00Z"


def is_timestamp(text: str) -> bool:
    """``ts`` as the published command line writes it: RFC 3339, ``Z``, and not the zero time (§0.2, §6.2)."""
    if _TIMESTAMP.fullmatch(text) is None or text == _ZERO_TIME:
        return False
    try:
        date(int(text[:4]), int(text[5:7]), int(text[8:10]))
    except ValueError:
        return False
    return True


def _plain(text: str) -> bool:
    return not is_blank(text) and is_plain(text)


def _md(text: str) -> bool:
    return not is_blank(text) and is_md(text)


def _id(text: str) -> bool:
    """An id of the published command line (a UUID): nothing that our public views would have to hide."""
    return is_run_id(text) and redact(text) == text


def _superseding(text: str) -> bool:
    """An Action id, or the requirements that replaced those of the answer (§2.3)."""
    return _id(text) or (text.startswith("requirements:") and is_digest(text.removeprefix("requirements:")))


def _head(text: str) -> bool:
    """A commit, or ``unborn`` (§7.1)."""
    return text == "unborn" or (len(text) in (40, 64) and not text.strip("0123456789abcdef"))


_TRUE = frozenset({True})
STATE = frozenset({"active", "paused", "stopped", "ended"})
PAUSE_REASON = frozenset(
    {"", "decision_required", "destructive_confirmation_required", "environment_unavailable", "budget_exhausted"}
)
OBSERVATION = frozenset(
    {"regular", "symlink", "oversize_sampled", "content_unobserved", "missing", "non_regular", "unreadable"}
)
FINGERPRINT_KIND = frozenset({"full_sha256", "symlink_target_sha256", "oversize_samples_v1"})

WORKSPACE_IDENTITY = {"version": 1, "worktree_root": str, "git_dir": str, "git_common_dir": str, "id": is_digest}
GIT = {
    "version": 1,
    "head": _head,
    "index_fingerprint": is_digest,
    "status_fingerprint": is_digest,
    "snapshot_hash": is_digest,
    "path_count": int,
    "path_fingerprint": is_digest,
    "details_truncated": bool,
    "content_observation_complete": bool,
    "content_bytes_hashed": int,
    "content_byte_limit": int,
    "content_byte_limit_exceeded": bool,
    "content_deadline_exceeded": bool,
    "dirty_files": [str],
    "path_observations": [
        {
            "path": str,
            "category": str,
            "state": str,
            "observation": OBSERVATION,
            "size?": int,
            "modified_unix_nano?": int,
            "content_sha256?": is_digest,
            "content_fingerprint_kind?": FINGERPRINT_KIND,
        }
    ],
}
PARENT = {"repository_id": str, "issue_id": str, "canonical_url": str}
PINNED_SOURCE = {
    "source_version": 2,
    "parser_version": 2,
    "manifest_version": 2,
    "profile": frozenset({"change/v2"}),
    "provider": frozenset({"github"}),
    "host": frozenset({"github.com"}),
    "repository_id": str,
    "issue_id": str,
    "issue_number": int,
    "canonical_url": str,
    "url_aliases": [str],
    "source_revision": is_digest,
    "manifest_revision": is_digest,
    "requirements_revision": is_digest,
    "parent_requirements_revision?": is_digest,
    "title": _plain,
    "parent?": PARENT,
    "sections": [
        {
            "key": is_key,
            "role": frozenset(ROLES),
            "title": _plain,
            "body_sha256": is_digest,
            "section_revision": is_digest,
            "material_sha256": is_digest,
            "bytes": int,
            "provenance": {
                "comment_node_id": str,
                "comment_database_id": int,
                "url": str,
                "author_id": str,
                "observed_updated_at": str,
            },
        }
    ],
}
SOURCE_CANDIDATE = {
    "candidate_id": _id,
    "valid": bool,
    "classification": frozenset({"valid", "invalid"}),
    "classification_code": str,
    "classification_error?": _plain,
    "source_version": 2,
    "parser_version": 2,
    "provider": frozenset({"github"}),
    "host": frozenset({"github.com"}),
    "repository_id": str,
    "issue_id": str,
    "issue_number": int,
    "canonical_url": str,
    "url_aliases": [str],
    "observation_sha256?": is_digest,
    "source_revision?": is_digest,
    "requirements_revision?": is_digest,
    "title?": _plain,
    "parent?": PARENT,
    "snapshot?": PINNED_SOURCE,
    "created_at": is_timestamp,
}
_TARGET = {"kind": frozenset(TARGET_KINDS), "value": _plain}
DESTRUCTIVE_REQUEST = {"request_id": str, "targets": [_TARGET], "impact": _md, "scope_sha256": is_digest}
DESTRUCTIVE_GRANT = {
    "request_id": str,
    "originating_action_id": _id,
    "scope_version": 1,
    "scope_sha256": is_digest,
    "targets": [_TARGET],
    "impact": _md,
    "confirmed_at": is_timestamp,
}
_CATALOG = {
    "key": is_key, "role": frozenset(ROLES), "title": str, "section_revision": is_digest, "material_sha256": is_digest,
    "bytes": int,
}  # fmt: skip
ACTION = {
    "contract_version": 2,
    "run_id": _id,
    "action_id": _id,
    "kind": frozenset(KINDS),
    "goal": _md,
    "brief": _md,
    "context": _md,
    "source?": {
        "kind": frozenset({"change_issue"}),
        "canonical_url": str,
        "issue_id": str,
        "source_revision": is_digest,
        "manifest_revision": is_digest,
        "requirements_revision": is_digest,
    },
    "requirements?": {
        "requirements_revision": is_digest,
        "sections": [_CATALOG],
        "required_for_action": [str],
        "reader": {
            "operation": str,
            "base_argv": [str],
            "input": {"name": str, "type": str, "flag": str, "required": bool, "choices": [str]},
        },
    },
    "destructive_authorization?": DESTRUCTIVE_GRANT,
    "remaining_budget": int,
}
_FINDING = {"location": str, "summary": str, "detail": str}
RECORD = {
    "action": ACTION,
    "outcome?": typed_outcome,
    "outcome_payload_sha256?": is_digest,
    "review_projection?": {"result": frozenset({"not_run"}), "findings": [_FINDING], "uncertainties": [str]},
    "voided?": _TRUE,
    "skipped?": _TRUE,
}
ANSWER = {
    "action_id": _id,
    "text": str,
    "confirm_destructive": bool,
    "scope_sha256?": is_digest,
    "payload_sha256": is_digest,
    "source_revision?": is_digest,
    "requirements_revision?": is_digest,
    "active": bool,
    "superseded_by?": _superseding,
    "at": is_timestamp,
}
SOURCE_CHOICE = {
    "candidate_id": _id,
    "choice": frozenset({"pinned", "adopt"}),
    "resulting_action_id": _id,
    "at": is_timestamp,
}
RESUME_RESULT = {"operation": str, "budget_applied": bool, "candidate_id?": _id}

DELTA: dict[str, Any] = {
    "event_version": 2,
    "contract_version": 2,
    "run_id": _id,
    "updated_at": is_timestamp,
    "initialize?": {
        "goal": _md,
        "workspace": str,
        "workspace_identity": WORKSPACE_IDENTITY,
        "review_enabled": bool,
        "initial_budget": int,
        "initial_git": GIT,
        "pinned_source?": PINNED_SOURCE,
        "created_at": is_timestamp,
    },
    "state?": STATE,
    "pause_reason?": PAUSE_REASON,
    "review_pending?": bool,
    "remaining_budget?": int,
    "final_git_observed?": bool,
    "summary?": str,
    "current_action_set?": _TRUE,
    "current_action?": ACTION,
    "pinned_source_set?": _TRUE,
    "pinned_source?": PINNED_SOURCE,
    "source_candidate_set?": _TRUE,
    "source_candidate?": SOURCE_CANDIDATE,
    "last_source_choice_set?": _TRUE,
    "last_source_choice?": SOURCE_CHOICE,
    "last_resume_result_set?": _TRUE,
    "last_resume_result?": RESUME_RESULT,
    "pending_destructive_request_set?": _TRUE,
    "pending_destructive_request?": DESTRUCTIVE_REQUEST,
    "destructive_grant_set?": _TRUE,
    "destructive_grant?": DESTRUCTIVE_GRANT,
    "current_git?": {"observation": GIT},
    "action_updates?": [{"index": int, "record": RECORD}],
    "answer_updates?": [{"index": int, "active": bool, "superseded_by?": _superseding}],
    "answers_append?": [ANSWER],
    "pending_drop?": int,
    "pending_append?": [{"kind": frozenset(SUGGESTED_KINDS), "brief": _md}],
    "observations_append?": [str],
    "known_issues_append?": [str],
    "uncertainties_append?": [str],
    "activities_append?": [
        {"kind": frozenset(ACTIVITY_KINDS), "command": str, "exit_code": int, "summary": str}
    ],
    "source_choice_resolutions_append?": [{"receipt": SOURCE_CHOICE, "result": RESUME_RESULT}],
}  # fmt: skip
"""Every field of §6.3."""

RECORD_LINE = {"sequence": int, "type": str, "at": is_timestamp, "data": dict}
"""A line of a journal (§6.2); ``data`` has a shape of its own."""
