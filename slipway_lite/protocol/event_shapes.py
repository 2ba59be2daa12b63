"""What the data of each event looks like, so that no event of another shape is folded (machine-protocol §6.2).

The chain proves that an event is what was appended, not that this program appended it: whoever writes the file can
append an event of any shape and chain it correctly. Replay refuses such a one; nothing behind it has to look again.
"""

from __future__ import annotations

from slipway_lite.canon import INT64_MAX, INT64_MIN, has_half_a_pair
from slipway_lite.protocol.outcome import OPTIONAL, OUTCOME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# A shape is str, int, bool, [shape of the items], (shape,) for a value that may be null, or {key: shape}; a key that
# ends with ? may be absent, and there are no others.
_WORKSPACE = {"version": int, "id": str, "worktree_root": str, "git_dir": str, "git_common_dir": str}
_PATH = {
    "path": str, "category": str, "state": str, "observation": str, "size?": int, "modified_unix_nano?": int,
    "content_sha256?": str, "content_fingerprint_kind?": str,
}  # fmt: skip
_OBSERVATION = {
    "version": int, "head": str, "index_fingerprint": str, "status_fingerprint": str, "snapshot_hash": str,
    "path_count": int, "path_fingerprint": str, "details_truncated": bool, "content_observation_complete": bool,
    "content_bytes_hashed": int, "content_byte_limit": int, "content_byte_limit_exceeded": bool,
    "content_deadline_exceeded": bool, "dirty_files": [str], "path_observations": [_PATH],
}  # fmt: skip
_LOOK = {"observation?": _OBSERVATION, "unchanged?": bool, "failure?": str}
_PROVENANCE = {
    "comment_node_id": str, "comment_database_id": int, "url": str, "author_id": str, "observed_updated_at": str,
}  # fmt: skip
_SECTION = {
    "key": str, "role": str, "title": str, "body_sha256": str, "section_revision": str, "material_sha256": str,
    "bytes": int, "provenance": _PROVENANCE,
}  # fmt: skip
_LOCATED = {
    "source_version": int, "parser_version": int, "provider": str, "host": str, "repository_id": str, "issue_id": str,
    "issue_number": int, "canonical_url": str, "url_aliases": [str],
    "parent?": {"repository_id": str, "issue_id": str, "canonical_url": str},
}  # fmt: skip
_SOURCE = _LOCATED | {
    "manifest_version": int, "profile": str, "source_revision": str, "manifest_revision": str,
    "requirements_revision": str, "parent_requirements_revision?": str, "title": str, "sections": [_SECTION],
}  # fmt: skip
_CANDIDATE = _LOCATED | {
    "candidate_id": str, "valid": bool, "classification": str, "classification_code": str, "created_at": str,
    "classification_error?": str, "observation_sha256?": str, "source_revision?": str, "requirements_revision?": str,
    "title?": str, "snapshot?": _SOURCE,
}  # fmt: skip
_NEXT = {"next_action_id?": str}
_RESUMED = _NEXT | {"budget": int}

EVENT_SHAPES: dict[str, dict[str, Any]] = {
    "run_started": {
        "event_version": int, "run_id": str, "goal": str, "workspace_identity": _WORKSPACE, "review_enabled": bool,
        "initial_budget": int, "initial_git": _OBSERVATION, "next_action_id": str, "pinned_source?": _SOURCE,
    },
    "outcome_submitted": _NEXT | {
        "action_id": str, "outcome": OUTCOME, "outcome_payload_sha256": str, "git?": _LOOK,
    },
    "answer_recorded": _NEXT | {
        "action_id": str, "text": str, "confirm_destructive": bool, "payload_sha256": str, "scope_sha256?": str,
    },
    "action_skipped": _NEXT | {"action_id": str, "git?": _LOOK},
    "run_stopped": {},
    "run_resumed": _RESUMED,
    "source_refreshed": _RESUMED | {"outcome": str, "pinned_source": _SOURCE},
    "source_refresh_skipped": _RESUMED | {"outcome": str},
    "source_candidate_created": {"outcome": str, "candidate": _CANDIDATE},
    "source_amended": _RESUMED | {"choice": str},
    "source_pinned": _RESUMED | {"choice": str},
}  # fmt: skip
"""The data of each event, by its type."""


def check_event(kind: str, data: Any, raw: str) -> None:
    """Refuse what no event of ``kind`` is; ``raw`` is ``data`` as JSON. Raises ValueError, KeyError."""
    if not fits(data, EVENT_SHAPES[kind]):
        raise ValueError("the event has another shape")
    if has_half_a_pair(raw):
        raise ValueError("half a character is escaped, which the one writer never does")


def fits(value: Any, shape: Any) -> bool:
    """Whether ``value``, decoded JSON, has ``shape``."""
    if isinstance(shape, dict):
        return type(value) is dict and _fits_object(value, shape)
    if isinstance(shape, list):
        return type(value) is list and all(fits(item, shape[0]) for item in value)
    if isinstance(shape, tuple):
        return value is None or fits(value, shape[0])
    return type(value) is shape and (shape is not int or INT64_MIN <= value <= INT64_MAX)


def _fits_object(value: dict[str, Any], shape: dict[str, Any]) -> bool:
    known = 0
    for key, inner, optional in _keys(shape):
        if key in value:
            known += 1
            item = value[key]
            # Every command replays a Run, and most members are texts or null: those cost no call.
            if (item is None and type(inner) is tuple) or (type(item) is inner and inner is not int):
                continue
            if not fits(item, inner):
                return False
        elif not optional:
            return False
    return known == len(value)


_known: dict[int, list[tuple[str, Any, bool]]] = {}


def _keys(shape: dict[str, Any]) -> list[tuple[str, Any, bool]]:
    """``(key, shape, optional)`` of an object, worked out once."""
    keys = _known.get(id(shape))
    if keys is None:
        keys = [(key.removesuffix("?"), inner, key.endswith("?") or key in OPTIONAL) for key, inner in shape.items()]
        _known[id(shape)] = keys
    return keys
