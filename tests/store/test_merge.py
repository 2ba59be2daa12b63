"""Merging: every row of every file once, in one chain, whatever the order of the files; or a refusal and no file."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.observe.projection import projectors
from slipway_lite.store.backup import backup
from slipway_lite.store.connection import open_store
from slipway_lite.store.prune import prune
from slipway_lite.store.tables import PROJECTIONS
from tests.store.files import directory_state
from tests.store.machines import Entry, at, machine, merged, newest, problems, refused_merge, rows
from tests.store.older import VERSIONS, older
from tests.store.tampering import tampered

LINK = "seq, at, kind, stream, stream_sequence, payload_sha256, prev_sha256, sha256"
NOTE_A, NOTE_B = ("journal_events", "note:a", "1"), ("journal_events", "note:b", "1")


# -- what is in it


def test_every_row_is_there_once_and_the_file_is_sound(demos: list[Path], out: Path) -> None:
    report = merged(out, *demos)
    assert problems(out) == []
    assert report["ledger_rows"] == sum(newest(path)[0] for path in demos) + 2
    assert report["head"] == dict(zip(("seq", "sha256"), newest(out), strict=True))
    assert [file["name"] for file in report["files"]] == ["laptop.db", "server.db"]


def test_projections_are_those_of_both_machines(demos: list[Path], out: Path) -> None:
    merged(out, *demos)
    for table in itertools.chain(*PROJECTIONS.values()):
        names = [row[0] for row in rows(out, "select name from pragma_table_info(?)", table)]
        kept = ", ".join(name for name in names if name not in ("head_seq", "document_seq"))
        both = itertools.chain(*(rows(path, f"select {kept} from {table}") for path in demos))
        found = rows(out, f"select {kept} from {table}")
        assert sorted(found, key=repr) == sorted(both, key=repr), table


def test_any_order_of_the_files_gives_the_same_chain(demos: list[Path], out: Path) -> None:
    heads = {str(merged(out.with_name(f"{number}.db"), *paths)["head"])
             for number, paths in enumerate(itertools.permutations(demos))}  # fmt: skip
    assert len(heads) == 1


def test_the_files_stay_as_they_were(demos: list[Path], out: Path) -> None:
    before = directory_state(demos[0].parent)
    merged(out, *demos)
    assert directory_state(demos[0].parent) == before


def test_rows_come_in_the_order_of_their_times_and_streams_in_their_own(tmp_path: Path, out: Path) -> None:
    one = machine(tmp_path / "one.db", (1, NOTE_A), (5, NOTE_A), (3, NOTE_A), (9, NOTE_A))
    other = machine(tmp_path / "other.db", (2, NOTE_B), (4, NOTE_B), (8, NOTE_B))
    merged(out, one, other)
    found = rows(out, "select stream, sequence, at from journal_events order by seq")
    assert [(stream[-1], sequence) for stream, sequence, _ in found] == [
        ("a", 1), ("b", 1), ("b", 2), ("a", 2), ("a", 3), ("b", 3), ("a", 4),
    ]  # fmt: skip


def test_every_row_says_where_it_came_from(demos: list[Path], out: Path) -> None:
    merged(out, *demos)
    for path in demos:
        ((file_seq, head_seq, digest),) = rows(
            out, "select seq, head_seq, head_sha256 from merged_files where name = ?", path.name
        )
        assert (head_seq, digest) == newest(path)
        chain = rows(out, f"select {LINK} from merged_rows where file_seq = ? order by seq", file_seq)
        assert chain == rows(path, f"select {LINK} from ledger order by seq")


def test_heads_that_were_noted_on_any_machine_are_found(demos: list[Path], out: Path) -> None:
    merged(out, *demos)
    for path in demos:
        for seq, digest in [*rows(path, "select seq, sha256 from ledger where seq % 40 = 1"), newest(path)]:
            assert problems(out, (seq, digest)) == []
            assert problems(out, (seq + 1, digest)) != []
    assert problems(out, newest(out)) == []


def test_a_machine_s_own_things_stay_there(tmp_path: Path, out: Path) -> None:
    one, other = machine(tmp_path / "one.db", (1, NOTE_A)), machine(tmp_path / "other.db", (2, NOTE_B))
    with open_store(str(one)) as store, store.immediate() as tx:
        tx.execute("insert into _repositories values ('octo/hub', '/srv/hub', null, ?)", (at(1),))
        tx.execute("insert into _instances values ('i', 'local', ?)", (at(1),))
    merged(out, one, other)
    for table in ("_leases", "_locks", "_instances", "_repositories"):
        assert rows(out, f"select count(*) from {table}") == [(0,)]


def test_a_file_that_holds_nothing_adds_nothing(tmp_path: Path, out: Path) -> None:
    empty = machine(tmp_path / "empty.db")
    report = merged(out, machine(tmp_path / "one.db", (1, NOTE_A)), empty, machine(tmp_path / "none.db"))
    assert report["ledger_rows"] == 2
    assert problems(out) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_file_of_an_older_schema_is_upgraded_aside(tmp_path: Path, out: Path, version: int) -> None:
    path = older(tmp_path / "old" / "old.db", version)
    noted, before = rows_of_older(path), directory_state(path.parent)
    merged(out, path, machine(tmp_path / "one.db", (1, ("journal_events", "note:new", "1"))))
    assert problems(out, noted) == []
    assert directory_state(path.parent) == before


def rows_of_older(path: Path) -> tuple[int, str]:
    upgraded = Path(shutil.copy(path, path.parent.parent / "upgraded.db"))
    open_store(str(upgraded)).close()
    return newest(upgraded)


# -- the same in several files


def test_a_file_and_its_older_backup_are_the_file(tmp_path: Path, out: Path) -> None:
    path = machine(tmp_path / "one.db", (1, NOTE_A), (2, ("documents", "document:a", "x")))
    backup(str(path), str(tmp_path / "backup.db"))
    machine(path, (3, NOTE_A), (4, ("documents", "document:a", "y")))
    report = merged(out, path, tmp_path / "backup.db")
    assert report["ledger_rows"] == 4 + 2
    assert problems(out, newest(tmp_path / "backup.db")) == []


def test_a_material_is_kept_once(tmp_path: Path, out: Path) -> None:
    entry = ("materials", "material:hello", "hello")
    merged(out, machine(tmp_path / "one.db", (1, entry)), machine(tmp_path / "other.db", (2, entry)))
    assert rows(out, "select at, content from materials") == [(at(1), "hello")]
    assert problems(out) == []


@pytest.mark.parametrize(
    ("table", "stream"),
    [("turns", "worktree:/srv/app"), ("audit_events", "worktree:/srv/app"), ("documents", "document:doc:a")],
)
def test_streams_named_by_a_place_or_a_title_are_numbered_anew(
    tmp_path: Path, out: Path, table: str, stream: str
) -> None:
    one = machine(tmp_path / "one.db", (1, (table, stream, "x1")), (3, (table, stream, "x3")))
    other = machine(tmp_path / "other.db", (2, (table, stream, "y2")), (4, (table, stream, "y4")))
    merged(out, one, other)
    assert rows(out, f"select sequence, at from {table} order by seq") == [(n, at(n)) for n in (1, 2, 3, 4)]
    assert problems(out) == []


# -- what was forgotten stays forgotten

OLD = "2021-01-01T00:00:00.000000Z"


def pruned(path: Path, before: str = OLD) -> Path:
    with open_store(str(path)) as store:
        assert prune(store, before, projectors())["count"] > 0
    return path


def audits(path: Path, count: int, stream: str = "task:t") -> Path:
    return machine(path, *((n, ("audit_events", stream, f"{stream}-{n}")) for n in range(1, count + 1)))


def test_a_pruned_file_is_merged_without_what_it_forgot(tmp_path: Path, out: Path) -> None:
    noted = newest(audits(tmp_path / "one.db", 4))
    one = pruned(tmp_path / "one.db")
    merged(out, one, audits(tmp_path / "other.db", 3, "task:u"))
    assert problems(out, noted) == []
    assert rows(out, "select sequence from audit_events where stream = 'task:t'") == [(4,)]
    assert len(rows(out, "select sequence from audit_events where stream = 'task:u'")) == 3
    assert rows(out, "select forgotten_count from shown_merged_files where name = 'one.db'") == [(3,)]


def test_an_older_backup_brings_nothing_back(tmp_path: Path, out: Path) -> None:
    path = audits(tmp_path / "one.db", 3)
    backup(str(path), str(tmp_path / "backup.db"))
    machine(path, (4, ("audit_events", "task:t", "task:t-4")), (5, ("audit_events", "task:t", "task:t-5")))
    pruned(path)
    merged(out, path, tmp_path / "backup.db")
    assert problems(out, newest(tmp_path / "backup.db")) == []
    assert rows(out, "select sequence from audit_events where stream = 'task:t'") == [(5,)]


def test_a_merged_file_is_pruned_like_any_other(tmp_path: Path, out: Path) -> None:
    one, other = audits(tmp_path / "one.db", 3), audits(tmp_path / "other.db", 3, "task:u")
    merged(out, one, other)
    pruned(out)
    assert problems(out, newest(one)) == []
    again = out.with_name("again.db")
    merged(again, out, machine(tmp_path / "third.db", (9, NOTE_A)))
    assert problems(again, newest(other)) == []
    assert problems(again, newest(out)) == []


def test_a_merged_file_that_forgot_rows_numbered_anew_is_merged_again(tmp_path: Path, out: Path) -> None:
    one, other = (
        machine(tmp_path / f"{name}.db", *((n, ("audit_events", "worktree:/w", f"{name}-{n}")) for n in seconds))
        for name, seconds in (("one", (1, 3)), ("other", (2, 4, 5)))
    )
    merged(out, one, other)
    pruned(out)
    again = out.with_name("again.db")
    merged(again, out, machine(tmp_path / "third.db", (9, NOTE_A)))
    assert rows(again, "select event_id from audit_events where stream = 'worktree:/w'") == [("other-5",)]
    for path in (one, other, out):
        assert problems(again, newest(path)) == []


def test_a_pruning_of_one_file_excuses_nothing_in_another(tmp_path: Path, out: Path) -> None:
    one, other = pruned(audits(tmp_path / "one.db", 4)), audits(tmp_path / "other.db", 3, "task:u")
    merged(out, one, other)
    ((seq,),) = rows(out, "select seq from audit_events where stream = 'task:u' and sequence = 1")
    tampered(out, f"delete from audit_events where seq = {seq}")
    assert {"table": "audit_events", "row": str(seq), "problem": "is missing"} in problems(out)


# -- merged again


def test_a_merge_of_a_merge_proves_every_file(demos: list[Path], tmp_path: Path, out: Path) -> None:
    third = machine(tmp_path / "third.db", (1, NOTE_A))
    first = out.with_name("first.db")
    merged(first, *demos)
    machine(first, (2, ("journal_events", "note:later", "1")))
    merged(out, first, third)
    assert problems(out) == []
    for path in (*demos, third, first):
        assert problems(out, newest(path)) == []
    assert len(rows(out, "select 1 from merged_files")) == 4


def test_a_file_given_again_beside_its_merge_adds_no_row(demos: list[Path], out: Path) -> None:
    first = out.with_name("first.db")
    report = merged(first, *demos)
    again = merged(out, first, demos[0])
    assert again["ledger_rows"] == report["ledger_rows"] + 1
    assert problems(out, newest(demos[1])) == []


def test_merges_that_share_a_file_are_merged(demos: list[Path], tmp_path: Path, out: Path) -> None:
    shared = machine(tmp_path / "shared.db", (1, NOTE_A), (2, ("documents", "document:a", "x")))
    for number, demo in enumerate(demos):
        merged(tmp_path / f"{number}.db", shared, demo)
    report = merged(out, tmp_path / "0.db", tmp_path / "1.db")
    assert problems(out) == []
    for path in (shared, *demos, tmp_path / "0.db", tmp_path / "1.db"):
        assert problems(out, newest(path)) == []
    # Each row once, and one row for each of the five files.
    assert report["ledger_rows"] == sum(newest(path)[0] for path in (shared, *demos)) + 5


def test_a_merged_file_is_written_on(tmp_path: Path, out: Path) -> None:
    merged(out, machine(tmp_path / "one.db", (1, NOTE_A)), machine(tmp_path / "other.db", (2, NOTE_B)))
    machine(out, (3, NOTE_A), (4, ("documents", "document:a", "x")))
    assert problems(out) == []


# -- refusals


def test_the_same_file_twice_is_refused(tmp_path: Path, out: Path) -> None:
    path = machine(tmp_path / "one.db", (1, NOTE_A))
    backup(str(path), str(tmp_path / "same.db"))
    error = refused_merge(out, path, machine(tmp_path / "b.db", (1, NOTE_B)), tmp_path / "same.db")
    assert (error.code, error.details) == ("merge_same_file", {"files": [1, 3]})


def test_one_file_is_not_merged(tmp_path: Path, out: Path) -> None:
    error = refused_merge(out, machine(tmp_path / "one.db", (1, NOTE_A)))
    assert (error.code, error.exit_code) == ("merge_needs_two", 2)


def test_a_file_that_is_not_there_is_told(tmp_path: Path, out: Path) -> None:
    error = refused_merge(out, machine(tmp_path / "one.db", (1, NOTE_A)), tmp_path / "nowhere.db")
    assert error.code == "database_not_found"
    assert error.message.startswith("File 2: ")


def test_a_file_of_another_program_is_told(tmp_path: Path, out: Path) -> None:
    (tmp_path / "text.db").write_text("text" * 2000)
    error = refused_merge(out, machine(tmp_path / "one.db", (1, NOTE_A)), tmp_path / "text.db")
    assert error.code == "database_unreadable"
    assert error.message.startswith("File 2: ")


def test_a_file_that_is_not_sound_is_refused_with_its_problems(tmp_path: Path, out: Path) -> None:
    spoiled = machine(tmp_path / "spoiled.db", (1, NOTE_B))
    tampered(spoiled, "update journal_events set data = '{}'")
    error = refused_merge(out, machine(tmp_path / "one.db", (1, NOTE_A)), spoiled)
    assert error.code == "merge_source_unsound"
    assert error.details is not None and error.details["file"] == 2
    assert error.details["problems"][0]["row"] == "1"


def test_what_is_there_is_never_replaced(tmp_path: Path, out: Path) -> None:
    out.write_text("precious")
    one, other = machine(tmp_path / "one.db", (1, NOTE_A)), machine(tmp_path / "other.db", (2, NOTE_B))
    assert refused_merge(out, one, other).code == "output_exists"
    assert out.read_text() == "precious"
    assert refused_merge(other, one, other).code == "output_is_source"


# -- whatever is split in whatever way

STREAMS = [
    ("journal_events", "note:{}"),
    ("audit_events", "task:{}"),
    ("audit_events", "worktree:/srv"),
    ("documents", "document:a"),
    ("materials", "material:{}"),
]
steps = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, len(STREAMS) - 1), st.integers(0, 2), st.integers(0, 50)), max_size=40
)


def check_split(files: int, steps: list[tuple[int, int, int, int]]) -> None:
    # Each has a row of its own, because files of the same rows are the same file.
    entries: dict[int, list[tuple[int, Entry]]] = {
        number: [(0, ("journal_events", f"note:own-{number}", "1"))] for number in range(files)
    }
    materials: set[tuple[int, int]] = set()
    for number, (file, which, what, second) in enumerate(steps):
        table, stream = STREAMS[which]
        owner = file % files
        # What has an id lives on one machine; a material may be on several, and once on each.
        name = f"{owner}-{what}" if table != "materials" else str(what)
        if table == "materials" and (owner, what) in materials:
            continue
        if table == "materials":
            materials.add((owner, what))
        label = name if table == "materials" else f"e-{number}"
        entries[owner].append((second, (table, stream.format(name), label)))
    with TemporaryDirectory() as place:
        paths = [machine(Path(place) / f"{number}.db", *found) for number, found in entries.items()]
        report = merged(Path(place) / "out.db", *paths)
        assert merged(Path(place) / "again.db", *reversed(paths))["head"] == report["head"]
        out = Path(place) / "out.db"
        assert problems(out) == []
        written = sum(len(found) for found in entries.values())
        alike = len(materials) - len({what for _, what in materials})
        assert report["ledger_rows"] == written - alike + files
        for path in paths:
            assert problems(out, newest(path)) == []


split = given(files=st.integers(2, 4), steps=steps)


@settings(max_examples=3, deadline=None)
@split
def test_rows_split_in_any_way_are_merged_whole(files: int, steps: list[tuple[int, int, int, int]]) -> None:
    check_split(files, steps)
