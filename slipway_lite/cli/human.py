"""Text for people. Nothing here is contractual, and control characters of a Run never reach a terminal."""

from __future__ import annotations

from slipway_lite.canon import encode
from slipway_lite.protocol import next as following
from slipway_lite.protocol.brief import brief_of
from slipway_lite.protocol.documents import creation
from slipway_lite.protocol.shells import posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slipway_lite.protocol.run import Run

QUESTION_LENGTH = 200
_HTML = (("&", "\\u0026"), ("<", "\\u003c"), (">", "\\u003e"))


def as_status_json(document: dict[str, Any]) -> str:
    """One JSON line as ``status`` writes it: ``&``, ``<`` and ``>`` escaped (machine-protocol §0.3)."""
    text = encode(document)
    for character, escape in _HTML:
        text = text.replace(character, escape)
    return text + "\n"


# Python counts only U+0020 as printable; the other spaces steer nothing and belong to the paths they stand in.
_SPACES = frozenset("\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000")


def harmless(text: str) -> str:
    """``text`` with every character replaced that could steer a terminal."""
    return "".join(c if c.isprintable() or c in _SPACES else "\ufffd" for c in text)


def page(text: str) -> str:
    """``text`` line by line, harmless; a tab is as wide as four spaces."""
    return "\n".join(harmless(line) for line in text.replace("\t", "    ").split("\n"))


def visible(text: str) -> str:
    """``text`` on one line, harmless."""
    return harmless(" ".join(text.split()))


def shortened(text: str) -> str:
    line = visible(text)
    return line if len(line) <= QUESTION_LENGTH else line[: QUESTION_LENGTH - 1] + "…"


def choices(step: dict[str, Any]) -> list[str]:
    """One bullet per variant: the command where nothing is missing, else what is (§1.8)."""
    if not step["variants"]:
        return []
    lines = ["Next choices:"]
    for variant in step["variants"]:
        missing = [item for item in variant["inputs"] if item["required"]]
        if not missing:
            lines.append(f"  - {variant['id']}: {posix(variant['base_argv'])}")
            continue
        wanted = ", ".join(_wanted(item) for item in missing)
        lines.append(f"  - {variant['id']}: needs {wanted}")
    return lines


def _wanted(item: dict[str, Any]) -> str:
    text = f"{item['name']} ({item['type']} via {item['flag']})"
    return text + (f" choices={'|'.join(item['choices'])}" if "choices" in item else "")


def _text(lines: list[str]) -> str:
    return "".join(f"{harmless(line)}\n" for line in lines)


def _head(run: Run) -> list[str]:
    return [
        f"Run:     {run.run_id}",
        f"State:   {run.state}" + (f" ({run.pause_reason})" if run.pause_reason else ""),
        f"Goal:    {visible(run.goal)}",
        f"Budget:  {run.remaining_budget} of {run.initial_budget} left",
    ]


def _action(run: Run) -> list[str]:
    action = run.visible_action
    if action is None:
        return []
    wanted = brief_of(run, action)
    return [f"Action:  {action.kind} {action.action_id}", f"         {shortened(wanted)}"]


def _scope(request: dict[str, Any]) -> list[str]:
    """Everything that a confirmation would permit: nobody should confirm what they were not shown."""
    targets = [f"         {target['kind']} {visible(target['value'])}" for target in request["targets"]]
    return ["Would destroy:", *targets, f"Impact:  {visible(request['impact'])}", f"Scope:   {request['scope_sha256']}"]


def started(run: Run) -> str:
    return _text([*_head(run), *_action(run), *choices(following.derive(run))])


def stopped(run: Run) -> str:
    return _text([f"Run {run.run_id} is stopped.", *choices(following.derive(run))])


def run_status(run: Run) -> str:
    lines = _head(run)
    if run.imported_count:
        lines.append(f"Origin:  {run.imported_count} of its {run.event_count} events were imported")
    if run.pinned_source is not None:
        lines.append(f"Source:  {run.pinned_source['canonical_url']} {visible(run.pinned_source['title'])}")
    action = run.visible_action
    if run.state == "paused" and action is not None and action.outcome is not None:
        lines.append(f"Asked:   {shortened(action.outcome['pause']['question'])}")
    if run.state == "paused" and run.pending_request is not None:
        lines += _scope(run.pending_request)
    if run.source_candidate is not None:
        lines.append(
            f"Waiting: source candidate {run.source_candidate['candidate_id']}"
            f" ({run.source_candidate['classification_code']})"
        )
    lines += _action(run)
    if run.summary is not None:
        lines += ["Summary:", *(f"  {visible(line)}" for line in run.summary.split("\n"))]
    return _text([*lines, *choices(following.derive(run))])


def status_list(local: list[Run], stubs: list[dict[str, Any]], unavailable: list[dict[str, Any]]) -> str:
    lines = [
        (
            creation(run.created_at),
            f"{run.run_id}  {run.state}  remaining={run.remaining_budget}  {shortened(run.goal)}",
        )
        for run in local
    ]
    lines += [
        (
            creation(stub["created_at"]),
            "  ".join((stub["id"], stub["state"], "foreign=true", f"workspace={visible(stub['workspace'])}"))
            + f"  {shortened(stub['goal'])}",
        )
        for stub in stubs
    ]
    texts = [line for _, line in sorted(lines)]
    texts += [f"{item['id']}  unavailable  code={item['code']}" for item in unavailable]
    return _text(texts or ['No Runs yet. Start one: slipway run "what should be done"'])
