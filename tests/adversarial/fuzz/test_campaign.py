"""The campaigns of every target, bounded in CI and a million executions at full length, and their own tests."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.adversarial.fuzz import campaign
from tests.adversarial.fuzz.mutation import Mutator
from tests.adversarial.fuzz.table import TARGETS
from tests.adversarial.fuzz.target import Target
from tests.adversarial.scale import scaled

TOTAL = scaled(40_000, 1_000_000)
SHARE = campaign.shares({name: target.weight for name, target in TARGETS.items()}, TOTAL)
GROUPS = 2
"""The targets are dealt out to so many processes, each of which imports and instruments the package once."""


@pytest.mark.adversarial
@pytest.mark.parametrize("group", range(GROUPS))
def test_no_execution_ends_undocumented(group: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = list(TARGETS)[group::GROUPS]
    reports = campaign.in_process_of_its_own(names, TOTAL, tmp_path)
    with capsys.disabled():
        print("", *(report.line() for report in reports), sep="\n")
    assert [report.name for report in reports] == names
    for report in reports:
        assert report.finding is None and not report.told, (report.name, report.finding, report.told)
        assert report.executions >= SHARE[report.name]


def _broken(raw: bytes) -> None:
    if raw.startswith(b'{"a":') and b"null" in raw:
        raise ZeroDivisionError


BROKEN = Target("broken", (), _broken, lambda: [b'{"a":[1,2,3]}'])


def test_a_campaign_finds_what_is_broken_and_says_with_what(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "is_guided", lambda: False)
    report = campaign.run(BROKEN, 5_000, seed=1)
    assert report.finding is not None and b"null" in report.finding
    assert "ZeroDivisionError" in report.told
    assert "FINDING" in report.line()


def test_a_campaign_counts_what_it_executes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "is_guided", lambda: False)
    report = campaign.run(TARGETS["control.refs"], 321, seed=1)
    assert (report.executions, report.finding, report.told) == (321, None, "")


def test_a_mutation_stays_within_its_length() -> None:
    random = Random(1)
    mutator = Mutator([b'{"a":[1]}', b"x" * 100], 64)
    made = {mutator.mutated(b'{"a":{"b":"c"}}', random) for _ in range(500)}
    assert max(map(len, made)) <= 64
    assert len(made) > 300
