"""``GET /v1/improvement/observations``: the read request that the control plane leaves to the layer above it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slipway_lite.canon import encode
from slipway_lite.control.refusals import Refused
from slipway_lite.errors import UsageError
from slipway_lite.observe.observations import page

if TYPE_CHECKING:
    from slipway_lite.store.connection import Store


def observations(store: Store, since: str | None, until: str | None, cursor: str | None, limit: int | None) -> str:
    """ImprovementObservationBundle of one page, oldest first. Raises INVALID_REQUEST. (control-plane §6.1)"""
    try:
        return encode(page(store, since, until, cursor, limit))
    except UsageError as error:
        raise Refused("INVALID_REQUEST", error.message) from None
