"""The final summary block by block, and its bound (machine-protocol §4.8)."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.protocol import prose, summary
from tests.protocol.model import CLEAN, DIRTY, FAILED, Model, digest, git
from tests.protocol.outcomes import activity, decision, finding, implementation, review, suggestion

S = prose.SUMMARY
UNTRACKED = {
    "path": "a b.txt",
    "category": "untracked",
    "state": "??",
    "observation": "regular",
    "size": 3,
    "modified_unix_nano": 1,
    "content_sha256": digest("abc"),
}
GONE = {"path": "gone", "category": "ordinary", "state": ".D", "observation": "missing"}


def lines(model: Model) -> list[str]:
    assert model.run.summary is not None
    return model.run.summary.split("\n")


def block(model: Model, heading: str) -> list[str]:
    """The items below ``heading``; it must stand there once."""
    found = lines(model)
    assert found.count(heading) == 1
    items = []
    for line in found[found.index(heading) + 1 :]:
        if not line.startswith("- "):
            break
        items.append(line)
    return items


def test_the_plainest_run_says_what_did_not_happen() -> None:
    model = Model().to_end()
    assert lines(model) == [
        S["end"],
        "Observed action reports:",
        "- orient: orient is completed",
        "- summarize: summarize is completed",
        S["same"],
        S["no_files"],
        S["review_none"],
        S["no_activity"],
    ]


def test_a_full_run_has_every_block_in_its_order() -> None:
    model = Model(budget=12, initial=git("dirty before", paths=(UNTRACKED, GONE)))
    model.git = model.run.initial_git
    model.submit("needs_input", pause=decision())
    model.answer("stable")
    model.submit(suggested_actions=[suggestion()], known_issues=["k"])
    model.git = git("dirtier", paths=(UNTRACKED, GONE))
    model.submit(implementation=implementation(files_changed=["b"], activities=[activity()], uncertainties=["u"]))
    model.submit(review=review("findings_reported", 1))
    model.stop()
    model.resume()
    model.skip()
    model.to_end()
    headings = [line for line in lines(model) if line.endswith(":") and not line.startswith("- ")]
    assert [heading for heading in headings if "(" not in heading] == [
        "Observed action reports:",
        "Files reported changed by Implement:",
        "Confirmed decisions:",
        "Observations:",
        "Review findings:",
        "Reported technical activities:",
        "Skipped Actions:",
        "Actions voided on resume:",
        "Known issues:",
        "Uncertainties:",
    ]
    assert lines(model)[-3:] == [
        f"{S['dirty']} (count=2; retained=2; path_fingerprint={model.run.initial_git['path_fingerprint']}):",
        f"- a b.txt [untracked ??; regular; size=3; content_sha256={digest('abc')}]",
        "- gone [ordinary .D; missing]",
    ]


def test_reports_are_marked_when_skipped_or_voided() -> None:
    model = Model()
    model.submit("needs_input", pause=decision(), summary="one")
    model.answer("go")
    model.submit("needs_input", pause=decision(), summary="two")
    model.skip()
    model.to_end()
    assert block(model, "Observed action reports:") == [
        "- orient (voided on resume): one",
        "- orient (skipped): two",
        "- summarize: summarize is completed",
    ]
    assert block(model, "Skipped Actions:") == ["- orient"]
    assert block(model, "Actions voided on resume:") == ["- orient"]


def test_an_action_without_an_outcome_is_not_reported_but_counted() -> None:
    model = Model()
    model.stop()
    model.resume()
    model.to_end()
    assert block(model, "Observed action reports:") == [
        "- orient: orient is completed",
        "- summarize: summarize is completed",
    ]
    assert block(model, "Actions voided on resume:") == ["- orient"]


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (CLEAN, [S["same"]]),
        (DIRTY, [prose.OBSERVED_SINCE_START, prose.ATTRIBUTION_UNCERTAINTY]),
        (FAILED, [S["no_git"]]),
    ],
)
def test_git_is_told_as_it_was_seen_at_the_end(shown: Any, expected: list[str]) -> None:
    model = Model()
    model.submit()
    model.git = shown
    model.submit()
    assert lines(model)[4 : 4 + len(expected)] == expected


def test_files_are_sorted_unique_trimmed_and_not_empty() -> None:
    model = Model(budget=12, review=False).to_implement()
    model.submit(implementation=implementation("not_needed", files_changed=[" b ", "a", "", " \u3000", "é", "Z"]))
    model.stop()
    model.resume()
    model.to_implement().submit("partial", implementation=implementation("partial", files_changed=["a", "c"]))
    model.to_end()
    assert block(model, "Files reported changed by Implement:") == ["- Z", "- a", "- b", "- c", "- é"]


def test_decisions_are_those_that_still_stand() -> None:
    model = Model(budget=12)
    model.submit("needs_input", pause=decision())
    model.answer("first")
    model.submit("needs_input", pause=decision(supersedes_answer_action_id="act-1"))
    model.answer("second")
    model.to_end()
    assert block(model, "Confirmed decisions:") == ["- action act-2: second"]


def test_a_destructive_confirmation_is_no_decision() -> None:
    model = Model()
    scope = model.to_destructive()
    model.answer("fine", True, scope)
    model.to_end()
    assert "Confirmed decisions:" not in lines(model)


def test_observations_leave_out_those_of_reviews_and_add_the_tokens_of_the_run() -> None:
    model = Model().to_implement()
    model.git = DIRTY
    model.submit(observations=["from implement"], implementation=implementation("not_needed"))
    model.submit(observations=["from review"])
    model.submit(observations=["from summarize"])
    assert block(model, "Observations:") == [
        "- from implement",
        "- from summarize",
        f"- {prose.OBSERVED_SINCE_START}",
        f"- {prose.report_discrepancy('not_needed', True)}",
    ]


def test_a_token_that_a_host_reported_itself_is_not_repeated() -> None:
    model = Model()
    model.git = DIRTY
    model.submit(observations=[prose.OBSERVED_SINCE_START])
    model.submit()
    model.submit()
    assert block(model, "Observations:") == [f"- {prose.OBSERVED_SINCE_START}"]


# -- Review: the first that applies


def reviewed(status: str = "completed", **fields: Any) -> Model:
    model = Model(budget=20)
    model.git = DIRTY
    model.submit()
    assert model.current.kind == "review"
    model.submit(status, **fields)
    return model


def test_findings_of_every_reporting_review_come_first() -> None:
    model = reviewed(review=review("findings_reported", findings=0) | {"findings": [finding(1), finding(2)]})
    model.stop()
    model.resume()
    model.submit()
    model.submit(review=review("findings_reported", findings=0) | {"findings": [finding(3)]})
    model.stop()
    model.resume()
    model.submit()
    model.skip()
    model.to_end()
    assert block(model, "Review findings:") == [
        "- a.py:1: finding 1 — detail 1",
        "- a.py:2: finding 2 — detail 2",
        "- a.py:3: finding 3 — detail 3",
    ]
    assert S["review_skipped"] not in lines(model)


def test_findings_of_an_unfinished_review_are_not_reported_ones() -> None:
    model = reviewed("partial", review=review("inconclusive", 2), summary="half done").to_end()
    assert "Review findings:" not in lines(model)
    assert "Review report: inconclusive: half done" in lines(model)


def test_a_skipped_review_comes_before_a_report() -> None:
    model = reviewed(summary="fine")
    model.stop()
    model.resume()
    model.submit()
    model.skip()
    model.to_end()
    assert S["review_skipped"] in lines(model)
    assert "Review report: no_findings_reported: fine" not in lines(model)


def test_the_last_report_of_a_review_is_shown() -> None:
    model = reviewed("error", summary="broke")
    model.stop()
    model.resume()
    model.submit()
    model.submit(summary="fine")
    model.to_end()
    assert "Review report: no_findings_reported: fine" in lines(model)
    assert "Review report: error: broke" not in lines(model)


def test_a_review_that_was_issued_and_voided_is_said_to_be() -> None:
    model = Model()
    model.git = DIRTY
    model.submit()
    model.stop()
    model.git = CLEAN
    model.resume()
    model.to_end()
    assert S["review_voided"] in lines(model)


@pytest.mark.parametrize(("enabled", "sentence"), [(True, S["review_none"]), (False, S["review_off"])])
def test_no_review_was_issued_or_it_was_disabled(enabled: bool, sentence: str) -> None:
    assert sentence in lines(Model(review=enabled).to_end())


def test_activities_are_told_with_their_exit_codes() -> None:
    model = Model(review=False).to_implement()
    model.submit(
        implementation=implementation(activities=[activity(), activity("lint", exit_code=-1, command="ruff .")])
    )
    model.to_end()
    assert block(model, "Reported technical activities:") == [
        "- test: make test (exit 0): all passed",
        "- lint: ruff . (exit -1): all passed",
    ]


def test_omitted_details_of_the_start_are_counted() -> None:
    model = Model(initial=git(paths=(GONE,)) | {"path_count": 3, "details_truncated": True})
    model.git = model.run.initial_git
    model.to_end()
    assert lines(model)[-1] == S["details_omitted"].format(count=2)
    assert lines(model)[-3].startswith(f"{S['dirty']} (count=3; retained=1; path_fingerprint=")


# -- a skipped Summarize


@pytest.mark.parametrize(
    ("shown", "line"),
    [
        (CLEAN, S["same"]),
        (DIRTY, f"{prose.OBSERVED_SINCE_START} {prose.ATTRIBUTION_UNCERTAINTY}"),
        (FAILED, S["no_git"]),
    ],
)
def test_a_skipped_summarize_leaves_three_lines(shown: Any, line: str) -> None:
    model = Model()
    model.submit()
    model.git = shown
    model.skip()
    assert lines(model) == [S["skip_1"], line, S["skip_2"]]


# -- the bound

NOTE = re.compile(r"\n\n\.\.\.\[summary truncated omitted_bytes=([0-9]+) original_sha256=(sha256:[0-9a-f]{64})\]\n")


def check_bounded(text: str, bounded: str) -> None:
    raw = text.encode()
    if len(raw) <= 65_536:
        assert bounded == text
        return
    note = NOTE.search(bounded)
    assert note is not None
    assert note.end() == len(bounded)
    kept = bounded[: note.start()]
    assert text.startswith(kept)
    assert int(note[1]) == len(raw) - len(kept.encode())
    assert note[2] == "sha256:" + hashlib.sha256(raw).hexdigest()
    assert 65_536 - 8 < len(bounded.encode()) <= 65_536


@pytest.mark.parametrize("character", ["x", "é", "€", "\U0001f600"])
@pytest.mark.parametrize("more", [-1, 0, 1, 2, 3, 4, 5, 200_000])
def test_a_summary_is_whole_or_a_prefix_with_the_note_of_what_was_cut(character: str, more: int) -> None:
    width = len(character.encode())
    text = character * (65_536 // width) + "y" * (65_536 % width)
    text = text[:more] if more < 0 else text + "z" * more
    check_bounded(text, summary.bounded(text))


@settings(deadline=None, max_examples=30)
@given(st.text(alphabet="aé€\U0001f600\n", min_size=1, max_size=20), st.integers(1000, 9000))
def test_any_text_is_bounded(piece: str, times: int) -> None:
    check_bounded(piece * times, summary.bounded(piece * times))


def test_a_run_with_much_to_tell_ends_within_the_bound() -> None:
    model = Model(review=False).to_implement()
    model.submit(observations=["é" * 50_000])
    model.to_end()
    assert model.run.summary is not None
    assert len(model.run.summary.encode()) <= 65_536
    assert NOTE.search(model.run.summary)
