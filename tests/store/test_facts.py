from __future__ import annotations

from pathlib import Path

import pytest

from slipway_lite.store import sqlite
from slipway_lite.store.facts import facts
from slipway_lite.store.journal import head
from slipway_lite.store.migrations import HEAD
from slipway_lite.store.reading import read_store
from tests.store.files import TABLES, directory_state


def test_a_missing_file_has_few_facts_and_stays_missing(path: Path) -> None:
    document = facts(str(path), "repository")
    assert document == {
        "path": str(path),
        "rule": "repository",
        "exists": False,
        "sqlite_version": ".".join(map(str, sqlite.library_version())),
        "sqlite_advice": document["sqlite_advice"],
        "schema_version_known": HEAD,
        "rows": {},
    }
    assert not path.parent.exists()


def test_facts_of_a_file(small: Path) -> None:
    before = directory_state(small.parent)
    document = facts(str(small), "option")
    assert directory_state(small.parent) == before
    seq, digest = read_store(str(small), lambda store: head(store.connection))
    assert document["head"] == f"{seq}:{digest}"
    assert document["size_bytes"] == small.stat().st_size
    assert document["permissions"] == "0o600"
    assert document["schema_version"] == document["schema_version_known"] == HEAD
    assert document["free_disk_bytes"] > 0
    assert document["rows"] == dict.fromkeys(TABLES, 0) | {"ledger": 4, "journal_events": 3, "materials": 1}


@pytest.mark.parametrize(("library", "advised"), [((3, 51, 2), True), ((3, 45, 0), True), ((3, 51, 3), False)])
def test_an_old_library_is_advised_against(
    path: Path, monkeypatch: pytest.MonkeyPatch, library: tuple[int, ...], advised: bool
) -> None:
    monkeypatch.setattr(sqlite, "library_version", lambda: library)
    assert bool(facts(str(path), "user")["sqlite_advice"]) is advised
