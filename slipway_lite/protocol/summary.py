"""The final summary of a Run (machine-protocol §4.8). Pure."""

from __future__ import annotations

from slipway_lite.canon import sha256
from slipway_lite.protocol import prose
from slipway_lite.protocol.brief import dirty_counts
from slipway_lite.text import trim, utf8_prefix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from slipway_lite.protocol.run import Run

SUMMARY_LIMIT = 65_536
_SENTENCES = prose.SUMMARY
_REPEATED_TOKENS = ("observed_since_start:", "report_discrepancy:")


def final_summary(run: Run) -> str:
    """The report of an ended Run, at most :data:`SUMMARY_LIMIT` bytes."""
    blocks = [
        [_SENTENCES["end"]],
        ["Observed action reports:", *_reports(run)],
        _git(run),
        _files(run),
        _listed("Confirmed decisions:", _decisions(run)),
        _listed("Observations:", _observations(run)),
        _review(run),
        _activities(run),
        _listed("Skipped Actions:", (record.kind for record in run.records if record.skipped)),
        _listed("Actions voided on resume:", (record.kind for record in run.records if record.voided)),
        _listed("Known issues:", run.known_issues),
        _listed("Uncertainties:", run.uncertainties),
        _dirty_at_start(run),
    ]
    return bounded("\n".join(line for block in blocks for line in block))


def skipped_summary(run: Run) -> str:
    """Three lines for a Run whose Summarize was skipped."""
    if not run.final_git_observed:
        git = _SENTENCES["no_git"]
    elif run.changed:
        git = f"{prose.OBSERVED_SINCE_START} {prose.ATTRIBUTION_UNCERTAINTY}"
    else:
        git = _SENTENCES["same"]
    return bounded("\n".join((_SENTENCES["skip_1"], git, _SENTENCES["skip_2"])))


def _listed(heading: str, items: Iterable[str]) -> list[str]:
    lines = [f"- {item}" for item in items]
    return [heading, *lines] if lines else []


def _reports(run: Run) -> list[str]:
    lines = []
    for record in run.records:
        if record.outcome:
            note = " (skipped)" if record.skipped else " (voided on resume)" if record.voided else ""
            lines.append(f"- {record.kind}{note}: {record.outcome['summary']}")
    return lines


def _git(run: Run) -> list[str]:
    if not run.final_git_observed:
        return [_SENTENCES["no_git"]]
    if run.changed:
        return [prose.OBSERVED_SINCE_START, prose.ATTRIBUTION_UNCERTAINTY]
    return [_SENTENCES["same"]]


def _files(run: Run) -> list[str]:
    reported = {
        trim(path)
        for record in run.records
        if record.outcome and record.outcome["implementation"]
        for path in record.outcome["implementation"]["files_changed"]
    }
    reported.discard("")
    return _listed("Files reported changed by Implement:", sorted(reported)) or [_SENTENCES["no_files"]]


def _decisions(run: Run) -> Iterable[str]:
    return (
        f"action {answer['action_id']}: {answer['text']}"
        for answer in run.answers
        if answer["active"] and "superseded_by" not in answer
    )


def _observations(run: Run) -> list[str]:
    observations = [
        text
        for record in run.records
        if record.outcome and record.kind != "review"
        for text in record.outcome["observations"]
    ]
    for text in run.kept_observations():
        if text.startswith(_REPEATED_TOKENS) and text not in observations:
            observations.append(text)
    return observations


def _review(run: Run) -> list[str]:
    reviews = [record for record in run.records if record.kind == "review"]
    outcomes = [record.outcome for record in reviews if record.outcome]
    findings = [
        f"{finding['location']}: {finding['summary']} — {finding['detail']}"
        for outcome in outcomes
        if outcome["review"] and outcome["review"]["result"] == "findings_reported"
        for finding in outcome["review"]["findings"]
    ]
    if findings:
        return _listed("Review findings:", findings)
    if any(record.skipped for record in reviews):
        return [_SENTENCES["review_skipped"]]
    if outcomes:
        last = outcomes[-1]
        return [f"Review report: {last['review']['result']}: {last['summary']}"]
    if reviews:
        return [_SENTENCES["review_voided"]]
    return [_SENTENCES["review_none" if run.review_enabled else "review_off"]]


def _activities(run: Run) -> list[str]:
    return _listed(
        "Reported technical activities:",
        (
            f"{activity['kind']}: {activity['command']} (exit {activity['exit_code']}): {activity['summary']}"
            for activity in run.activities
        ),
    ) or [_SENTENCES["no_activity"]]


def _dirty_at_start(run: Run) -> list[str]:
    git = run.initial_git
    if not git["path_count"]:
        return []
    lines = [f"{_SENTENCES['dirty']} ({dirty_counts(git)}):"]
    lines += [f"- {prose.dirty_path(path)}" for path in git["path_observations"]]
    if git["details_truncated"]:
        omitted = git["path_count"] - len(git["path_observations"])
        lines.append(_SENTENCES["details_omitted"].format(count=omitted))
    return lines


def bounded(text: str) -> str:
    """``text``, or its longest prefix that fits with the note of what was cut."""
    raw = text.encode()
    if len(raw) <= SUMMARY_LIMIT:
        return text
    digest = sha256(raw)

    def note(kept: str) -> str:
        omitted = len(raw) - len(kept.encode())
        return f"\n\n...[summary truncated omitted_bytes={omitted} original_sha256={digest}]\n"

    # The note is longest when nothing is kept, so what fits beside that one fits beside its own.
    kept = utf8_prefix(text, SUMMARY_LIMIT - len(note("")))
    return kept + note(kept)
