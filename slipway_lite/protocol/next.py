"""Structured ``next``: what works now, as argv arrays (machine-protocol §5). Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slipway_lite.protocol.run import Run

BUDGET_DEFAULT = 8
BUDGET_MINIMUM, BUDGET_MAXIMUM = 1, 1000

OUTCOME_FILE = {"name": "outcome_file", "type": "path", "flag": "--outcome-file", "required": True}
TEXT_FILE = {"name": "text_file", "type": "path", "flag": "--text-file", "required": True}
TEXT_FILE_OPTIONAL = {"name": "text_file", "type": "path", "flag": "--text-file", "required": False}
GOAL_FILE = {"name": "goal_file", "type": "path", "flag": "--goal-file", "required": True}
SOURCE_FILE = {"name": "source_file", "type": "path", "flag": "--source-file", "required": True}
BUDGET = {"name": "budget", "type": "string", "flag": "--budget", "required": False}


def variant(identifier: str, argv: list[str], *inputs: dict[str, Any]) -> dict[str, Any]:
    return {"id": identifier, "base_argv": argv, "inputs": [dict(item) for item in inputs]}


def document(operation: str, identity: str, *variants: dict[str, Any]) -> dict[str, Any]:
    return {"operation": operation, "workspace_identity": identity, "variants": list(variants)}


def none(identity: str) -> dict[str, Any]:
    return document("none", identity)


def command(identity: str, identifier: str, *argv: str, inputs: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    """One ``command`` variant: ``slipway`` and ``argv``."""
    return document("command", identity, variant(identifier, ["slipway", *argv], *inputs))


def inspect_run(identity: str, root: str, run_id: str) -> dict[str, Any]:
    return command(identity, "inspect-run", "status", run_id, "--root", root)


def inspect_runs(identity: str, root: str, identifier: str = "inspect-runs") -> dict[str, Any]:
    return command(identity, identifier, "status", "--root", root)


def start(identity: str, root: str, budget: int, review: bool, with_source: bool) -> dict[str, Any]:
    """A ``start`` operation; the goal text never stands in it, and a budget out of range becomes the default."""
    if not BUDGET_MINIMUM <= budget <= BUDGET_MAXIMUM:
        budget = BUDGET_DEFAULT
    argv = ["slipway", "run", "--budget", str(budget), "--json", "--root", root]
    if not review:
        argv.append("--no-review")
    if with_source:
        return document("start", identity, variant("start-with-source", argv, GOAL_FILE, SOURCE_FILE))
    return document("start", identity, variant("retry-run", argv, GOAL_FILE))


def is_valid(step: dict[str, Any]) -> bool:
    """Whether each argv of ``step`` says what it should: an id that a caller made up can break it (§5.4)."""
    return all(_is_sound(variant["base_argv"], variant["inputs"]) for variant in step["variants"])


def _is_sound(argv: list[str], inputs: list[dict[str, Any]]) -> bool:
    options = argv[: argv.index("--")] if "--" in argv else argv
    return (
        options.count("--root") == 1
        and not any(item["flag"] in options for item in inputs)
        and not any(_is_placeholder(word) for word in options)
        and all(word and "\0" not in word and _is_utf8(word) for word in argv)
    )


def _is_utf8(word: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in word)


def _is_placeholder(word: str) -> bool:
    bare = word.strip(" \t\r\n\"'")
    return bare == "FILE" or (bare.startswith("<") and bare.endswith(">"))


def _action_argv(operation: str, root: str, run_id: str, action_id: str, *more: str) -> list[str]:
    return ["slipway", "protocol", operation, "--run", run_id, "--action", action_id, "--root", root, *more]


def submit_again(identity: str, root: str, run_id: str, action_id: str, stdin: bool) -> dict[str, Any]:
    """The one way to hand in an Outcome again, by the mode that was used."""
    if stdin:
        argv = _action_argv("submit", root, run_id, action_id, "--outcome-stdin")
        return document("action", identity, variant("submit-outcome-stdin", argv))
    argv = _action_argv("submit", root, run_id, action_id)
    return document("action", identity, variant("submit-outcome-file", argv, OUTCOME_FILE))


def refresh_source(identity: str, root: str, run_id: str, budget: int | None) -> dict[str, Any]:
    """``resume`` with a fresh source of a Run that could not be read; a given budget is fixed in the argv."""
    argv = ["slipway", "protocol", "resume", run_id, "--root", root]
    if budget:
        return document("resume", identity, variant("refresh-source", [*argv, "--budget", str(budget)], SOURCE_FILE))
    return document("resume", identity, variant("refresh-source", argv, SOURCE_FILE, BUDGET))


def derive(run: Run) -> dict[str, Any]:
    """What works for ``run`` now: the first matching row of §5.2."""
    current = run.visible_action
    if run.state == "ended" or run.source_candidate is not None:
        return derive_resume(run)
    if run.state == "active" and current is not None:
        action = (run.root, run.run_id, current.action_id)
        return document(
            "action",
            run.workspace["id"],
            variant("submit-outcome-file", _action_argv("submit", *action), OUTCOME_FILE),
            variant("submit-outcome-stdin", _action_argv("submit", *action, "--outcome-stdin")),
            _skip(run, current.action_id),
        )
    if run.pause_reason == "decision_required" and current is not None:
        argv = _action_argv("answer", run.root, run.run_id, current.action_id)
        return document(
            "answer",
            run.workspace["id"],
            variant("answer-decision", argv, TEXT_FILE),
            _skip(run, current.action_id),
        )
    if run.pause_reason == "destructive_confirmation_required" and current is not None and run.pending_request:
        argv = _action_argv("answer", run.root, run.run_id, current.action_id)
        confirm = [*argv, "--confirm-destructive", "--scope-sha256", run.pending_request["scope_sha256"]]
        return document(
            "answer",
            run.workspace["id"],
            variant("confirm-destructive", confirm, TEXT_FILE_OPTIONAL),
            variant("decline-or-feedback", argv, TEXT_FILE),
            _skip(run, current.action_id),
        )
    resume = derive_resume(run)
    if run.pause_reason == "environment_unavailable" and current is not None:
        resume["variants"].append(_skip(run, current.action_id))
    return resume


def derive_resume(run: Run) -> dict[str, Any]:
    """The resume-only derivation, which some refusals use even while an Action is current (§5.2)."""
    identity = run.workspace["id"]
    if run.state == "ended":
        return none(identity)
    argv = ["slipway", "protocol", "resume", run.run_id, "--root", run.root]
    if run.source_candidate is not None:
        chosen = ["--candidate", run.source_candidate["candidate_id"]]
        variants = [variant("keep-pinned", [*argv, "--source-choice", "pinned", *chosen], BUDGET)]
        if run.source_candidate["valid"]:
            variants.append(variant("adopt", [*argv, "--source-choice", "adopt", *chosen], BUDGET))
        return document("resume", identity, *variants)
    if run.ad_hoc:
        return document("resume", identity, variant("resume-ad-hoc", argv, BUDGET))
    return document(
        "resume",
        identity,
        variant("refresh-source", argv, SOURCE_FILE, BUDGET),
        variant("use-pinned-source", [*argv, "--use-pinned-source"], BUDGET),
    )


def _skip(run: Run, action_id: str) -> dict[str, Any]:
    return variant("skip-action", _action_argv("skip", run.root, run.run_id, action_id))
