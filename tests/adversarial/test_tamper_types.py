"""Values of types that no table of ours takes, put in while its rules were away: each is named by its row."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from slipway_lite.store.tables import APPEND_ONLY, LEDGER
from tests.adversarial.scale import scaled
from tests.store.files import plain
from tests.store.tampering import loosened, named, tampered

VARIANTS = scaled(1, 3)
OTHER = {"text": ("cast({0} as blob)", "null"), "integer": ("{0} + 0.5", "null", "cast({0} || 'x' as text)")}


@pytest.mark.adversarial
@pytest.mark.parametrize("table", [LEDGER, *APPEND_ONLY])
def test_every_column_of_another_type_is_named(everything: Path, tmp_path: Path, table: str) -> None:
    path = tmp_path / "slipway.db"
    connection = plain(everything)
    types = connection.execute("select name, lower(type) from pragma_table_info(?) where pk = 0", (table,)).fetchall()
    names = ", ".join(name for name, _ in types)
    seq, *values = connection.execute(f"select seq, {names} from {table} order by seq").fetchone()
    connection.close()
    count = 0
    for (name, kind), value in zip(types, values, strict=True):
        for other in OTHER[kind][:VARIANTS] if value is not None else ():
            shutil.copy(everything, path)
            with loosened(path, table):
                tampered(path, f"update {table} set {name} = {other.format(name)} where seq = {seq}")
            assert (table, str(seq)) in named(path), (name, other)
            count += 1
    assert count >= 4
    print(f"{table}: {count} values of another type, all named")
