"""The canonical-delta rule: an imported event is exactly the difference it makes (machine-protocol §6.3)."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.canon import encode
from slipway_lite.protocol.imported import delta as deltas
from slipway_lite.protocol.imported.conform import Misshapen
from slipway_lite.protocol.imported.delta import BLANK, apply, decode_delta, difference, follow
from slipway_lite.protocol.imported.fold import Imported
from slipway_lite.protocol.imported.shapes import DELTA
from slipway_lite.protocol.resume import Mode
from tests.protocol.imported.publishing import PublishedModel, random_model
from tests.protocol.model import CLEAN, DIRTY, RUN_ID
from tests.protocol.outcomes import activity, decision, implementation, suggestion
from tests.protocol.source.change import Change
from tests.protocol.test_resume import DIVE, amended, choice, fetched

Document = dict[str, Any]
HEADER = {"event_version": 2, "contract_version": 2, "run_id": RUN_ID, "updated_at": "2026-07-12T09:00:01Z"}


def whole() -> PublishedModel:
    """A Run whose events have every field of §6.3 between them."""
    model = PublishedModel(budget=20, source=Change().snapshot(), initial=CLEAN)
    model.submit("needs_input", pause=decision())
    model.answer("stable")
    model.submit("needs_input", pause=decision(supersedes_answer_action_id=model.run.answers[0]["action_id"]))
    model.answer("newest")
    model.to_destructive()
    assert model.run.pending_request is not None
    model.answer("", True, model.run.pending_request["scope_sha256"])
    model.git = DIRTY
    reported = implementation(activities=[activity()], uncertainties=["maybe"], files_changed=["a"])
    model.submit(implementation=reported, observations=["seen"], known_issues=["slow"])
    model.skip()
    model.stop()
    mode = fetched(amended(model, DIVE))
    assert model.resume(mode=mode)
    assert model.resume(9, choice("adopt"))
    model.git = CLEAN
    model.submit("needs_input", pause=decision())
    model.stop()
    assert model.resume(mode=fetched(amended(model, "Must fly.\n")), candidate_id="cand-2")
    assert model.resume(mode=choice("pinned", "cand-2"))
    model.git = "git failed"
    model.submit(suggested_actions=[suggestion("clarify")])
    assert model.resume(mode=Mode(pinned=True))
    model.git = CLEAN
    model.skip()
    model.to_end()
    return model


def folded(documents: list[Document]) -> int | None:
    """The sequence of the first record that does not follow, if any."""
    imported = Imported(RUN_ID)
    for record in documents:
        try:
            imported.fold(record["type"], record["at"], encode(record["data"]))
        except Misshapen:
            return int(record["sequence"])
    return None


def state_before(documents: list[Document], sequence: int) -> Document:
    state = BLANK
    for record in documents[: sequence - 1]:
        state = apply(state, record["data"])
    return state


def data_of(documents: list[Document], sequence: int) -> Document:
    found: Document = documents[sequence - 1]["data"]
    return found


def changed_at(documents: list[Document], sequence: int, change: Any) -> int | None:
    spoiled = copy.deepcopy(documents)
    change(data_of(spoiled, sequence))
    return folded(spoiled)


def test_every_field_of_the_contract_stands_in_some_event() -> None:
    model = whole()
    found = {name for record in model.published.documents for name in record["data"]}
    assert {name.removesuffix("?") for name in DELTA} == found


def test_the_handwritten_difference_is_the_canonical_one() -> None:
    documents = whole().published.documents
    assert folded(documents) is None
    for record in documents[1:]:
        before = state_before(documents, record["sequence"])
        told = {name: value for name, value in record["data"].items() if name not in HEADER}
        assert difference(before, apply(before, record["data"])) == told


REPEATED: dict[str, Any] = {
    **{name: lambda state, name=name: {name: state[name]} for name in deltas.SCALARS},
    **{
        f"{name}_set": lambda state, name=name: (
            {f"{name}_set": True} | ({name: state[name]} if state[name] is not None else {})
        )
        for name in deltas.OBJECTS
    },
    **{name: lambda state, name=name: {name: state[name]} for name in deltas.OBJECTS},
    "current_git": lambda state: {"current_git": {"observation": state["current_git"]}},
    "action_updates": lambda state: {"action_updates": [{"index": 0, "record": state["actions"][0]}]},
    "answer_updates": lambda state: {
        "answer_updates": [
            {"index": 0} | {k: v for k, v in state["answers"][0].items() if k in ("active", "superseded_by")}
        ]
    },
    **{f"{name}_append": lambda state, name=name: {f"{name}_append": []} for name in deltas.APPENDED},
    "pending_append": lambda state: {"pending_append": []},
    "pending_drop": lambda state: {"pending_drop": 0},
}
"""Field → what says nothing new about a state."""


@pytest.mark.parametrize("name", REPEATED)
def test_a_superfluous_field_is_corruption(name: str) -> None:
    documents = whole().published.documents
    tried = 0
    for record in documents[3:]:
        data, before = record["data"], state_before(documents, record["sequence"])
        if name in data or (name.removesuffix("_set") in data):
            continue
        more = REPEATED[name](before)
        if None in more.values():
            continue
        tried += 1
        assert changed_at(documents, record["sequence"], lambda data, more=more: data.update(more)) is not None
    assert tried > 0


@pytest.mark.parametrize("name", [*deltas.SCALARS])
def test_a_field_is_told_again_only_when_it_changed(name: str) -> None:
    state = BLANK | {"state": "active", "current_git": CLEAN}
    with pytest.raises(Misshapen, match=f"^{name} is not the canonical difference"):
        follow(state, HEADER | {name: state[name]})


@pytest.mark.parametrize(("name", "clears"), deltas.OBJECTS.items())
def test_an_object_goes_with_its_flag(name: str, clears: bool) -> None:
    value = {"an": "object"}
    after = follow(BLANK, HEADER | {f"{name}_set": True, name: value})
    assert after[name] == value
    assert BLANK[name] is None, "a state is never changed"
    with pytest.raises(Misshapen, match=f"^{name} is not the canonical difference"):
        follow(BLANK, HEADER | {name: value})
    with pytest.raises(Misshapen, match=f"^{name}"):
        follow(BLANK, HEADER | {f"{name}_set": True})
    if clears:
        assert follow(after, HEADER | {f"{name}_set": True})[name] is None
    else:
        with pytest.raises(Misshapen, match=f"{name} cannot be cleared"):
            follow(after, HEADER | {f"{name}_set": True})


@pytest.mark.parametrize("flag", [False, None, 1, "true"])
def test_a_flag_is_true_or_absent(flag: Any) -> None:
    with pytest.raises(Misshapen):
        decode_delta(json.dumps(HEADER | {"source_candidate_set": flag}))


@pytest.mark.parametrize(
    ("before", "drop", "append", "after"),
    [
        ([], 0, ["a"], ["a"]),
        (["a"], 1, [], []),
        (["a"], 1, ["b"], ["b"]),
        (["a"], 0, ["b"], ["a", "b"]),
        (["a", "b"], 1, [], ["b"]),
        (["a", "b"], 1, ["a"], ["b", "a"]),
        (["a", "a"], 1, [], ["a"]),
    ],
)
def test_the_queue_drops_in_front_and_appends_behind(
    before: list[str], drop: int, append: list[str], after: list[str]
) -> None:
    delta = HEADER | ({"pending_drop": drop} if drop else {}) | ({"pending_append": append} if append else {})
    assert follow(BLANK | {"pending": before}, delta)["pending"] == after


@pytest.mark.parametrize(
    ("before", "drop", "append"), [(["a"], 1, ["a"]), (["a"], 2, []), ([], 1, []), (["a"], -1, []), (["a"], 0, [])]
)
def test_a_queue_told_in_another_way_is_corruption(before: list[str], drop: int, append: list[str]) -> None:
    with pytest.raises(Misshapen):
        follow(BLANK | {"pending": before}, HEADER | {"pending_drop": drop, "pending_append": append})


@pytest.mark.parametrize("index", [-1, 2, 99])
def test_an_index_without_an_item_is_corruption(index: int) -> None:
    with pytest.raises(Misshapen, match="an index has no item"):
        follow(BLANK | {"actions": [{}]}, HEADER | {"action_updates": [{"index": index, "record": {"a": 1}}]})
    with pytest.raises(Misshapen, match="an index has no item"):
        follow(BLANK, HEADER | {"answer_updates": [{"index": index, "active": False}]})


def test_updates_are_in_order_and_each_item_has_one() -> None:
    state = BLANK | {"actions": [{"a": 1}, {"b": 1}]}
    first, second = {"index": 0, "record": {"a": 2}}, {"index": 1, "record": {"b": 2}}
    assert follow(state, HEADER | {"action_updates": [first, second]})["actions"] == [{"a": 2}, {"b": 2}]
    for updates in ([second, first], [first, first], [{"index": 0, "record": {"a": 3}}, first], []):
        with pytest.raises(Misshapen, match="action_updates is not the canonical"):
            follow(state, HEADER | {"action_updates": updates})


def test_a_payload_over_its_limit_is_refused() -> None:
    text = json.dumps(HEADER | {"observations_append": ["x" * deltas.PAYLOAD_LIMIT]})
    with pytest.raises(Misshapen, match="larger than 4128768 bytes"):
        decode_delta(text)


@pytest.mark.parametrize("text", ["\\ud800", "\\uDC00 x", "x\\ud83d\\u0041"])
def test_half_a_surrogate_pair_is_refused_and_never_kept(text: str) -> None:
    whole = json.dumps(HEADER | {"observations_append": ["@"]})
    assert decode_delta(whole.replace("@", "\\ud83d\\ude00"))["observations_append"] == ["\U0001f600"]
    with pytest.raises(Misshapen, match="half a surrogate pair"):
        decode_delta(whole.replace("@", text))


@pytest.mark.parametrize("name", ["state", "remaining_budget", "current_git", "pinned_source"])
def test_a_first_event_may_repeat_what_it_starts_with_or_not(name: str) -> None:
    documents = PublishedModel(budget=1, source=Change().snapshot()).published.documents
    start, data = documents[0]["data"]["initialize"], documents[0]["data"]
    more = {
        "state": {"state": "active"},
        "remaining_budget": {"remaining_budget": 0},
        "current_git": {"current_git": {"observation": start["initial_git"]}},
        "pinned_source": {"pinned_source_set": True, "pinned_source": start["pinned_source"]},
    }[name]
    less = {key: value for key, value in data.items() if key not in more}
    for spoken in (less, less | more):
        run = Imported(RUN_ID).fold("run_started", documents[0]["at"], encode(spoken))
        assert (run.state, run.remaining_budget, run.current_git) == ("active", 0, start["initial_git"])
        assert run.pinned_source == start["pinned_source"]


def walk(value: Any, path: tuple[Any, ...] = ()) -> Any:
    """Every place in a document."""
    yield path
    if isinstance(value, dict):
        for name, item in value.items():
            yield from walk(item, (*path, name))
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from walk(item, (*path, index))


def spoil(random: Random, document: Document) -> str:
    """Change one place of ``document``; returns what was done."""
    *inner, last = random.choice([path for path in walk(document) if path])
    at: Any = document
    for step in inner:
        at = at[step]
    value = at[last]
    what = random.choice(["null", "unknown", "type", "twist"])
    if what == "unknown" and isinstance(value, dict):
        value["x"] = 1
    elif what == "type" and not isinstance(value, bool):
        at[last] = {str: 1, int: "1", list: {}, dict: [], type(None): {}}[type(value)]
    elif what == "null" and value is not None:
        at[last] = None
    else:
        what = "twist"
        twisted: dict[type, Any] = {
            str: lambda: value + "x", int: lambda: value + 1, bool: lambda: not value, type(None): lambda: 0,
            list: lambda: [*value, *value[-1:]] if value else [{}], dict: lambda: value | {"x": 1},
        }  # fmt: skip
        at[last] = twisted[type(value)]()
    return what


SAID_ONCE = {
    "initialize", "current_git", "pinned_source", "source_candidate", "action_updates", "summary", "updated_at",
    "observations_append", "known_issues_append", "uncertainties_append", "answers_append", "review_pending",
    "final_git_observed", "source_choice_resolutions_append", "last_source_choice",
}  # fmt: skip
"""Fields with something in them that no other place of a journal repeats: without a hash chain nothing can tell."""


def attack(random: Random) -> None:
    """Change one place of a random journal: it is refused, unless the place says something that is said only once."""
    spoiled = copy.deepcopy(random_model(random, 25).published.documents)
    record = random.choice(spoiled)
    before = copy.deepcopy(record["data"])
    what = spoil(random, record["data"])
    broken = folded(spoiled)
    changed = {name for name in before.keys() | record["data"].keys() if before.get(name) != record["data"].get(name)}
    if what == "twist":
        assert broken is not None or changed <= SAID_ONCE, changed
    else:
        assert broken == record["sequence"]


@settings(deadline=None, max_examples=60)
@given(st.randoms(use_true_random=True))
def test_a_journal_with_one_place_changed_is_refused_unless_it_is_said_once(random: Random) -> None:
    attack(random)


@pytest.mark.slow
@settings(deadline=None, max_examples=1500)
@given(st.randoms(use_true_random=True))
def test_many_journals_with_one_place_changed_are_refused_unless_it_is_said_once(random: Random) -> None:
    attack(random)
