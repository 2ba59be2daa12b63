"""The recorded answers as documents again, and ways to spoil a document.

The recordings are folded: ids, times, paths and prose are placeholders. Unfolding puts plausible values back,
so that a schema can judge the document.
"""

from __future__ import annotations

import copy
import hashlib
import json
import random
import re
from collections.abc import Iterator
from typing import Any

from tests.published import published

PLACEHOLDERS = {
    r"<UUID(\d+)>": lambda match: f"00000000-0000-4000-8000-{int(match[1]):012d}",
    r"<workspace-(\d+)>": lambda match: "sha256:" + hashlib.sha256(match[0].encode()).hexdigest(),
    r"<DIGEST>": lambda match: "sha256:" + "d" * 64,
    r"<TS>": lambda match: "2026-01-01T00:00:00Z",
    r"<SB>": lambda match: "/sandbox",
    r"<PROG>": lambda match: "slipway",
    r"<prose>": lambda match: "Prose.",
    r"<N>": lambda match: "1",
    r"<D>": lambda match: "d" * 64,
}


def unfold(node: Any, name: str = "") -> Any:
    """``node`` with every placeholder replaced; counted warnings and split summaries come back too."""
    if isinstance(node, dict):
        return {key: unfold(value, key) for key, value in node.items()}
    if name == "warnings" and isinstance(node, int):
        return ["Prose."] * node
    if isinstance(node, list):
        items = [unfold(item, name) for item in node]
        return "\n".join(items) if name == "summary" else items
    if isinstance(node, str):
        for pattern, value in PLACEHOLDERS.items():
            node = re.sub(pattern, value, node)
    return node


def message_of(document: dict[str, Any]) -> str:
    """The name of the message that a JSON answer is (appendix D.1)."""
    keys = document.keys()
    by_type = {"action_material": "actionMaterial", "pinned_material": "pinnedMaterial"}
    if "message_type" in keys:
        return by_type[document["message_type"]]
    for marks, name in (
        ({"code", "exit_code"}, "cliError"),
        ({"transaction_outcome"}, "changeReport"),
        ({"checks"}, "doctorReport"),
        ({"unavailable_runs"}, "statusList"),
        ({"hosts"}, "listReport"),
        ({"run_id", "next"}, "protocolState"),
        ({"id", "next"}, "runStatus"),
    ):
        if marks <= keys:
            return name
    raise AssertionError(f"an answer of no known message: {sorted(keys)}")


def recorded_answers() -> list[tuple[str, dict[str, Any]]]:
    """``(message, document)`` for every recorded JSON answer."""
    answers = []
    for scenario in sorted(published("conformance", "machine", "golden").glob("*.json")):
        for step in json.loads(scenario.read_text()):
            if step["response"] is not None:
                document = unfold(step["response"])
                answers.append((message_of(document), document))
    return answers


def paths(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every node, the root first."""
    yield path
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield from paths(value, (*path, key))


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


OTHER_WORDS = (
    *("active", "paused", "stopped", "ended", "orient", "clarify", "implement", "review", "summarize"),
    *("completed", "needs_input", "partial", "error", "applied", "unable", "decision_required", "valid"),
    *("invalid", "pinned", "command", "none", "resume", "string", "enum", "--budget", "skip-action", "FILE"),
)

SPOILERS = {
    dict: (lambda random, value: {**value, "unknown": 1}, lambda random, value: [], lambda random, value: {}),
    list: (
        lambda random, value: [],
        lambda random, value: [*value, None],
        lambda random, value: value + value[:1],
        lambda random, value: value[1:],
        lambda random, value: {},
    ),
    str: (
        lambda random, value: "",
        lambda random, value: " ",
        lambda random, value: value + "\u0001",
        lambda random, value: value.upper(),
        lambda random, value: value[:-1],
        lambda random, value: random.choice(OTHER_WORDS),
        lambda random, value: 1,
    ),
    bool: (lambda random, value: not value, lambda random, value: "true", lambda random, value: 0),
    int: (
        lambda random, value: 0,
        lambda random, value: -1,
        lambda random, value: value + 1,
        lambda random, value: value * 1000,
        lambda random, value: value + 0.5,
        lambda random, value: str(value),
        lambda random, value: True,
    ),
    type(None): (lambda random, value: {}, lambda random, value: "", lambda random, value: False),
}  # fmt: skip


def mutation(document: Any, seed: int) -> tuple[str, Any]:
    """A copy of ``document`` with one change, and words for the change; equal seeds give equal changes."""
    chance = random.Random(seed)
    spoiled = copy.deepcopy(document)
    path = chance.choice(list(paths(spoiled))[1:] or [()])
    value = at(spoiled, path)
    if path == ():
        return "null instead of the document", None
    parent = at(spoiled, path[:-1])
    how = chance.random()
    if how < 0.2 and isinstance(parent, dict):
        del parent[path[-1]]
        return f"without {path}", spoiled
    parent[path[-1]] = None if how < 0.3 else chance.choice(SPOILERS[type(value)])(chance, value)
    return f"{path} is {json.dumps(parent[path[-1]])[:60]}", spoiled
