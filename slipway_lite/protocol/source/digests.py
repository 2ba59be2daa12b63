"""Every digest of a source (machine-protocol §8.5): framed, and told apart by the domain in the first field.

URLs, timestamps, labels, author ids, the issue number and the parent issue are in none of them. Texts of megabytes
may come as their UTF-8 bytes, so that they are encoded once for all their digests.
"""

from __future__ import annotations

from slipway_lite.canon import framed
from slipway_lite.text import normalize_newlines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def comment_body(body: str | bytes) -> str:
    """``body_sha256`` of a whole comment body, marker line included, line endings normalised."""
    return framed("slipway-comment-body/v1", body)


def material(payload: str | bytes) -> str:
    """``material_sha256``: equal payloads share one material, whatever section they belong to."""
    return framed("slipway-material/v1", payload)


def section_revision(key: str, role: str, title: str, payload: str | bytes) -> str:
    return framed("slipway-section/v2", key, role, title, payload)


def manifest_revision(manifest: Mapping[str, Any]) -> str:
    """Of a decoded manifest: the list of comments and their bodies, with their ids and their order."""
    fields = [
        str(manifest["manifest_version"]),
        manifest["profile"],
        manifest["parent_requirements_revision"],
    ]
    for section in manifest["sections"]:
        fields += (
            section["key"],
            section["role"],
            section["title"],
            section["comment_node_id"],
            str(section["comment_database_id"]),
            section["body_sha256"],
        )
    return framed("slipway-manifest/v2", *fields)


def requirements_revision(profile: str, sections: list[dict[str, Any]]) -> str:
    """Of sections that carry ``section_revision``: what is asked for, wherever it is written."""
    fields = [profile]
    for section in sections:
        fields += (section["key"], section["role"], section["title"], section["section_revision"])
    return framed("slipway-requirements/v2", *fields)


def source_revision(source: Mapping[str, Any]) -> str:
    """Of a pinned source: its host, repository, issue, title and manifest revision."""
    return framed(
        "slipway-source/v2",
        str(source["source_version"]),
        source["host"],
        source["repository_id"],
        source["issue_id"],
        normalize_newlines(source["title"]),
        source["manifest_revision"],
    )


def observation(envelope: Mapping[str, Any]) -> str:
    """``observation_sha256`` of a decoded envelope that is no valid Change; equal heads have equal ones.

    It is provenance: no requirement, and no proof that the host fetched anything.
    """
    fields = [
        envelope["host"],
        envelope["repository_id"],
        envelope["issue_id"],
        normalize_newlines(envelope["title"]),
        envelope["body"],
    ]
    for comment in sorted(envelope["comments"], key=lambda comment: comment["node_id"]):
        fields += (comment["node_id"], comment_body(comment["body"]))
    return framed("slipway-source-observation/v2", *fields)
