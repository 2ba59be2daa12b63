"""Facts rewritten in other bytes, and projections edited: each alone is found, and named by its row."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from typing import Any

import pytest

from slipway_lite.store.connection import Store
from slipway_lite.store.tables import APPEND_ONLY
from tests.adversarial.rows import EVERY, PROJECTED, columns, keys, seqs
from tests.store.tampering import named_after, numbered


def variants(text: str) -> Iterator[Any]:
    """``text`` in other bytes, most of them the same JSON or the same to the eye."""
    yield text + " "
    yield text + "\x00"
    yield "\ufeff" + text
    yield text.encode() + b"\xff"
    yield unicodedata.normalize("NFD", text)
    yield text.replace("-", "\u2010", 1)
    try:
        value = json.loads(text)
    except ValueError:
        return
    yield json.dumps(value, indent=1)
    yield json.dumps(value, ensure_ascii=False)
    yield json.dumps(value, sort_keys=True, separators=(",", ":"))
    if isinstance(value, dict):
        yield json.dumps({"extra": 1, **value}, ensure_ascii=False, separators=(",", ":"))
        yield '{"extra":1,' + text[1:]


@pytest.mark.adversarial
@pytest.mark.parametrize("table", APPEND_ONLY)
def test_texts_of_other_bytes_are_named(store: Store, table: str) -> None:
    count = 0
    for seq in seqs(store, table):
        for name in APPEND_ONLY[table]:
            ((found,),) = store.rows(f"select {name} from {table} where seq = ?", (seq,))
            for variant in variants(found) if isinstance(found, str) else ():
                if variant == found:
                    continue
                update = f"update {table} set {name} = cast(? as text) where seq = ?"
                assert numbered(named_after(store, (update, (variant, seq)))) == {(table, str(seq))}, (
                    seq,
                    name,
                    variant,
                )
                count += 1
    assert count > 5


ODD: tuple[Any, ...] = (None, [], {}, "", "\ud800", 10**30, -1, 1.5, True, [[[]]], {"a": {"b": []}})


@pytest.mark.adversarial
def test_events_with_members_of_any_shape_are_named_and_never_stop_the_verification(store: Store) -> None:
    count = 0
    for seq in seqs(store, "journal_events"):
        ((data,),) = store.rows("select data from journal_events where seq = ?", (seq,))
        for number, document in enumerate(spoiled_documents(json.loads(data))):
            if number % EVERY:
                continue
            named = named_after(store, ("update journal_events set data = ? where seq = ?", (document, seq)))
            assert numbered(named) == {("journal_events", str(seq))}, document
            count += 1
    assert count > 100
    deep = "[" * 100_000 + "]" * 100_000
    for seq in seqs(store, "journal_events"):
        assert ("journal_events", str(seq)) in named_after(
            store, ("update journal_events set data = ? where seq = ?", (deep, seq))
        )


def spoiled_documents(value: Any) -> Iterator[str]:
    """``value`` as JSON with each of its members, at any depth, missing or replaced by something odd."""

    def spots(found: Any) -> Iterator[tuple[Any, Any]]:
        items = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
        for key, item in list(items):
            yield found, key
            yield from spots(item)

    for number, (holder, key) in enumerate(list(spots(value))):
        kept = holder[key]
        holder[key] = ODD[number % len(ODD)]
        yield json.dumps(value)
        holder[key] = kept
        if isinstance(holder, dict):
            del holder[key]
            yield json.dumps(value)
            holder[key] = kept


# -- projections


@pytest.mark.adversarial
@pytest.mark.parametrize("table", PROJECTED)
def test_every_edited_column_of_every_projected_row_is_named(store: Store, table: str) -> None:
    names, key = columns(store, table), keys(store, table)
    rows = store.rows(f"select * from {table}")
    assert rows
    where = " and ".join(f"{name} = ?" for name in key)
    count = 0
    for found in rows:
        row = dict(zip(names, found, strict=True))
        own = tuple(row[name] for name in key)
        for name in names:
            for value in edits(store, table, name, row[name]):
                label = "/".join(str(value if part == name else row[part]) for part in key)
                named = named_after(store, (f"update {table} set {name} = ? where {where}", (value, *own)))
                assert named - {("(file)", "-")} == {(table, "/".join(map(str, own))), (table, label)}, (name, value)
                count += 1
        named = named_after(store, (f"delete from {table} where {where}", own))
        assert named == {(table, "/".join(map(str, own)))}
        added = [f"{value}x" if isinstance(value, str) else value for value in found]
        label = "/".join(str(added[names.index(part)]) for part in key)
        insert = (f"insert into {table} values ({', '.join('?' * len(names))})", tuple(added))
        assert named_after(store, insert) - {("(file)", "-")} == {(table, label)}
    assert count >= len(names) * len(rows)
    print(f"{table}: {count} edits, {2 * len(rows)} rows taken away or added, all named")


def edits(store: Store, table: str, name: str, value: Any) -> Iterator[Any]:
    if isinstance(value, int):
        yield value + 1000
    elif isinstance(value, str):
        yield value + "x"
        yield value[:-1]
    else:
        ((kind,),) = store.rows("select type from pragma_table_info(?) where name = ?", (table, name))
        yield 1 if kind == "INTEGER" else "x"


def test_what_may_be_lost_and_how_this_place_is_set_up_is_not_verified(store: Store) -> None:
    """Leases, locks, instances and the paths of repositories are no part of the record."""
    assert store.rows("select count(*) from _leases") == [(1,)]
    assert named_after(store, ("update _leases set lease_owner = 'me'", ())) == set()
    assert named_after(store, ("delete from _leases", ()), ("delete from _instances", ())) == set()
