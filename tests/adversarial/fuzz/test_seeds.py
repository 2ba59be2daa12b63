"""Every kept input through its target: what a campaign once found worth keeping stays decided as documented."""

from __future__ import annotations

import pytest

from tests.adversarial.fuzz import corpus
from tests.adversarial.fuzz.table import TARGETS
from tests.adversarial.fuzz.target import execute


@pytest.mark.parametrize("name", TARGETS)
def test_the_kept_inputs_end_as_documented(name: str) -> None:
    for raw in corpus.load(name):
        execute(TARGETS[name], raw)
