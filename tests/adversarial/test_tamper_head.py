"""What only a head that was noted earlier can tell, what it tells, and what nothing can tell."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from slipway_lite.store.connection import open_store
from slipway_lite.store.journal import head
from slipway_lite.store.projections import rebuild
from slipway_lite.store.reading import read_store
from slipway_lite.store.tables import APPEND_ONLY, LEDGER
from tests.adversarial.scale import scaled
from tests.machine_host import invoke
from tests.store.files import AT
from tests.store.tampering import PROJECTORS, named, problems, recompute, tampered

Head = tuple[int, str]
LONG_AGO = "2001-01-01T00:00:00.000000Z"
PLACES = scaled(4, 24)
"""At how many places of the chain each forgery is made."""


@pytest.fixture
def file(everything: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(everything, tmp_path / "slipway.db"))


def heads(path: Path) -> list[Head]:
    """Every head that ``db head`` could have printed while the file grew."""
    found: list[Head] = read_store(str(path), lambda store: store.rows("select seq, sha256 from ledger order by seq"))
    return found


def places(path: Path) -> list[int]:
    """Some rows, evenly, after those that were merged into the file: their own chains prove these."""
    sql = "select (select max(merged_seq) from merged_rows), max(seq) from ledger"
    ((merged, last),) = read_store(str(path), lambda store: store.rows(sql))
    return sorted({merged + 1 + (last - merged - 1) * number // (PLACES - 1) for number in range(PLACES)})


def replayed(path: Path) -> None:
    """Make the projections fit whatever the journals hold now."""
    with open_store(str(path)) as store:
        rebuild(store, PROJECTORS)


def cut(path: Path, first: int) -> None:
    """Take the row ``first`` and all after it away, as if they had never been."""
    tampered(path, *(f"delete from {table} where seq >= {first}" for table in (*APPEND_ONLY, LEDGER)))
    replayed(path)


def edited(path: Path, seq: int) -> None:
    """Change one fact and hash it and everything after it anew."""
    tampered(path, f"update ledger set at = '{LONG_AGO}' where seq = {seq}",
             *(f"update {table} set at = '{LONG_AGO}' where seq = {seq}" for table in APPEND_ONLY))  # fmt: skip
    recompute(path)
    replayed(path)


def added(path: Path, seq: int) -> None:
    """Put a row in at ``seq``, give everything after it the next number, and hash it all anew."""
    moves = [
        f"update {table} set seq = {step}"
        for table in (LEDGER, *APPEND_ONLY)
        for step in (f"-seq - 1 where seq >= {seq}", "-seq where seq < 0")
    ]
    tampered(
        path,
        *moves,
        f"insert into ledger values ({seq}, '{AT}', 'journal_events', 'note:added', 1, '', '', '')",
        f"insert into journal_events values ({seq}, 'note:added', 1, '{AT}', 'noted', '{{}}')",
    )
    recompute(path)
    replayed(path)


FORGERIES = {"cut": cut, "edited": edited, "added": added}


@pytest.mark.adversarial
@pytest.mark.parametrize("kind", FORGERIES)
def test_a_forged_chain_is_found_with_every_head_from_the_forged_row_on(
    everything: Path, file: Path, kind: str
) -> None:
    noted = heads(file)
    count = 0
    for seq in places(everything):
        shutil.copy(everything, file)
        FORGERIES[kind](file, seq)
        # The honest part: the chain fits, so it alone tells nothing.
        assert problems(file) == []
        for earlier in noted[:: scaled(20, 5)] + noted[-1:]:
            found = named(file, earlier)
            assert found == ({(LEDGER, str(earlier[0]))} if earlier[0] >= seq else set()), (seq, earlier)
            count += 1
    print(f"{kind}: {count} heads against {PLACES} forged chains")


@pytest.mark.adversarial
def test_a_cut_chain_that_has_grown_again_is_found_with_the_head(file: Path) -> None:
    noted = heads(file)
    cut(file, len(noted) - 3)
    with open_store(str(file)) as store, store.immediate() as tx:
        for number in range(1, 9):
            tx.append("journal_events", "note:new", number, AT, "noted", "{}")
    assert problems(file) == []
    assert named(file, noted[-1]) == {(LEDGER, str(len(noted)))}


@pytest.mark.adversarial
def test_an_older_copy_in_the_place_of_the_file_is_found_with_a_later_head(everything: Path, file: Path) -> None:
    with open_store(str(file)) as store, store.immediate() as tx:
        tx.append("journal_events", "note:new", 1, AT, "noted", "{}")
    later = heads(file)[-1]
    shutil.copy(everything, file)
    assert problems(file) == []
    assert named(file, later) == {(LEDGER, str(later[0]))}


@pytest.mark.adversarial
def test_rows_that_follow_the_noted_head_rightly_are_appends_like_any_other(file: Path) -> None:
    """Whoever has the file can append to it; only the next head that is noted fixes what was appended by then."""
    noted = heads(file)[-1]
    with open_store(str(file)) as store, store.immediate() as tx:
        tx.append("journal_events", "note:new", 1, AT, "noted", '{"by":"anybody"}')
    later = heads(file)[-1]
    assert named(file, noted) == set()
    edited(file, later[0])
    assert named(file, noted) == set()
    assert named(file, later) == {(LEDGER, str(later[0]))}


@pytest.mark.adversarial
def test_the_command_finds_a_forged_chain_with_what_the_command_printed(file: Path) -> None:
    printed = invoke("db", "head", "--db", str(file)).out.decode().strip()
    for verified in ([], ["--head", printed]):
        assert invoke("db", "verify", "--json", "--db", str(file), *verified).status == 0
    edited(file, 5)
    assert invoke("db", "verify", "--json", "--db", str(file)).status == 0
    reply = invoke("db", "verify", "--json", "--db", str(file), "--head", printed)
    assert (reply.status, reply.code) == (3, "database_not_verified")
    assert reply.document["details"]["problems"] == [
        {
            "table": "ledger",
            "row": printed.partition(":")[0],
            "problem": "is not the row that it was when the head was noted",
        }
    ]


def test_a_head_says_nothing_of_rows_after_it(file: Path) -> None:
    noted = heads(file)
    edited(file, len(noted))
    assert named(file, noted[-2]) == set()
    assert named(file, noted[-1]) == {(LEDGER, str(len(noted)))}
    assert read_store(str(file), lambda store: head(store.connection)) != noted[-1]
