"""What a goal, an answer and a budget may be, on every surface (machine-protocol §0.4, §1.6.1). Pure."""

from __future__ import annotations

from slipway_lite.canon import encode
from slipway_lite.errors import SlipwayError, UsageError
from slipway_lite.protocol.next import BUDGET_MAXIMUM, BUDGET_MINIMUM
from slipway_lite.text import is_blank, is_key, is_md

TEXT_LIMIT = 262_144
"""Bytes of a goal or an answer, raw and as a JSON string with its quotes."""


def goal_text(raw: bytes) -> str:
    """The goal in ``raw``. Raises ``action_too_large``, ``invalid_goal`` or ``goal_required``."""
    if len(raw) > TEXT_LIMIT:
        raise UsageError("action_too_large", f"The goal is larger than {TEXT_LIMIT} bytes.")
    try:
        goal = raw.decode()
    except UnicodeDecodeError:
        raise UsageError("invalid_goal", "The goal is not valid UTF-8.") from None
    if is_blank(goal):
        raise UsageError("goal_required", "The goal is blank.")
    if not is_md(goal):
        raise UsageError("invalid_goal", "The goal has a control character other than tab and line breaks.")
    if len(encode(goal).encode()) > TEXT_LIMIT:
        raise UsageError("action_too_large", f"The goal takes more than {TEXT_LIMIT} bytes as a JSON string.")
    return goal


def answer_text(raw: bytes) -> str:
    """The answer in ``raw``, byte for byte. Raises ``answer_too_large`` or ``invalid_answer``."""
    if len(raw) > TEXT_LIMIT:
        raise UsageError("answer_too_large", f"The answer is larger than {TEXT_LIMIT} bytes.")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise UsageError("invalid_answer", "The answer is not valid UTF-8.") from None
    if len(encode(text).encode()) > TEXT_LIMIT:
        raise UsageError("answer_too_large", f"The answer takes more than {TEXT_LIMIT} bytes as a JSON string.")
    return text


def check_budget(budget: int) -> None:
    """Raises ``invalid_budget`` for anything but a whole number from 1 to 1000."""
    if type(budget) is not int or not BUDGET_MINIMUM <= budget <= BUDGET_MAXIMUM:
        raise UsageError("invalid_budget", f"The budget is a whole number from {BUDGET_MINIMUM} to {BUDGET_MAXIMUM}.")


_RUN_ID = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
SOURCE_CHOICES = ("pinned", "adopt")


def is_run_id(text: str) -> bool:
    """1 to 128 letters, digits, underscores or hyphens (``run-id``, §0.2)."""
    return 1 <= len(text) <= 128 and _RUN_ID.issuperset(text)


def check_run_id(run_id: str) -> None:
    """Raises ``invalid_run_id`` for what no Run id looks like (§0.2)."""
    if not is_run_id(run_id):
        raise UsageError(
            "invalid_run_id",
            "A Run id is 1 to 128 letters, digits, underscores or hyphens. `slipway status` lists the Runs.",
        )


def check_section(key: str) -> None:
    """Raises ``material_section_invalid`` for what no section key looks like (§0.2)."""
    if not is_key(key):
        raise SlipwayError("material_section_invalid", "The section is no valid key.")


def check_source_options(source: bool, pinned: bool, choice: str | None, candidate: str | None) -> None:
    """Whether at most one way to treat the source is given, and given whole; ``None`` is what was not given.

    Raises ``source_choice_requires_candidate``, ``invalid_source_choice`` or ``source_mode_conflict``, in this order.
    """
    if (choice is None) != (candidate is None) or candidate == "":
        raise UsageError(
            "source_choice_requires_candidate", "A source choice and its candidate go together, neither empty."
        )
    if choice is not None and choice not in SOURCE_CHOICES:
        raise UsageError("invalid_source_choice", "The source choice is pinned or adopt.")
    if source + pinned + (choice is not None) > 1:
        raise UsageError("source_mode_conflict", "Give one of: a fetched source, the pinned source, or a choice.")


def check_confirmation_pair(confirm: bool, scope_sha256: str) -> None:
    """Raises ``destructive_confirmation_pair_required`` when only one of the two is there."""
    if confirm == is_blank(scope_sha256):
        raise UsageError(
            "destructive_confirmation_pair_required", "--confirm-destructive and --scope-sha256 go together."
        )
