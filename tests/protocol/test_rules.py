"""Stage 2 of an Outcome: the text classes, the legality table and the destructive scope (machine-protocol §3.3-3.6)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway_lite.canon import sha256
from slipway_lite.errors import SlipwayError
from slipway_lite.protocol import rules
from tests.protocol.outcomes import (
    activity,
    decision,
    destructive,
    environment,
    finding,
    implementation,
    outcome,
    pause,
    request,
    review,
    suggestion,
)

# §3.4 once more, by hand: kind | statuses | implementation | review | pauses | how many suggestions.
TABLE = """
orient    | completed partial error | -                  | -                    | -                                | 0 1
orient    | needs_input             | -                  | -                    | decision environment             | 0
clarify   | completed error         | -                  | -                    | -                                | 0 1
clarify   | needs_input             | -                  | -                    | decision environment             | 0
implement | completed               | applied not_needed | -                    | -                                | 0
implement | partial                 | partial            | -                    | -                                | 0
implement | error                   | unable             | -                    | -                                | 0
implement | needs_input             | -                  | -                    | decision destructive environment | 0
review    | completed               | -                  | no_findings findings | -                                | 0
review    | partial                 | -                  | inconclusive         | -                                | 0
review    | error                   | -                  | error                | -                                | 0
summarize | completed error         | -                  | -                    | -                                | 0
"""
LEGAL = {
    (kind, status, waits, done, reviewed, int(count))
    for line in TABLE.strip().splitlines()
    for kind, statuses, dones, reviews, pauses, counts in [[cell.split() for cell in line.split("|")]]
    for kind in kind
    for status in statuses
    for waits in pauses
    for done in dones
    for reviewed in reviews
    for count in counts
}
PAUSES = {
    "-": None,
    "decision": decision(),
    "destructive": destructive(),
    "environment": environment(),
    "budget": pause("budget_exhausted"),
}
IMPLEMENTATIONS = {"-": None} | {
    result: implementation(result) for result in ("applied", "partial", "not_needed", "unable")
}
REVIEWS = {
    "-": None,
    "no_findings": review("no_findings_reported"),
    "findings": review("findings_reported", 1),
    "inconclusive": review("inconclusive"),
    "error": review("error"),
}
RESULTS = [(done, "-") for done in IMPLEMENTATIONS] + [("-", reviewed) for reviewed in REVIEWS if reviewed != "-"]
CELLS = [
    (kind, status, waits, done, reviewed, count)
    for kind in ("orient", "clarify", "implement", "review", "summarize")
    for status in ("completed", "needs_input", "partial", "error")
    for waits in PAUSES
    for done, reviewed in RESULTS
    for count in (0, 1)
]


def accepts(document: dict[str, Any]) -> bool:
    """Whether ``document`` is legal for its own Action; a refusal is always the same code and status."""
    try:
        rules.validate(document, document["action_id"], document["action_kind"])
    except SlipwayError as error:
        assert (error.code, error.exit_code, error.details) == ("invalid_outcome", 3, None)
        return False
    return True


def test_the_legality_table_in_all_its_1800_cells() -> None:
    assert len(CELLS) == len(set(CELLS)) == 1800
    assert len(LEGAL) == 27
    assert set(CELLS) >= LEGAL
    accepted = set()
    for kind, status, waits, done, reviewed, count in CELLS:
        document = outcome(
            kind,
            status,
            pause=PAUSES[waits],
            implementation=IMPLEMENTATIONS[done],
            review=REVIEWS[reviewed],
            suggested_actions=[suggestion()] * count,
        )
        if accepts(document):
            accepted.add((kind, status, waits, done, reviewed, count))
    assert accepted == LEGAL


@pytest.mark.parametrize("kind", ["orient", "clarify", "implement", "review", "summarize"])
@pytest.mark.parametrize("done", ["-", "applied"])
def test_both_branches_at_once_and_skipped_are_never_legal(kind: str, done: str) -> None:
    for status in ("completed", "needs_input", "partial", "error"):
        both = outcome(kind, status, implementation=implementation(), review=review())
        assert not accepts(both)
    assert not accepts(outcome(kind) | {"status": "skipped", "implementation": IMPLEMENTATIONS[done]})


@pytest.mark.parametrize("kind", ["clarify", "implement", "summarize"])
def test_three_kinds_may_be_suggested(kind: str) -> None:
    assert accepts(outcome("orient", suggested_actions=[suggestion(kind)]))


@pytest.mark.parametrize("kind", ["orient", "review", "", "Implement", "skip"])
def test_no_other_kind_may_be_suggested(kind: str) -> None:
    assert not accepts(outcome("orient", suggested_actions=[suggestion(kind)]))


def test_more_than_one_suggestion_is_refused() -> None:
    assert not accepts(outcome("orient", suggested_actions=[suggestion(), suggestion("clarify")]))


def test_a_suggested_brief_is_bounded_in_bytes() -> None:
    assert accepts(outcome("orient", suggested_actions=[suggestion(brief="é" * 4096)]))
    assert not accepts(outcome("orient", suggested_actions=[suggestion(brief="é" * 4096 + "e")]))


def test_the_outcome_names_the_current_action_and_its_kind() -> None:
    for action_id, kind, document in (
        ("act-2", "orient", outcome("orient")),
        ("act-1", "clarify", outcome("orient")),
        ("act-1", "skip", outcome("orient", action_kind="skip")),
    ):
        with pytest.raises(SlipwayError) as caught:
            rules.validate(document, action_id, kind)
        assert (caught.value.code, caught.value.exit_code) == ("invalid_outcome", 3)


@pytest.mark.parametrize(
    ("result", "findings", "legal"),
    [
        ("no_findings_reported", 0, True),
        ("no_findings_reported", 1, False),
        ("findings_reported", 0, False),
        ("findings_reported", 1, True),
        ("findings_reported", 9, True),
    ],
)
def test_a_completed_review_says_findings_exactly_when_it_has_some(result: str, findings: int, legal: bool) -> None:
    assert accepts(outcome("review", review=review(result, findings))) is legal


@pytest.mark.parametrize(("status", "result"), [("partial", "inconclusive"), ("error", "error")])
@pytest.mark.parametrize("findings", [0, 1, 3])
def test_an_unfinished_review_may_have_any_findings(status: str, result: str, findings: int) -> None:
    assert accepts(outcome("review", status, review=review(result, findings)))


@pytest.mark.parametrize("status", ["completed", "partial", "error"])
def test_no_host_may_report_a_review_that_was_not_run(status: str) -> None:
    assert not accepts(outcome("review", status, review=review("not_run")))


# -- text classes (§0.2, §3.2)


def texts() -> dict[str, tuple[str, Any]]:
    """Every text field: its class, and an Outcome that has the text there."""
    return {
        "summary": ("md+", lambda text: outcome("orient", summary=text)),
        "observation": ("md", lambda text: outcome("orient", observations=["fine", text])),
        "known issue": ("md", lambda text: outcome("orient", known_issues=[text])),
        "brief": ("md+", lambda text: outcome("orient", suggested_actions=[suggestion(brief=text)])),
        "question": ("md+", lambda text: outcome("orient", "needs_input", pause=decision(question=text))),
        "superseded": (
            "plain+",
            lambda text: outcome("orient", "needs_input", pause=decision(supersedes_answer_action_id=text)),
        ),
        "impact": ("md+", lambda text: outcome("implement", "needs_input", pause=destructive(impact=text))),
        "target": (
            "plain+",
            lambda text: outcome("implement", "needs_input", pause=destructive(targets=(("path", text),))),
        ),
        "file": ("plain", lambda text: outcome("implement", implementation=implementation(files_changed=["a", text]))),
        "command": (
            "md+",
            lambda text: outcome("implement", implementation=implementation(activities=[activity(command=text)])),
        ),
        "activity summary": (
            "md+",
            lambda text: outcome("implement", implementation=implementation(activities=[activity(summary=text)])),
        ),
        "uncertainty": ("md", lambda text: outcome("implement", implementation=implementation(uncertainties=[text]))),
        "location": ("plain+", lambda text: outcome("review", review=found(location=text))),
        "finding": ("md+", lambda text: outcome("review", review=found(summary=text))),
        "detail": ("md+", lambda text: outcome("review", review=found(detail=text))),
        "review uncertainty": ("md", lambda text: outcome("review", review=review(uncertainties=[text]))),
    }


def found(**fields: Any) -> dict[str, Any]:
    return review("findings_reported", findings=0) | {"findings": [finding(), finding(**fields)]}


# What each class takes, in an order of growing demands.
SAMPLES = {
    "": ("md", "plain"),
    " \u2028\u3000": ("md", "plain"),
    "\t\r\n": ("md",),
    "a\tb": ("md", "md+"),
    "a\nb\r": ("md", "md+"),
    "é\U0001f600\u2028 ": ("md", "md+", "plain", "plain+"),
    "a\x00": (),
    "a\x1b": (),
    "a\x7f": (),
    "a\x85": (),
    "a\x9f": (),
}


@pytest.mark.parametrize("field", texts())
@pytest.mark.parametrize("sample", SAMPLES, ids=repr)
def test_each_text_field_has_its_class(field: str, sample: str) -> None:
    text_class, build = texts()[field]
    assert accepts(build(sample)) is (text_class in SAMPLES[sample])


@pytest.mark.parametrize("kind", ["test", "typecheck", "build", "lint"])
@pytest.mark.parametrize("exit_code", [-(2**63), -1, 0, 255, 2**63 - 1])
def test_an_activity_has_a_kind_and_any_exit_code(kind: str, exit_code: int) -> None:
    activities = [activity(kind, exit_code=exit_code)]
    assert accepts(outcome("implement", implementation=implementation(activities=activities)))
    assert not accepts(outcome("implement", implementation=implementation(activities=[activity("deploy")])))


@pytest.mark.parametrize(("attempts", "legal"), [(-1, False), (0, False), (1, True), (2**63 - 1, True)])
def test_attempts_are_at_least_one(attempts: int, legal: bool) -> None:
    assert accepts(outcome("implement", implementation=implementation(attempts=attempts))) is legal


# -- pauses (§3.5)


def test_a_request_goes_with_a_destructive_pause_only() -> None:
    for reason in ("decision_required", "environment_unavailable"):
        assert not accepts(outcome("implement", "needs_input", pause=pause(reason, request())))
    assert not accepts(outcome("implement", "needs_input", pause=pause("destructive_confirmation_required")))
    assert accepts(outcome("implement", "needs_input", pause=destructive()))


def test_only_a_decision_pause_may_supersede() -> None:
    assert accepts(outcome("implement", "needs_input", pause=decision(supersedes_answer_action_id="act-0")))
    for waits in (environment(), destructive()):
        waits["supersedes_answer_action_id"] = "act-0"
        assert not accepts(outcome("implement", "needs_input", pause=waits))


# -- the destructive scope (§3.6)


def problem(**fields: Any) -> str | None:
    return rules.scope_problem(request(**fields))


A3_TARGETS = (("git_ref", "refs/heads/old"), ("path", "/srv/data"))
A3_IMPACT = 'Drops old & new <copies>\nfor good — "all"'
A3_SHA256 = "sha256:6779b4e015666e97fcb72cdc17cd15ea45e48f751929ad9c6c6a930cac2c0cc1"


def test_scope_vector_of_appendix_a_3() -> None:
    vector = request(targets=A3_TARGETS, impact=A3_IMPACT)
    canonical = (
        '{"impact":"Drops old & new <copies>\\nfor good — \\"all\\"",'
        '"request_id":"44444444-4444-4444-8444-444444444444","scope_version":1,'
        '"targets":[{"kind":"git_ref","value":"refs/heads/old"},{"kind":"path","value":"/srv/data"}]}'
    )
    assert len(canonical.encode()) == 221
    assert sha256(canonical.encode()) == A3_SHA256
    assert rules.scope_sha256(vector) == A3_SHA256
    assert rules.scope_problem(vector) is None


ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


@settings(deadline=None)
@given(st.text(), st.lists(st.tuples(st.sampled_from(rules.TARGET_KINDS), st.text()), max_size=3))
def test_the_canonical_scope_escapes_as_written(impact: str, targets: list[tuple[str, str]]) -> None:
    def string(text: str) -> str:
        return '"' + "".join(ESCAPES.get(c) or (f"\\u{ord(c):04x}" if c < " " else c) for c in text) + '"'

    listed = ",".join(f'{{"kind":{string(kind)},"value":{string(value)}}}' for kind, value in targets)
    canonical = (
        f'{{"impact":{string(impact)},"request_id":"44444444-4444-4444-8444-444444444444",'
        f'"scope_version":1,"targets":[{listed}]}}'
    )
    scope = request(targets=tuple(targets), impact=impact)
    assert rules.scope_sha256(scope) == sha256(canonical.encode())


@pytest.mark.parametrize(
    "targets",
    [
        (),
        (("path", "/b"), ("path", "/a")),
        (("path", "/a"), ("git_ref", "z")),
        (("path", "/a"), ("path", "/a")),
        (("file", "/a"),),
        (("path", "\uffff"), ("path", "\U00010000"), ("path", "\ufffe")),
    ],
)
def test_targets_are_not_empty_sorted_unique_and_of_a_kind(targets: tuple[tuple[str, str], ...]) -> None:
    assert problem(targets=targets) is not None


def test_targets_sort_by_utf8_bytes() -> None:
    # UTF-16 code units would sort these two the other way round.
    assert problem(targets=(("path", "\uffff"), ("path", "\U00010000"))) is None
    assert problem(targets=(("data_domain", "z"), ("external_resource", "a"), ("git_ref", "a"), ("path", "A"))) is None


@pytest.mark.parametrize(
    ("request_id", "legal"),
    [
        ("44444444-4444-4444-8444-444444444444", True),
        ("44444444-4444-4444-9444-444444444444", True),
        ("44444444-4444-4444-a444-444444444444", True),
        ("44444444-4444-4444-b444-444444444444", True),
        ("44444444-4444-0444-8444-444444444444", True),  # the version digit is free
        ("44444444-4444-f444-8444-444444444444", True),
        ("00000000-0000-0000-8000-000000000000", True),
        ("00000000-0000-0000-0000-000000000000", False),
        ("44444444-4444-4444-7444-444444444444", False),
        ("44444444-4444-4444-c444-444444444444", False),
        ("44444444-4444-4444-A444-444444444444", False),
        ("4444444A-4444-4444-8444-444444444444", False),
        ("44444444444444448444444444444444", False),
        ("{44444444-4444-4444-8444-444444444444}", False),
        ("urn:uuid:44444444-4444-4444-8444-444444444444", False),
        ("44444444-4444-4444-8444-44444444444", False),
        ("44444444-4444-4444-8444-444444444444\n", False),
        ("4444444٤-4444-4444-8444-444444444444", False),
        ("4444444g-4444-4444-8444-444444444444", False),
        ("", False),
    ],
)
def test_a_request_id_is_a_canonical_uuid_of_the_rfc_variant(request_id: str, legal: bool) -> None:
    assert (problem(request_id=request_id) is None) is legal


@pytest.mark.parametrize("digest", ["sha256:" + "0" * 64, A3_SHA256.upper(), A3_SHA256[7:], "", A3_SHA256 + "\n"])
def test_the_digest_must_be_that_of_this_very_scope(digest: str) -> None:
    wrong = request(targets=A3_TARGETS, impact=A3_IMPACT) | {"scope_sha256": digest}
    assert rules.scope_problem(wrong) is not None
    assert not accepts(outcome("implement", "needs_input", pause=pause("destructive_confirmation_required", wrong)))


def test_any_change_to_a_scope_invalidates_its_digest() -> None:
    sound = request(targets=A3_TARGETS, impact=A3_IMPACT)
    for changed in (
        sound | {"impact": A3_IMPACT + "."},
        sound | {"request_id": "55555555-5555-4555-8555-555555555555"},
        sound | {"targets": sound["targets"][:1]},
        json.loads(json.dumps(sound).replace("/srv/data", "/srv/date")),
    ):
        assert rules.scope_problem(changed) is not None
