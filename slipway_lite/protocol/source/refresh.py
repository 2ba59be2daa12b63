"""What a refreshed source means for a Run, and what a choice makes of a candidate (§8.7, §8.8).

Both functions return a *decision*: a plain dict whose ``outcome`` is the contract's own token. An outcome in
:data:`REFUSALS` is an error code and leaves the Run as it was; any other outcome is the observation to record
and comes with the ``operation`` of the resume receipt.
"""

from __future__ import annotations

from slipway_lite.protocol.source import digests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

ALIAS_LIMIT = 64

REFUSALS = {
    "source_issue_mismatch": "The refreshed source is another issue than the one this Run is bound to.",
    "source_alias_limit": f"The issue has been known under more than {ALIAS_LIMIT} URLs.",
    "source_history_in_place_edit": "A comment that this Run accepted was edited, or its ids were rebound.",
    "source_history_fork": "The new manifest does not continue the requirements revision that is pinned.",
    "invalid_source_candidate_choice": "The candidate is no valid Change: it can be declined, not adopted.",
}

# A section is the same comment content when all of these are equal.
_CONTENT = ("key", "role", "title", "body_sha256", "section_revision", "material_sha256", "bytes")

# Where an issue stands on GitHub: a transfer or a rename changes it, and no requirement with it.
_LOCATION = ("repository_id", "issue_number", "canonical_url")


def refresh(
    pinned: dict[str, Any], accepted: Iterable[dict[str, Any]], classification: dict[str, Any]
) -> dict[str, Any]:
    """The decision about a freshly classified source, for a Run without a pending candidate.

    ``accepted`` are the sections of every source this Run ever pinned (:func:`remember`). The outcomes, in
    the order in which they are tried:

    ============================= ======================== =================================================
    outcome                       operation                further keys
    ============================= ======================== =================================================
    source_issue_mismatch         refused                  pinned_issue_id, refreshed_issue_id
    source_alias_limit            refused
    source_candidate_invalid      source_candidate_created classification, its aliases merged
    source_history_in_place_edit  refused
    source_history_fork           refused
    source_amendment_candidate    source_candidate_created classification, its aliases merged
    source_refreshed_non_material source_refreshed         pinned_source (title or repository id changed)
    source_projection_drift       source_refreshed         pinned_source (number, URL or parent changed)
    source_refreshed_unchanged    source_refreshed         pinned_source (provenance may differ)
    ============================= ======================== =================================================
    """
    if classification["issue_id"] != pinned["issue_id"]:
        return {
            "outcome": "source_issue_mismatch",
            "pinned_issue_id": pinned["issue_id"],
            "refreshed_issue_id": classification["issue_id"],
        }
    aliases = merged_aliases(pinned, classification["canonical_url"])
    if len(aliases) > ALIAS_LIMIT:
        return {"outcome": "source_alias_limit"}
    classification = {**classification, "url_aliases": aliases}
    if not classification["valid"]:
        return _candidate("source_candidate_invalid", classification)
    snapshot = {**classification["snapshot"], "url_aliases": aliases}
    classification["snapshot"] = snapshot
    if edited_in_place(snapshot["sections"], [*accepted, *pinned["sections"]]):
        return {"outcome": "source_history_in_place_edit"}
    if snapshot["manifest_revision"] != pinned["manifest_revision"]:
        if snapshot.get("parent_requirements_revision") != pinned["requirements_revision"]:
            return {"outcome": "source_history_fork"}
        return _candidate("source_amendment_candidate", classification)
    return {"outcome": _drift(pinned, snapshot), "operation": "source_refreshed", "pinned_source": snapshot}


def choose(pinned: dict[str, Any], candidate: dict[str, Any], choice: str) -> dict[str, Any]:
    """The decision about the pending candidate: ``adopt`` it, or keep what is ``pinned``.

    ``outcome`` and ``operation`` are ``source_amended`` or ``source_pinned``, ``pinned_source`` is the source
    from now on, and ``superseded_by`` is there when adopting changes the requirements: active answers that
    were given under the old ones end with it. Adopting an invalid candidate is
    ``invalid_source_candidate_choice``.
    """
    if choice not in ("pinned", "adopt"):
        raise ValueError("a source choice is pinned or adopt")
    if choice == "pinned":
        kept = _kept(pinned, candidate)
        return {"outcome": "source_pinned", "operation": "source_pinned", "pinned_source": kept}
    if not candidate["valid"]:
        return {"outcome": "invalid_source_candidate_choice"}
    snapshot = candidate["snapshot"]
    decision = {"outcome": "source_amended", "operation": "source_amended", "pinned_source": snapshot}
    if snapshot["requirements_revision"] != pinned["requirements_revision"]:
        decision["superseded_by"] = "requirements:" + snapshot["requirements_revision"]
    return decision


def remember(accepted: list[dict[str, Any]], pinned: dict[str, Any]) -> list[dict[str, Any]]:
    """``accepted`` with the sections of a newly pinned source whose comments it does not hold yet."""
    known = {section["provenance"]["comment_node_id"] for section in accepted}
    return accepted + [
        section for section in pinned["sections"] if section["provenance"]["comment_node_id"] not in known
    ]


def merged_aliases(pinned: dict[str, Any], canonical_url: str) -> list[str]:
    """The other URLs the issue was known under, oldest first, once it is found at ``canonical_url``."""
    known = dict.fromkeys([*pinned["url_aliases"], pinned["canonical_url"]])
    known.pop(canonical_url, None)
    return list(known)


def edited_in_place(sections: Iterable[dict[str, Any]], accepted: Iterable[dict[str, Any]]) -> bool:
    """Whether a section shows an accepted comment with other content or other ids.

    A comment is accepted once and for all: an amendment writes a new comment.
    """
    by_node: dict[str, dict[str, Any]] = {}
    node_of: dict[int, str] = {}
    for section in accepted:
        node = section["provenance"]["comment_node_id"]
        by_node[node] = section
        node_of[section["provenance"]["comment_database_id"]] = node
    for section in sections:
        provenance = section["provenance"]
        node, database_id = provenance["comment_node_id"], provenance["comment_database_id"]
        if node_of.get(database_id, node) != node:
            return True
        earlier = by_node.get(node)
        if earlier is not None and (
            earlier["provenance"]["comment_database_id"] != database_id
            or any(earlier[name] != section[name] for name in _CONTENT)
        ):
            return True
    return False


def _candidate(outcome: str, classification: dict[str, Any]) -> dict[str, Any]:
    return {"outcome": outcome, "operation": "source_candidate_created", "classification": classification}


def _drift(pinned: dict[str, Any], snapshot: dict[str, Any]) -> str:
    if snapshot["source_revision"] != pinned["source_revision"]:
        return "source_refreshed_non_material"
    if any(snapshot.get(name) != pinned.get(name) for name in (*_LOCATION, "parent")):
        return "source_projection_drift"
    return "source_refreshed_unchanged"


def _kept(pinned: dict[str, Any], candidate: dict[str, Any]) -> dict[str, Any]:
    """The pinned sections, title and manifest at the place where the candidate found the issue."""
    kept = pinned | {name: candidate[name] for name in (*_LOCATION, "url_aliases")}
    sections = kept.pop("sections")
    kept.pop("parent", None)
    if "parent" in candidate:
        kept["parent"] = candidate["parent"]
    kept["sections"] = sections  # stands after the parent
    kept["source_revision"] = digests.source_revision(kept)
    return kept
