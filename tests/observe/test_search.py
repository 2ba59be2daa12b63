"""Search: every term has to match, short and long ones, in any script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slipway_lite.errors import UsageError
from slipway_lite.observe.search import TEXTS, search, snippet
from slipway_lite.protocol.service import Service
from slipway_lite.store.connection import Store, open_store
from slipway_lite.store.reading import read_store
from tests.observe.worktree import make_worktree, submit

GOALS = (
    "エラー画面に問い合わせ番号を出す",
    "在庫の数を直す quick fix",
    "The quick brown fox; it is ok",
    "The quick red fox",
    "100% done_now \\ path",
    'say "hello" AND (wave)',
    "Straße ÄPFEL",
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    home = tmp_path_factory.mktemp("search")
    service = Service(make_worktree(home / "repository"), str(home / "file.db"))
    for goal in GOALS:
        service.start(goal, 1, False)
    with open_store(service.path) as opened:
        yield opened


def goals(store: Store, words: str) -> set[str]:
    found = search(store, words, 500)
    assert found["is_complete"]
    ids = {item["id"] for item in found["items"]}
    return {goal for run_id, goal in store.rows("select run_id, goal from runs") if run_id in ids}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("番", {0}),
        ("番号", {0}),
        ("問い合わせ", {0}),
        ("在庫 数", {1}),
        ("在庫 quick", {1}),
        ("quick", {1, 2, 3}),
        ("QUICK fox", {2, 3}),
        ("quick ok", {2}),
        ("ok quick", {2}),
        ("fox red quick", {3}),
        ("0%", {4}),
        ("%", {4}),
        ("e_", {4}),
        ("done_now", {4}),
        ("\\", {4}),
        ('"hello"', {5}),
        ("AND", {5}),
        ("(wave)", {5}),
        ("äpfel", {6}),
        ("straße", {6}),
        ("nothing of this", set()),
        ("在庫 fox", set()),
    ],
)
def test_every_term_has_to_match(store: Store, words: str, expected: set[int]) -> None:
    assert goals(store, words) == {GOALS[number] for number in expected}


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_search_agrees_with_looking_at_every_text(store: Store, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(GOALS))
    cuts = st.tuples(st.integers(0, len(text)), st.integers(1, 6)).map(lambda cut: text[cut[0] : cut[0] + cut[1]])
    words = " ".join(data.draw(st.lists(cuts | st.sampled_from(["番", "ok", "の", "quick"]), min_size=1, max_size=3)))
    if not words.split():
        return
    expected = {goal for goal in GOALS if all(term.lower() in goal.lower() for term in words.split())}
    # For one and two characters SQLite knows upper and lower case of ASCII only.
    if all(term.isascii() or len(term) > 2 or term.lower() == term.upper() for term in words.split()):
        assert goals(store, words) == expected


@pytest.mark.parametrize("words", ["", "  ", " ".join(["word"] * 21), "quick\0", "\0"])
def test_no_word_too_many_and_a_nul_are_refused(store: Store, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        search(store, words)
    assert refused.value.code == "invalid_search"


@pytest.mark.parametrize("limit", [0, 501])
def test_a_wrong_limit_is_refused(store: Store, limit: int) -> None:
    with pytest.raises(UsageError) as refused:
        search(store, "quick", limit)
    assert refused.value.code == "invalid_limit"


def test_a_limit_says_that_there_is_more(store: Store) -> None:
    found = search(store, "quick", 2)
    assert (len(found["items"]), found["is_complete"]) == (2, False)


def test_every_kind_of_text_is_searched(demo: Path) -> None:
    def work(store: Store) -> None:
        for kind, field in store.rows(f"select distinct kind, field from ({TEXTS})"):
            ((text,),) = store.rows(f"select text from ({TEXTS}) where kind = ? and field = ? limit 1", (kind, field))
            hits = search(store, text[:12], 500)["items"]
            assert any((item["kind"], item["field"]) == (kind, field) for item in hits), (kind, field)

    read_store(str(demo), work)


def test_what_a_host_reports_is_found(tmp_path: Path) -> None:
    service = Service(make_worktree(tmp_path / "repository"), str(tmp_path / "file.db"))
    run = service.start("goal", 3, False)
    submit(service, run, summary="It is all about 麒麟 and kangaroos.")
    for words in ("麒麟", "kangaroo", "麒 kangaroo"):
        (item,) = read_store(service.path, lambda store: search(store, words))["items"]  # noqa: B023  # read at once
        assert (item["kind"], item["field"], item["run_id"]) == ("action", "summary", run.run_id)


def test_a_file_that_is_being_written_can_be_searched(store: Store) -> None:
    with store.immediate():
        found = read_store(store.path, lambda reading: search(reading, "quick brown"))
    assert len(found["items"]) == 1


def test_searching_leaves_the_file_as_it_was(demo: Path) -> None:
    before = (demo.read_bytes(), sorted(demo.parent.iterdir()))
    assert read_store(str(demo), lambda store: search(store, "checkout"))["items"]
    assert (demo.read_bytes(), sorted(demo.parent.iterdir())) == before


def test_a_snippet_is_the_part_around_the_hit_on_one_line() -> None:
    text = "a " * 100 + "NEEDLE\nhay " + "b " * 100
    found = snippet(text, ["needle"])
    assert found.startswith("…") and found.endswith("…")
    assert "NEEDLE hay" in found
    assert len(found) <= 122
