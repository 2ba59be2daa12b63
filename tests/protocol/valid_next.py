"""A second reading of what a valid ``next`` is (machine-protocol §5.1, §5.3, §5.4), for tests to hold the first to."""

from __future__ import annotations

import re
from typing import Any

RUN, ACTION, CANDIDATE, ROOT = r"[A-Za-z0-9_-]{1,128}", r"[^\x00-\x1f]+", r"[^\x00-\x1f]+", r"/[^\x00]*"
BUDGET = r"(?:[1-9][0-9]{0,2}|1000)"
ON_ACTION = f"--run\0{RUN}\0--action\0{ACTION}\0--root\0{ROOT}"
# The argv of each variant, NUL between its elements.
ARGV = {
    "submit-outcome-file": f"slipway\0protocol\0submit\0{ON_ACTION}",
    "submit-outcome-stdin": f"slipway\0protocol\0submit\0{ON_ACTION}\0--outcome-stdin",
    "skip-action": f"slipway\0protocol\0skip\0{ON_ACTION}",
    "answer-decision": f"slipway\0protocol\0answer\0{ON_ACTION}",
    "decline-or-feedback": f"slipway\0protocol\0answer\0{ON_ACTION}",
    "confirm-destructive": (
        f"slipway\0protocol\0answer\0{ON_ACTION}\0--confirm-destructive\0--scope-sha256\0sha256:[0-9a-f]{{64}}"
    ),
    "resume-ad-hoc": f"slipway\0protocol\0resume\0{RUN}\0--root\0{ROOT}",
    "refresh-source": f"slipway\0protocol\0resume\0{RUN}\0--root\0{ROOT}(?:\0--budget\0{BUDGET})?",
    "use-pinned-source": f"slipway\0protocol\0resume\0{RUN}\0--root\0{ROOT}\0--use-pinned-source",
    "keep-pinned": (
        f"slipway\0protocol\0resume\0{RUN}\0--root\0{ROOT}\0--source-choice\0pinned\0--candidate\0{CANDIDATE}"
    ),
    "adopt": f"slipway\0protocol\0resume\0{RUN}\0--root\0{ROOT}\0--source-choice\0adopt\0--candidate\0{CANDIDATE}",
    "retry-run": f"slipway\0run\0--budget\0{BUDGET}\0--json\0--root\0{ROOT}(?:\0--no-review)?",
    "start-with-source": f"slipway\0run\0--budget\0{BUDGET}\0--json\0--root\0{ROOT}(?:\0--no-review)?",
    "inspect-run": f"slipway\0status\0{RUN}\0--root\0{ROOT}",
    "inspect-runs": f"slipway\0status\0--root\0{ROOT}",
    "list-runs": f"slipway\0status\0--root\0{ROOT}",
    "inspect-run-in-its-workspace": f"slipway\0status(?:\0{RUN})?\0--root\0{ROOT}",
    "run-doctor": f"slipway\0doctor\0--root\0{ROOT}",
    "retry-doctor": f"slipway\0doctor\0--root\0{ROOT}\0--json",
}
OPERATIONS = {
    "action": {"submit-outcome-file", "submit-outcome-stdin", "skip-action"},
    "answer": {"answer-decision", "confirm-destructive", "decline-or-feedback", "skip-action"},
    "resume": {"resume-ad-hoc", "refresh-source", "use-pinned-source", "keep-pinned", "adopt", "skip-action"},
    "start": {"retry-run", "start-with-source"},
    "command": {
        "inspect-run", "inspect-runs", "list-runs", "inspect-run-in-its-workspace", "run-doctor", "retry-doctor",
    },
    "none": set(),
}  # fmt: skip
# name, type, flag, required
INPUTS = {
    "submit-outcome-file": [("outcome_file", "path", "--outcome-file", True)],
    "answer-decision": [("text_file", "path", "--text-file", True)],
    "decline-or-feedback": [("text_file", "path", "--text-file", True)],
    "confirm-destructive": [("text_file", "path", "--text-file", False)],
    "resume-ad-hoc": [("budget", "string", "--budget", False)],
    "refresh-source": [("source_file", "path", "--source-file", True), ("budget", "string", "--budget", False)],
    "use-pinned-source": [("budget", "string", "--budget", False)],
    "keep-pinned": [("budget", "string", "--budget", False)],
    "adopt": [("budget", "string", "--budget", False)],
    "retry-run": [("goal_file", "path", "--goal-file", True)],
    "start-with-source": [("goal_file", "path", "--goal-file", True), ("source_file", "path", "--source-file", True)],
}
_PLACEHOLDER = re.compile(r"FILE|<[^\0]*>")


def check(step: dict[str, Any], identity: str | None = None) -> dict[str, Any]:
    """Assert that ``step`` is valid in itself; returns it."""
    assert list(step) == ["operation", "workspace_identity", "variants"]
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", step["workspace_identity"])
    assert identity in (None, step["workspace_identity"])
    identifiers = [variant["id"] for variant in step["variants"]]
    assert bool(identifiers) == (step["operation"] != "none")
    assert len(set(identifiers)) == len(identifiers)
    assert set(identifiers) <= OPERATIONS[step["operation"]], step
    roots = {_check_variant(variant) for variant in step["variants"]}
    assert len(roots) <= 1
    return step


def _check_variant(variant: dict[str, Any]) -> str:
    assert list(variant) == ["id", "base_argv", "inputs"]
    argv = variant["base_argv"]
    assert re.fullmatch(ARGV[variant["id"]], "\0".join(argv), re.DOTALL), variant
    options = argv[: argv.index("--")] if "--" in argv else argv
    assert options.count("--root") == 1
    for word in argv:
        assert word
        assert "\0" not in word
        word.encode()
    for word in options:
        assert not _PLACEHOLDER.fullmatch(word.strip(" \t\r\n\"'")), word
    inputs = [tuple(item.values()) for item in variant["inputs"]]
    expected = INPUTS.get(variant["id"], [])
    if "--budget" in argv and variant["id"] == "refresh-source":
        expected = expected[:1]
    assert inputs == expected
    for item in variant["inputs"]:
        assert list(item) == ["name", "type", "flag", "required"]
        assert item["flag"] not in argv
    root: str = options[options.index("--root") + 1]
    return root
