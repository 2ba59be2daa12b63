"""Whether one git observation differs from another (machine-protocol §7.6). Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_COMPARABLE = frozenset({"regular", "symlink", "oversize_sampled", "missing", "non_regular"})


def changed_from(current: dict[str, Any], initial: dict[str, Any]) -> bool:
    """Whether ``current`` shows a state other than ``initial``.

    Incompleteness alone never counts as a change: where content was not seen, only what both saw is compared.
    """
    if current["snapshot_hash"] == initial["snapshot_hash"]:
        return False
    if current["content_observation_complete"] and initial["content_observation_complete"]:
        return True
    if any(current[name] != initial[name] for name in ("head", "index_fingerprint", "status_fingerprint")):
        return True
    before = {path["path"]: path for path in initial["path_observations"]}
    return any(
        _path_changed(path, before[path["path"]]) for path in current["path_observations"] if path["path"] in before
    )


def _path_changed(current: dict[str, Any], initial: dict[str, Any]) -> bool:
    if current["category"] != initial["category"] or current["state"] != initial["state"]:
        return True
    if "content_sha256" in current and "content_sha256" in initial:
        digest = ("content_sha256", "content_fingerprint_kind")
        return any(current[name] != initial[name] for name in digest)
    if "size" in current and "size" in initial and current["size"] != initial["size"]:
        return True
    return (
        current["observation"] in _COMPARABLE
        and initial["observation"] in _COMPARABLE
        and current["observation"] != initial["observation"]
    )
