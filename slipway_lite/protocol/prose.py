"""Sentences that a Run writes about itself: ours, and free to change. The tokens in front of them are exact (§7.7).

Hosts may not branch on any of this; machine-protocol Appendix B lists what each sentence has to say.
"""

from __future__ import annotations

from slipway_lite.text import is_md

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OBSERVED_SINCE_START = "observed_since_start: The worktree is not in the state in which this Run found it."
ATTRIBUTION_UNCERTAINTY = (
    "attribution_uncertainty: Git shows that something differs from the start of the Run, not who or what caused it."
)
OBSERVATION_INCOMPLETE = (
    "git_content_observation_incomplete: The content of some dirty paths could not be read, so a change in them may "
    "have gone unseen."
)
FINAL_OBSERVATION_UNAVAILABLE = "final Git observation unavailable: "
GIT_FAILED = "Git observation failed: "
GIT_FAILED_AFTER_SKIP = "Git observation failed after action skip: "

PREEMPTED_BY_REVIEW = "preempted by Review"
ACTION_SKIPPED = "Action skipped"
DESTRUCTIVE_CONFIRMED = "superseded by the confirmed destructive step"


def unresolved_suggestion(kind: str, reason: str, brief: str) -> str:
    return f"unresolved_suggestion: {kind} was suggested and not issued ({reason}): {brief}"


def report_discrepancy(result: str, changed: bool) -> str:
    seen = "a difference" if changed else "no difference"
    return f"report_discrepancy: Implement reported {result}, while Git shows {seen} from the start of the Run."


def observations_dropped(count: int) -> str:
    return f"...[{count} earlier observations in journal]"


BRIEFS = {
    # 115 bytes on purpose: the largest goal that an Action can carry is then the published implementation's.
    "start": (
        "Look at the repository, its Git state and its conventions first; "
        "only then choose what would bring the goal nearer."
    ),
    "decision": "Orient again: the decision that was asked for is now among the decisions in the context.",
    "declined": (
        "The destructive step was not confirmed. Do not carry it out; look for a way to the goal that destroys nothing."
    ),
    "confirmed": (
        "Carry out exactly the confirmed destructive scope and nothing wider. Any other target needs a new request."
    ),
    "resumed": "Orient again: the Run was resumed and the repository may have moved on.",
    "source_refreshed": "Orient again: the source was fetched afresh and the accepted requirements are unchanged.",
    "source_refresh_skipped": "Orient again with the pinned source, which was kept without fetching it.",
    "source_chosen": "Orient again with the source that was chosen, and read its requirements afresh.",
    "review_skipped": "Report what happened so far. Review was skipped, so say that nobody reviewed the change.",
    "review_after_skip": "Review the whole difference from the start of the Run; the Action before was skipped.",
    "action_skipped": "Report the facts so far; the Action before was skipped.",
}
"""Briefs that the CLI gives an Action on a particular occasion."""

SOURCE_OBSERVATIONS = {
    "source_refreshed_unchanged": "source_refreshed_unchanged: The fetched source is the pinned one.",
    "source_refreshed_non_material": (
        "source_refreshed_non_material: The issue's title or repository changed; its requirements did not."
    ),
    "source_projection_drift": (
        "source_projection_drift: The issue is found at another place; its requirements did not change."
    ),
    "source_refresh_skipped": "source_refresh_skipped: The Run went on with the pinned source, without a fetch.",
    "source_candidate_invalid": "source_candidate_invalid: The fetched source is no valid Change.",
    "source_amendment_candidate": "source_amendment_candidate: The fetched source amends the accepted requirements.",
    "source_amended": "source_amended: The amended requirements were adopted.",
    "source_pinned": "source_pinned: The pinned requirements were kept.",
}

DEFAULT_BRIEFS = {
    "orient": "Look at the repository and state what matters for the goal.",
    "clarify": "Settle the one open decision: look for the fact in the repository first, then ask one question.",
    "implement": "Do the work that the goal asks for, run the project's checks, and report what really happened.",
    "review": "Read the difference from the start of the Run against the goal, and report findings without editing.",
    "summarize": "Write the closing report of this Run from its facts.",
}

ATTRIBUTION = "Git cannot say who or what caused the difference. The paths that were dirty when the Run began"
BRIEF_DETAILS_OMITTED = " Details of {count} more paths were left out."

SUMMARY = {
    "end": "Nothing is queued any more, so this Run has ended.",
    "no_git": "The final state of the worktree could not be observed; nothing is claimed about it.",
    "same": "At the end, Git shows no difference from the state at the start of the Run.",
    "no_files": "Implement reported no changed files.",
    "no_activity": "No test, type-check, build or lint activity was reported.",
    "review_skipped": "Review was skipped by the user.",
    "review_voided": "Review was issued, and voided before it was reported.",
    "review_off": "Review was disabled for this Run.",
    "review_none": "No Review was issued.",
    "skip_1": "The closing report was skipped.",
    "skip_2": "No report written by the host exists for this Run.",
    "dirty": "Paths that were dirty when the Run began",
    "details_omitted": "Details of {count} more paths were left out.",
}


def _printable(name: str) -> str:
    """A file name as text: a control character in it, which no brief may hold, stands as its escape."""
    return name if is_md(name) else "".join(c if is_md(c) else f"\\u{ord(c):04x}" for c in name)


def dirty_path(path: dict[str, Any]) -> str:
    """``{path} [{category} {state}; {observation}…]``, the shape of §4.5 and §4.8."""
    text = f"{_printable(path['path'])} [{path['category']} {path['state']}; {path['observation']}"
    if "size" in path:
        text += f"; size={path['size']}"
    if "content_sha256" in path:
        text += f"; content_sha256={path['content_sha256']}"
    return text + "]"
