"""The recorded source scenarios, driven through the pure functions: same snapshots, same outcomes."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import pytest

from slipway_lite.errors import UsageError
from slipway_lite.protocol.source.classify import classify, source_candidate
from slipway_lite.protocol.source.envelope import decode_envelope
from slipway_lite.protocol.source.refresh import REFUSALS, choose, refresh, remember
from tests.published import driver, published


@pytest.fixture(scope="module")
def drive() -> ModuleType:
    return driver()


def recorded(scenario: str) -> dict[str, Any]:
    steps = json.loads(published("conformance", "machine", "golden", f"{scenario}.json").read_text())
    return {step["step"].partition("-")[2]: step["response"] for step in steps}


def classification(source: Any) -> dict[str, Any]:
    return classify(decode_envelope(source.bytes()))[0]


def test_recorded_snapshot_and_materials(drive: ModuleType) -> None:
    answers = recorded("source-happy")
    found, materials = classify(decode_envelope(drive.Source().bytes()))
    assert json.dumps(found["snapshot"]) == json.dumps(answers["run"]["pinned_source"])
    markdown = [
        answers[f"material-{section['key']}"]["section"]["markdown"] for section in found["snapshot"]["sections"]
    ]
    assert [payload for _, payload in materials] == markdown


def test_recorded_candidates(drive: ModuleType) -> None:
    answers = recorded("source-candidates")
    source = drive.Source()
    pinned = classification(source)["snapshot"]
    accepted = remember([], pinned)

    amended = drive.amended(source)
    for change, created, choice, chosen in (
        (amended, "candidate-create", "adopt", "adopt"),
        (drive.amended(amended, None, "# Requirements\n\nThird text.\n", "IC_requirements_3", 3003),
         "candidate2", "pinned", "keep-pinned"),
        (following(source, amended), "readopt-original-comments", "pinned", "keep-pinned-3"),
    ):  # fmt: skip
        decision = refresh(pinned, accepted, classification(change))
        wanted = answers[created]
        candidate = source_candidate(
            wanted["source_candidate"]["candidate_id"],
            decision["classification"],
            wanted["source_candidate"]["created_at"],
        )
        assert decision["operation"] == wanted["resume_operation"]
        assert json.dumps(candidate) == json.dumps(wanted["source_candidate"])
        decision = choose(pinned, candidate, choice)
        assert decision["operation"] == answers[chosen]["resume_operation"]
        assert json.dumps(decision["pinned_source"]) == json.dumps(answers[chosen]["pinned_source"])
        pinned = decision["pinned_source"]
        accepted = remember(accepted, pinned)

    no_parent = amended.copy()
    no_parent.parent_rev = None
    refused = {
        "fork": drive.amended(source, None, "# Requirements\n\nFork.\n", "IC_requirements_4", 3004),
        "amend-without-parent": no_parent.replace("requirements", "np\n", "IC_requirements_5", 3005),
        "refresh-original-after-adopt": source,
        "inplace-edit": following(amended).replace("requirements", "# Requirements\n\nEdited in place.\n"),
        "rebind-db-id": following(amended).replace("requirements", "# R\n\nRebound.\n", "IC_new", 3002),
        "rebind-node-id": following(amended).replace("requirements", amended.sections[1]["payload"], None, 4444),
        "retired-node-reused": drive.amended(
            amended, None, "# Requirements\n\nRetired edit.\n", "IC_requirements", 2002
        ),
    }
    for step, change in refused.items():
        outcome = refresh(pinned, accepted, classification(change))["outcome"]
        assert (step, outcome) == (step, answers[step]["code"])
        assert outcome in REFUSALS
    decision = refresh(pinned, accepted, classification(following(amended)))
    assert decision["operation"] == answers["only-parent-changes"]["resume_operation"]


def following(source: Any, parent: Any = None) -> Any:
    """``source`` as it is, as the head that follows ``parent`` (or itself)."""
    copy = source.copy()
    copy.parent_rev = (parent or source).requirements_revision()
    return copy


def test_recorded_invalid_bodies_are_invalid_classifications(drive: ModuleType) -> None:
    bodies = drive.invalid_bodies()
    assert len(bodies) == 34
    for label, source in bodies:
        assert (label, classification(source)["valid"]) == (label, False)


def test_recorded_bad_envelopes_are_hard_errors(drive: ModuleType) -> None:
    for label, document in drive.bad_envelopes():
        if label.endswith("-ok"):
            decode_envelope(document)
            continue
        with pytest.raises(UsageError) as caught:
            decode_envelope(document)
        assert (label, caught.value.code) == (label, "invalid_source")
