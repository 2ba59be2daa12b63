"""The closed set of classification codes (machine-protocol §8.6)."""

from __future__ import annotations

VALID_CHANGE = "valid_change"

FAILURE_CODES = (
    "objective_marker",
    "unsupported_marker",
    "change_marker_required",
    "source_manifest_invalid",
    "source_section_missing",
    "source_section_unexpected",
    "source_section_minimized",
    "source_section_hash_mismatch",
    "source_section_invalid",
    "source_section_too_large",
    "source_bundle_too_large",
    "invalid_change_body",  # published as a fallback; no rule produces it
)


class InvalidChange(Exception):
    """A well-formed envelope that is no valid Change: one of :data:`FAILURE_CODES` and a sentence.

    It never leaves this package: :func:`~slipway_lite.protocol.source.classify.classify` turns it into an
    invalid classification. The sentence names places, never content, so that it is ``plain+`` and far below
    1,024 bytes.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
