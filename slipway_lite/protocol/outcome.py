"""Outcome input, stage 1: bytes to a document of the exact shape (machine-protocol §3.1, §3.2).

Reached before any Run is opened. Everything refused here is ``invalid_outcome`` with exit status 2, except another
``contract_version``, which is ``contract_version_mismatch`` with exit status 3.
"""

from __future__ import annotations

from slipway_lite.canon import NotAnInteger, decode
from slipway_lite.errors import InvalidDocument, SlipwayError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CONTRACT_VERSION = 2
OUTCOME_LIMIT = 1_048_576

# A shape is str, int, [shape of the items], {key: shape}, or (shape,) for a value that may be null.
_SUGGESTION = {"kind": str, "brief": str}
_TARGET = {"kind": str, "value": str}
_REQUEST = {"request_id": str, "targets": [_TARGET], "impact": str, "scope_sha256": str}
_PAUSE = {
    "reason": str,
    "question": str,
    "destructive_request": (_REQUEST,),
    "supersedes_answer_action_id": str,
}
_ACTIVITY = {"kind": str, "command": str, "exit_code": int, "summary": str}
_IMPLEMENTATION = {
    "result": str,
    "files_changed": [str],
    "activities": [_ACTIVITY],
    "uncertainties": [str],
    "attempts": int,
}
_FINDING = {"location": str, "summary": str, "detail": str}
_REVIEW = {"result": str, "findings": [_FINDING], "uncertainties": [str]}
OUTCOME: dict[str, Any] = {
    "contract_version": int,
    "action_id": str,
    "action_kind": str,
    "status": str,
    "summary": str,
    "observations": [str],
    "known_issues": [str],
    "suggested_actions": [_SUGGESTION],
    "pause": (_PAUSE,),
    "implementation": (_IMPLEMENTATION,),
    "review": (_REVIEW,),
}
"""The fields of an Outcome in wire order; all are required but those in :data:`OPTIONAL`."""

OPTIONAL = frozenset({"supersedes_answer_action_id"})


def decode_outcome(raw: bytes) -> dict[str, Any]:
    """The Outcome in ``raw``, in wire key order.

    Raises ``invalid_outcome`` (exit 2) or ``contract_version_mismatch`` (exit 3).
    """
    try:
        return typed_outcome(decode(raw, OUTCOME_LIMIT))
    except InvalidDocument as error:
        raise InvalidDocument(f"The Outcome was not read: {error.message}", error.path, "invalid_outcome") from error


def typed_outcome(document: Any) -> dict[str, Any]:
    """A decoded Outcome in wire key order. Raises :class:`InvalidDocument`, or ``contract_version_mismatch``."""
    _walk(document, OUTCOME, "$")
    version = document.get("contract_version", 0)
    if version != CONTRACT_VERSION:
        raise SlipwayError(
            "contract_version_mismatch",
            f"The Outcome has contract version {version}; this CLI speaks version {CONTRACT_VERSION}. "
            "Refresh the host adapter, then submit again.",
        )
    return _complete(document, OUTCOME, "$")  # type: ignore[no-any-return]  # an object shape gives an object


def _walk(value: Any, shape: Any, path: str) -> None:
    """Unknown keys, nulls and types, wherever they stand."""
    if isinstance(shape, tuple):
        if value is not None:
            _walk(value, shape[0], path)
    elif isinstance(shape, dict):
        if not isinstance(value, dict):
            raise InvalidDocument(f"{path} must be an object.", path)
        for key, item in value.items():
            if key not in shape:
                raise InvalidDocument(f"{path} has a field that the contract does not know.", path)
            _walk(item, shape[key], f"{path}.{key}")
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise InvalidDocument(f"{path} must be an array.", path)
        for index, item in enumerate(value):
            _walk(item, shape[0], f"{path}[{index}]")
    elif shape is int:
        if type(value) is not int:
            raise InvalidDocument(f"{path} must be a plain integer of 64 bits.", path)
    elif not isinstance(value, str) or isinstance(value, NotAnInteger):
        raise InvalidDocument(f"{path} must be a string.", path)


def _complete(value: Any, shape: Any, path: str) -> Any:
    """``value`` with every object in wire key order, once every required key is there."""
    if isinstance(shape, tuple):
        return None if value is None else _complete(value, shape[0], path)
    if isinstance(shape, list):
        if shape[0] is str:
            return value
        return [_complete(item, shape[0], f"{path}[{index}]") for index, item in enumerate(value)]
    if not isinstance(shape, dict):
        return value
    document = {}
    for key, inner in shape.items():
        if key in value:
            document[key] = _complete(value[key], inner, f"{path}.{key}")
        elif key not in OPTIONAL:
            raise InvalidDocument(f"{path}.{key} is missing.", f"{path}.{key}")
    return document
