"""The manifest: which comments are the Requirements, in which order and role (machine-protocol §8.4)."""

from __future__ import annotations

from slipway_lite import canon
from slipway_lite.errors import InvalidDocument
from slipway_lite.protocol.source.codes import InvalidChange
from slipway_lite.protocol.source.shape import (
    COMMENT_ID,
    POSITIVE,
    conform,
    exactly,
    is_plain_text,
    require_unique,
)
from slipway_lite.text import is_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slipway_lite.protocol.source.shape import Rule

MANIFEST_VERSION = 2
PROFILE = "change/v2"
MANIFEST_LIMIT = 262_144  # bytes
SECTIONS_MIN, SECTIONS_MAX = 5, 64
TITLE_LIMIT = 512  # bytes
ROLES = ("outcome", "requirements", "acceptance_examples", "constraints", "non_goals")


MANIFEST: dict[str, Rule] = {
    "manifest_version": exactly(MANIFEST_VERSION),
    "profile": exactly(PROFILE),
    "parent_requirements_revision": (str, lambda text: text == "" or canon.is_digest(text), "be a digest"),
    "sections": (
        list,
        lambda sections: SECTIONS_MIN <= len(sections) <= SECTIONS_MAX,
        f"have {SECTIONS_MIN} to {SECTIONS_MAX} items",
    ),
}

SECTION: dict[str, Rule] = {
    "key": (str, is_key, "be a section key"),
    "role": (str, ROLES.__contains__, "be one of the five section roles"),
    "title": (
        str,
        lambda text: is_plain_text(text) and len(text.encode()) <= TITLE_LIMIT,
        f"be one line of text of at most {TITLE_LIMIT} bytes",
    ),
    "comment_node_id": COMMENT_ID,
    "comment_database_id": POSITIVE,
    "body_sha256": (str, canon.is_digest, "be a digest"),
}


def decode_manifest(text: str) -> dict[str, Any]:
    """The manifest with every key of :data:`MANIFEST`; an absent parent revision is ``""``.

    Raises :class:`InvalidChange` ``source_manifest_invalid`` for JSON that is empty, above 262,144 bytes or
    not strict, for any other shape, for a repeated key or comment id, and when one of the five roles has no
    section.
    """
    try:
        return _manifest(canon.decode(text.encode(), MANIFEST_LIMIT))
    except InvalidDocument as error:
        raise InvalidChange(
            "source_manifest_invalid", f"The manifest is refused at {error.path}. {error.message}"
        ) from None


def _manifest(value: object) -> dict[str, Any]:
    manifest = conform(value, MANIFEST, "$")
    sections = [conform(section, SECTION, f"$.sections[{index}]") for index, section in enumerate(manifest["sections"])]
    for name in ("key", "comment_node_id", "comment_database_id"):
        require_unique((section[name] for section in sections), "$.sections", name)
    for role in ROLES:
        if all(section["role"] != role for section in sections):
            raise InvalidDocument(f"No section has the role {role}.", "$.sections")
    return {**manifest, "sections": sections}
