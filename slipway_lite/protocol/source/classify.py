"""Classification: is the Issue of an envelope a valid Change, and what does it ask for (§8.3 to §8.6)?

A classification is the ``source_candidate`` document of machine-protocol §2.8 without ``candidate_id`` and
``created_at``. ``run`` insists on a valid one, ``resume`` keeps either kind.
"""

from __future__ import annotations

from slipway_lite.errors import UsageError
from slipway_lite.protocol.source import digests
from slipway_lite.protocol.source.body import first_line, manifest_text
from slipway_lite.protocol.source.codes import VALID_CHANGE, InvalidChange
from slipway_lite.protocol.source.manifest import MANIFEST_VERSION, PROFILE, decode_manifest
from slipway_lite.text import is_blank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PARSER_VERSION = 2
SECTION_LIMIT = 262_144  # bytes of one payload
BUNDLE_LIMIT = 4_194_304  # bytes of all payloads

SECTION_MARKER = "<!-- slipway-section:v1 key={key} -->"


def classify(envelope: dict[str, Any]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The classification of a decoded envelope, and its materials as ``(material_sha256, payload)``.

    A valid classification carries its ``snapshot`` in the exact shape of ``pinned_source`` (§2.7), with no
    aliases yet; materials are distinct and in manifest order. An invalid one carries ``classification_error``
    and ``observation_sha256`` and has no materials. Nothing is raised: every envelope that
    :func:`~slipway_lite.protocol.source.envelope.decode_envelope` returns has a classification.
    """
    try:
        snapshot, materials = _snapshot(envelope)
    except InvalidChange as error:
        verdict = {
            "valid": False,
            "classification": "invalid",
            "classification_code": error.code,
            "classification_error": error.message,
        }
        facts = {"observation_sha256": digests.observation(envelope)} | _parent(envelope)
        return verdict | _versions(envelope) | _identity(envelope) | facts, []
    verdict = {"valid": True, "classification": "valid", "classification_code": VALID_CHANGE}
    facts = {name: snapshot[name] for name in ("source_revision", "requirements_revision", "title")}
    facts |= _parent(envelope) | {"snapshot": snapshot}
    return verdict | _versions(envelope) | _identity(envelope) | facts, list(materials.items())


def accepted_snapshot(classification: dict[str, Any], code: str = "invalid_source") -> dict[str, Any]:
    """The snapshot to pin; raises :class:`UsageError` with ``code`` when there is none (§8.2)."""
    if not classification["valid"]:
        reason, message = classification["classification_code"], classification["classification_error"]
        raise UsageError(code, f"The source is no valid Change ({reason}). {message}")
    snapshot: dict[str, Any] = classification["snapshot"]
    return snapshot


def source_candidate(candidate_id: str, classification: dict[str, Any], created_at: str) -> dict[str, Any]:
    """The ``source_candidate`` document (§2.8) under which a classification waits for a choice."""
    return {"candidate_id": candidate_id, **classification, "created_at": created_at}


def _versions(envelope: dict[str, Any]) -> dict[str, Any]:
    return {"source_version": envelope["source_version"], "parser_version": PARSER_VERSION}


def _identity(envelope: dict[str, Any]) -> dict[str, Any]:
    names = ("provider", "host", "repository_id", "issue_id", "issue_number", "canonical_url")
    return {name: envelope[name] for name in names} | {"url_aliases": []}


def _parent(envelope: dict[str, Any]) -> dict[str, Any]:
    return {"parent": envelope["parent"]} if envelope["parent"] is not None else {}


def _snapshot(envelope: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    manifest = decode_manifest(manifest_text(envelope["body"]))
    sections, materials = _sections(manifest, envelope["comments"])
    snapshot = _versions(envelope) | {"manifest_version": MANIFEST_VERSION, "profile": PROFILE} | _identity(envelope)
    snapshot |= {
        "source_revision": "",  # known last, stands here
        "manifest_revision": digests.manifest_revision(manifest),
        "requirements_revision": digests.requirements_revision(PROFILE, sections),
    }
    if manifest["parent_requirements_revision"]:
        snapshot["parent_requirements_revision"] = manifest["parent_requirements_revision"]
    snapshot |= {"title": envelope["title"]} | _parent(envelope) | {"sections": sections}
    snapshot["source_revision"] = digests.source_revision(snapshot)
    return snapshot, materials


def _sections(manifest: dict[str, Any], comments: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The catalog and the materials; the first section that fails a check decides the code (§8.4)."""
    by_node = {comment["node_id"]: comment for comment in comments}
    sections, materials, total = [], {}, 0
    for number, entry in enumerate(manifest["sections"], 1):
        comment = by_node.pop(entry["comment_node_id"], None)
        if comment is None:
            raise InvalidChange("source_section_missing", f"The comment of section {number} is not in the envelope.")
        payload, raw = _payload(entry, comment, number)
        size = len(raw)
        if size > SECTION_LIMIT:
            raise InvalidChange(
                "source_section_too_large", f"The payload of section {number} is above {SECTION_LIMIT} bytes."
            )
        total += size
        if total > BUNDLE_LIMIT:
            raise InvalidChange(
                "source_bundle_too_large",
                f"The payloads up to section {number} are above {BUNDLE_LIMIT} bytes.",
            )
        section = _section(entry, comment, raw)
        sections.append(section)
        materials[section["material_sha256"]] = payload
    if by_node:
        raise InvalidChange("source_section_unexpected", "The envelope holds a comment that no section refers to.")
    return sections, materials


def _payload(entry: dict[str, Any], comment: dict[str, Any], number: int) -> tuple[str, bytes]:
    """All lines after the marker line of a comment that is exactly what its manifest entry promises; text and bytes.

    Its characters need no check here: an envelope with another body than ``md`` is refused as a whole.
    """
    if comment["database_id"] != entry["comment_database_id"]:
        raise InvalidChange("source_section_invalid", f"The comment of section {number} has another database id.")
    if comment["is_minimized"]:
        raise InvalidChange("source_section_minimized", f"The comment of section {number} is minimized.")
    body: str = comment["body"]
    raw = body.encode()
    if digests.comment_body(raw) != entry["body_sha256"]:
        raise InvalidChange("source_section_hash_mismatch", f"The comment of section {number} has another digest.")
    marker, start = first_line(body)
    if marker != SECTION_MARKER.format(key=entry["key"]):
        raise InvalidChange("source_section_invalid", f"The comment of section {number} lacks its section marker.")
    payload = body[start:]
    if is_blank(payload):
        raise InvalidChange("source_section_invalid", f"The payload of section {number} is blank.")
    return payload, raw[len(body[:start].encode()) :]


def _section(entry: dict[str, Any], comment: dict[str, Any], payload: bytes) -> dict[str, Any]:
    key, role, title = entry["key"], entry["role"], entry["title"]
    return {
        "key": key,
        "role": role,
        "title": title,
        "body_sha256": entry["body_sha256"],
        "section_revision": digests.section_revision(key, role, title, payload),
        "material_sha256": digests.material(payload),
        "bytes": len(payload),
        "provenance": {
            "comment_node_id": comment["node_id"],
            "comment_database_id": comment["database_id"],
            "url": comment["url"],
            "author_id": comment["author_id"],
            "observed_updated_at": comment["updated_at"],
        },
    }
