from __future__ import annotations

import pytest

from slipway_lite.control import loops, retry
from slipway_lite.control.states import is_allowed


@pytest.mark.parametrize(("failure_class", "parts"), retry.FAILURE_CODES)
def test_a_failure_is_classed_by_its_code_then_by_its_summary(failure_class: str, parts: tuple[str, ...]) -> None:
    for part in parts:
        assert retry.classify(f"E_{part.upper()}_1", None) == failure_class
        assert retry.classify(None, f"it was a {part}") == failure_class


def test_the_code_beats_the_summary_and_the_default_is_transient() -> None:
    assert retry.classify("forbidden", "network_error") == "non_retryable_policy"
    assert retry.classify(None, None) == retry.classify("odd", "timeout") == "retryable_transient"


def test_backoff_doubles_to_its_cap_and_jitter_is_a_fraction_of_it() -> None:
    assert [retry.backoff_seconds(count) for count in range(7)] == [2, 4, 8, 16, 32, 60, 60]
    assert retry.backoff_seconds(10_000) == 60
    assert retry.backoff_seconds(2, 0.25) == 2.0
    assert retry.backoff_seconds(2, 0.0) == 0.0


def test_the_limits_of_the_stages() -> None:
    assert dict(retry.MAX_RETRIES) == {"plan": 2, "dev": 3, "acceptance": 1, "integrate": 2, "publish": 1}
    assert retry.policy("dev") == {
        "max_retries": 3,
        "backoff_base_seconds": 2,
        "max_backoff_seconds": 60,
        "jitter_enabled": True,
    }


def test_every_final_state_is_an_allowed_step() -> None:
    working = {"plan": "planning", "dev": "developing", "acceptance": "accepting"}
    for (stage, _), to_state in retry.FINAL_STATE.items():
        assert is_allowed(working[stage], to_state)


def test_the_failover_chain_skips_who_has_failed() -> None:
    assert retry.next_worker("codex", ("codex",)) == "claude_code"
    assert retry.next_worker("codex", ("codex", "claude_code")) == "google_antigravity"
    assert retry.next_worker("google_antigravity", ()) is None


@pytest.mark.parametrize(
    ("prompt", "resource", "mark"),
    [
        ("  Fix   THE bug\n", None, "6be8cabc9c0ec764c042e20fe3401c29"),
        ("fix the bug", "publish_target:gh:1", "cfd47b7aa646d0ff2a8d22e276df751a"),
    ],
)
def test_the_published_fingerprints(prompt: str, resource: str | None, mark: str) -> None:
    found = loops.fingerprint("dev", "codex", prompt, "github:a/b", "agent-taskstate:task:local:1", resource)
    assert found == mark


def test_ordinary_retries_fit_below_the_doom_loop() -> None:
    assert [loops.limit(stage) for stage in ("plan", "dev", "acceptance")] == [4, 5, 4]
    for stage in ("plan", "dev", "acceptance"):
        assert loops.limit(stage) > retry.MAX_RETRIES[stage] + 1


def test_the_window_keeps_its_newest_twenty() -> None:
    window: list[str] = []
    for number in range(25):
        window = loops.extended(window, str(number))
    assert window == [str(number) for number in range(5, 25)]
    assert loops.occurrence(["a", "b", "a"], "a") == 3
