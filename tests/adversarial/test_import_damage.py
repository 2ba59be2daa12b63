"""Journals with bytes changed at random: refused with a place and a reason, or a Run like any other."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from random import Random

import pytest

from slipway_lite.canon import encode
from slipway_lite.errors import SlipwayError
from slipway_lite.protocol import replay
from slipway_lite.protocol.documents import protocol_state, run_status
from slipway_lite.protocol.imported.service import import_journals
from slipway_lite.protocol.replay import RunProjector
from slipway_lite.store.connection import open_store
from slipway_lite.store.projections import rebuild
from slipway_lite.store.reading import read_store
from slipway_lite.store.verify import verify
from tests import wire
from tests.adversarial.scale import scaled
from tests.protocol.imported.publishing import Published, line, random_model, write_materials
from tests.protocol.imported.test_delta import spoil

SPECIAL = [
    b"",
    b"\n",
    b"\r\n",
    b"{",
    b"}",
    b'"',
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"\\ud800",
    b"1e9",
    b"null",
    b"[" * 2000,
]


def bytes_changed(random: Random, raw: bytes) -> bytes:
    """A few bytes replaced, removed, doubled, or something special put in."""
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(raw))
        end = min(len(raw), at + random.choice([0, 1, 1, 2, 40]))
        new = random.choice([*SPECIAL, bytes([random.randrange(256)]), raw[at:end] * 2])
        raw = raw[:at] + new + raw[end:]
    return raw


def lines_changed(random: Random, raw: bytes) -> bytes:
    """Lines dropped, doubled, swapped, cut."""
    lines = raw.splitlines(keepends=True)
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    what = random.choice(["drop", "double", "swap", "cut", "tail"])
    if what == "drop":
        del lines[one]
    elif what == "double":
        lines.insert(other, lines[one])
    elif what == "swap":
        lines[one], lines[other] = lines[other], lines[one]
    elif what == "cut":
        lines[one] = lines[one][: random.randrange(len(lines[one]))]
    else:
        lines = [*lines[:one], lines[one][: random.randrange(len(lines[one]))]]
    return b"".join(lines)


def places_changed(random: Random, published: Published) -> bytes:
    """Values of the documents twisted."""
    documents = copy.deepcopy(published.documents)
    for _ in range(random.randint(1, 2)):
        spoil(random, random.choice(documents))
    return b"".join(map(line, documents))


def damaged(random: Random, published: Published) -> bytes:
    how = random.choice([bytes_changed, lines_changed])
    if random.randrange(2):
        return places_changed(random, published)
    return how(random, published.journal)


def attack(directory: Path, random: Random, rounds: int) -> tuple[int, int]:
    """How many damaged journals were refused, and how many were taken."""
    database, refused, taken = str(directory / "slipway.db"), 0, 0
    models = [random_model(random, 15) for _ in range(8)]
    run = directory / "run"
    run.mkdir()
    write_materials(run)
    for number in range(rounds):
        published, run_id = random.choice(models).published, f"run-x{number}"
        raw = damaged(random, published).replace(b'"run-1"', b'"%s"' % run_id.encode())
        place = run.rename(directory / run_id)
        (place / "journal.jsonl").write_bytes(raw)
        try:
            import_journals(str(place), database)
            taken += 1
            check(database, run_id)
        except SlipwayError as error:
            assert error.code == "journal_import_refused", (error.code, error.message)
            assert error.details is not None
            json.dumps(error.details).encode()
            ((problem),) = error.details["problems"]
            assert problem["run_id"] == run_id
            assert problem.get("line", 1) <= raw.count(b"\n") + 1
            refused += 1
        run = place.rename(run)
    assert read_store(database, lambda store: verify(store, [RunProjector()]))["problems"] == []
    with open_store(database) as store:
        assert rebuild(store, [RunProjector()]) == []
    return refused, taken


def check(database: str, run_id: str) -> None:
    """Whatever was taken is a Run that can be shown."""
    with open_store(database) as store:
        run = replay.load(store, run_id)
    assert run is not None
    for document in (run_status(run), protocol_state(run)):
        wire.check(json.loads(encode(document).encode()))


def test_a_few_damaged_journals_are_refused_or_runs_like_any_other(tmp_path: Path) -> None:
    refused, taken = attack(tmp_path, Random(3), 60)
    assert refused > 30 and taken > 0


@pytest.mark.adversarial
@pytest.mark.parametrize("seed", range(2))
def test_damaged_journals_are_refused_or_runs_like_any_other(tmp_path: Path, seed: int) -> None:
    refused, taken = attack(tmp_path, Random(seed), scaled(200, 10_000))
    assert refused > taken > 0
