"""Which gates ever change anything, and which evidence anybody reads (control-plane §6.5). Pure.

Every row of the specification's table is one function below; the first row that holds decides. An analysis proposes:
it blocks nothing and changes nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slipway_lite.control.instants import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Document = Mapping[str, Any]

DEFAULT: dict[str, Any] = {
    "schema_version": "self-improvement-thresholds/v1",
    "unused_gate": {"observation_days": 30, "minimum_tasks": 20, "maximum_evaluations": 0},
    "no_effect": {"minimum_evaluations": 20, "maximum_effective_decisions": 0},
    "override_excessive": {"minimum_overrides": 5, "minimum_ratio": 0.70},
    "unread_evidence": {"minimum_generated": 10, "maximum_ack_rate": 0.10},
    "archive_candidate": {"consecutive_periods": 2},
    "behavior": {"non_blocking": True, "automatic_changes": False},
}
"""The published thresholds."""

ACTION_OF = {
    "healthy": "keep",
    "insufficient_data": "keep",
    "unused": "review",
    "override_excessive": "review",
    "no_effect": "relax_candidate",
    "unread_evidence": "review",
}
"""What each classification proposes; an unused gate may go further, see :func:`_archive`."""

RATIO_DIGITS = 6
_SECONDS_A_DAY = 86_400
_EFFECTIVE_DECISIONS = ("hold", "block")
_UNKNOWABLE = ("decision", "transition_changed", "override")


@dataclass(frozen=True, slots=True)
class Gate:
    """What was counted about one gate: the only thing the rows look at."""

    days: float
    tasks: int
    evaluations: int
    decisions: Mapping[str, int]
    effective: int
    overrides: int
    unknown: int


def analyze(bundle: Document, thresholds: Document, previous: Document | None, generated_at: str) -> dict[str, Any]:
    """The GateEffectivenessReport of a valid ``bundle``.

    ``previous`` is an earlier report, from which gates carry how many periods in a row they were classified so.
    """
    period = _period(bundle)
    earlier = _earlier(previous)
    observed: dict[str, list[Document]] = {}
    for observation in bundle["gate_observations"]:
        observed.setdefault(observation["gate_id"], []).append(observation)
    gate_reports = []
    for entry in bundle["gate_catalog"]:
        gate = _count(observed.get(entry["gate_id"], ()), period["days"], bundle["task_count"])
        gate_reports.append(_gate_report(entry, gate, earlier.get(entry["gate_id"]), thresholds))
    evidence_reports = _evidence_reports(bundle["evidence_consumption_observations"], thresholds["unread_evidence"])
    stamp = _stamp(generated_at)
    return {
        "schema_version": "self-improvement/v1",
        "report_id": f"GER-{stamp}",
        "generated_at": generated_at,
        "observation_period": period,
        "gate_reports": gate_reports,
        "evidence_reports": evidence_reports,
        "periodic_nudges": [
            _nudge(item, generated_at, stamp)
            for item in (*gate_reports, *evidence_reports)
            if item["proposal_eligible"] and item["action"] != "keep"
        ],
    }


def _stamp(at: str) -> str:
    return "".join(filter(str.isdigit, at))[:14]


def _period(bundle: Document) -> dict[str, Any]:
    """The declared window; where an end is not declared, that of the observations, or when the bundle was made."""
    times = [
        observation["occurred_at"]
        for name in ("gate_observations", "evidence_consumption_observations")
        for observation in bundle[name]
    ] or [bundle["generated_at"]]
    since = bundle.get("since") or min(times, key=parse)
    until = bundle.get("until") or max(times, key=parse)
    seconds = (parse(until) - parse(since)).total_seconds()
    return {"since": since, "until": until, "days": max(0.0, seconds / _SECONDS_A_DAY)}


def _earlier(previous: Document | None) -> dict[str, Document]:
    return {item["target_ref"]: item for item in previous["gate_reports"]} if previous else {}


def _count(observations: Iterable[Document], days: float, tasks: int) -> Gate:
    observations = list(observations)
    return Gate(
        days=days,
        tasks=tasks,
        evaluations=len(observations),
        decisions=dict(sorted(Counter(item["decision"] for item in observations).items())),
        effective=sum(
            item["decision"] in _EFFECTIVE_DECISIONS or item["transition_changed"] is True for item in observations
        ),
        overrides=sum(item["override"] == "applied" for item in observations),
        unknown=sum(any(item[name] == "unknown" for name in _UNKNOWABLE) for item in observations),
    )


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


# -- the rows of §6.5, in order: (gate, thresholds) -> the reason when the row holds, else None


def _unknown_values(gate: Gate, limits: Document) -> str | None:
    return f"{gate.unknown} of {gate.evaluations} observations leave out what matters" if gate.unknown else None


def _is_unused(gate: Gate, limits: Document) -> bool:
    return gate.evaluations <= int(limits["unused_gate"]["maximum_evaluations"])


def _unused_too_short(gate: Gate, limits: Document) -> str | None:
    least = limits["unused_gate"]["observation_days"]
    if _is_unused(gate, limits) and gate.days < least:
        return f"never evaluated, in a window of {gate.days:.1f} days; {least} are needed"
    return None


def _unused(gate: Gate, limits: Document) -> str | None:
    if _is_unused(gate, limits) and gate.tasks >= limits["unused_gate"]["minimum_tasks"]:
        return f"never evaluated in {gate.days:.1f} days and {gate.tasks} tasks"
    return None


def _unused_too_few_tasks(gate: Gate, limits: Document) -> str | None:
    if _is_unused(gate, limits):
        return f"never evaluated, with {gate.tasks} tasks; {limits['unused_gate']['minimum_tasks']} are needed"
    return None


def _override_excessive(gate: Gate, limits: Document) -> str | None:
    rule = limits["override_excessive"]
    ratio = _ratio(gate.overrides, gate.evaluations)
    if gate.overrides >= rule["minimum_overrides"] and ratio >= rule["minimum_ratio"]:
        return f"overridden in {gate.overrides} of {gate.evaluations} evaluations"
    return None


def _is_judgeable(gate: Gate, limits: Document) -> bool:
    return gate.evaluations >= int(limits["no_effect"]["minimum_evaluations"])


def _no_effect(gate: Gate, limits: Document) -> str | None:
    if _is_judgeable(gate, limits) and gate.effective <= limits["no_effect"]["maximum_effective_decisions"]:
        return f"{gate.evaluations} evaluations, of which {gate.effective} had an effect"
    return None


def _healthy(gate: Gate, limits: Document) -> str | None:
    if _is_judgeable(gate, limits):
        return f"{gate.effective} of {gate.evaluations} evaluations had an effect"
    return None


def _too_few_evaluations(gate: Gate, limits: Document) -> str | None:
    return f"{gate.evaluations} evaluations; {limits['no_effect']['minimum_evaluations']} are needed"


ROWS: tuple[tuple[str, bool, Callable[[Gate, Document], str | None]], ...] = (
    ("insufficient_data", False, _unknown_values),
    ("insufficient_data", False, _unused_too_short),
    ("unused", True, _unused),
    ("insufficient_data", False, _unused_too_few_tasks),
    ("override_excessive", True, _override_excessive),
    ("no_effect", True, _no_effect),
    ("healthy", True, _healthy),
    ("insufficient_data", False, _too_few_evaluations),
)
"""classification, proposal_eligible, condition: rows 1 to 8 of §6.5. The last one always holds."""


def classify(gate: Gate, limits: Document) -> tuple[str, bool, str]:
    """(classification, proposal_eligible, reason) by the first row that holds."""
    for classification, is_eligible, condition in ROWS:
        reason = condition(gate, limits)
        if reason is not None:
            return classification, is_eligible, reason
    raise AssertionError("the last row always holds")


def _gate_report(entry: Document, gate: Gate, earlier: Document | None, limits: Document) -> dict[str, Any]:
    classification, is_eligible, reason = classify(gate, limits)
    periods = 1
    if earlier is not None and earlier["classification"] == classification:
        periods = earlier.get("consecutive_periods", 1) + 1
    action, reasons = _archive(ACTION_OF[classification], entry, classification, periods, limits)
    return {
        "target_kind": "gate",
        "target_ref": entry["gate_id"],
        "owner": entry["owner"],
        "policy_revision": entry["policy_revision"],
        "hard_safety": entry["hard_safety"],
        "classification": classification,
        "action": action,
        "proposal_eligible": is_eligible,
        "consecutive_periods": periods,
        "metrics": {
            "task_count": gate.tasks,
            "evaluation_count": gate.evaluations,
            "decision_counts": gate.decisions,
            "effective_decision_count": gate.effective,
            "override_count": gate.overrides,
            "override_ratio": round(_ratio(gate.overrides, gate.evaluations), RATIO_DIGITS),
            "unknown_observation_count": gate.unknown,
        },
        "reasons": [reason, *reasons],
    }


def _archive(
    action: str, entry: Document, classification: str, periods: int, limits: Document
) -> tuple[str, list[str]]:
    """A gate that stays unused may go, but one of hard safety never does."""
    if classification != "unused" or periods < limits["archive_candidate"]["consecutive_periods"]:
        return action, []
    if entry["hard_safety"]:
        return action, [f"unused for {periods} periods in a row, and kept because it guards hard safety"]
    return "archive_candidate", [f"unused for {periods} periods in a row"]


def _evidence_reports(observations: Iterable[Document], rule: Document) -> list[dict[str, Any]]:
    generated: dict[str, set[str]] = {}
    acknowledged: dict[str, set[str]] = {}
    for item in observations:
        kind = item.get("evidence_type", "unknown")
        seen = generated if item["disposition"] == "generated" else acknowledged
        generated.setdefault(kind, set())
        seen.setdefault(kind, set()).add(item["evidence_id"])
    return [
        _evidence_report(kind, len(generated[kind]), len(generated[kind] & acknowledged.get(kind, set())), rule)
        for kind in sorted(generated)
    ]


def _evidence_report(kind: str, generated: int, acknowledged: int, rule: Document) -> dict[str, Any]:
    """Only what was generated in the window counts: an acknowledgement of older evidence says nothing about it."""
    rate = _ratio(acknowledged, generated)
    if generated < rule["minimum_generated"]:
        classification = "insufficient_data"
        reason = f"{generated} pieces were generated; {rule['minimum_generated']} are needed"
    else:
        classification = "unread_evidence" if rate <= rule["maximum_ack_rate"] else "healthy"
        reason = f"{acknowledged} of {generated} pieces were acknowledged"
    return {
        "target_kind": "evidence_type",
        "target_ref": kind,
        "classification": classification,
        "action": ACTION_OF[classification],
        "proposal_eligible": classification != "insufficient_data",
        "metrics": {
            "generated_count": generated,
            "acknowledged_count": acknowledged,
            "ack_rate": round(rate, RATIO_DIGITS),
        },
        "reasons": [reason],
    }


def _nudge(item: Document, created_at: str, stamp: str) -> dict[str, Any]:
    return {
        "nudge_id": f"NUDGE-{item['target_kind']}-{item['target_ref']}-{stamp}",
        "reason": "; ".join(item["reasons"]),
        "target_kind": item["target_kind"],
        "target_ref": item["target_ref"],
        "suggested_action": item["action"],
        "created_at": created_at,
        "priority": "high" if item["action"] == "archive_candidate" else "medium",
        "category": "other",
        "blocking": False,
        "schema_version": "1.0.0",
    }
