"""The target of imported journals: lines of a file that another program wrote, folded into a Run."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from random import Random

from slipway_lite.protocol import replay
from slipway_lite.protocol.documents import run_status
from slipway_lite.protocol.imported.conform import Misshapen
from slipway_lite.protocol.imported.fold import Imported
from slipway_lite.protocol.imported.lines import CorruptLine, records
from tests.adversarial.fuzz.target import Target
from tests.protocol.imported.publishing import random_model

RUN_ID = "run-1"


def _imported(raw: bytes) -> None:
    imported, rows = Imported(RUN_ID), []
    for line in records(BytesIO(raw).readline):
        run = imported.fold(line.type, line.at, line.data)
        rows.append((line.sequence, line.sequence, line.at, line.type, line.data, "", "", ""))
    if rows:
        assert run_status(replay.replay(RUN_ID, rows)) == run_status(run)


def _starts() -> Sequence[bytes]:
    return [random_model(Random(seed), steps).published.journal for seed, steps in ((1, 2), (2, 4), (3, 6))]


TARGETS = (
    Target(
        "protocol.imported",
        (
            "slipway_lite.protocol.imported.delta.decode_delta",
            "slipway_lite.protocol.imported.lines.records",
            "slipway_lite.protocol.imported.fold.Imported",
        ),
        _imported,
        _starts,
        raises=(CorruptLine, Misshapen),
        longest=40000,
        weight=0.5,
    ),
)
