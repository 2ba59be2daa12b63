"""Gate analysis from documents to a document: check what comes in, then hand it to the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipway_lite import clock
from slipway_lite.canon import NotAnInteger, decode
from slipway_lite.control.instants import from_micros, parse
from slipway_lite.errors import InvalidDocument
from slipway_lite.observe import messages
from slipway_lite.observe.gates import DEFAULT, analyze

if TYPE_CHECKING:
    from collections.abc import Mapping

    Document = Mapping[str, Any]


DOCUMENT_LIMIT = 1 << 30


def read_document(raw: bytes, code: str) -> Any:
    """The JSON value in ``raw``, its fractions as floats. Raises :class:`InvalidDocument` with ``code``."""
    try:
        return _with_floats(decode(raw, DOCUMENT_LIMIT))
    except InvalidDocument as error:
        raise InvalidDocument(error.message, error.path, code) from None


def _with_floats(value: Any) -> Any:
    if isinstance(value, dict):
        for key, item in value.items():
            value[key] = _with_floats(item)
    elif isinstance(value, list):
        value[:] = map(_with_floats, value)
    return float(value) if isinstance(value, NotAnInteger) else value


def analyze_gates(
    bundle: Document,
    thresholds: Document = DEFAULT,
    previous_report: Document | None = None,
    generated_at: str | None = None,
) -> dict[str, Any]:
    """The GateEffectivenessReport of a self-improvement/v1 ``bundle``, with its PeriodicNudges (control-plane §6.5).

    ``thresholds`` is a self-improvement-thresholds/v1 document, ``previous_report`` the report of the period before,
    ``generated_at`` an RFC 3339 time (now, when it is not given). Reads nothing and changes nothing.

    Raises :class:`InvalidDocument` with ``invalid_bundle``, ``invalid_thresholds``, ``invalid_previous_report`` or
    ``invalid_generated_at``. A bundle that is one page of several gives the analysis of that page: export with
    ``--all`` first.
    """
    messages.check(messages.ImprovementObservationBundle, bundle, "invalid_bundle")
    messages.check(messages.Thresholds, thresholds, "invalid_thresholds")
    if previous_report is not None:
        messages.check(messages.GateEffectivenessReport, previous_report, "invalid_previous_report")
    if generated_at is None:
        generated_at = from_micros(clock.timestamp())
    else:
        try:
            parse(generated_at)
        except ValueError:
            raise InvalidDocument("generated_at is no RFC 3339 time.", code="invalid_generated_at") from None
    return analyze(bundle, thresholds, previous_report, generated_at)
