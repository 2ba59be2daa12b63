from __future__ import annotations

import pytest

from slipway_lite.errors import SlipwayError
from slipway_lite.store.connection import Store
from slipway_lite.store.materials import store_material
from slipway_lite.store.verify import verify
from tests.store.files import AT


def test_a_material_is_kept_with_its_size_in_bytes(store: Store) -> None:
    with store.immediate() as tx:
        store_material(tx, "sha256:m", "né\n", AT)
    assert store.rows("select stream, sequence, material_sha256, bytes, content from materials") == [
        ("material:sha256:m", 1, "sha256:m", 4, "né\n")
    ]
    assert store.rows("select kind, stream from ledger") == [("materials", "material:sha256:m")]
    assert verify(store, [])["problems"] == []


def test_a_material_is_kept_once(store: Store) -> None:
    for _ in range(2):
        with store.immediate() as tx:
            store_material(tx, "sha256:m", "text", AT)
            store_material(tx, "sha256:m", "text", AT)
    assert store.rows("select count(*) from materials") == [(1,)]


def test_two_digests_are_two_materials(store: Store) -> None:
    with store.immediate() as tx:
        store_material(tx, "sha256:m", "text", AT)
        store_material(tx, "sha256:n", "text", AT)
    assert store.rows("select seq, material_sha256 from materials") == [(1, "sha256:m"), (2, "sha256:n")]


def test_a_material_goes_with_its_transaction(store: Store) -> None:
    with pytest.raises(SlipwayError), store.immediate() as tx:
        store_material(tx, "sha256:m", "text", AT)
        raise SlipwayError("refused", "After all, no.")
    assert store.rows("select count(*) from materials") == [(0,)]
