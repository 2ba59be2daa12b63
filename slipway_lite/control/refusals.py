"""Why the control plane says no: one code each, with its HTTP status.

A refusal changes nothing in a task. Some leave audit events behind (control-plane §4.3, §3.4); those travel
on the refusal, and the service commits them before it raises.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from slipway_lite.errors import EXIT_RUNTIME, EXIT_USAGE, SlipwayError

if TYPE_CHECKING:
    from slipway_lite.control.events import Audit

HTTP_STATUS: MappingProxyType[str, int] = MappingProxyType(
    {
        "INVALID_REQUEST": 400,
        "INVALID_RESULT": 400,
        "UNAUTHORIZED": 401,
        "FORBIDDEN": 403,
        "NOT_FOUND": 404,
        "METHOD_NOT_ALLOWED": 405,
        "APPROVAL_EXPIRED": 409,
        "APPROVAL_INVALID": 409,
        "CAPABILITY_MISMATCH": 409,
        "CAPACITY_EXCEEDED": 409,
        "CHECKLIST_INCOMPLETE": 409,
        "CHECKLIST_REQUIRED": 409,
        "CONTEXT_MISMATCH": 409,
        "DOCS_NOT_FRESH": 409,
        "DOOM_LOOP": 409,
        "DUPLICATE_EVENT": 409,
        "EXTERNAL_REF_REQUIRED": 409,
        "FUTURE_EVENT": 409,
        "IDEMPOTENCY_CONFLICT": 409,
        "JOB_ACTIVE": 409,
        "JOB_NOT_ACTIVE": 409,
        "LOCK_CONFLICT": 409,
        "LOG_ARTIFACT_REQUIRED": 409,
        "POLICY_DENIED": 409,
        "REGRESSION_REQUIRED": 409,
        "REPOSITORY_CONFLICT": 409,
        "RESUME_MISMATCH": 409,
        "STATE_CONFLICT": 409,
        "TYPED_REF_MISMATCH": 409,
        "VERDICT_NOT_ACCEPT": 409,
        "VERDICT_REQUIRED": 409,
        "VERSION_CONFLICT": 409,
        "WORKER_BACKEND_UNAVAILABLE": 409,
        "WORKER_MISMATCH": 409,
        "LEASE_EXPIRED": 410,
        "BODY_TOO_LARGE": 413,
        "INTERNAL_ERROR": 500,
        "STORAGE_UNAVAILABLE": 503,
    }
)
"""Every code of an ErrorResponse and its HTTP status (control-plane §4, §13.15)."""


class Refused(SlipwayError):
    """A request that the control plane refuses, with ``code`` (a key of :data:`HTTP_STATUS`) and plain words.

    ``details`` is the ``details`` object of ErrorResponse; it never repeats free text of the request.
    ``audit`` are the events to keep although nothing else happens.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        audit: tuple[Audit, ...] = (),
    ) -> None:
        super().__init__(code, message, details=details)
        self.status = HTTP_STATUS[code]
        self.exit_code = EXIT_USAGE if self.status in (400, 413) else EXIT_RUNTIME
        self.audit = audit

    def document(self) -> dict[str, Any]:
        """The ErrorResponse (control-plane §2.5)."""
        body: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.details:
            body["details"] = self.details
        return body


def not_found(what: str, identifier: str) -> Refused:
    """404 in the words of control-plane §4.2."""
    return Refused("NOT_FOUND", f"{what} not found: {identifier}")
