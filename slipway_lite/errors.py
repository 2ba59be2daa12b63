"""Every error that slipway-lite raises on purpose.

::

    SlipwayError                 code, message, details, next; exit status 3
    ├── UsageError               the invocation or a supplied document is wrong; exit status 2
    └── InvalidDocument          bytes that the strict decoder refuses; exit status 2

Callers branch on ``code`` and never on ``message``. A message says what the state is, why the request was
refused and what works now; it never repeats input values, goals or secrets.
Exit status 1 is not in this tree: it is left to defects, which produce no JSON.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EXIT_USAGE = 2
EXIT_RUNTIME = 3


class SlipwayError(Exception):
    """A well-formed request whose operation was refused or failed.

    ``code`` is stable: lower case (``^[a-z][a-z0-9_]*$``), but for the control plane's own, which seed 004 published
    in upper case (``NOT_FOUND``). ``exit_code`` is the process status that goes with it,
    ``details`` is one of the shapes of machine-protocol §1.5 or ``None``, ``next`` is a Next object
    (machine-protocol §5) or ``None`` where nothing can be said.
    """

    exit_code = EXIT_RUNTIME

    def __init__(
        self,
        code: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        next: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details
        self.next = next


class UsageError(SlipwayError):
    """The invocation, or a document handed in with it, is itself wrong."""

    exit_code = EXIT_USAGE


class InvalidDocument(UsageError):
    """Bytes that are not exactly one strict JSON value of the expected shape.

    ``path`` is a JSON path such as ``$.pause.reason``, or ``$`` for the whole document.
    """

    def __init__(self, message: str, path: str = "$", code: str = "invalid_document") -> None:
        super().__init__(code, message)
        self.path = path
